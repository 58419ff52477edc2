// The scalars of the symbolic evaluation: integers and bools that are known, perhaps as arithmetic over named dims, or
// unknown. Operations never fail; what they can't say is unknown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/te/dim.h"

namespace isomer::te {

class SymbolicScalars {
 public:
  using Scalar = std::optional<Dim>;

  Scalar integer(int64_t value) const { return Dim(value); }
  Scalar zero(DataType) const { return Dim(0); }
  Scalar symbol(const std::string& name) const { return Dim::symbol(name); }
  Scalar literal(const Number& value, DataType dtype) const;
  Scalar unary(UnaryOp op, DataType dtype, const Scalar& x) const;
  Scalar binary(BinaryOp op, DataType dtype, const Scalar& a, const Scalar& b) const;
  Scalar cast(DataType from, DataType to, const Scalar& x) const;
  std::optional<bool> truth(const Scalar& condition) const;
  std::optional<int64_t> index(const Scalar& scalar) const { return scalar ? scalar->constant() : std::nullopt; }
  Scalar unknown(std::string_view) const { return std::nullopt; }
  Scalar either(const Scalar& a, const Scalar& b) const { return a && b && *a == *b ? a : std::nullopt; }
};

}  // namespace isomer::te
