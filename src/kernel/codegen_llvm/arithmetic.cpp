#include "kernel/codegen_llvm/arithmetic.h"

#include <cmath>

#include "kernel/codegen_llvm/convert.h"
#include "kernel/codegen_llvm/math.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

using runtime::MathFunction;
using te::BinaryOp;
using te::UnaryOp;
using Predicate = llvm::CmpInst::Predicate;

llvm::Constant* zero(llvm::Value* like) { return llvm::Constant::getNullValue(like->getType()); }
llvm::Constant* number(llvm::Value* like, int64_t x) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(x), true);
}

// Reals

/// The constant that is in all lanes, if there is one and it is a T.
template <class T>
const T* constant_of(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant && constant->getType()->isVectorTy()) constant = constant->getSplatValue();
  return llvm::dyn_cast_or_null<T>(constant);
}

bool is_number(const llvm::Value* value) {
  const auto* real = constant_of<llvm::ConstantFP>(value);
  return real && !real->isNaN();
}

/// NaN where either is; of two zeros either. A literal that is no NaN needs no check of its own: minps and maxps give
/// their second operand. Else LLVM has the first operand checked; `b`, which in a reduction is what joins: what was
/// reduced so far does not wait for the check.
llvm::Value* real_extreme(Builder& build, Predicate wins, llvm::Value* a, llvm::Value* b) {
  if (is_number(a)) std::swap(a, b);
  if (is_number(b)) return build.CreateSelect(build.CreateFCmp(wins, b, a), b, a);
  const auto which = wins == Predicate::FCMP_OGT ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
  const Builder::FastMathFlagGuard guard(build);
  llvm::FastMathFlags flags = build.getFastMathFlags();
  flags.setNoSignedZeros();
  build.setFastMathFlags(flags);
  return build.CreateBinaryIntrinsic(which, b, a);
}

/// What has a reciprocal that neither overflows nor vanishes: literals of common sizes, and what was an integer.
bool is_invertible(const llvm::Value* value) {
  if (const auto* real = constant_of<llvm::ConstantFP>(value)) {
    const double magnitude = std::fabs(real->getValueAPF().convertToDouble());
    return magnitude > 0x1p-100 && magnitude < 0x1p100;
  }
  return llvm::isa<llvm::SIToFPInst>(value) || llvm::isa<llvm::UIToFPInst>(value);
}

/// Whether its reciprocal is a number of its own type.
bool is_power_of_two(const llvm::Value* value) {
  const auto* real = constant_of<llvm::ConstantFP>(value);
  return real && real->getValueAPF().getExactInverse(nullptr);
}

/// A division of many lanes by one number is one division, of 1, and products: a/b rounded as a division rounds it
/// (Markstein, Computation of elementary functions on the IBM RISC System/6000, 1990: a quotient that is off by less
/// than a place of its last digit, corrected by its remainder, is the nearest one; the first correction brings it
/// there). It must be exact: Floor or a cast to an integer may read it. Of float32 below 2^-100 the remainder vanishes,
/// and the last digit may differ. Where a product has no remainder (infinities, NaN, by 0) it is the quotient, as where
/// it is zero: a correction would lose the sign.
llvm::Value* real_quotient(const Site& site, llvm::Value* a, llvm::Value* b) {
  Builder& build = site.build;
  llvm::Value* const divisor = lanes_of(b) == 1 ? b : llvm::getSplatValue(b);
  const bool is_exact = divisor && is_power_of_two(divisor);
  if (lanes_of(a) == 1 || !divisor || !is_invertible(divisor) || (!is_exact && !site.target.has("fma")))
    return build.CreateFDiv(a, b);
  llvm::Value* const inverse =
      spread(build, build.CreateFDiv(llvm::ConstantFP::get(divisor->getType(), 1), divisor), lanes_of(a));
  llvm::Value* const product = build.CreateFMul(a, inverse);
  if (is_exact) return product;
  const auto multiply_add = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return build.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  };
  llvm::Value* quotient = product;
  for (int correction = 0; correction < 2; ++correction) {
    llvm::Value* const remainder = multiply_add(build.CreateFNeg(quotient), b, a);
    quotient = multiply_add(remainder, inverse, quotient);
  }
  return build.CreateSelect(build.CreateFCmpONE(quotient, zero(quotient)), quotient, product);
}

