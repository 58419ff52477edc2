// What the machine's limits allow.
#include "tune/roofline.h"

#include <fmt/format.h>
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

/// The machine multiplies more of them in an instruction than the floats by which its peak was measured.
TEST(Rooflines, OfNarrowNumbersAreThoseOfBytes) {
  const auto of = [](const std::string& name, DataType type) {
    const kernel::test::Example example = {
        "",
        fmt::format("s0 = reduce [64, 64] over [64] with sum:int32 {{ int32(in0[i0, r0]:{0})*int32(in1[r0, i1]:{0}) "
                    "}}\noutput s0\n",
                    name),
        {{64, 64}, {64, 64}},
        type};
    return roofline_us(kernel_of(example), 1'000'000'000, kPeaks, Weights::kInMemory);
  };
  EXPECT_DOUBLE_EQ(of("int32", DataType::kInt32), 1e4);
  EXPECT_LT(of("int8", DataType::kInt8), 10);
}

/// Of one of 16 MB they don't.
TEST(Rooflines, OfSmallModelsAreThoseOfTheSecondCache) {
  const auto of = [](int64_t size) {
    const kernel::test::Example example = {
        "", fmt::format("s0 = map [{}] {{ in0[0]:float32*in1[i0]:float32 }}\noutput s0\n", size), {{1}, {size}}};
    return roofline_us(kernel_of(example), 0, kPeaks, Weights::kInCache);
  };
  EXPECT_DOUBLE_EQ(of(1024), (2 * 4096 + 4) / kPeaks.second / 1e3);
  EXPECT_GT(of(4 << 20), (4 << 22) / kPeaks.last / 1e3);
}

}  // namespace
}  // namespace isomer::tune::test
