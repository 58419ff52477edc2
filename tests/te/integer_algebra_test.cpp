#include "graph/te/integer_algebra.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/te/failure.h"

namespace isomer::te {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kGreatest = std::numeric_limits<int64_t>::max();

/// All pairs of an eight-bit type against the processor's arithmetic.
template <class T>
void check_all_pairs(DataType dtype) {
  for (int a = std::numeric_limits<T>::min(); a <= std::numeric_limits<T>::max(); ++a) {
    for (int b = std::numeric_limits<T>::min(); b <= std::numeric_limits<T>::max(); ++b) {
      const auto of = [&](BinaryOp op) { return apply_integer(op, dtype, a, b); };
      ASSERT_EQ(of(BinaryOp::kAdd), static_cast<T>(a + b));
      ASSERT_EQ(of(BinaryOp::kSub), static_cast<T>(a - b));
      ASSERT_EQ(of(BinaryOp::kMul), static_cast<T>(a * b));
      ASSERT_EQ(of(BinaryOp::kAnd), static_cast<T>(a & b));
      ASSERT_EQ(of(BinaryOp::kXor), static_cast<T>(a ^ b));
      ASSERT_EQ(of(BinaryOp::kLess), a < b);
      ASSERT_EQ(of(BinaryOp::kMin), std::min(a, b));
      if (b >= 0 && b < 8) {
        ASSERT_EQ(of(BinaryOp::kShiftLeft), static_cast<T>(static_cast<unsigned>(a) << b));
        ASSERT_EQ(of(BinaryOp::kShiftRight), static_cast<T>(a >> b));
      } else {
        ASSERT_EQ(of(BinaryOp::kShiftLeft), 0);
      }
      if (b == 0) {
        ASSERT_THROW(of(BinaryOp::kFloorDiv), Failure);
        continue;
      }
      ASSERT_EQ(of(BinaryOp::kDiv), static_cast<T>(a / b));
      ASSERT_EQ(of(BinaryOp::kTruncMod), static_cast<T>(a % b));
      const int quotient = static_cast<int>(std::floor(static_cast<double>(a) / b));
      ASSERT_EQ(of(BinaryOp::kFloorDiv), static_cast<T>(quotient));
      ASSERT_EQ(of(BinaryOp::kFloorMod), static_cast<T>(a - b * quotient));
    }
    ASSERT_EQ(apply_integer(UnaryOp::kNeg, dtype, a), static_cast<T>(-a));
    ASSERT_EQ(apply_integer(UnaryOp::kAbs, dtype, a), static_cast<T>(std::abs(a)));
    ASSERT_EQ(apply_integer(UnaryOp::kNot, dtype, a), static_cast<T>(~a));
  }
}

TEST(IntegerAlgebra, int8_is_the_processors) { check_all_pairs<int8_t>(DataType::kInt8); }
TEST(IntegerAlgebra, uint8_is_the_processors) { check_all_pairs<uint8_t>(DataType::kUInt8); }

TEST(IntegerAlgebra, the_widest_types_neither_trap_nor_confuse_signs) {
  struct Row {
    BinaryOp op;
    DataType dtype;
    int64_t a, b, expected;
  };
  const DataType i64 = DataType::kInt64, u64 = DataType::kUInt64;
  const Row rows[] = {
      {BinaryOp::kDiv, i64, kLeast, -1, kLeast},
      {BinaryOp::kTruncMod, i64, kLeast, -1, 0},
      {BinaryOp::kFloorMod, i64, kLeast, -1, 0},
      {BinaryOp::kAdd, i64, kGreatest, 1, kLeast},
      {BinaryOp::kMul, i64, kLeast, kLeast, 0},
      {BinaryOp::kMul, i64, kGreatest, kGreatest, 1},
      {BinaryOp::kDiv, u64, -1, 2, kGreatest},
      {BinaryOp::kFloorDiv, u64, -1, 2, kGreatest},
      {BinaryOp::kFloorMod, u64, -1, 10, 5},
      {BinaryOp::kMul, u64, -1, -1, 1},
      {BinaryOp::kLess, u64, -1, 1, 0},
      {BinaryOp::kMax, u64, -1, 1, -1},
      {BinaryOp::kShiftRight, u64, -1, 63, 1},
      {BinaryOp::kShiftRight, u64, -1, 64, 0},
      {BinaryOp::kShiftRight, i64, -8, 1, -4},
      {BinaryOp::kShiftRight, i64, -8, 1000, -1},
      {BinaryOp::kShiftLeft, i64, 1, 63, kLeast},
      {BinaryOp::kShiftLeft, i64, 1, -1, 0},
      {BinaryOp::kPow, i64, 3, 4, 81},
      {BinaryOp::kPow, i64, -1, -3, -1},
      {BinaryOp::kPow, i64, 2, -1, 0},
      {BinaryOp::kPow, i64, 2, 64, 0},
      {BinaryOp::kPow, u64, 3, -1, -6148914691236517205},
      {BinaryOp::kAnd, DataType::kBool, 1, 0, 0},
      {BinaryOp::kAdd, DataType::kBool, 1, 1, 1},
  };
  for (const Row& row : rows)
    EXPECT_EQ(apply_integer(row.op, row.dtype, row.a, row.b), row.expected)
        << static_cast<int>(row.op) << " of " << row.a << " and " << row.b;
  EXPECT_EQ(apply_integer(UnaryOp::kNot, DataType::kBool, 1), 0);
  EXPECT_EQ(apply_integer(UnaryOp::kAbs, i64, kLeast), kLeast);
}

}  // namespace
}  // namespace isomer::te
