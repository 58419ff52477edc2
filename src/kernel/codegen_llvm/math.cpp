#include "kernel/codegen_llvm/math.h"

#include <cmath>
#include <numbers>

#include "kernel/codegen_llvm/lanes.h"

namespace isomer::kernel::codegen {
namespace {

// ln 2 as a sum; multiples of the first part by integers below 2^15 are exact.
constexpr double kLn2High = 0x1.63p-1;
constexpr double kLn2Low = -0x1.bd0105c610ca8p-13;

/// exp of x in [-87.3, 88.8]: x = n ln 2 + r with r in [-ln 2 / 2, ln 2 / 2], 2 exp(r) by a polynomial, times 2^(n -
/// 1): n - 1 = 127 is an exponent of floats, of which n = 128 is none. 0 below 2^-125.5, infinity above.
Lanes exp_in_range(Lanes x) {
  const auto [shifted, r] = reduced_by_ln2(x, 0x1.8p23 + 126, kLn2High, kLn2Low);  // with the exponent's bias
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

// pi/2 as a sum of floats.
constexpr double kRight = 0x1.921fb6p+0, kRightLow = std::numbers::pi / 2 - kRight;

/// asin of x in [-5/8, 5/8].
Lanes asin_near_0(Lanes x) {
  const Lanes square = x * x;
  return x + x * (square * polynomial(square, {0.166666904, 0.074985234, 0.0449515904, 0.0273596284, 0.0378236695,
                                               -0.0239727129, 0.0642593628}));
}

/// Beyond 5/8, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)), and acos(a) the second term.
struct Arc {
  Lanes is_near, arc;  ///< asin(|x|) where it is near, else what is missing to pi/2
};

Arc arc_of(Lanes magnitude) {
  const Lanes is_near = magnitude < 0.625, rest = 1 - magnitude;
  const Lanes root = sqrt(rest * 0.5), arc = asin_near_0(select(is_near, magnitude, root)), twice = arc + arc;
  return {is_near, select(is_near, arc, twice)};
}

Lanes asin(Lanes x) {
  const Arc a = arc_of(abs(x));
  const Lanes rest = a.arc - kRightLow, far = kRight - rest;
  return with_sign_of(select(a.is_near, a.arc, far), x);
}

Lanes acos(Lanes x) {
  const Arc a = arc_of(abs(x));
  const Lanes rest = with_sign_of(a.arc, x) - kRightLow, near = kRight - rest, opposite = std::numbers::pi - a.arc;
  return select(a.is_near, near, select(x > 0, a.arc, opposite));
}

/// atan(a) = pi/4 + atan((a - 1) / (a + 1)) = pi/2 + atan(-1 / a), so that [0, 1/2] is left.
Lanes atan(Lanes x) {
  const Lanes a = abs(x), one = x.constant(1), zero = x.constant(0);
  const Lanes middle = a > 0.5, far = a > std::numbers::sqrt2 + 1;
  const Lanes less = a - 1, more = a + 1;
  const Lanes above = select(far, x.constant(-1), select(middle, less, a));
  const Lanes below = select(far, a, select(middle, more, one));
  const Lanes t = above / below, square = t * t;
  const Lanes arc =
      t + t * (square * polynomial(square, {-0.333332367, 0.199943198, -0.141761363, 0.101653754, -0.0514139606}));
  const Lanes turned = select(far, x.constant(kRight), select(middle, x.constant(kRight / 2), zero));
  const Lanes rest = arc + turned * (kRightLow / kRight);
  return with_sign_of(turned + rest, x);
}

llvm::Value* rounding(const Site& site, llvm::Intrinsic::ID intrinsic, llvm::Value* x) {
  return site.build.CreateUnaryIntrinsic(intrinsic, x);
}

}  // namespace

llvm::Value* float_exp(Builder& build, llvm::Value* x) { return exp({build, x}); }
llvm::Value* float_log(Builder& build, llvm::Value* x) { return log({build, x}); }
llvm::Value* float_tanh(Builder& build, llvm::Value* x) { return tanh({build, x}); }
llvm::Value* float_erf(Builder& build, llvm::Value* x) { return erf({build, x}); }
llvm::Value* float_asin(Builder& build, llvm::Value* x) { return asin({build, x}); }
llvm::Value* float_acos(Builder& build, llvm::Value* x) { return acos({build, x}); }
llvm::Value* float_atan(Builder& build, llvm::Value* x) { return atan({build, x}); }

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
  const auto call = [&](const std::vector<llvm::Value*>& scalars) {
    llvm::CallInst* const made =
        build.CreateCall(llvm::FunctionType::get(build.getDoubleTy(), parameters, false), callee, scalars);
    made->setDoesNotAccessMemory();
    made->setDoesNotThrow();
    made->addFnAttr(llvm::Attribute::WillReturn);
    return made;
  };
  llvm::Value* result = nullptr;
  if (lanes_of(arguments[0]) == 1) {
    result = call(arguments);
  } else {
    llvm::BasicBlock* const before = build.GetInsertBlock();
    auto* const body = llvm::BasicBlock::Create(build.getContext(), "lane", before->getParent());
    auto* const after = llvm::BasicBlock::Create(build.getContext(), "lanes.done", before->getParent());
    build.CreateBr(body);
    build.SetInsertPoint(body);
    llvm::PHINode *const k = build.CreatePHI(build.getInt64Ty(), 2), *const results = build.CreatePHI(wide, 2);
    std::vector<llvm::Value*> scalars;
    for (llvm::Value* argument : arguments) scalars.push_back(build.CreateExtractElement(argument, k));
    llvm::Value* const next = build.CreateAdd(k, build.getInt64(1));
    result = build.CreateInsertElement(results, call(scalars), k);
    k->addIncoming(build.getInt64(0), before);
    k->addIncoming(next, body);
    results->addIncoming(llvm::PoisonValue::get(wide), before);
    results->addIncoming(result, body);
    const auto lanes = static_cast<uint64_t>(lanes_of(result));
    build.CreateCondBr(build.CreateICmpULT(next, build.getInt64(lanes)), body, after);
    build.SetInsertPoint(after);
  }
  return is_narrow ? build.CreateFPTrunc(result, type) : result;
}

}  // namespace isomer::kernel::codegen
