#include "kernel/codegen_llvm/math.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>

namespace isomer::kernel::codegen {
namespace {

/// A value with the operators of C++, for formulas.
class Lanes {
 public:
  Lanes(Builder& build, llvm::Value* value) : build_(&build), value_(value) {}
  operator llvm::Value*() const { return value_; }
  Builder& build() const { return *build_; }
  Lanes made(llvm::Value* value) const { return {*build_, value}; }
  Lanes constant(double x) const { return made(llvm::ConstantFP::get(value_->getType(), x)); }
  Lanes integer(int64_t x) const { return made(llvm::ConstantInt::get(bits_type(), static_cast<uint64_t>(x), true)); }
  Lanes bits() const { return made(build_->CreateBitCast(value_, bits_type())); }
  Lanes as_float() const {
    return made(build_->CreateBitCast(value_, widened(build_->getFloatTy(), lanes_of(value_))));
  }
  Lanes converted() const {
    return made(build_->CreateSIToFP(value_, widened(build_->getFloatTy(), lanes_of(value_))));
  }

 private:
  llvm::Type* bits_type() const {
    return widened(build_->getIntNTy(value_->getType()->getScalarSizeInBits()), lanes_of(value_));
  }
  Builder* build_;
  llvm::Value* value_;
};

bool is_integer(const Lanes& a) { return static_cast<llvm::Value*>(a)->getType()->isIntOrIntVectorTy(); }
Lanes operator+(Lanes a, Lanes b) {
  return a.made(is_integer(a) ? a.build().CreateAdd(a, b) : a.build().CreateFAdd(a, b));
}
Lanes operator-(Lanes a, Lanes b) {
  return a.made(is_integer(a) ? a.build().CreateSub(a, b) : a.build().CreateFSub(a, b));
}
Lanes operator*(Lanes a, Lanes b) { return a.made(a.build().CreateFMul(a, b)); }
Lanes operator/(Lanes a, Lanes b) { return a.made(a.build().CreateFDiv(a, b)); }
Lanes operator+(Lanes a, double b) { return a + a.constant(b); }
Lanes operator-(Lanes a, double b) { return a - a.constant(b); }
Lanes operator*(Lanes a, double b) { return a * a.constant(b); }
Lanes operator-(double a, Lanes b) { return b.constant(a) - b; }
Lanes operator/(double a, Lanes b) { return b.constant(a) / b; }
Lanes operator<(Lanes a, double b) { return a.made(a.build().CreateFCmpOLT(a, a.constant(b))); }
Lanes operator>(Lanes a, double b) { return a.made(a.build().CreateFCmpOGT(a, a.constant(b))); }
Lanes operator==(Lanes a, double b) { return a.made(a.build().CreateFCmpOEQ(a, a.constant(b))); }
Lanes select(Lanes condition, Lanes then, Lanes otherwise) {
  return then.made(then.build().CreateSelect(condition, then, otherwise));
}
Lanes abs(Lanes a) { return a.made(a.build().CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a)); }
Lanes with_sign_of(Lanes a, Lanes sign) {
  return a.made(a.build().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, sign));
}

/// c[0] + x * (c[1] + x * …)
Lanes polynomial(Lanes x, std::initializer_list<double> coefficients) {
  auto next = std::rbegin(coefficients);
  Lanes sum = x.constant(*next);
  while (++next != std::rend(coefficients)) sum = sum * x + *next;
  return sum;
}

// ln 2 as a sum; multiples of the first part by integers below 2^15 are exact.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Low = -0x1.bd0105c610ca8p-13;

