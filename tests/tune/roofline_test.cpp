// What the machine's limits allow.
#include "tune/roofline.h"

#include <gtest/gtest.h>

#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

constexpr Peaks kPeaks = {100, 50, 20, 10};

TEST(Rooflines, AreTheLargerOfArithmeticAndBytes) {
  const kernel::Kernel product = lowered("product");
  const double of_bytes = roofline_us(product, 0, kPeaks, Weights::kInMemory);
  EXPECT_GT(of_bytes, 0);
  EXPECT_DOUBLE_EQ(roofline_us(product, 1'000'000'000, kPeaks, Weights::kInMemory), 1e4);
  EXPECT_DOUBLE_EQ(roofline_us(product, 1, kPeaks, Weights::kInMemory), of_bytes);
}

TEST(Rooflines, KnowWhereWeightsLie) {
  const kernel::Kernel product = lowered("product");
  EXPECT_LT(roofline_us(product, 0, kPeaks, Weights::kInCache), roofline_us(product, 0, kPeaks, Weights::kInMemory));
}

}  // namespace
}  // namespace isomer::tune::test