llvm::Value* real_remainder(const Site& site, llvm::Value* a, llvm::Value* b) {
  const bool is_double = a->getType()->getScalarType()->isDoubleTy();
  return is_double ? call_math(site, MathFunction::kFmod, {a, b}) : float_fmod(site, a, b);
}

llvm::Value* real_floor_mod(const Site& site, llvm::Value* a, llvm::Value* b) {
  Builder& build = site.build;
  llvm::Value* const remainder = real_remainder(site, a, b);
  llvm::Value* const is_negative = build.CreateFCmpOLT(remainder, zero(remainder));
  llvm::Value* const differs = build.CreateXor(is_negative, build.CreateFCmpOLT(b, zero(b)));
  llvm::Value* const nonzero = build.CreateSelect(differs, build.CreateFAdd(remainder, b), remainder);
  llvm::Value* const signed_zero = build.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero(b), b);
  return build.CreateSelect(build.CreateFCmpOEQ(remainder, zero(remainder)), signed_zero, nonzero);
}

/// Small powers and roots have instructions. Unlike sqrt, pow gives 0 for -0 and infinity for -infinity.
llvm::Value* real_power(const Site& site, llvm::Value* base, llvm::Value* exponent) {
  Builder& build = site.build;
  const auto* known = constant_of<llvm::ConstantFP>(exponent);
  for (const int whole : {2, 3, 4}) {
    if (!known || !known->isExactlyValue(whole)) continue;
    llvm::Value* const square = build.CreateFMul(base, base);
    return whole == 2 ? square : build.CreateFMul(square, whole == 3 ? base : square);
  }
  if (!known || !known->isExactlyValue(0.5))
    return base->getType()->getScalarType()->isDoubleTy() ? call_math(site, MathFunction::kPow, {base, exponent})
                                                          : float_pow(site, base, exponent);
  const auto absolute = [&](llvm::Value* x) { return build.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  llvm::Value* const infinity = llvm::ConstantFP::getInfinity(base->getType());
  llvm::Value* const root = absolute(build.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, base));
  return build.CreateSelect(build.CreateFCmpOEQ(absolute(base), infinity), infinity, root);
}

llvm::Value* apply_real(const Site& site, UnaryOp op, llvm::Value* x) {
  Builder& build = site.build;
  const bool is_double = x->getType()->getScalarType()->isDoubleTy();
  const auto function = [&](MathFunction f) { return call_math(site, f, {x}); };
  switch (op) {
    case UnaryOp::kNeg: return build.CreateFNeg(x);
    case UnaryOp::kAbs: return build.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    case UnaryOp::kFloor: return floor(site, x);
    case UnaryOp::kCeil: return ceil(site, x);
    case UnaryOp::kRound: return round_to_even(site, x);
    case UnaryOp::kSqrt: return build.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x);
    case UnaryOp::kExp: return is_double ? double_exp(build, x) : float_exp(build, x);
    case UnaryOp::kLog: return is_double ? double_log(build, x) : float_log(build, x);
    case UnaryOp::kTanh: return is_double ? double_tanh(build, x) : float_tanh(build, x);
    case UnaryOp::kErf: return is_double ? function(MathFunction::kErf) : float_erf(build, x);
    case UnaryOp::kSin: return is_double ? function(MathFunction::kSin) : float_function(site, op, x);
    case UnaryOp::kCos: return is_double ? function(MathFunction::kCos) : float_function(site, op, x);
    case UnaryOp::kTan: return is_double ? function(MathFunction::kTan) : float_function(site, op, x);
    case UnaryOp::kAsin: return is_double ? function(MathFunction::kAsin) : float_asin(build, x);
    case UnaryOp::kAcos: return is_double ? function(MathFunction::kAcos) : float_acos(build, x);
    case UnaryOp::kAtan: return is_double ? function(MathFunction::kAtan) : float_atan(build, x);
    case UnaryOp::kSinh: return is_double ? function(MathFunction::kSinh) : float_function(site, op, x);
    case UnaryOp::kCosh: return is_double ? function(MathFunction::kCosh) : float_function(site, op, x);
    case UnaryOp::kAsinh: return is_double ? function(MathFunction::kAsinh) : float_function(site, op, x);
    case UnaryOp::kAcosh: return is_double ? function(MathFunction::kAcosh) : float_function(site, op, x);
    case UnaryOp::kAtanh: return is_double ? function(MathFunction::kAtanh) : float_function(site, op, x);
    case UnaryOp::kIsNan: return build.CreateFCmpUNO(x, x);
    case UnaryOp::kNot: break;
  }
  fail_unsupported("'not' of a real number has no meaning");
}