/// exp of x in [-87.3, 88.8]: x = n ln 2 + r with r in [-ln 2 / 2, ln 2 / 2], 2 exp(r) by a polynomial, times 2^(n -
/// 1): n - 1 = 127 is an exponent of floats, of which n = 128 is none. 0 below 2^-125.5, infinity above.
Lanes exp_in_range(Lanes x) {
  // Adding 1.5 * 2^23 + 126 leaves the rounded quotient, with the exponent's bias, in the low bits.
  const double magic = 0x1.8p23 + 126;
  const Lanes shifted = x * 0x1.71547652b82fep0 + magic;
  const Lanes n = shifted - magic;
  const Lanes high = x - n * kLn2High, low = n * kLn2Low;
  const Lanes r = high - low;
  const Lanes fraction = polynomial(r, {2, 2, 1.000000119, 0.3333272934, 0.08332954347, 0.01675811782, 0.00281228451});
  const Lanes bits = shifted.bits();
  return fraction * bits.made(bits.build().CreateShl(bits, 23)).as_float();
}

Lanes exp(Lanes x) {
  // Comparisons in this order let NaN through.
  x = select(x > 88.8, x.constant(88.8), x);
  return exp_in_range(select(x < -87.3, x.constant(-87.3), x));
}

/// x = 2^k m with m in [sqrt(1/2), sqrt(2)); log(m) = f - f^2/2 + f^3 P(f) for f = m - 1.
Lanes log(Lanes x) {
  const Lanes bits = x.bits();
  const Lanes k = bits.made(bits.build().CreateAShr(bits - bits.integer(0x3f3504f3), 23));
  const Lanes f = (bits - k.made(k.build().CreateShl(k, 23))).as_float() - 1;
  const Lanes exponent = k.converted();
  const Lanes square = f * f;
  const Lanes tail = polynomial(f, {0.333333102, -0.249999852, 0.200022468, -0.166693481, 0.142182668, -0.123823057,
                                    0.118741395, -0.118031758, 0.0692893381});
  const Lanes cubic = f * square * tail, low = exponent * kLn2Low, half = square * 0.5, high = exponent * kLn2High;
  const Lanes finite = (cubic + low - half + f) + high;
  const Lanes positive = select(x < INFINITY, finite, x);  // infinity and NaN are their own logarithms
  const Lanes not_positive = select(x == 0, x.constant(-HUGE_VAL), x.constant(NAN));
  const Lanes is_not_positive = x.made(x.build().CreateFCmpOLE(x, x.constant(0)));
  return select(is_not_positive, not_positive, positive);
}

/// Near 0 an odd polynomial, else 1 - 2 / (exp(2|x|) + 1), of which 9.1 is the last argument that matters.
Lanes tanh(Lanes x) {
  const Lanes magnitude = abs(x), square = x * x;
  const Lanes near = magnitude + magnitude * (square * polynomial(square, {-0.333332839, 0.133314913, -0.0537434999,
                                                                           0.0206505923, -0.00571704996}));
  const Lanes a = select(magnitude > 9.1, x.constant(9.1), magnitude);
  const Lanes far = 1 - 2 / (exp_in_range(a + a) + 1);
  return with_sign_of(select(magnitude < 0.625, near, far), x);
}

/// Near 0 an odd polynomial, else one about the middle of [1, 3.9], of which 3.9 is the last argument that matters.
Lanes erf(Lanes x) {
  const Lanes magnitude = abs(x);
  const Lanes near = magnitude + magnitude * polynomial(x * x, {0.128379121, -0.376123548, 0.112804115, -0.0267177075,
                                                                0.00492478861, -0.000566014962});
  const Lanes a = select(magnitude > 3.9, x.constant(3.9), magnitude);
  const Lanes far = polynomial(
      a - 2.45, {0.999469459, 0.00278989784, -0.00683676312, 0.0102360435, -0.0102491705, 0.00697641447, -0.00299473898,
                 0.000429782434, 0.000418508978, -0.000306699367, 4.88108235e-05, 2.65152958e-05, -9.12483119e-06});
  return with_sign_of(select(magnitude < 1, near, far), x);
}

