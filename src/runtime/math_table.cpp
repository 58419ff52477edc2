#include "runtime/math_table.h"

#include <array>
#include <cmath>

#include "runtime/kernel_abi.h"

namespace isomer::runtime {
namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);
using Any = void (*)();

Any unary(Unary function) { return reinterpret_cast<Any>(function); }
Any binary(Binary function) { return reinterpret_cast<Any>(function); }

}  // namespace

void (*const* math_table())() {
  // In the order of MathFunction.
  static const std::array<Any, static_cast<size_t>(MathFunction::kCount)> table = {
      unary(std::sin),  unary(std::cos),  unary(std::tan),   unary(std::asin),  unary(std::acos),  unary(std::atan),
      unary(std::sinh), unary(std::cosh), unary(std::asinh), unary(std::acosh), unary(std::atanh), unary(std::log),
      unary(std::exp),  unary(std::erf),  unary(std::tanh),  binary(std::pow),  binary(std::fmod)};
  return table.data();
}

}  // namespace isomer::runtime