llvm::Value* apply_real(const Site& site, BinaryOp op, llvm::Value* a, llvm::Value* b) {
  Builder& build = site.build;
  switch (op) {
    case BinaryOp::kAdd: return build.CreateFAdd(a, b);
    case BinaryOp::kSub: return build.CreateFSub(a, b);
    case BinaryOp::kMul: return build.CreateFMul(a, b);
    case BinaryOp::kDiv: return real_quotient(site, a, b);
    case BinaryOp::kFloorDiv: return floor(site, build.CreateFDiv(a, b));
    case BinaryOp::kFloorMod: return real_floor_mod(site, a, b);
    case BinaryOp::kTruncMod: return real_remainder(site, a, b);
    case BinaryOp::kPow: return real_power(site, a, b);
    case BinaryOp::kMin: return real_extreme(build, Predicate::FCMP_OLT, a, b);
    case BinaryOp::kMax: return real_extreme(build, Predicate::FCMP_OGT, a, b);
    case BinaryOp::kEqual: return build.CreateFCmpOEQ(a, b);
    case BinaryOp::kLess: return build.CreateFCmpOLT(a, b);
    case BinaryOp::kLessEqual: return build.CreateFCmpOLE(a, b);
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: break;
  }
  fail_unsupported("a bitwise operation on real numbers has no meaning");
}

// Integers

llvm::Value* apply_integer(Builder& build, UnaryOp op, DataType dtype, llvm::Value* x) {
  switch (op) {
    case UnaryOp::kNeg: return build.CreateNeg(x);
    case UnaryOp::kAbs:
      return is_signed_int(dtype) ? build.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, build.getFalse()) : x;
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound: return x;
    case UnaryOp::kNot: return build.CreateNot(x);
    case UnaryOp::kIsNan: return build.CreateICmpNE(x, x);
    default: fail_unsupported("a transcendental function of {} has no meaning", name(dtype));
  }
}

bool is_positive_literal(llvm::Value* value) {
  const auto* integer = constant_of<llvm::ConstantInt>(value);
  return integer && integer->getValue().isStrictlyPositive();
}

/// Whether two vectors of integers are divided as reals, whose instructions they have alone: of a type that holds the
/// integers, a quotient is rounded to a whole number only where it is one.
bool divide_as_reals(DataType dtype, const llvm::Value* a, const llvm::Value* b) {
  return lanes_of(a) > 1 && bit_width(dtype) <= 32 && !llvm::isa<llvm::Constant>(b);
}

/// Towards zero. Of narrow types the least value by -1 wraps by itself.
llvm::Value* quotient_of(Builder& build, DataType dtype, llvm::Value* a, llvm::Value* b) {
  const bool is_signed = is_signed_int(dtype);
  if (!divide_as_reals(dtype, a, b)) return is_signed ? build.CreateSDiv(a, b) : build.CreateUDiv(a, b);
  const int bits = bit_width(dtype), lanes = lanes_of(a);
  llvm::Type* const real = widened(bits <= 16 ? build.getFloatTy() : build.getDoubleTy(), lanes);
  const auto as_real = [&](llvm::Value* x) {
    return is_signed ? build.CreateSIToFP(x, real) : build.CreateUIToFP(x, real);
  };
  llvm::Value* const quotient = build.CreateFDiv(as_real(a), as_real(b));
  llvm::Type* const whole = widened(build.getInt32Ty(), lanes);
  return build.CreateTrunc(
      is_signed || bits < 32 ? build.CreateFPToSI(quotient, whole) : build.CreateFPToUI(quotient, whole), a->getType());
}

llvm::Value* remainder_of(Builder& build, DataType dtype, llvm::Value* a, llvm::Value* b) {
  if (divide_as_reals(dtype, a, b)) return build.CreateSub(a, build.CreateMul(quotient_of(build, dtype, a, b), b));
  return is_signed_int(dtype) ? build.CreateSRem(a, b) : build.CreateURem(a, b);
}

