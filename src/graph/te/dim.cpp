#include "graph/te/dim.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/te/integer.h"
#include "graph/te/print.h"
#include "graph/te/simplify.h"
#include "util/check.h"

namespace isomer {
namespace {

template <class Fold>
Dim combine(te::BinaryOp op, const Dim& a, const Dim& b, Fold fold) {
  if (a.is_constant() && b.is_constant()) return Dim(fold(a.value(), b.value()));
  return Dim(te::binary(op, a.expr(), b.expr()));
}

}  // namespace

Dim::Dim(const te::Expr& expr) {
  const te::Expr normal = te::simplify_index(expr);
  if (const auto value = te::as_constant(normal))
    value_ = *value;
  else
    symbolic_ = normal;
}

int64_t Dim::value() const {
  CHECK(is_constant()) << text();
  return value_;
}

bool Dim::operator==(const Dim& other) const {
  if (is_constant() != other.is_constant()) return false;
  return is_constant() ? value_ == other.value_ : symbolic_ == other.symbolic_;
}

std::string Dim::text() const { return symbolic_ ? te::print(symbolic_) : fmt::format("{}", value_); }

// What is there is in normal form: neutral elements, of which shape inference is full, leave it so.
Dim operator+(const Dim& a, const Dim& b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return combine(te::BinaryOp::kAdd, a, b, te::saturating_add);
}
Dim operator-(const Dim& a, const Dim& b) {
  if (b.is(0)) return a;
  return combine(te::BinaryOp::kSub, a, b, te::saturating_sub);
}
Dim operator*(const Dim& a, const Dim& b) {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  return combine(te::BinaryOp::kMul, a, b, te::saturating_mul);
}
Dim floor_div(const Dim& a, const Dim& b) {
  CHECK(!b.is(0));
  if (b.is(1)) return a;
  return combine(te::BinaryOp::kFloorDiv, a, b, [](int64_t x, int64_t y) { return te::floor_div(x, y); });
}
Dim ceil_div(const Dim& a, const Dim& b) { return floor_div(a + b - 1, b); }
Dim floor_mod(const Dim& a, const Dim& b) {
  CHECK(!b.is(0));
  return combine(te::BinaryOp::kFloorMod, a, b, [](int64_t x, int64_t y) { return te::floor_mod(x, y); });
}
Dim min(const Dim& a, const Dim& b) {
  return combine(te::BinaryOp::kMin, a, b, [](int64_t x, int64_t y) { return std::min(x, y); });
}
Dim max(const Dim& a, const Dim& b) {
  return combine(te::BinaryOp::kMax, a, b, [](int64_t x, int64_t y) { return std::max(x, y); });
}

Dim element_count(const Shape& shape) {
  // The symbols are brought to normal form once, not after each product.
  Dim known = 1, symbolic = 1;
  te::Expr product;
  for (const Dim& dim : shape) {
    if (dim.is_constant()) {
      known = known * dim;
    } else {
      symbolic = dim;
      product = product ? product * dim.expr() : dim.expr();
    }
  }
  if (product && product != symbolic.expr()) symbolic = Dim(product);
  return known * symbolic;
}

std::string text(const Shape& shape) {
  std::vector<std::string> dims;
  for (const Dim& dim : shape) dims.push_back(dim.text());
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::optional<std::vector<int64_t>> constants(const Shape& shape) {
  std::vector<int64_t> values;
  for (const Dim& dim : shape) {
    if (!dim.is_constant()) return std::nullopt;
    values.push_back(dim.value());
  }
  return values;
}

bool contradict(const Shape& a, const Shape& b) {
  return !std::ranges::equal(a, b, [](const Dim& left, const Dim& right) {
    return !left.is_constant() || !right.is_constant() || left == right;
  });
}

}  // namespace isomer
