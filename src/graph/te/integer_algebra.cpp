#include "graph/te/integer_algebra.h"

#include "graph/te/failure.h"

namespace isomer::te {
namespace {

__int128 floor_quotient(__int128 a, __int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

int64_t power(DataType dtype, __int128 base, __int128 exponent) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, square = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent /= 2, square *= square)
    if (exponent % 2 == 1) result *= square;
  return wrap(dtype, static_cast<int64_t>(result));
}

int64_t shift(BinaryOp op, DataType dtype, __int128 value, __int128 count) {
  const bool all_out = count < 0 || count >= value_bits(dtype);
  if (op == BinaryOp::kShiftRight)
    return wrap(dtype, all_out ? (value < 0 ? -1 : 0) : value >> static_cast<int>(count));
  return wrap(dtype,
              all_out ? 0 : static_cast<__int128>(static_cast<unsigned __int128>(value) << static_cast<int>(count)));
}

}  // namespace

int64_t wrap(DataType dtype, __int128 value) {
  if (dtype == DataType::kBool) return value != 0;
  const int unused = 64 - value_bits(dtype);
  const uint64_t top = static_cast<uint64_t>(value) << unused;
  return is_signed_int(dtype) ? static_cast<int64_t>(top) >> unused : static_cast<int64_t>(top >> unused);
}

__int128 unwrap(DataType dtype, int64_t value) {
  return dtype == DataType::kUInt64 ? static_cast<__int128>(static_cast<uint64_t>(value)) : value;
}

int64_t apply_integer(UnaryOp op, DataType dtype, int64_t operand) {
  const __int128 x = unwrap(dtype, operand);
  switch (op) {
    case UnaryOp::kNeg: return wrap(dtype, -x);
    case UnaryOp::kAbs: return wrap(dtype, x < 0 ? -x : x);
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound: return operand;
    case UnaryOp::kNot: return dtype == DataType::kBool ? !operand : wrap(dtype, ~x);
    case UnaryOp::kIsNan: return 0;
    case UnaryOp::kSqrt:
    case UnaryOp::kExp:
    case UnaryOp::kLog:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kTan:
    case UnaryOp::kAsin:
    case UnaryOp::kAcos:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kCosh:
    case UnaryOp::kTanh:
    case UnaryOp::kAsinh:
    case UnaryOp::kAcosh:
    case UnaryOp::kAtanh:
    case UnaryOp::kErf: fail_unsupported("a transcendental function of {} has no meaning", name(dtype));
  }
  return 0;
}

int64_t apply_integer(BinaryOp op, DataType dtype, int64_t left, int64_t right) {
  const __int128 a = unwrap(dtype, left), b = unwrap(dtype, right);
  const auto divisor = [&] {
    if (b == 0) fail("an integer is divided by zero");
    return b;
  };
  switch (op) {
    case BinaryOp::kAdd: return wrap(dtype, a + b);
    case BinaryOp::kSub: return wrap(dtype, a - b);
    case BinaryOp::kMul:
      return wrap(dtype, static_cast<__int128>(static_cast<unsigned __int128>(a) * static_cast<unsigned __int128>(b)));
    case BinaryOp::kDiv: return wrap(dtype, a / divisor());
    case BinaryOp::kFloorDiv: return wrap(dtype, floor_quotient(a, divisor()));
    case BinaryOp::kFloorMod: return wrap(dtype, a - floor_quotient(a, divisor()) * b);
    case BinaryOp::kTruncMod: return wrap(dtype, a % divisor());
    case BinaryOp::kPow: return power(dtype, a, b);
    case BinaryOp::kMin: return wrap(dtype, a < b ? a : b);
    case BinaryOp::kMax: return wrap(dtype, a < b ? b : a);
    case BinaryOp::kAnd: return wrap(dtype, a & b);
    case BinaryOp::kOr: return wrap(dtype, a | b);
    case BinaryOp::kXor: return wrap(dtype, a ^ b);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return shift(op, dtype, a, b);
    case BinaryOp::kEqual: return a == b;
    case BinaryOp::kLess: return a < b;
    case BinaryOp::kLessEqual: return a <= b;
  }
  return 0;
}

}  // namespace isomer::te
