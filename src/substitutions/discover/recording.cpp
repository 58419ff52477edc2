#include "substitutions/discover/recording.h"

#include <algorithm>

#include "graph/te/failure.h"
#include "util/hash.h"

namespace isomer::substitutions {
namespace {

using Kind = Operation::Kind;
constexpr int64_t kMaxPower = 64;
constexpr uint32_t kNothing = ~uint32_t{0};

size_t hash_of(const Operation& o) {
  return mix64((uint64_t{o.a} << 32 | o.b) ^ (static_cast<uint64_t>(o.kind) << 8 | o.function) * 0x9e3779b97f4a7c15ULL);
}

}  // namespace

uint32_t Recording::add(Operation operation) {
  if (2 * operations_.size() >= known_.size()) grow();
  for (size_t at = hash_of(operation);; ++at) {
    uint32_t& known = known_[at & (known_.size() - 1)];
    if (known == kNothing) {
      known = static_cast<uint32_t>(operations_.size());
      operations_.push_back(operation);
      return known;
    }
    if (operations_[known] == operation) return known;
  }
}

void Recording::grow() {
  known_.assign(2 * known_.size(), kNothing);
  for (uint32_t k = 0; k < operations_.size(); ++k) {
    size_t at = hash_of(operations_[k]) & (known_.size() - 1);
    while (known_[at] != kNothing) at = (at + 1) & (known_.size() - 1);
    known_[at] = k;
  }
}

uint32_t Recording::number(const te::Number& value) {
  for (size_t k = 0; k < literals_.size(); ++k)
    if (literals_[k] == value) return numbers_[k];
  literals_.push_back(value);
  numbers_.push_back(add({Kind::kLiteral, 0, static_cast<uint32_t>(literals_.size()) - 1, 0}));
  return numbers_.back();
}

const te::Number* Recording::constant(uint32_t operation) const {
  const Operation& o = operations_[operation];
  return o.kind == Kind::kLiteral ? &literals_[o.a] : nullptr;
}

uint32_t Recording::commutative(Kind kind, uint32_t a, uint32_t b) {
  return add({kind, 0, std::min(a, b), std::max(a, b)});
}

uint32_t Recording::sum(uint32_t a, uint32_t b) {
  if (const auto* x = constant(a); x && x->equals(0)) return b;
  if (const auto* y = constant(b); y && y->equals(0)) return a;
  return commutative(Kind::kAdd, a, b);
}

uint32_t Recording::product(uint32_t a, uint32_t b) {
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    const auto* x = constant(one);
    if (x && x->equals(0)) return one;
    if (x && x->equals(1)) return other;
  }
  return commutative(Kind::kMultiply, a, b);
}

uint32_t Recording::quotient(uint32_t a, uint32_t b) {
  const auto* y = constant(b);
  if (y && y->is_integer() && !y->equals(0)) return product(a, number(te::Number::fraction(1, y->to_int64())));
  return add({Kind::kDivide, 0, a, b});
}

uint32_t Recording::extreme(Kind kind, uint32_t a, uint32_t b) {
  if (a == b) return a;
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    const auto* x = constant(one);
    if (x && x->kind() == te::Number::Kind::kInfinity) return x->is_negative() == (kind == Kind::kMax) ? other : one;
  }
  return commutative(kind, a, b);
}

uint32_t Recording::power(te::BinaryOp op, uint32_t a, uint32_t b) {
  const auto* exponent = constant(b);
  if (!exponent || !exponent->is_integer() || exponent->is_negative() || exponent->to_int64() > kMaxPower)
    return add({Kind::kBinary, static_cast<uint8_t>(op), a, b});
  uint32_t result = number(1);
  for (int64_t k = exponent->to_int64(); k > 0; --k) result = product(result, a);
  return result;
}

uint32_t Recording::unary(te::UnaryOp op, uint32_t x) {
  switch (op) {
    case te::UnaryOp::kNeg: return product(number(-1), x);
    case te::UnaryOp::kAbs: return extreme(Kind::kMax, x, product(number(-1), x));
    case te::UnaryOp::kNot:
    case te::UnaryOp::kIsNan: te::fail_unsupported("data decide");
    case te::UnaryOp::kFloor:
    case te::UnaryOp::kCeil:
    case te::UnaryOp::kRound:
    case te::UnaryOp::kSqrt:
    case te::UnaryOp::kExp:
    case te::UnaryOp::kLog:
    case te::UnaryOp::kSin:
    case te::UnaryOp::kCos:
    case te::UnaryOp::kTan:
    case te::UnaryOp::kAsin:
    case te::UnaryOp::kAcos:
    case te::UnaryOp::kAtan:
    case te::UnaryOp::kSinh:
    case te::UnaryOp::kCosh:
    case te::UnaryOp::kTanh:
    case te::UnaryOp::kAsinh:
    case te::UnaryOp::kAcosh:
    case te::UnaryOp::kAtanh:
    case te::UnaryOp::kErf: break;
  }
  return add({Kind::kUnary, static_cast<uint8_t>(op), x, 0});
}

uint32_t Recording::binary(te::BinaryOp op, uint32_t a, uint32_t b) {
  switch (op) {
    case te::BinaryOp::kAdd: return sum(a, b);
    case te::BinaryOp::kSub: return sum(a, product(number(-1), b));
    case te::BinaryOp::kMul: return product(a, b);
    case te::BinaryOp::kDiv: return quotient(a, b);
    case te::BinaryOp::kMax: return extreme(Kind::kMax, a, b);
    case te::BinaryOp::kMin: return extreme(Kind::kMin, a, b);
    case te::BinaryOp::kPow: return power(op, a, b);
    case te::BinaryOp::kFloorDiv:
    case te::BinaryOp::kFloorMod:
    case te::BinaryOp::kTruncMod: return add({Kind::kBinary, static_cast<uint8_t>(op), a, b});
    case te::BinaryOp::kAnd:
    case te::BinaryOp::kOr:
    case te::BinaryOp::kXor:
    case te::BinaryOp::kShiftLeft:
    case te::BinaryOp::kShiftRight:
    case te::BinaryOp::kEqual:
    case te::BinaryOp::kLess:
    case te::BinaryOp::kLessEqual: break;
  }
  te::fail_unsupported("data decide");
}

}  // namespace isomer::substitutions
