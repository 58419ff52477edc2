// The laws of the named monoids: associative, with their identity, commutative; exactly where they are rational
// functions.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/te/algebra_floating.h"
#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "graph/te/named_monoid.h"
#include "util/random.h"

namespace isomer::te {
namespace {

using Tuple = std::vector<Expr>;

/// left ∘ right
Tuple combined(const Monoid& monoid, const Tuple& left, const Tuple& right) {
  Tuple result;
  for (const Expr& component : monoid.combine)
    result.push_back(transform(component, [&](const Expr& e) {
      const Var* v = as<Var>(e);
      if (!v || (v->kind != VarKind::kLeft && v->kind != VarKind::kRight)) return Expr();
      return (v->kind == VarKind::kLeft ? left : right)[v->index];
    }));
  return result;
}

template <RealAlgebra A>
using Scalars = std::vector<typename Concrete<A>::Scalar>;

template <RealAlgebra A>
Scalars<A> values(const Tuple& tuple) {
  Program program;
  for (const Expr& component : tuple) program.outputs.push_back(program.map({}, component));
  const auto outputs = evaluate(program, Concrete<A>(), {});
  EXPECT_TRUE(outputs.ok()) << outputs.error().message();
  Scalars<A> result;
  for (const auto& output : *outputs) result.push_back(output.elements[0]);
  return result;
}

bool near(double a, double b) { return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}); }
bool near(const Rational& a, const Rational& b) { return a == b; }
template <class Scalar>
bool same(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  for (size_t k = 0; k < a.size(); ++k)
    if (a[k].index() == 0 ? std::get<0>(a[k]) != std::get<0>(b[k]) : !near(std::get<1>(a[k]), std::get<1>(b[k])))
      return false;
  return true;
}

constexpr DataType kF64 = DataType::kFloat64;

/// Tuples as reductions meet them: an element, or the combination of a few.
using Element = std::function<Tuple(Random&, int64_t position)>;

template <RealAlgebra A>
void check_laws(const Monoid& monoid, const Element& element) {
  Random random(21);
  int64_t position = 0;
  const auto any = [&] {
    Tuple tuple = random.chance(0.1) ? monoid.identity : element(random, position++);
    for (uint64_t more = random.below(3); more-- > 0;) tuple = combined(monoid, tuple, element(random, position++));
    return tuple;
  };
  for (int i = 0; i < 80; ++i) {
    const Tuple a = any(), b = any(), c = any();
    const auto left = values<A>(combined(monoid, combined(monoid, a, b), c));
    const auto right = values<A>(combined(monoid, a, combined(monoid, b, c)));
    EXPECT_TRUE(same(left, right)) << monoid.name << " is not associative";
    EXPECT_TRUE(same(values<A>(combined(monoid, monoid.identity, a)), values<A>(a)))
        << monoid.name << ": left identity";
    EXPECT_TRUE(same(values<A>(combined(monoid, a, monoid.identity)), values<A>(a)))
        << monoid.name << ": right identity";
    EXPECT_TRUE(monoid.commutative);
    EXPECT_TRUE(same(values<A>(combined(monoid, a, b)), values<A>(combined(monoid, b, a))))
        << monoid.name << " does not commute";
  }
}

Expr small(Random& random) { return literal(Number::fraction(random.between(-9, 9), random.between(1, 3)), kF64); }
Element alone() {
  return [](Random& random, int64_t) { return Tuple{small(random)}; };
}
Element with_position() {
  return [](Random& random, int64_t position) { return Tuple{small(random), index(position)}; };
}

/// Kernels are told apart by the names of what they combine with.
TEST(Monoids, are_called_what_the_text_form_calls_them) {
  for (const NamedMonoid& named : kNamedMonoids) EXPECT_EQ(named.make(kF64).name, named.name);
}

TEST(Monoids, hold_their_laws_exactly) {
  check_laws<RationalAlgebra>(sum(kF64), alone());
  check_laws<RationalAlgebra>(product(kF64), alone());
  check_laws<RationalAlgebra>(maximum(kF64), alone());
  check_laws<RationalAlgebra>(minimum(kF64), alone());
  for (const bool last : {false, true}) {
    check_laws<RationalAlgebra>(argmax(kF64, last), with_position());
    check_laws<RationalAlgebra>(argmin(kF64, last), with_position());
  }
  check_laws<RationalAlgebra>(
      welford(kF64), [](Random& random, int64_t) { return Tuple{literal(1, kF64), small(random), literal(0, kF64)}; });
}

TEST(Monoids, hold_their_laws_in_doubles) {
  check_laws<DoubleAlgebra>(online_softmax(kF64), [](Random& random, int64_t) {
    return Tuple{small(random), literal(1, kF64), small(random)};
  });
}

TEST(Monoids, hold_their_laws_on_integers_and_bools) {
  for (const DataType dtype :
       {DataType::kInt8, DataType::kUInt8, DataType::kInt64, DataType::kUInt64, DataType::kBool}) {
    const Element element = [=](Random& random, int64_t) {
      const int64_t low = is_signed_int(dtype) ? -100 : 0, high = dtype == DataType::kBool ? 1 : 100;
      return Tuple{literal(random.between(low, high), dtype)};
    };
    for (const Monoid& monoid : {sum(dtype), product(dtype), maximum(dtype), minimum(dtype)})
      check_laws<DoubleAlgebra>(monoid, element);
  }
}

TEST(Monoids, arguments_of_extremes_prefer_numbers_to_nan) {
  const Tuple nan = {literal(Number::nan(), kF64), index(0)}, one = {literal(1, kF64), index(1)};
  for (const bool last : {false, true})
    for (const Monoid& monoid : {argmax(kF64, last), argmin(kF64, last)})
      EXPECT_EQ(std::get<0>(values<DoubleAlgebra>(combined(monoid, one, nan))[1]), 1) << monoid.name;
}

}  // namespace
}  // namespace isomer::te
