// Functions of libm on values of any number of lanes.
#pragma once

#include "kernel/codegen_llvm/site.h"

namespace isomer::kernel::codegen {

// Vector code over float, at most 2 units in the last place or 2^-125 off (tests/kernel/math_test.cpp), right at
// infinities, NaN, overflow and underflow. Subnormal numbers are zeros, as everywhere in kernels.
llvm::Value* float_exp(Builder& build, llvm::Value* x);
llvm::Value* float_log(Builder& build, llvm::Value* x);
llvm::Value* float_tanh(Builder& build, llvm::Value* x);
llvm::Value* float_erf(Builder& build, llvm::Value* x);
llvm::Value* float_asin(Builder& build, llvm::Value* x);
llvm::Value* float_acos(Builder& build, llvm::Value* x);
llvm::Value* float_atan(Builder& build, llvm::Value* x);

// Vector code over double (double_math.cpp), at most 2 units in the last place off, right where those over float are.
llvm::Value* double_exp(Builder& build, llvm::Value* x);
llvm::Value* double_log(Builder& build, llvm::Value* x);
llvm::Value* double_tanh(Builder& build, llvm::Value* x);

// Vector code in double precision (wide_math.cpp), at most 1 unit in the last place off.
/// sin, cos, tan; sinh, cosh and the inverses of hyperbolic functions.
llvm::Value* float_function(const Site& site, te::UnaryOp op, llvm::Value* x);
llvm::Value* float_pow(const Site& site, llvm::Value* base, llvm::Value* exponent);
/// C's fmod, exact.
llvm::Value* float_fmod(const Site& site, llvm::Value* dividend, llvm::Value* divisor);

// Roundings, for float and double; targets without SSE 4.1 have no instruction for them.
llvm::Value* floor(const Site& site, llvm::Value* x);
llvm::Value* ceil(const Site& site, llvm::Value* x);
llvm::Value* round_to_even(const Site& site, llvm::Value* x);

/// Calls the runtime's function in double precision, lane by lane; arguments and result are float or double.
llvm::Value* call_math(const Site& site, runtime::MathFunction function, std::vector<llvm::Value*> arguments);

}  // namespace isomer::kernel::codegen