llvm::Value* divide(Builder& build, BinaryOp op, DataType dtype, llvm::Value* a, llvm::Value* b) {
  const bool is_remainder = op == BinaryOp::kFloorMod || op == BinaryOp::kTruncMod;
  if (!is_signed_int(dtype)) return is_remainder ? remainder_of(build, dtype, a, b) : quotient_of(build, dtype, a, b);
  // The least value divided by -1 traps: -1 is taken out.
  const bool is_safe = is_positive_literal(b);
  llvm::Value* const is_minus_one = is_safe ? nullptr : build.CreateICmpEQ(b, number(b, -1));
  llvm::Value* const divisor = is_safe ? b : build.CreateSelect(is_minus_one, number(b, 1), b);
  llvm::Value* const remainder = is_safe || op != BinaryOp::kDiv ? remainder_of(build, dtype, a, divisor) : nullptr;
  if (op == BinaryOp::kTruncMod) return remainder;
  const auto quotient = [&]() -> llvm::Value* {
    llvm::Value* const q = quotient_of(build, dtype, a, divisor);
    return is_safe ? q : build.CreateSelect(is_minus_one, build.CreateNeg(a), q);
  };
  if (op == BinaryOp::kDiv) return quotient();
  llvm::Value* const has_rest = build.CreateICmpNE(remainder, zero(remainder));
  llvm::Value* const differs = build.CreateICmpSLT(build.CreateXor(remainder, divisor), zero(remainder));
  llvm::Value* const is_below = build.CreateAnd(has_rest, differs);
  if (op == BinaryOp::kFloorMod) return build.CreateSelect(is_below, build.CreateAdd(remainder, divisor), remainder);
  llvm::Value* const towards_zero = quotient();
  return build.CreateSub(towards_zero, build.CreateZExt(is_below, a->getType()));
}

llvm::Value* shift(Builder& build, BinaryOp op, DataType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::Value* const is_out = build.CreateICmpUGE(b, number(b, bit_width(dtype)));
  llvm::Value* const count = build.CreateSelect(is_out, zero(b), b);
  if (op == BinaryOp::kShiftLeft) return build.CreateSelect(is_out, zero(a), build.CreateShl(a, count));
  if (!is_signed_int(dtype)) return build.CreateSelect(is_out, zero(a), build.CreateLShr(a, count));
  return build.CreateAShr(a, build.CreateSelect(is_out, number(b, bit_width(dtype) - 1), b));
}

/// Square and multiply, one lane.
llvm::Value* scalar_power(Builder& build, DataType dtype, llvm::Value* base, llvm::Value* exponent) {
  llvm::BasicBlock* const before = build.GetInsertBlock();
  llvm::Function* const function = before->getParent();
  auto* const head = llvm::BasicBlock::Create(build.getContext(), "power", function);
  auto* const body = llvm::BasicBlock::Create(build.getContext(), "power.step", function);
  auto* const done = llvm::BasicBlock::Create(build.getContext(), "power.done", function);
  build.CreateBr(head);
  build.SetInsertPoint(head);
  llvm::PHINode *const result = build.CreatePHI(base->getType(), 2),
                       *const square = build.CreatePHI(base->getType(), 2),
                       *const rest = build.CreatePHI(base->getType(), 2);
  build.CreateCondBr(build.CreateICmpEQ(rest, zero(rest)), done, body);
  build.SetInsertPoint(body);
  llvm::Value* const is_odd = build.CreateICmpEQ(build.CreateAnd(rest, number(rest, 1)), number(rest, 1));
  result->addIncoming(number(base, 1), before);
  result->addIncoming(build.CreateSelect(is_odd, build.CreateMul(result, square), result), body);
  square->addIncoming(base, before);
  square->addIncoming(build.CreateMul(square, square), body);
  rest->addIncoming(exponent, before);
  rest->addIncoming(build.CreateLShr(rest, 1), body);
  build.CreateBr(head);
  build.SetInsertPoint(done);
  if (!is_signed_int(dtype)) return result;
  // 1 and -1 have powers with negative exponents: those with the exponent's parity.
  llvm::Value* const parity = build.CreateICmpEQ(build.CreateAnd(exponent, number(exponent, 1)), zero(exponent));
  llvm::Value *const is_one = build.CreateICmpEQ(base, number(base, 1)), *const is_minus_one =
                                                                             build.CreateICmpEQ(base, number(base, -1));
  llvm::Value* const of_minus_one = build.CreateSelect(parity, number(base, 1), number(base, -1));
  llvm::Value* const inverse =
      build.CreateSelect(is_one, number(base, 1), build.CreateSelect(is_minus_one, of_minus_one, zero(base)));
  return build.CreateSelect(build.CreateICmpSLT(exponent, zero(exponent)), inverse, result);
}

