// A dim: a non-negative integer, or arithmetic over named dims. Kept in one normal form, so that equal means equal:
// 2*(batch+1) == 2+2*batch. Arithmetic saturates at ±2^62 instead of overflowing; ranges are checked by shape
// inference.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/te/expr.h"

namespace isomer {

class Dim {
 public:
  Dim() = default;
  Dim(int64_t value) : value_(value) {}
  static Dim symbol(std::string name) { return Dim(te::symbol(std::move(name))); }
  /// Brings an int64 expression over literals and symbols (and, for sizes that data decide, loads) to normal form.
  explicit Dim(const te::Expr& expr);

  bool is_constant() const { return !symbolic_; }
  std::optional<int64_t> constant() const { return symbolic_ ? std::nullopt : std::optional(value_); }
  /// CHECKs that it is one.
  int64_t value() const;
  bool is(int64_t value) const { return !symbolic_ && value_ == value; }
  te::Expr expr() const { return symbolic_ ? symbolic_ : te::index(value_); }
  bool operator==(const Dim& other) const;
  /// "3", "batch", "2*batch + 1"
  std::string text() const;

 private:
  int64_t value_ = 0;
  te::Expr symbolic_;
};

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
/// b must not be the constant 0
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim floor_mod(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

/// The product of all dims; 1 for a scalar.
Dim element_count(const Shape& shape);
/// "[1,3,batch]"
std::string text(const Shape& shape);
/// The dims' values when all are constant.
std::optional<std::vector<int64_t>> constants(const Shape& shape);
/// True of shapes that no tensor can have both of.
bool contradict(const Shape& a, const Shape& b);

}  // namespace isomer
