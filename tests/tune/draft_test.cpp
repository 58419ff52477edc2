// The draft: it sees what makes schedules slow, and the default schedules are among those that it likes.
#include "tune/draft.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

double drafted(const Candidate& candidate) {
  return drafted_cycles(features_of(candidate.made.kernel, machine()), machine());
}

TEST(Draft, IsANumberForEverySchedule) {
  for (const kernel::test::Example& example : kernel::test::examples()) {
    const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
    Random random(1);
    for (int k = 0; k < 10; ++k) {
      const double cycles = drafted(candidates.sampled(random, 0.5));
      ASSERT_FALSE(std::isnan(cycles)) << example.name;
      EXPECT_GT(cycles, 0) << example.name;
    }
  }
}

/// What people thought about is better than most of what is drawn.
TEST(Draft, PutsDefaultSchedulesBeforeMostOthers) {
  for (const char* name : {"product", "padded_convolution", "rows"}) {
    const Candidates candidates = candidates_of(name);
    const double preferred = drafted(candidates.preferred());
    Random random(2);
    int better = 0;
    constexpr int kDrawn = 60;
    for (int k = 0; k < kDrawn; ++k) better += drafted(candidates.sampled(random, 1)) < preferred;
    EXPECT_LE(better, kDrawn / 3) << name;
  }
}

/// A block of 2^16 points, 16 lanes, 4 written out; two accesses in order.
FeatureRow plain_row() {
  FeatureRow row = {};
  const auto logarithm = [](double number) { return static_cast<float>(std::log2(1 + number)); };
  row[kPoints] = logarithm(1 << 16);
  row[kSums] = 2;
  row[kLanes] = logarithm(16);
  row[kUnrolled] = logarithm(4);
  row[kBits] = 32;
  row[kResults] = logarithm(4);
  for (size_t k = 0; k < 2; ++k) {
    row[column_of(k, kAccessScope)] = 1;
    row[column_of(k, kAccessTile)] = logarithm(256);
    row[column_of(k, kAccessStride)] = 1;
    row[column_of(k, kAccessReuse)] = 1;
  }
  return row;
}

TEST(Draft, TakesLongerForWhatIsSlow) {
  const double plain = drafted_cycles({plain_row()}, machine());
  const auto with = [](Column column, float value) {
    FeatureRow row = plain_row();
    row[column] = value;
    return drafted_cycles({row}, machine());
  };
  EXPECT_GT(with(kSums, 20), plain);
  EXPECT_GT(with(kFunctions, 1), plain);
  EXPECT_GT(with(kLanes, 1), plain);
  EXPECT_GT(with(kResults, 6), plain);  // more than there are registers
  EXPECT_GT(with(kPastFirst, 24), plain);
  EXPECT_GT(with(kPastSecond, 24), with(kPastFirst, 24));
  double before = plain;
  for (const float depth : {1.F, 2.F}) {
    EXPECT_GT(with(kCondition, depth), before);
    before = with(kCondition, depth);
  }
  EXPECT_GT(with(kCondition, 3), plain);
  FeatureRow apart = plain_row();
  apart[column_of(1, kAccessStride)] = 2;
  EXPECT_GT(drafted_cycles({apart}, machine()), plain);
  EXPECT_DOUBLE_EQ(drafted_cycles({plain_row(), plain_row()}, machine()), 2 * plain);
}

TEST(Draft, WantsNoCodeWithoutEnd) {
  FeatureRow row = plain_row();
  row[kUnrolled] = 13;
  EXPECT_TRUE(std::isinf(drafted_cycles({row}, machine())));
}

}  // namespace
}  // namespace isomer::tune::test
