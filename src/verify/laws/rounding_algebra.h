// What rounding can make of a result: an interval that holds it both over the reals and in float32, every operation
// rounded once (four units in the last place for functions). Where two terms are equal in the reals, their intervals
// meet; by how much they may differ in float32 is what these are wide: on sums of K terms of absolute sum S about K *
// 2^-24 * S.
#pragma once

#include "graph/te/algebra.h"

namespace isomer::verify {

struct Interval {
  double low = 0, high = 0;  ///< in this order; one or both may be infinite
  bool is_point() const { return low == high; }
};

inline bool meet(const Interval& a, const Interval& b) { return a.low <= b.high && b.low <= a.high; }

/// Fails where a comparison, a quotient or a function has no one meaning on the interval: what rounding decides has no
/// bound.
struct RoundingAlgebra {
  using Value = Interval;

  Interval from_number(const te::Number& number) const;
  Interval from_integer(DataType from, int64_t value, DataType to) const;
  int64_t to_integer(const Interval& value, DataType to) const;
  Interval rounded(const Interval& value, DataType dtype) const;
  Interval apply(te::UnaryOp op, const Interval& x) const;
  Interval apply(te::BinaryOp op, const Interval& a, const Interval& b) const;
  bool compare(te::BinaryOp op, const Interval& a, const Interval& b) const;
  bool is_nan(const Interval&) const { return false; }
};

}  // namespace isomer::verify
