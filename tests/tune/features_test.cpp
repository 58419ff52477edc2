// Numbers read off kernels: the same for the same, others for others, and what they say of tiles, vectors and caches.
#include "tune/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tune/examples.h"
#include "util/clock.h"

namespace isomer::tune::test {
namespace {

TEST(Features, AreARowABlockAndFinite) {
  for (const kernel::test::Example& example : kernel::test::examples()) {
    const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
    Random random(1);
    for (int k = 0; k < 10; ++k) {
      const Candidate candidate = candidates.sampled(random, 0.5);
      const Features features = features_of(candidate.made.kernel, machine());
      EXPECT_FALSE(features.empty()) << example.name;
      for (const FeatureRow& row : features)
        for (const float number : row) ASSERT_TRUE(std::isfinite(number)) << example.name;
      EXPECT_EQ(features, features_of(candidates.with(candidate.decisions()).made.kernel, machine()));
    }
  }
}

/// Schedules that look alike can't be told apart by a model.
TEST(Features, TellNearlyAllSchedulesApart) {
  const Candidates candidates = candidates_of("product");
  Random random(2);
  std::set<Features> different;
  std::set<Hash128> schedules;
  for (int k = 0; k < 100; ++k) {
    const Candidate candidate = candidates.sampled(random, 0.5);
    if (schedules.insert(kernel::structural_hash(candidate.made.kernel)).second)
      different.insert(features_of(candidate.made.kernel, machine()));
  }
  EXPECT_GE(schedules.size(), 40U);
  EXPECT_GE(static_cast<double>(different.size()), 0.8 * static_cast<double>(schedules.size()));
}

/// A map whose rows are read along memory, or across it.
TEST(Features, SayHowMemoryIsRead) {
  const auto row = [](const std::string& element, std::vector<Dims> inputs) {
    const kernel::test::Example example = {"made up", "s0 = map [64, 64] { " + element + " }\noutput s0\n", inputs};
    const Features features = features_of(kernel_of(example), machine());
    EXPECT_EQ(features.size(), 1U);
    return features.at(0);
  };
  const FeatureRow along = row("in0[i0, i1]:float32", {{64, 64}}), across = row("in0[i1, i0]:float32", {{64, 64}});
  EXPECT_EQ(along[0], across[0]);  // as many points
  EXPECT_NE(along, across);
  const FeatureRow longer = row("in0[i0, i1]:float32*in0[i0, i1]:float32 + in0[i0, i1]:float32", {{64, 64}});
  EXPECT_EQ(longer[1], along[1] + 2);  // sums and products of a point
}

}  // namespace
}  // namespace isomer::tune::test
