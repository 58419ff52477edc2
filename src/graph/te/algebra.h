// What a program is evaluated over. An algebra says what the real numbers of tensor expressions are: doubles, floats,
// int64, rationals, a prime field. Integers and bools are int64 in all of them (integer_algebra.h).
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "graph/te/expr.h"
#include "graph/te/failure.h"
#include "graph/te/integer_algebra.h"

namespace isomer::te {

/// The operations of an algebra throw Failure where they have no value: 1/2 as an int64, exp(1) as a rational.
template <class A>
concept RealAlgebra = requires(const A algebra, const typename A::Value& value) {
  { algebra.from_number(Number()) } -> std::same_as<typename A::Value>;
  { algebra.from_integer(DataType::kInt64, int64_t{}, DataType::kFloat32) } -> std::same_as<typename A::Value>;
  { algebra.to_integer(value, DataType::kInt64) } -> std::same_as<int64_t>;  // truncates, then wraps
  { algebra.rounded(value, DataType::kFloat16) } -> std::same_as<typename A::Value>;
  { algebra.apply(UnaryOp::kExp, value) } -> std::same_as<typename A::Value>;
  { algebra.apply(BinaryOp::kAdd, value, value) } -> std::same_as<typename A::Value>;
  { algebra.compare(BinaryOp::kLess, value, value) } -> std::same_as<bool>;
  { algebra.is_nan(value) } -> std::same_as<bool>;
};

using SymbolValues = std::map<std::string, int64_t, std::less<>>;

/// The scalars that the evaluator computes with, over an algebra: everything is known, every mistake is a Failure.
template <RealAlgebra A>
class Concrete {
 public:
  using Real = typename A::Value;
  using Scalar = std::variant<int64_t, Real>;

  explicit Concrete(A algebra = {}, SymbolValues symbols = {})
      : algebra_(std::move(algebra)), symbols_(std::move(symbols)) {}
  const A& algebra() const { return algebra_; }

  static Scalar integer(int64_t value) { return Scalar(std::in_place_index<0>, value); }
  static Scalar real(Real value) { return Scalar(std::in_place_index<1>, std::move(value)); }
  static int64_t integer_of(const Scalar& scalar) { return std::get<0>(scalar); }
  static const Real& real_of(const Scalar& scalar) { return std::get<1>(scalar); }

  Scalar literal(const Number& value, DataType dtype) const {
    return is_float(dtype) ? real(algebra_.from_number(value)) : integer(wrap(dtype, value.to_int64()));
  }
  Scalar zero(DataType dtype) const { return literal(0, dtype); }
  Scalar symbol(const std::string& name) const {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) fail("the dim '{}' has no value", name);
    return integer(found->second);
  }
  Scalar unary(UnaryOp op, DataType dtype, const Scalar& x) const {
    if (!is_float(dtype)) return integer(apply_integer(op, dtype, integer_of(x)));
    if (op == UnaryOp::kIsNan) return integer(algebra_.is_nan(real_of(x)));
    return real(algebra_.apply(op, real_of(x)));
  }
  Scalar binary(BinaryOp op, DataType dtype, const Scalar& a, const Scalar& b) const {
    if (!is_float(dtype)) return integer(apply_integer(op, dtype, integer_of(a), integer_of(b)));
    if (is_comparison(op)) return integer(algebra_.compare(op, real_of(a), real_of(b)));
    return real(algebra_.apply(op, real_of(a), real_of(b)));
  }
  Scalar cast(DataType from, DataType to, const Scalar& x) const {
    if (is_float(from)) {
      // Doubles hold what a narrower type would have rounded: 1.9999999999999998 of float32 is 2.
      if constexpr (std::floating_point<Real>)
        if (!is_float(to) && from != DataType::kFloat64)
          return cast(DataType::kFloat64, to, real(algebra_.rounded(real_of(x), from)));
      if (is_float(to)) return real(algebra_.rounded(real_of(x), to));
      if (to != DataType::kBool) return integer(algebra_.to_integer(real_of(x), to));
      return integer(!algebra_.compare(BinaryOp::kEqual, real_of(x), algebra_.from_number(0)));
    }
    if (is_float(to)) return real(algebra_.from_integer(from, integer_of(x), to));
    return integer(wrap(to, unwrap(from, integer_of(x))));
  }
  /// Whether a condition holds, the value of an index; nothing where that is unknown, which never happens here.
  std::optional<bool> truth(const Scalar& condition) const { return integer_of(condition) != 0; }
  std::optional<int64_t> index(const Scalar& scalar) const { return integer_of(scalar); }
  /// What a load gives that has no element to load.
  Scalar unknown(std::string_view why) const { fail("{}", why); }
  /// The value of a select whose condition is unknown.
  Scalar either(const Scalar&, const Scalar&) const { fail("a condition is unknown"); }

 private:
  A algebra_;
  SymbolValues symbols_;
};

}  // namespace isomer::te
