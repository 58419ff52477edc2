#include <cmath>

#include "kernel/codegen_llvm/lanes.h"
#include "kernel/codegen_llvm/math.h"

namespace isomer::kernel::codegen {
namespace {

// ln 2 as a sum; multiples of the first part by integers below 2^20 are exact.
constexpr double kLn2First = 0x1.62e42feep-1;
constexpr double kLn2Rest = 0x1.a39ef35793c76p-33;

Lanes as_double(Lanes bits) {
  return bits.made(bits.build().CreateBitCast(bits, widened(bits.build().getDoubleTy(), lanes_of(bits))));
}

/// x = n ln 2 + r with r in [-ln 2 / 2, ln 2 / 2].
struct Reduced {
  Lanes scale;  ///< 2^(n - 1): n - 1 = 1023 is an exponent of doubles, of which n = 1024 is none
  Lanes less;   ///< exp(r) - 1
};

/// Of x in [-709, 709.8].
Reduced reduced(Lanes x) {
  const auto [shifted, r] = reduced_by_ln2(x, 0x1.8p52 + 1022, kLn2First, kLn2Rest);  // with the exponent's bias
  const Lanes bits = shifted.bits();
  const Lanes scale = as_double(bits.made(bits.build().CreateShl(bits, 52)));
  // Taylor's: what is left out is below 2^-58.
  return {scale, r + r * (r * polynomial(r, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5'040,
                                             1.0 / 40'320, 1.0 / 362'880, 1.0 / 3'628'800, 1.0 / 39'916'800,
                                             1.0 / 479'001'600, 1.0 / 6'227'020'800}))};
}

}  // namespace

llvm::Value* double_exp(Builder& build, llvm::Value* value) {
  const Lanes given(build, value);
  // Comparisons in this order let NaN through.
  const Lanes below = select(given > 709.8, given.constant(709.8), given);
  const Lanes x = select(below < -709, below.constant(-709), below);
  const Reduced parts = reduced(x);
  const Lanes twice = (parts.less + 1) * 2;
  return select(given < -708.396418532264, given.constant(0), twice * parts.scale);
}

/// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log(m) = 2 atanh(s) for s = f / (2 + f), f = m - 1.
llvm::Value* double_log(Builder& build, llvm::Value* value) {
  const Lanes x(build, value);
  const Lanes bits = x.bits();
  const Lanes k = bits.made(build.CreateAShr(bits - bits.integer(0x3fe6a09e667f3bcd), 52));
  const Lanes f = as_double(bits - k.made(build.CreateShl(k, 52))) - 1;
  const Lanes exponent = k.made(build.CreateSIToFP(k, value->getType()));
  const Lanes s = f / (f + 2), square = s * s, half = f * f * 0.5;
  const Lanes tail = square * polynomial(square, {2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11, 2.0 / 13, 2.0 / 15,
                                                  2.0 / 17, 2.0 / 19, 2.0 / 21});
  const Lanes low = s * (half + tail) + exponent * kLn2Rest;
  const Lanes finite = exponent * kLn2First - ((half - low) - f);
  const Lanes positive = select(x < INFINITY, finite, x);  // infinity and NaN are their own logarithms
  const Lanes not_positive = select(x == 0, x.constant(-HUGE_VAL), x.constant(NAN));
  return select(x.made(build.CreateFCmpOLE(x, x.constant(0))), not_positive, positive);
}

/// e / (e + 2) for e = exp(2|x|) - 1.
llvm::Value* double_tanh(Builder& build, llvm::Value* value) {
  const Lanes x(build, value);
  const Lanes magnitude = abs(x), a = select(magnitude > 20, x.constant(20), magnitude);
  const Reduced parts = reduced(a + a);
  const Lanes scale = parts.scale * 2;
  const Lanes e = scale * parts.less + (scale - 1);
  return with_sign_of(e / (e + 2), x);
}

}  // namespace isomer::kernel::codegen
