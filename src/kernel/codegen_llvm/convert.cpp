#include "kernel/codegen_llvm/convert.h"

#include <bit>
#include <cmath>

#include "graph/te/integer_algebra.h"
#include "kernel/narrow_floats.h"

namespace isomer::kernel::codegen {
namespace {

llvm::Type* float_like(Builder& build, llvm::Value* value) { return widened(build.getFloatTy(), lanes_of(value)); }
llvm::Type* double_like(Builder& build, llvm::Value* value) { return widened(build.getDoubleTy(), lanes_of(value)); }
llvm::Type* bits_like(Builder& build, llvm::Value* value, int bits) {
  return widened(build.getIntNTy(bits), lanes_of(value));
}
llvm::Constant* real(llvm::Value* like, double x) { return llvm::ConstantFP::get(like->getType(), x); }
llvm::Constant* integer(llvm::Value* like, int64_t x) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(x), true);
}

// Halves by integer arithmetic, which neither needs F16C nor minds flushing of subnormals.

llvm::Value* float_of_half(Builder& build, llvm::Value* half) {
  llvm::Value* const bits = build.CreateZExt(half, bits_like(build, half, 32));
  llvm::Value* const sign = build.CreateShl(build.CreateAnd(bits, integer(bits, 0x8000)), 16);
  llvm::Value* const magnitude = build.CreateAnd(bits, integer(bits, 0x7fff));
  llvm::Value* const shifted = build.CreateShl(magnitude, 13);
  llvm::Value* const is_special = build.CreateICmpUGE(magnitude, integer(bits, 0x7c00));
  llvm::Value* const is_subnormal = build.CreateICmpULT(magnitude, integer(bits, 0x0400));
  llvm::Value* const scaled = build.CreateFMul(build.CreateSIToFP(magnitude, float_like(build, half)),
                                               llvm::ConstantFP::get(float_like(build, half), 0x1p-24));
  llvm::Value* const normal =
      build.CreateAdd(shifted, build.CreateSelect(is_special, integer(bits, 0x70000000), integer(bits, 0x38000000)));
  llvm::Value* const value = build.CreateSelect(is_subnormal, build.CreateBitCast(scaled, bits->getType()), normal);
  return build.CreateBitCast(build.CreateOr(value, sign), float_like(build, half));
}

llvm::Value* half_of_float(Builder& build, llvm::Value* value) {
  llvm::Value* const bits = build.CreateBitCast(value, bits_like(build, value, 32));
  llvm::Value* const sign = build.CreateAnd(build.CreateLShr(bits, 16), integer(bits, 0x8000));
  llvm::Value* const magnitude = build.CreateAnd(bits, integer(bits, 0x7fffffff));
  // Adding 1/2 rounds what is subnormal as a half at its last place.
  llvm::Value* const real_magnitude = build.CreateBitCast(magnitude, value->getType());
  llvm::Value* const sum = build.CreateBitCast(build.CreateFAdd(real_magnitude, real(value, 0.5)), bits->getType());
  llvm::Value* const subnormal = build.CreateSub(sum, integer(bits, 0x3f000000));
  llvm::Value* const odd = build.CreateAnd(build.CreateLShr(magnitude, 13), integer(bits, 1));
  llvm::Value* const rounded = build.CreateAdd(build.CreateAdd(magnitude, integer(bits, 0xfff - 0x38000000)), odd);
  llvm::Value* const normal = build.CreateLShr(rounded, 13);
  llvm::Value* result =
      build.CreateSelect(build.CreateICmpULT(magnitude, integer(bits, 0x38800000)), subnormal, normal);
  result = build.CreateSelect(build.CreateICmpUGE(magnitude, integer(bits, 0x477ff000)), integer(bits, 0x7c00), result);
  result = build.CreateSelect(build.CreateICmpUGT(magnitude, integer(bits, 0x7f800000)), integer(bits, 0x7e00), result);
  return build.CreateTrunc(build.CreateOr(result, sign), bits_like(build, value, 16));
}

llvm::Value* float_of_brain(Builder& build, llvm::Value* stored) {
  llvm::Value* const bits = build.CreateShl(build.CreateZExt(stored, bits_like(build, stored, 32)), 16);
  return build.CreateBitCast(bits, float_like(build, stored));
}

/// The bits that a float was widened from; nullptr: it was not.
llvm::Value* brain_in(llvm::Value* value) {
  namespace is = llvm::PatternMatch;
  llvm::Value* stored = nullptr;
  const bool found = is::match(value, is::m_BitCast(is::m_Shl(is::m_ZExt(is::m_Value(stored)), is::m_SpecificInt(16))));
  return found && stored->getType()->getScalarType()->isIntegerTy(16) ? stored : nullptr;
}

