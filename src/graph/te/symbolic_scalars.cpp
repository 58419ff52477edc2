#include "graph/te/symbolic_scalars.h"

#include <algorithm>
#include <cstdlib>

#include "graph/te/algebra.h"
#include "graph/te/integer.h"
#include "graph/te/simplifier.h"
#include "graph/te/symbols.h"

namespace isomer::te {
namespace {

using Scalar = SymbolicScalars::Scalar;

/// Integers up to 2^n are exact in a type; beyond, a float would round them.
int exact_bits(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 11;
    case DataType::kBFloat16: return 8;
    case DataType::kFloat32: return 24;
    case DataType::kFloat64: return 53;
    default: return 63;
  }
}

/// The constant where the type holds it exactly.
Scalar representable(DataType dtype, int64_t value) {
  if (dtype == DataType::kUInt64 && value < 0) return std::nullopt;
  const int bits = exact_bits(dtype);
  const bool fits = bits == 63 || (value <= int64_t{1} << bits && value >= -(int64_t{1} << bits));
  return fits ? Scalar(Dim(value)) : std::nullopt;
}

/// Types in which a dim is taken to be what it is.
bool holds_dims(DataType dtype) {
  return (kIndices | DataType::kUInt32 | DataType::kUInt64 | DataType::kFloat32 | DataType::kFloat64).contains(dtype);
}

/// Shapes are computed of sizes below 2^15, and of numbers of elements below 2^40, in types of 32 bits as in others:
/// whether a sum of multiples of such is beyond what the type holds is looked at, products of sizes are taken to fit as
/// tensors of their shapes do. What may be below 0 is unknown in an unsigned type: it would wrap.
Scalar fitting(DataType dtype, Scalar value) {
  constexpr int kSizeBits = 15, kCountBits = 40;
  if (!value || value->is_constant()) return value;
  if (is_unsigned_int(dtype) && bounds(value->expr(), range_of_size).low.value_or(-1) < 0) return std::nullopt;
  const Polynomial sum = Simplifier({}).polynomial(value->expr());
  const int bits = is_float(dtype) ? exact_bits(dtype) : value_bits(dtype) - is_signed_int(dtype);
  const int64_t most = int64_t{1} << std::max(0, bits - (bits < kCountBits ? kSizeBits : kCountBits));
  int64_t total = std::abs(sum.constant);
  for (const Term& term : sum.terms) total = saturating_add(total, std::abs(term.coefficient));
  return sum.is_exact() && total <= most ? value : std::nullopt;
}

Scalar decided(const Expr& condition) {
  const auto value = as_constant(simplify_index(condition));
  return value ? Scalar(Dim(*value)) : std::nullopt;
}

Scalar power(int64_t base, int64_t exponent) {
  if (exponent < 0 || exponent > 62) return std::nullopt;
  __int128 result = 1;
  for (int64_t i = 0; i < exponent && result < kSaturated && result > -kSaturated; ++i) result *= base;
  return Dim(saturate(result));
}

/// Of reals that are integers; division only where it is exact.
Scalar of_constants(BinaryOp op, int64_t a, int64_t b) {
  switch (op) {
    case BinaryOp::kAdd: return Dim(saturating_add(a, b));
    case BinaryOp::kSub: return Dim(saturating_sub(a, b));
    case BinaryOp::kMul: return Dim(saturating_mul(a, b));
    case BinaryOp::kDiv: return b != 0 && a % b == 0 ? Scalar(Dim(a / b)) : std::nullopt;
    case BinaryOp::kFloorDiv: return b != 0 ? Scalar(Dim(floor_div(a, b))) : std::nullopt;
    case BinaryOp::kFloorMod: return b != 0 ? Scalar(Dim(floor_mod(a, b))) : std::nullopt;
    case BinaryOp::kTruncMod: return b != 0 ? Scalar(Dim(a % b)) : std::nullopt;
    case BinaryOp::kPow: return power(a, b);
    case BinaryOp::kMin: return Dim(std::min(a, b));
    case BinaryOp::kMax: return Dim(std::max(a, b));
    case BinaryOp::kEqual: return Dim(a == b);
    case BinaryOp::kLess: return Dim(a < b);
    case BinaryOp::kLessEqual: return Dim(a <= b);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return std::nullopt;
  }
  return std::nullopt;
}

/// Arithmetic that has grown beyond what a shape computation means is unknown: it may double with every operation.
Scalar bounded(Dim dim) {
  constexpr int64_t kMaxNodes = 512;
  return dim.is_constant() || node_count(dim.expr(), kMaxNodes) < kMaxNodes ? Scalar(std::move(dim)) : std::nullopt;
}

Scalar of_dims(BinaryOp op, DataType dtype, const Dim& a, const Dim& b) {
  switch (op) {
    case BinaryOp::kAdd: return bounded(a + b);
    case BinaryOp::kSub: return bounded(a - b);
    case BinaryOp::kMul: return bounded(a * b);
    case BinaryOp::kMin: return bounded(min(a, b));
    case BinaryOp::kMax: return bounded(max(a, b));
    case BinaryOp::kEqual:
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual: return decided(binary(op, a.expr(), b.expr()));
    case BinaryOp::kDiv:
      if (b.is(0)) return std::nullopt;
      if (!is_float(dtype)) return bounded(Dim(binary(op, a.expr(), b.expr())));
      return floor_mod(a, b).is(0) ? bounded(floor_div(a, b)) : std::nullopt;
    case BinaryOp::kFloorDiv: return b.is(0) ? std::nullopt : bounded(floor_div(a, b));
    case BinaryOp::kFloorMod: return b.is(0) ? std::nullopt : bounded(floor_mod(a, b));
    case BinaryOp::kTruncMod: return b.is(0) ? std::nullopt : bounded(Dim(binary(op, a.expr(), b.expr())));
    case BinaryOp::kPow:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Scalar SymbolicScalars::literal(const Number& value, DataType dtype) const {
  if (!value.is_integer() || !(value == Number(value.to_int64()))) return std::nullopt;
  return representable(dtype, value.to_int64());
}

Scalar SymbolicScalars::unary(UnaryOp op, DataType dtype, const Scalar& x) const {
  if (!x) return std::nullopt;
  const bool rounds = op == UnaryOp::kFloor || op == UnaryOp::kCeil || op == UnaryOp::kRound;
  if (rounds) return x;
  if (op == UnaryOp::kIsNan) return Dim(0);
  if (x->is_constant() && !is_float(dtype)) return representable(dtype, apply_integer(op, dtype, x->value()));
  if (op == UnaryOp::kNeg) return Dim(0) - *x;
  if (op == UnaryOp::kAbs) return Dim(abs(x->expr()));
  return std::nullopt;
}

Scalar SymbolicScalars::binary(BinaryOp op, DataType dtype, const Scalar& a, const Scalar& b) const {
  if (dtype == DataType::kBool && (op == BinaryOp::kAnd || op == BinaryOp::kOr))
    for (const Scalar& side : {a, b})
      if (side && side->is(op == BinaryOp::kOr)) return side;
  if (!a || !b) return std::nullopt;
  const DataType result = is_comparison(op) ? DataType::kBool : dtype;
  if (!a->is_constant() || !b->is_constant())
    return holds_dims(dtype) ? fitting(result, of_dims(op, dtype, *a, *b)) : std::nullopt;
  if (!is_float(dtype)) {
    const bool divides =
        op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv || op == BinaryOp::kFloorMod || op == BinaryOp::kTruncMod;
    if (divides && b->is(0)) return std::nullopt;
    return representable(result, apply_integer(op, dtype, a->value(), b->value()));
  }
  const Scalar exact = of_constants(op, a->value(), b->value());
  return exact ? representable(result, exact->value()) : std::nullopt;
}

Scalar SymbolicScalars::cast(DataType from, DataType to, const Scalar& x) const {
  if (!x) return std::nullopt;
  if (to == DataType::kBool) {
    const Scalar zero = x->is_constant() ? Scalar(Dim(x->is(0))) : decided(equal(x->expr(), te::index(0)));
    return zero ? Scalar(Dim(zero->is(0))) : std::nullopt;
  }
  if (!x->is_constant()) return holds_dims(from) && holds_dims(to) ? fitting(to, x) : std::nullopt;
  if (is_float(to)) return representable(to, x->value());
  const int64_t wrapped = wrap(to, x->value());
  if (is_float(from) && wrapped != x->value()) return std::nullopt;
  return representable(to, wrapped);
}

std::optional<bool> SymbolicScalars::truth(const Scalar& condition) const {
  if (!condition || !condition->is_constant()) return std::nullopt;
  return !condition->is(0);
}

}  // namespace isomer::te
