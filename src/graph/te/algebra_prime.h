// The field Z_p with p = 2^61 - 1 (DESIGN.md, section 5): sums, products and quotients are exact in it, so that
// programs that are equal as rational functions give equal values, and others almost surely different ones. What is no
// field operation is replaced by something that is a function of its arguments: the order by a seeded total order, in
// which minima and maxima are taken; exp, log and the like by seeded hashes; what needs integers (floor, remainders,
// powers, casts) is exact on small integers, |x| < 2^32, and a hash beyond.
#pragma once

#include "graph/te/algebra.h"

namespace isomer::te {

class PrimeFieldAlgebra {
 public:
  /// A residue below kPrime, or one of three special values: ±inf bound the order and swallow sums, NaN swallows all.
  using Value = uint64_t;
  static constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
  static constexpr uint64_t kInfinity = kPrime, kMinusInfinity = kPrime + 1, kNan = kPrime + 2;

  PrimeFieldAlgebra() = default;
  explicit PrimeFieldAlgebra(uint64_t seed) : seed_(seed) {}

  Value from_number(const Number& number) const;
  Value from_integer(DataType from, int64_t value, DataType) const { return residue(unwrap(from, value)); }
  int64_t to_integer(Value value, DataType to) const;
  Value rounded(Value value, DataType) const { return value; }
  Value apply(UnaryOp op, Value x) const;
  Value apply(BinaryOp op, Value a, Value b) const;
  bool compare(BinaryOp op, Value a, Value b) const;
  bool is_nan(Value value) const { return value == kNan; }

  static Value residue(__int128 integer);
  static Value add(Value a, Value b);       ///< of residues
  static Value multiply(Value a, Value b);  ///< of residues
  /// of a residue other than 0
  static Value inverse(Value a);
  static Value power(Value base, uint64_t exponent);

 private:
  /// A residue that depends on the arguments and the seed only.
  Value hash(int function, Value a, Value b = 0) const;
  bool precedes(Value a, Value b) const;
  Value integer_operation(BinaryOp op, Value a, Value b) const;
  uint64_t seed_ = 0;
};

}  // namespace isomer::te
