// Where functions of integers are integers, for algebras that are exact.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/te/expr.h"

namespace isomer::te {

/// f(x) for the transcendental functions and the square root at 0 and 1, where it is an integer.
inline std::optional<int> exact_point(UnaryOp op, int64_t x) {
  const auto only_at = [&](int64_t point, int value) { return x == point ? std::optional(value) : std::nullopt; };
  switch (op) {
    case UnaryOp::kSqrt: return x == 0 || x == 1 ? std::optional(static_cast<int>(x)) : std::nullopt;
    case UnaryOp::kExp:
    case UnaryOp::kCos:
    case UnaryOp::kCosh: return only_at(0, 1);
    case UnaryOp::kLog:
    case UnaryOp::kAcos:
    case UnaryOp::kAcosh: return only_at(1, 0);
    case UnaryOp::kSin:
    case UnaryOp::kTan:
    case UnaryOp::kAsin:
    case UnaryOp::kAtan:
    case UnaryOp::kSinh:
    case UnaryOp::kTanh:
    case UnaryOp::kAsinh:
    case UnaryOp::kAtanh:
    case UnaryOp::kErf: return only_at(0, 0);
    case UnaryOp::kNeg:
    case UnaryOp::kAbs:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kNot:
    case UnaryOp::kIsNan: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace isomer::te