llvm::Value* brain_of_float(const Site& site, llvm::Value* value) {
  Builder& build = site.build;
  if (llvm::Value* const stored = brain_in(value)) return stored;
  if (site.target.has("avx512bf16") && site.target.has("avx512vl"))
    return build.CreateBitCast(build.CreateFPTrunc(value, widened(build.getBFloatTy(), lanes_of(value))),
                               bits_like(build, value, 16));
  llvm::Value* const bits = build.CreateBitCast(value, bits_like(build, value, 32));
  llvm::Value* const odd = build.CreateAnd(build.CreateLShr(bits, 16), integer(bits, 1));
  llvm::Value* const rounded = build.CreateAdd(build.CreateAdd(bits, integer(bits, 0x7fff)), odd);
  llvm::Value* const quiet = build.CreateOr(bits, integer(bits, 0x400000));
  llvm::Value* const result = build.CreateSelect(build.CreateFCmpUNO(value, value), quiet, rounded);
  return build.CreateTrunc(build.CreateLShr(result, 16), bits_like(build, value, 16));
}

/// The double rounded to odd: rounding the result to a narrower type is rounding the double to it.
llvm::Value* float_rounded_to_odd(Builder& build, llvm::Value* value) {
  llvm::Value* const nearest = build.CreateFPTrunc(value, float_like(build, value));
  llvm::Value* const back = build.CreateFPExt(nearest, value->getType());
  llvm::Value* const bits = build.CreateBitCast(nearest, bits_like(build, value, 32));
  const auto absolute = [&](llvm::Value* x) { return build.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
  llvm::Value* const size = absolute(back);
  llvm::Value* const is_beyond = build.CreateFCmpOGT(size, absolute(value));
  llvm::Value* const truncated = build.CreateSub(bits, build.CreateZExt(is_beyond, bits->getType()));
  llvm::Value* const is_inexact = build.CreateFCmpONE(back, value);
  return build.CreateBitCast(build.CreateOr(truncated, build.CreateZExt(is_inexact, bits->getType())),
                             nearest->getType());
}

/// Integers through double, which holds all but 64-bit ones; those round to float32 at once.
llvm::Value* real_of_integer(const Site& site, DataType from, DataType to, llvm::Value* value) {
  Builder& build = site.build;
  const bool is_signed = is_signed_int(from);
  const bool fits_float = bit_width(from) <= 16;
  llvm::Type* const type =
      to == DataType::kFloat32 || fits_float ? float_like(build, value) : double_like(build, value);
  if (from == DataType::kBool || fits_float) value = build.CreateIntCast(value, bits_like(build, value, 32), is_signed);
  const bool is_signed_now = is_signed || from == DataType::kBool || fits_float;
  llvm::Value* const real = is_signed_now ? build.CreateSIToFP(value, type) : build.CreateUIToFP(value, type);
  return rounded(site, to, real);
}

/// fptosi where the value is inside, `outside` elsewhere: the conversion alone is poison there.
llvm::Value* truncated(Builder& build, llvm::Value* value, int bits, double low_exclusive, double high,
                       int64_t outside) {
  llvm::Value* const above = low_exclusive == -0x1p63 ? build.CreateFCmpOGE(value, real(value, low_exclusive))
                                                      : build.CreateFCmpOGT(value, real(value, low_exclusive));
  llvm::Value* const inside = build.CreateAnd(above, build.CreateFCmpOLT(value, real(value, high)));
  llvm::Value* const converted = build.CreateFPToSI(value, bits_like(build, value, bits));
  return build.CreateSelect(inside, converted, integer(converted, outside));
}

/// The same of float32 numbers to 32 bits, by the instruction: what lies outside, or is no number, comes out as
/// INT32_MIN.
llvm::Value* truncated_words(const Site& site, llvm::Value* value) {
  Builder& build = site.build;
  const int lanes = lanes_of(value), width = std::min(lanes, site.target.vector_bits / 32);
  std::vector<llvm::Value*> pieces;
  for (int first = 0; first < lanes; first += width) {
    llvm::Value* const piece = lanes_from(build, value, first, width);
    if (width == 16) {
      llvm::Value* const unused = llvm::Constant::getNullValue(bits_like(build, piece, 32));
      pieces.push_back(build.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_cvttps2dq_512, {},
                                             {piece, unused, build.getInt16(0xffff), build.getInt32(4)}));
    } else {
      pieces.push_back(build.CreateIntrinsic(
          width == 8 ? llvm::Intrinsic::x86_avx_cvtt_ps2dq_256 : llvm::Intrinsic::x86_sse2_cvttps2dq, {}, {piece}));
    }
  }
  return joined(build, pieces);
}

/// The low bits of a byte as an element of a type that has less.
llvm::Value* of_low_bits(Builder& build, DataType to, llvm::Value* value) {
  const int unused = bit_width(to) - value_bits(to);
  if (unused == 0) return value;
  llvm::Value* const high = build.CreateShl(value, integer(value, unused));
  return is_signed_int(to) ? build.CreateAShr(high, integer(value, unused))
                           : build.CreateLShr(high, integer(value, unused));
}

