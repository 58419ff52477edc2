#include "graph/te/algebra_prime.h"

#include "graph/te/integer.h"
#include "util/hash.h"

namespace isomer::te {
namespace {

using Field = PrimeFieldAlgebra;
constexpr int64_t kSmall = int64_t{1} << 32;

bool is_residue(uint64_t x) { return x < Field::kPrime; }
uint64_t negated(uint64_t x) { return x == 0 ? 0 : Field::kPrime - x; }

/// The integer of least magnitude that a residue stands for, when it is small.
std::optional<int64_t> small_integer(uint64_t x) {
  if (x < static_cast<uint64_t>(kSmall)) return static_cast<int64_t>(x);
  if (is_residue(x) && Field::kPrime - x < static_cast<uint64_t>(kSmall))
    return -static_cast<int64_t>(Field::kPrime - x);
  return std::nullopt;
}

}  // namespace

uint64_t Field::residue(__int128 integer) {
  const __int128 rest = integer % static_cast<__int128>(kPrime);
  return static_cast<uint64_t>(rest < 0 ? rest + kPrime : rest);
}

uint64_t Field::add(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}

uint64_t Field::multiply(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  // 2^61 = 1
  return add(static_cast<uint64_t>(product & kPrime), static_cast<uint64_t>(product >> 61));
}

uint64_t Field::power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base = multiply(base, base))
    if (exponent & 1) result = multiply(result, base);
  return result;
}

uint64_t Field::inverse(uint64_t a) { return power(a, kPrime - 2); }

uint64_t Field::hash(int function, uint64_t a, uint64_t b) const {
  Hasher hasher;
  hasher.add(seed_).add(static_cast<uint64_t>(function)).add(a).add(b);
  return residue(static_cast<__int128>(hasher.finish().low));
}

uint64_t Field::from_number(const Number& number) const {
  if (number.kind() == Number::Kind::kNan) return kNan;
  if (number.kind() == Number::Kind::kInfinity) return number.is_negative() ? kMinusInfinity : kInfinity;
  const uint64_t denominator = residue(number.denominator());
  if (denominator == 0) fail_unsupported("{} has no value modulo 2^61 - 1", number.text());
  // 2^61 = 1 makes every power of two one of 61.
  const uint64_t power_of_two = uint64_t{1} << floor_mod(number.exponent(), 61);
  return multiply(multiply(residue(number.numerator()), inverse(denominator)), power_of_two);
}

int64_t Field::to_integer(uint64_t value, DataType to) const {
  const auto small = small_integer(value);
  return wrap(to, small ? *small : static_cast<__int128>(hash(-1, value)) % kSmall);
}

bool Field::precedes(uint64_t a, uint64_t b) const {
  if (a == b || a == kInfinity || b == kMinusInfinity) return false;
  if (a == kMinusInfinity || b == kInfinity) return true;
  const uint64_t x = mix64(a ^ mix64(seed_)), y = mix64(b ^ mix64(seed_));
  return x < y;
}

bool Field::compare(BinaryOp op, uint64_t a, uint64_t b) const {
  if (a == kNan || b == kNan) return false;
  if (a == b) return op != BinaryOp::kLess;
  return op != BinaryOp::kEqual && precedes(a, b);
}

uint64_t Field::apply(UnaryOp op, uint64_t x) const {
  if (x == kNan) return x;
  switch (op) {
    case UnaryOp::kNeg:
      if (is_residue(x)) return negated(x);
      return x == kInfinity ? kMinusInfinity : kInfinity;
    case UnaryOp::kAbs: return apply(BinaryOp::kMax, x, apply(UnaryOp::kNeg, x));
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
      // A small integer, so that rounding again changes nothing.
      return small_integer(x) || !is_residue(x) ? x : hash(static_cast<int>(op), x) % static_cast<uint64_t>(kSmall);
    case UnaryOp::kExp:
      if (x == 0 || x == kMinusInfinity) return x == 0 ? 1 : 0;
      return x == kInfinity ? x : hash(static_cast<int>(op), x);
    case UnaryOp::kSqrt:
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
    case UnaryOp::kErf: return hash(static_cast<int>(op), x);
    case UnaryOp::kNot:
    case UnaryOp::kIsNan: break;
  }
  fail_unsupported("'not' of a real number has no meaning");
}

uint64_t Field::integer_operation(BinaryOp op, uint64_t a, uint64_t b) const {
  const auto x = small_integer(a), y = small_integer(b);
  if (op == BinaryOp::kPow && y && is_residue(a)) {
    if (*y >= 0) return power(a, static_cast<uint64_t>(*y));
    return a == 0 ? kNan : inverse(power(a, static_cast<uint64_t>(-*y)));
  }
  if (op == BinaryOp::kPow || !x || !y) return hash(64 + static_cast<int>(op), a, b);
  if (*y == 0) return kNan;
  if (op == BinaryOp::kFloorDiv) return residue(floor_div(*x, *y));
  return residue(op == BinaryOp::kFloorMod ? floor_mod(*x, *y) : *x % *y);
}

uint64_t Field::apply(BinaryOp op, uint64_t a, uint64_t b) const {
  if (a == kNan || b == kNan) return kNan;
  const bool finite = is_residue(a) && is_residue(b);
  switch (op) {
    case BinaryOp::kSub: return apply(BinaryOp::kAdd, a, apply(UnaryOp::kNeg, b));
    case BinaryOp::kAdd:
      if (finite) return add(a, b);
      if (is_residue(a) || is_residue(b)) return is_residue(a) ? b : a;
      return a == b ? a : kNan;
    case BinaryOp::kMul:
      // The sign of a residue is unknown; only that of infinity is not.
      if (finite) return multiply(a, b);
      if (is_residue(a) || is_residue(b)) return kNan;
      return a == b ? kInfinity : kMinusInfinity;
    case BinaryOp::kDiv:
      if (finite) return b == 0 ? kNan : multiply(a, inverse(b));
      return is_residue(a) ? 0 : kNan;
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod:
    case BinaryOp::kPow: return integer_operation(op, a, b);
    case BinaryOp::kMin: return precedes(b, a) ? b : a;
    case BinaryOp::kMax: return precedes(a, b) ? b : a;
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight:
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: break;
  }
  fail_unsupported("a bitwise operation on real numbers has no meaning");
}

}  // namespace isomer::te
