// Rationals with ±inf: exact, and total but for functions whose value is not rational.
#pragma once

#include "graph/te/algebra.h"
#include "graph/te/rational.h"

namespace isomer::te {

struct RationalAlgebra {
  using Value = Rational;
  Rational from_number(const Number& number) const { return Rational(number); }
  Rational from_integer(DataType from, int64_t value, DataType to) const {
    return Rational(unwrap(from, value)).rounded(to);
  }
  /// Modulo the type's range; of infinities and NaN 0.
  int64_t to_integer(const Rational& value, DataType to) const { return wrap(to, value.truncated_to_int64()); }
  Rational rounded(const Rational& value, DataType dtype) const { return value.rounded(dtype); }
  Rational apply(UnaryOp op, const Rational& x) const;
  Rational apply(BinaryOp op, const Rational& a, const Rational& b) const;
  bool compare(BinaryOp op, const Rational& a, const Rational& b) const {
    return (op != BinaryOp::kLess && a == b) || (op != BinaryOp::kEqual && a < b);
  }
  bool is_nan(const Rational& value) const { return value.is_nan(); }
};

}  // namespace isomer::te