llvm::Value* integer_of_real(const Site& site, DataType to, llvm::Value* value) {
  Builder& build = site.build;
  llvm::Type* const type = bits_like(build, value, bit_width(to));
  const bool is_double = value->getType()->getScalarType()->isDoubleTy();
  if (bit_width(to) < 32 || to == DataType::kInt32) {
    // The float below -2^31 is far off, so that its bound is as good as -2^31 - 1.
    const double low = is_double ? -0x1p31 - 1 : std::nextafter(-0x1p31f, -INFINITY);
    const bool is_whole =
        !is_double && lanes_of(value) >= 4 && std::has_single_bit(static_cast<unsigned>(lanes_of(value)));
    llvm::Value* const word =
        is_whole ? truncated_words(site, value) : truncated(build, value, 32, low, 0x1p31, INT32_MIN);
    return of_low_bits(build, to, build.CreateTrunc(word, type));
  }
  llvm::Value* const result = truncated(build, value, 64, -0x1p63, 0x1p63, INT64_MIN);
  if (to != DataType::kUInt64) return build.CreateTrunc(result, type);
  llvm::Value* const is_huge = build.CreateFCmpOGE(value, real(value, 0x1p63));
  llvm::Value* const rest =
      truncated(build, build.CreateFSub(value, real(value, 0x1p63)), 64, -0x1p63, 0x1p63, INT64_MIN);
  return build.CreateSelect(is_huge, build.CreateXor(rest, integer(rest, INT64_MIN)), result);
}

}  // namespace

llvm::Value* literal(Builder& build, const te::Number& number, DataType dtype) {
  llvm::Type* const type = register_type(build, dtype);
  if (dtype == DataType::kFloat64) return llvm::ConstantFP::get(type, number.to_double());
  if (is_float(dtype))
    return llvm::ConstantFP::get(build.getContext(), llvm::APFloat(static_cast<float>(number.to_double())));
  const int64_t value = te::wrap(dtype, number.to_int64());
  return llvm::ConstantInt::get(build.getContext(),
                                llvm::APInt(type->getIntegerBitWidth(), static_cast<uint64_t>(value), false));
}

llvm::Value* from_memory(const Site& site, DataType dtype, llvm::Value* stored) {
  Builder& build = site.build;
  if (dtype == DataType::kBool) return build.CreateICmpNE(stored, integer(stored, 0));
  if (dtype == DataType::kBFloat16) return float_of_brain(build, stored);
  if (dtype != DataType::kFloat16) return of_low_bits(build, dtype, stored);
  if (!site.target.has("f16c")) return float_of_half(build, stored);
  llvm::Value* const half = build.CreateBitCast(stored, widened(build.getHalfTy(), lanes_of(stored)));
  return build.CreateFPExt(half, float_like(build, stored));
}

llvm::Value* to_memory(const Site& site, DataType dtype, llvm::Value* value) {
  Builder& build = site.build;
  if (dtype == DataType::kBool) return build.CreateZExt(value, bits_like(build, value, 8));
  if (dtype == DataType::kBFloat16) return brain_of_float(site, value);
  if (dtype != DataType::kFloat16) return value;
  if (!site.target.has("f16c")) return half_of_float(build, value);
  llvm::Value* const half = build.CreateFPTrunc(value, widened(build.getHalfTy(), lanes_of(value)));
  return build.CreateBitCast(half, bits_like(build, value, 16));
}

llvm::Value* rounded(const Site& site, DataType to, llvm::Value* value) {
  Builder& build = site.build;
  const bool is_double = value->getType()->getScalarType()->isDoubleTy();
  if (to == DataType::kFloat64) return is_double ? value : build.CreateFPExt(value, double_like(build, value));
  if (to == DataType::kFloat32) return is_double ? build.CreateFPTrunc(value, float_like(build, value)) : value;
  return from_memory(site, to, to_memory(site, to, is_double ? float_rounded_to_odd(build, value) : value));
}

llvm::Value* to_compare(const Site& site, DataType dtype, llvm::Value* value) {
  if (dtype != DataType::kFloat16 || site.target.has("avx512fp16") || llvm::isa<llvm::Constant>(value)) return value;
  return site.build.CreateArithmeticFence(value, value->getType());
}

llvm::Value* converted(const Site& site, DataType from, DataType to, llvm::Value* value) {
  Builder& build = site.build;
  if (is_float(from)) {
    // Registers hold what a narrower type would have rounded.
    if (is_narrow_float(from)) value = rounded(site, from, value);
    if (is_float(to)) return rounded(site, to, value);
    value = to_compare(site, from, value);
    if (to == DataType::kBool) return build.CreateFCmpUNE(value, real(value, 0));
    return integer_of_real(site, to, value);
  }
  if (is_float(to)) return real_of_integer(site, from, to, value);
  if (to == DataType::kBool) return build.CreateICmpNE(value, integer(value, 0));
  return of_low_bits(build, to,
                     build.CreateIntCast(value, bits_like(build, value, bit_width(to)), is_signed_int(from)));
}

}  // namespace isomer::kernel::codegen