/// log2 of a positive double of ordinary size, 2^-36 of itself off: x = 2^k m with m in [sqrt(1/2), sqrt(2)); log(m) =
/// 2 artanh(f) for f = (m - 1) / (m + 1).
Lanes double_log2(Lanes x) {
  const Lanes bits = x.bits();
  const Lanes k = bits.made(bits.build().CreateAShr(bits - bits.integer(0x3fe6a09e667f3bcd), 52));
  const Lanes whole = bits - k.made(k.build().CreateShl(k, 52));
  const Lanes m = x.made(x.build().CreateBitCast(whole, static_cast<llvm::Value*>(x)->getType()));
  const Lanes f = (m - 1) / (m + x.constant(1)), square = f * f;
  constexpr double kScale = 2 / std::numbers::ln2;
  const Lanes series =
      polynomial(square, {kScale, kScale / 3, kScale / 5, kScale / 7, kScale / 9, kScale / 11, kScale / 13});
  const Lanes narrow = k.made(k.build().CreateTrunc(k, widened(k.build().getInt32Ty(), lanes_of(k))));
  const Lanes exponent = x.made(x.build().CreateSIToFP(narrow, static_cast<llvm::Value*>(x)->getType()));
  return exponent + f * series;
}

/// 2^x of a double in [-1000, 1000], 2^-27 of itself off: x = n + r with r in [-1/2, 1/2].
Lanes double_exp2(Lanes x) {
  // Adding 1.5 * 2^52 + 1023 leaves n, with the exponent's bias, in the low bits.
  const double magic = 0x1.8p52 + 1023;
  const Lanes shifted = x + magic;
  const Lanes r = (x - (shifted - magic)) * std::numbers::ln2;
  const Lanes fraction = polynomial(r, {1, 1, 1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040});
  const Lanes bits = shifted.bits();
  const Lanes power = bits.made(bits.build().CreateShl(bits, 52));
  return fraction * x.made(x.build().CreateBitCast(power, static_cast<llvm::Value*>(x)->getType()));
}

llvm::Value* rounding(const Site& site, llvm::Intrinsic::ID intrinsic, llvm::Value* x) {
  return site.build.CreateUnaryIntrinsic(intrinsic, x);
}

}  // namespace

llvm::Value* float_exp(Builder& build, llvm::Value* x) { return exp({build, x}); }
llvm::Value* float_log(Builder& build, llvm::Value* x) { return log({build, x}); }
llvm::Value* float_tanh(Builder& build, llvm::Value* x) { return tanh({build, x}); }
llvm::Value* float_erf(Builder& build, llvm::Value* x) { return erf({build, x}); }

/// |x|^y = 2^(y log2 |x|) in double precision, with C's special values: a negative x has powers of integers only.
llvm::Value* float_pow(const Site& site, llvm::Value* base, llvm::Value* exponent) {
  Builder& build = site.build;
  const int lanes = std::max(lanes_of(base), lanes_of(exponent));
  llvm::Type* const wide = widened(build.getDoubleTy(), lanes);
  const auto widely = [&](llvm::Value* x) { return Lanes(build, build.CreateFPExt(spread(build, x, lanes), wide)); };
  const auto whole = [&](Lanes x) { return x.made(build.CreateFCmpOEQ(codegen::floor(site, x), x)); };
  const auto both = [&](Lanes a, Lanes b) { return a.made(build.CreateAnd(a, b)); };
  const Lanes x = widely(base), y = widely(exponent), magnitude = abs(x);
  const Lanes usual = select(magnitude == 0, x.constant(-HUGE_VAL), double_log2(magnitude));
  const Lanes logarithm = select(magnitude < HUGE_VAL, usual, magnitude);  // infinity and NaN are their own
  Lanes scaled = y * logarithm;
  scaled = select(scaled > 1000, x.constant(1000), scaled);
  scaled = select(scaled < -1000, x.constant(-1000), scaled);
  const Lanes has_y = x.made(build.CreateFCmpORD(y, y));
  const Lanes power = select(both(magnitude == 1, has_y), x.constant(1), double_exp2(scaled));
  const Lanes is_whole = whole(y), is_odd = both(is_whole, x.made(build.CreateNot(whole(y * 0.5))));
  const Lanes is_negative = x.made(build.CreateFCmpOLT(x, x.constant(0)));
  const Lanes no_number = both(is_negative, both(has_y, x.made(build.CreateNot(is_whole))));
  const Lanes real = select(no_number, select(magnitude < HUGE_VAL, x.constant(NAN), power), power);
  const Lanes result = select(is_odd, with_sign_of(real, x), real);
  const Lanes is_one =
      x.made(build.CreateOr(build.CreateFCmpOEQ(y, y.constant(0)), build.CreateFCmpOEQ(x, x.constant(1))));
  return build.CreateFPTrunc(select(is_one, x.constant(1), result), widened(build.getFloatTy(), lanes));
}