llvm::Value* power(Builder& build, DataType dtype, llvm::Value* base, llvm::Value* exponent) {
  if (lanes_of(base) == 1) return scalar_power(build, dtype, base, exponent);
  llvm::Value* result = llvm::PoisonValue::get(base->getType());
  for (int k = 0; k < lanes_of(base); ++k) {
    llvm::Value* const scalar = lane(build, base, k);
    result = build.CreateInsertElement(result, scalar_power(build, dtype, scalar, lane(build, exponent, k)), k);
  }
  return result;
}

llvm::Value* apply_integer(Builder& build, BinaryOp op, DataType dtype, llvm::Value* a, llvm::Value* b) {
  const bool is_signed = is_signed_int(dtype);
  const auto extreme = [&](Predicate with_sign, Predicate without) {
    return build.CreateSelect(build.CreateICmp(is_signed ? with_sign : without, a, b), a, b);
  };
  switch (op) {
    case BinaryOp::kAdd: return build.CreateAdd(a, b);
    case BinaryOp::kSub: return build.CreateSub(a, b);
    case BinaryOp::kMul: return build.CreateMul(a, b);
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod:
    case BinaryOp::kTruncMod: return divide(build, op, dtype, a, b);
    case BinaryOp::kPow: return power(build, dtype, a, b);
    case BinaryOp::kMin: return extreme(Predicate::ICMP_SLT, Predicate::ICMP_ULT);
    case BinaryOp::kMax: return extreme(Predicate::ICMP_SGT, Predicate::ICMP_UGT);
    case BinaryOp::kAnd: return build.CreateAnd(a, b);
    case BinaryOp::kOr: return build.CreateOr(a, b);
    case BinaryOp::kXor: return build.CreateXor(a, b);
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return shift(build, op, dtype, a, b);
    case BinaryOp::kEqual: return build.CreateICmpEQ(a, b);
    case BinaryOp::kLess: return build.CreateICmp(is_signed ? Predicate::ICMP_SLT : Predicate::ICMP_ULT, a, b);
    case BinaryOp::kLessEqual: return build.CreateICmp(is_signed ? Predicate::ICMP_SLE : Predicate::ICMP_ULE, a, b);
  }
  return nullptr;
}

/// Whether it is instructions of vectors whatever LLVM finds out about its operands.
bool is_plain(UnaryOp op) { return op == UnaryOp::kNeg || op == UnaryOp::kAbs || op == UnaryOp::kSqrt; }
bool is_plain(BinaryOp op) {
  return op == BinaryOp::kAdd || op == BinaryOp::kSub || op == BinaryOp::kMul || op == BinaryOp::kDiv;
}

bool is_logical(BinaryOp op) {
  return op == BinaryOp::kAnd || op == BinaryOp::kOr || op == BinaryOp::kXor || op == BinaryOp::kEqual ||
         op == BinaryOp::kLess || op == BinaryOp::kLessEqual;
}

/// Arithmetic on bools is that of bytes, and true what is not 0.
llvm::Value* as_byte(Builder& build, llvm::Value* x) {
  return build.CreateZExt(x, widened(build.getInt8Ty(), lanes_of(x)));
}

}  // namespace

llvm::Value* apply(const Site& site, UnaryOp op, DataType dtype, llvm::Value* x) {
  if (is_float(dtype)) return apply_real(site, op, is_plain(op) ? x : to_compare(site, dtype, x));
  if (dtype == DataType::kBool && (op == UnaryOp::kNeg || op == UnaryOp::kAbs)) return x;
  return apply_integer(site.build, op, dtype, x);
}

llvm::Value* apply(const Site& site, BinaryOp op, DataType dtype, llvm::Value* a, llvm::Value* b) {
  if (is_float(dtype))
    return is_plain(op) ? apply_real(site, op, a, b)
                        : apply_real(site, op, to_compare(site, dtype, a), to_compare(site, dtype, b));
  if (dtype != DataType::kBool || is_logical(op)) return apply_integer(site.build, op, dtype, a, b);
  llvm::Value* const bytes =
      apply_integer(site.build, op, DataType::kUInt8, as_byte(site.build, a), as_byte(site.build, b));
  return site.build.CreateICmpNE(bytes, zero(bytes));
}

}  // namespace isomer::kernel::codegen
