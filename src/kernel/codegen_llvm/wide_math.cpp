// Functions of floats in double precision, by vector code: rounded to float, the last bit may be another at most.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernel/codegen_llvm/lanes.h"
#include "kernel/codegen_llvm/math.h"
#include "kernel/unsupported.h"

namespace isomer::kernel::codegen {
namespace {

using runtime::MathFunction;

Lanes widely(Builder& build, llvm::Value* x, int lanes) {
  return {build, build.CreateFPExt(spread(build, x, lanes), widened(build.getDoubleTy(), lanes))};
}

Lanes narrow(Lanes x) { return x.made(x.build().CreateFPTrunc(x, widened(x.build().getFloatTy(), lanes_of(x)))); }

Lanes as_double(Lanes bits) {
  return bits.made(bits.build().CreateBitCast(bits, widened(bits.build().getDoubleTy(), lanes_of(bits))));
}

Lanes shifted_left(Lanes bits, int count) { return bits.made(bits.build().CreateShl(bits, count)); }
Lanes both(Lanes a, Lanes b) { return a.made(a.build().CreateAnd(a, b)); }
Lanes either(Lanes a, Lanes b) { return a.made(a.build().CreateOr(a, b)); }
Lanes operator!(Lanes a) { return a.made(a.build().CreateNot(a)); }

/// log2 of a positive double of ordinary size, 2^-36 of itself off: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log(m) =
/// 2 artanh(f) for f = (m - 1) / (m + 1).
Lanes log2(Lanes x) {
  const Lanes bits = x.bits();
  const Lanes k = bits.made(bits.build().CreateAShr(bits - bits.integer(0x3fe6a09e667f3bcd), 52));
  const Lanes m = as_double(bits - shifted_left(k, 52));
  const Lanes below = m - 1, above = m + 1, f = below / above, square = f * f;
  constexpr double kScale = 2 / std::numbers::ln2;
  const Lanes series =
      polynomial(square, {kScale, kScale / 3, kScale / 5, kScale / 7, kScale / 9, kScale / 11, kScale / 13});
  const Lanes whole = k.made(k.build().CreateTrunc(k, widened(k.build().getInt32Ty(), lanes_of(k))));
  const Lanes exponent = x.made(x.build().CreateSIToFP(whole, widened(x.build().getDoubleTy(), lanes_of(x))));
  return exponent + f * series;
}

Lanes log(Lanes x) { return log2(x) * std::numbers::ln2; }

/// 2^x of a double in [-1000, 1000], 2^-27 of itself off: x = n + r with r in [-1/2, 1/2].
Lanes exp2(Lanes x) {
  // Adding 1.5 * 2^52 + 1023 leaves n, with the exponent's bias, in the low bits.
  const double magic = 0x1.8p52 + 1023;
  const Lanes shifted = x + magic, n = shifted - magic;
  const Lanes r = (x - n) * std::numbers::ln2;
  const Lanes fraction = polynomial(r, {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040});
  return fraction * as_double(shifted_left(shifted.bits(), 52));
}

/// exp of a double that is not negative; what exceeds floats is infinite as a float.
Lanes exp_of_magnitude(Lanes x) {
  const Lanes scaled = x * std::numbers::log2e;
  return exp2(select(scaled > 1000, x.constant(1000), scaled));
}

/// The vector code's value where all lanes are `usual`; else the runtime's function, lane by lane, for all of them.
llvm::Value* unless_unusual(const Site& site, Lanes usual, Lanes value, MathFunction function,
                            const std::vector<llvm::Value*>& arguments) {
  Builder& build = site.build;
  llvm::Value* const all = lanes_of(usual) == 1 ? static_cast<llvm::Value*>(usual) : build.CreateAndReduce(usual);
  llvm::BasicBlock* const before = build.GetInsertBlock();
  auto* const calls = llvm::BasicBlock::Create(build.getContext(), "unusual", before->getParent());
  auto* const after = llvm::BasicBlock::Create(build.getContext(), "usual", before->getParent());
  build.CreateCondBr(all, after, calls);
  build.SetInsertPoint(calls);
  llvm::Value* const called = call_math(site, function, arguments);
  llvm::BasicBlock* const end_of_calls = build.GetInsertBlock();
  build.CreateBr(after);
  build.SetInsertPoint(after);
  llvm::PHINode* const result = build.CreatePHI(called->getType(), 2);
  result->addIncoming(value, before);
  result->addIncoming(called, end_of_calls);
  return result;
}

// Sine and cosine

constexpr double kLargestAngle = 0x1p20;

/// x = q pi/2 + r with r in [-pi/4, pi/4], for |x| up to kLargestAngle.
struct Quadrant {
  Lanes r, q;  ///< q: a 64-bit integer, of which the low bits count
};

Quadrant quadrant_of(Lanes x) {
  // pi/2 as a sum; multiples of the first part by integers below 2^20 are exact. Adding 1.5 * 2^52 rounds.
  constexpr double kHigh = 0x1.921fb544p+0, kLow = 0x1.0b4611a626331p-34, kMagic = 0x1.8p52;
  const Lanes shifted = x * (2 / std::numbers::pi) + kMagic, n = shifted - kMagic;
  const Lanes high = n * kHigh, low = n * kLow;
  return {x - high - low, shifted.bits()};
}

Lanes sin_in_quadrant(Lanes r) {
  return r * polynomial(r * r, {1, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880, -1.0 / 39916800});
}

Lanes cos_in_quadrant(Lanes r) {
  return polynomial(r * r, {1, -1.0 / 2, 1.0 / 24, -1.0 / 720, 1.0 / 40320, -1.0 / 3628800});
}

Lanes is_odd(Lanes q) { return q.made(q.build().CreateTrunc(q, widened(q.build().getInt1Ty(), lanes_of(q)))); }

/// The sine of r + q pi/2.
Lanes sin(Quadrant x) {
  const Lanes sine = sin_in_quadrant(x.r), cosine = cos_in_quadrant(x.r);
  const Lanes magnitude = select(is_odd(x.q), cosine, sine);
  // Bit 1 of q is the sign.
  const Lanes half = x.q.made(x.q.build().CreateLShr(x.q, 1)), sign = shifted_left(half, 63);
  return as_double(magnitude.made(magnitude.build().CreateXor(magnitude.bits(), sign)));
}

Lanes cos(Quadrant x) { return sin({x.r, x.q + x.q.integer(1)}); }

Lanes tan(Quadrant x) {
  const Lanes sine = sin_in_quadrant(x.r), cosine = cos_in_quadrant(x.r);
  const Lanes negated = sine.made(sine.build().CreateFNeg(sine));
  const Lanes odd = is_odd(x.q), above = select(odd, cosine, sine), below = select(odd, negated, cosine);
  return above / below;
}

llvm::Value* of_angle(const Site& site, llvm::Value* angle, MathFunction function, Lanes (*value)(Quadrant)) {
  const Lanes x = widely(site.build, angle, lanes_of(angle));
  const Lanes usual = abs(x) < kLargestAngle;
  return unless_unusual(site, usual, narrow(value(quadrant_of(x))), function, {angle});
}

// Hyperbolic functions

Lanes sinh(Lanes x) {
  const Lanes a = abs(x);
  const Lanes near = a * polynomial(a * a, {1, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880, 1.0 / 39916800});
  const Lanes power = exp_of_magnitude(a), inverse = 1 / power, far = (power - inverse) * 0.5;
  return with_sign_of(select(a < 1, near, far), x);
}

Lanes cosh(Lanes x) {
  const Lanes power = exp_of_magnitude(abs(x)), inverse = 1 / power;
  return (power + inverse) * 0.5;
}

/// The logarithm of what is about 1 + a says nothing of a small a.
constexpr double kSmall = 0x1p-10;

Lanes asinh(Lanes x) {
  const Lanes a = abs(x), square = a * a;
  const Lanes near = a * (1 - square * (1.0 / 6)), far = log(a + sqrt(square + 1));
  const Lanes finite = select(a < kSmall, near, far);
  return with_sign_of(select(a < HUGE_VAL, finite, a), x);  // infinity and NaN are their own
}

Lanes acosh(Lanes x) {
  const Lanes value = log(x + sqrt(x * x - 1));
  const Lanes large = select(x < HUGE_VAL, value, x);
  const Lanes has_value = x.made(x.build().CreateFCmpOGE(x, x.constant(1)));
  return select(has_value, large, x.constant(NAN));
}

Lanes atanh(Lanes x) {
  const Lanes a = abs(x), more = a + 1, less = 1 - a;
  const Lanes near = a * (a * a * (1.0 / 3) + 1), far = log(more / less) * 0.5;
  const Lanes within = select(a < kSmall, near, far);
  const Lanes beyond = select(a == 1, x.constant(HUGE_VAL), x.constant(NAN));
  return with_sign_of(select(a < 1, within, beyond), x);
}

}  // namespace

llvm::Value* float_function(const Site& site, te::UnaryOp op, llvm::Value* x) {
  const auto of = [&](Lanes (*function)(Lanes)) -> llvm::Value* {
    return narrow(function(widely(site.build, x, lanes_of(x))));
  };
  switch (op) {
    case te::UnaryOp::kSin: return of_angle(site, x, MathFunction::kSin, sin);
    case te::UnaryOp::kCos: return of_angle(site, x, MathFunction::kCos, cos);
    case te::UnaryOp::kTan: return of_angle(site, x, MathFunction::kTan, tan);
    case te::UnaryOp::kSinh: return of(sinh);
    case te::UnaryOp::kCosh: return of(cosh);
    case te::UnaryOp::kAsinh: return of(asinh);
    case te::UnaryOp::kAcosh: return of(acosh);
    case te::UnaryOp::kAtanh: return of(atanh);
    default: break;
  }
  fail_unsupported("no function over float that is computed in double precision");
}

/// |x|^y = 2^(y log2 |x|) in double precision, with C's special values: a negative x has powers of integers only.
llvm::Value* float_pow(const Site& site, llvm::Value* base, llvm::Value* exponent) {
  Builder& build = site.build;
  const int lanes = std::max(lanes_of(base), lanes_of(exponent));
  const Lanes x = widely(build, base, lanes), y = widely(build, exponent, lanes), magnitude = abs(x), half = y * 0.5;
  const auto is_whole = [&](Lanes a) { return a == a.made(codegen::floor(site, a)); };
  // Infinity and NaN are their own logarithms.
  const Lanes is_zero = magnitude == 0, is_finite = magnitude < HUGE_VAL, usual = log2(magnitude);
  const Lanes logarithm = select(is_finite, select(is_zero, x.constant(-HUGE_VAL), usual), magnitude);
  const Lanes scaled = y * logarithm, below = select(scaled > 1000, x.constant(1000), scaled);
  const Lanes within = select(below < -1000, x.constant(-1000), below);
  const Lanes has_y = y == y, is_unit = magnitude == 1, raised = exp2(within);
  const Lanes power = select(both(is_unit, has_y), x.constant(1), raised);
  const Lanes whole = is_whole(y), even = is_whole(half), is_odd = both(whole, !even), is_negative = x < 0;
  const Lanes no_number = both(is_negative, both(has_y, !whole));
  const Lanes real = select(both(no_number, is_finite), x.constant(NAN), power);
  const Lanes result = select(is_odd, with_sign_of(real, x), real);
  const Lanes no_power = y == 0, is_one = x == 1;
  return narrow(select(either(no_power, is_one), x.constant(1), result));
}

/// |a| - q |b| for the whole quotient q, which is exact below 2^29, where q |b| has 53 bits; with the sign of a.
llvm::Value* float_fmod(const Site& site, llvm::Value* dividend, llvm::Value* divisor) {
  Builder& build = site.build;
  const int lanes = std::max(lanes_of(dividend), lanes_of(divisor));
  dividend = spread(build, dividend, lanes);
  divisor = spread(build, divisor, lanes);
  const Lanes a = widely(build, dividend, lanes), b = abs(widely(build, divisor, lanes)), magnitude = abs(a);
  const Lanes quotient = magnitude / b, whole = a.made(codegen::floor(site, quotient));
  const Lanes rest = magnitude - whole * b;
  // The rounded quotient may be the next integer.
  const Lanes next = rest + b, corrected = select(rest < 0, next, rest);
  const Lanes is_small = quotient < 0x1p29, is_finite = b < HUGE_VAL, is_usual = both(is_small, is_finite);
  return unless_unusual(site, is_usual, narrow(with_sign_of(corrected, a)), MathFunction::kFmod, {dividend, divisor});
}

}  // namespace isomer::kernel::codegen