llvm::Value* round_to_even(const Site& site, llvm::Value* x) {
  if (site.target.has("sse4.1")) return rounding(site, llvm::Intrinsic::roundeven, x);
  // Adding and subtracting 2^52 (2^23) rounds what is smaller; the rest are integers.
  const Lanes value(site.build, x), magnitude = abs(value);
  const double limit = x->getType()->getScalarSizeInBits() == 64 ? 0x1p52 : 0x1p23;
  const Lanes is_small = magnitude < limit, rounded = with_sign_of((magnitude + limit) - limit, value);
  return select(is_small, rounded, value);
}

llvm::Value* floor(const Site& site, llvm::Value* x) {
  if (site.target.has("sse4.1")) return rounding(site, llvm::Intrinsic::floor, x);
  const Lanes value(site.build, x), nearest(site.build, round_to_even(site, x));
  const Lanes is_above = value.made(site.build.CreateFCmpOGT(nearest, value));
  return with_sign_of(select(is_above, nearest - 1, nearest), value);
}

llvm::Value* ceil(const Site& site, llvm::Value* x) {
  if (site.target.has("sse4.1")) return rounding(site, llvm::Intrinsic::ceil, x);
  return site.build.CreateFNeg(floor(site, site.build.CreateFNeg(x)));
}

llvm::Value* call_math(const Site& site, runtime::MathFunction function, std::vector<llvm::Value*> arguments) {
  Builder& build = site.build;
  llvm::Type* const type = arguments[0]->getType();
  llvm::Type* const wide = widened(build.getDoubleTy(), lanes_of(arguments[0]));
  const bool is_narrow = type->getScalarSizeInBits() < 64;
  if (is_narrow)
    for (llvm::Value*& argument : arguments) argument = build.CreateFPExt(argument, wide);
  const std::vector<llvm::Type*> parameters(arguments.size(), build.getDoubleTy());
  llvm::Value* const field = build.CreateConstGEP1_64(build.getInt8Ty(), site.frame, offsetof(runtime::Frame, math));
  llvm::Value* const table = build.CreateAlignedLoad(build.getPtrTy(), field, llvm::Align(8));
  llvm::Value* const entry = build.CreateConstGEP1_64(build.getPtrTy(), table, static_cast<int>(function));
  llvm::Value* const callee = build.CreateAlignedLoad(build.getPtrTy(), entry, llvm::Align(8));
  llvm::Value* result = llvm::PoisonValue::get(wide);
  for (int k = 0; k < lanes_of(result); ++k) {
    std::vector<llvm::Value*> scalars;
    for (llvm::Value* argument : arguments) scalars.push_back(lane(build, argument, k));
    llvm::CallInst* const call =
        build.CreateCall(llvm::FunctionType::get(build.getDoubleTy(), parameters, false), callee, scalars);
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    call->addFnAttr(llvm::Attribute::WillReturn);
    result = lanes_of(result) == 1 ? call : build.CreateInsertElement(result, call, k);
  }
  return is_narrow ? build.CreateFPTrunc(result, type) : result;
}

}  // namespace isomer::kernel::codegen
