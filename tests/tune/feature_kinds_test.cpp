// What trees see of candidates: rows of one length, the same for the same; and what single numbers say.
#include "tune/feature_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

size_t known(const Row& row) {
  return static_cast<size_t>(std::ranges::count_if(row, [](float number) { return !std::isnan(number); }));
}

/// NaN is equal to itself here.
std::vector<std::optional<float>> comparable(const Row& row) {
  std::vector<std::optional<float>> result;
  for (const float number : row) result.push_back(std::isnan(number) ? std::nullopt : std::optional(number));
  return result;
}

TEST(FeatureKinds, HaveNames) {
  for (const FeatureKind kind : kFeatureKinds) EXPECT_EQ(feature_kind_of(name(kind)), kind);
  EXPECT_EQ(name(FeatureKind::kCurveAll), "curve-all");
  EXPECT_FALSE(feature_kind_of("leaf"));
}

TEST(FeatureKinds, GiveRowsOfOneLengthThatTellSchedulesApart) {
  for (const FeatureKind kind : kFeatureKinds) {
    SCOPED_TRACE(name(kind));
    std::set<size_t> lengths;
    for (const kernel::test::Example& example : kernel::test::examples()) {
      const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
      Random random(1);
      for (int k = 0; k < 4; ++k) {
        const Candidate candidate = candidates.sampled(random, 0.5);
        const Row row = row_of(kind, candidate, machine());
        lengths.insert(row.size());
        EXPECT_EQ(comparable(row), comparable(row_of(kind, candidates.with(candidate.decisions()), machine())));
        for (const float number : row) ASSERT_FALSE(std::isinf(number)) << example.name;
      }
    }
    EXPECT_EQ(lengths.size(), 1U);

    const Candidates candidates = candidates_of("product");
    Random random(2);
    std::set<std::vector<std::optional<float>>> different;
    for (int k = 0; k < 60; ++k) different.insert(comparable(row_of(kind, candidates.sampled(random, 0.5), machine())));
    EXPECT_GE(different.size(), 10U);
  }
}

TEST(FeatureKinds, KnobsAreDecisions) {
  const Candidates candidates = candidates_of("product");
  const Candidate candidate = candidates.preferred();
  const Row row = row_of(FeatureKind::kKnob, candidate, machine());
  EXPECT_GE(known(row), candidate.decisions().size() - 1) << "two names may share a column";
  EXPECT_LE(known(row), candidate.decisions().size());
  for (const auto& [name, value] : candidate.decisions())
    EXPECT_NE(std::find(row.begin(), row.end(), static_cast<float>(value)), row.end()) << name;
}

/// Of a map of 64 x 32 elements as it was lowered.
Candidate plain_map() {
  const kernel::test::Example example = {
      "elements", "s0 = map [64, 32] { in0[i0, i1]:float32 + in1[i1]:float32 }\noutput s0\n", {{64, 32}, {32}}};
  static const kernel::Space nothing = {};
  return Candidates(kernel::Schedule(kernel_of(example)), nothing, machine(), 0).preferred();
}

TEST(FeatureKinds, ItervarsSayLoopsFromTheInnermostOn) {
  const Row row = row_of(FeatureKind::kItervar, plain_map(), machine());
  constexpr size_t kOfALoop = 4 + 4 + 3 * 4;
  const auto at = [&](size_t loop, size_t number) { return row.at(loop * kOfALoop + number); };
  const auto log = [](double count) { return static_cast<float>(std::log2(1 + count)); };
  EXPECT_EQ(at(0, 0), log(32));
  EXPECT_EQ(at(1, 0), log(64));
  EXPECT_EQ(at(0, 1), 1) << "loops around it";
  EXPECT_EQ(at(0, 2), log(64 * 32));
  EXPECT_EQ(at(1, 2), log(64));
  EXPECT_EQ(at(0, 3), log(32));
  EXPECT_EQ(at(1, 3), log(64 * 32));
  EXPECT_EQ(at(0, 4), 1) << "serial";
  // What is written, in0, in1: the stride, elements that are touched, how often each is.
  EXPECT_EQ(at(0, 8), log(1));
  EXPECT_EQ(at(1, 8), log(32));
  EXPECT_EQ(at(1, 9), log(64 * 32));
  EXPECT_EQ(at(1, 10), log(1));
  EXPECT_EQ(at(1, 14), log(0));
  EXPECT_EQ(at(1, 15), log(32));
  EXPECT_EQ(at(1, 16), log(64));
  EXPECT_TRUE(std::isnan(at(2, 0))) << "there are no more loops";
}

TEST(FeatureKinds, CurvesAreSampledAtPowersOfTwo) {
  const Candidate candidate = plain_map();
  const Row once = row_of(FeatureKind::kCurve, candidate, machine());
  const Row all = row_of(FeatureKind::kCurveAll, candidate, machine());
  EXPECT_EQ(all.size(), 20 * once.size());
  // in1: of which rounds of the inner loop touch 32 elements once, those of the outer one the same 64 times. Where 2^6
  // rounds are reached: by the outer loop, of 6 in the logarithm.
  constexpr size_t kOfARelation = 2 * 20, kOfAnAccess = 4 * kOfARelation;
  const auto at = [&](size_t relation, size_t sample) {
    return std::pair(all.at(2 * kOfAnAccess + relation * kOfARelation + 2 * sample),
                     all.at(2 * kOfAnAccess + relation * kOfARelation + 2 * sample + 1));
  };
  EXPECT_TRUE(std::isnan(at(0, 4).first)) << "no loop touches so little";
  EXPECT_EQ(at(0, 5), std::pair(6.0F, 0.0F));
  EXPECT_EQ(at(0, 7), std::pair(6.0F, 2.0F));
  EXPECT_EQ(at(1, 0), std::pair(5.0F, 0.0F)) << "used once: 32 elements";
  EXPECT_EQ(at(3, 6), std::pair(5.0F, 0.0F));
  EXPECT_EQ(at(3, 11), std::pair(5.0F, 0.0F));
}

}  // namespace
}  // namespace isomer::tune::test
