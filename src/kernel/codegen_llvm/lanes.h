// Formulas on values of any number of lanes.
#pragma once

#include <initializer_list>
#include <iterator>

#include "kernel/codegen_llvm/types.h"

namespace isomer::kernel::codegen {

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

inline bool is_integer(const Lanes& a) { return static_cast<llvm::Value*>(a)->getType()->isIntOrIntVectorTy(); }
inline Lanes operator+(Lanes a, Lanes b) {
  return a.made(is_integer(a) ? a.build().CreateAdd(a, b) : a.build().CreateFAdd(a, b));
}
inline Lanes operator-(Lanes a, Lanes b) {
  return a.made(is_integer(a) ? a.build().CreateSub(a, b) : a.build().CreateFSub(a, b));
}
inline Lanes operator*(Lanes a, Lanes b) { return a.made(a.build().CreateFMul(a, b)); }
inline Lanes operator/(Lanes a, Lanes b) { return a.made(a.build().CreateFDiv(a, b)); }
inline Lanes operator+(Lanes a, double b) { return a + a.constant(b); }
inline Lanes operator-(Lanes a, double b) { return a - a.constant(b); }
inline Lanes operator*(Lanes a, double b) { return a * a.constant(b); }
inline Lanes operator-(double a, Lanes b) { return b.constant(a) - b; }
inline Lanes operator/(double a, Lanes b) { return b.constant(a) / b; }
inline Lanes operator<(Lanes a, double b) { return a.made(a.build().CreateFCmpOLT(a, a.constant(b))); }
inline Lanes operator>(Lanes a, double b) { return a.made(a.build().CreateFCmpOGT(a, a.constant(b))); }
inline Lanes operator==(Lanes a, Lanes b) { return a.made(a.build().CreateFCmpOEQ(a, b)); }
inline Lanes operator==(Lanes a, double b) { return a == a.constant(b); }
inline Lanes select(Lanes condition, Lanes then, Lanes otherwise) {
  return then.made(then.build().CreateSelect(condition, then, otherwise));
}
inline Lanes abs(Lanes a) { return a.made(a.build().CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a)); }
inline Lanes sqrt(Lanes a) { return a.made(a.build().CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a)); }
inline Lanes with_sign_of(Lanes a, Lanes sign) {
  return a.made(a.build().CreateBinaryIntrinsic(llvm::Intrinsic::copysign, a, sign));
}

/// c[0] + x * (c[1] + x * …)
inline Lanes polynomial(Lanes x, std::initializer_list<double> coefficients) {
  auto next = std::rbegin(coefficients);
  Lanes sum = x.constant(*next);
  while (++next != std::rend(coefficients)) sum = sum * x + *next;
  return sum;
}

/// x = n ln 2 + r with r in [-ln 2 / 2, ln 2 / 2]. Adding `magic`, a number that has no place for fractions, leaves the
/// rounded quotient in the low bits, with what the magic has there. ln 2 is a sum; multiples of its first part by
/// integers of the size of n are exact.
struct ReducedByLn2 {
  Lanes shifted, r;
};
inline ReducedByLn2 reduced_by_ln2(Lanes x, double magic, double first, double rest) {
  const Lanes shifted = x * 0x1.71547652b82fep0 + magic;
  const Lanes n = shifted - magic;
  const Lanes high = x - n * first, low = n * rest;
  return {shifted, high - low};
}

}  // namespace isomer::kernel::codegen
