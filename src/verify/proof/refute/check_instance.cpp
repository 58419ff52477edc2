#include "verify/proof/refute/check_instance.h"

#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "graph/interpret.h"
#include "graph/te/integer_algebra.h"
#include "verify/proof/refute/evaluate_exact.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify {
namespace {

constexpr double kRounding = 1e-9;

std::string integer_text(DataType dtype, int64_t value) { return te::Rational(te::unwrap(dtype, value)).text(); }

template <te::RealAlgebra A>
std::string element_text(DataType dtype, const typename te::Concrete<A>::Scalar& scalar) {
  if (scalar.index() == 0) return integer_text(dtype, std::get<0>(scalar));
  if constexpr (std::is_same_v<typename A::Value, te::Rational>)
    return std::get<1>(scalar).text();
  else
    return fmt::format("{}", std::get<1>(scalar));
}

template <te::RealAlgebra A>
std::string text_of(const te::ValuesOver<A>& values) {
  std::vector<std::string> elements;
  for (const auto& element : values.elements) elements.push_back(element_text<A>(values.dtype, element));
  return fmt::format("{}[{}] = {{{}}}", name(values.dtype), fmt::join(values.dims, ","), fmt::join(elements, ", "));
}

/// Rationals that no cast rounds: a float type has every number.
struct RealNumbers : te::RationalAlgebra {
  te::Rational from_integer(DataType from, int64_t value, DataType) const {
    return te::Rational(te::unwrap(from, value));
  }
  te::Rational rounded(const te::Rational& value, DataType) const { return value; }
};

/// Integers of their types' whole range: near its ends and parts of it, where arithmetic wraps, many of them near one
/// that all have in common, which floats may round to the same number; and small ones.
class WideIntegers {
 public:
  explicit WideIntegers(Random& random) : random_(random) {}

  int64_t draw(DataType dtype) {
    if (dtype == DataType::kBool) return random_.between(0, 1);
    const int bits = value_bits(dtype), unused = 64 - bits;
    switch (random_.below(5)) {
      case 0: return te::wrap(dtype, random_.between(-9, 9));
      case 1:
        if (!common_) common_ = static_cast<int64_t>(random_.next());
        return te::wrap(dtype, static_cast<__int128>(*common_ >> unused) + random_.between(-1, 1));
      case 2: return te::wrap(dtype, static_cast<int64_t>(random_.next()));
      default: {
        const int64_t end = random_.chance(0.5) ? kLeast : kMost;
        const int shift = random_.chance(0.5) ? 0 : random_.chance(0.7) ? 1 + random_.chance(0.5) : bits / 2;
        const int64_t beside = random_.chance(0.5) ? 0 : random_.between(-1, 1);
        return te::wrap(dtype, static_cast<__int128>(end >> unused >> shift) + beside);
      }
    }
  }

 private:
  static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  Random& random_;
  std::optional<int64_t> common_;
};

/// Small rationals, where cases meet: zeros, equal numbers, both signs; residues that are as good as any.
template <te::RealAlgebra A>
typename te::Concrete<A>::Scalar draw_real(const te::Concrete<A>& scalars, DataType dtype, const DrawnInputs& drawn,
                                           Random& random) {
  if constexpr (std::is_same_v<A, te::PrimeFieldAlgebra>) {
    return te::Concrete<A>::real(random.below(te::PrimeFieldAlgebra::kPrime));
  } else if (drawn.are_irregular) {
    constexpr int64_t kParts = 16;
    return scalars.literal(te::Number::fraction(random.between(-drawn.most * kParts, drawn.most * kParts), kParts),
                           dtype);
  } else {
    return scalars.literal(te::Number::fraction(random.between(-drawn.most, drawn.most), random.chance(0.3) ? 2 : 1),
                           dtype);
  }
}

template <te::RealAlgebra A>
bool is_finite(const te::ValuesOver<A>& values) {
  if constexpr (std::is_same_v<typename A::Value, te::Rational>)
    return std::all_of(values.elements.begin(), values.elements.end(),
                       [](const auto& element) { return element.index() == 0 || std::get<1>(element).is_finite(); });
  else
    return true;
}

bool is_finite(const te::Array& array) {
  if (!isomer::is_float(array.dtype())) return true;
  for (int64_t k = 0; k < array.count(); ++k)
    if (!std::isfinite(array.real(k))) return false;
  return true;
}

struct Comparison {
  bool is_same = true;
  bool is_left_finite = true, is_right_finite = true;  ///< and all that was computed for it
  bool is_finite() const { return is_left_finite && is_right_finite; }
  std::vector<std::string> inputs;
  std::string left, right;
};

/// Both sides, and what is computed on the way where that is asked for: the first `of_left` behind them for the left.
struct Sides {
  Graph graph;
  std::ptrdiff_t of_left = 0;
};

template <class Values, class IsFinite>
void note_finite(const Values& values, std::ptrdiff_t of_left, const IsFinite& is_finite, Comparison& result) {
  const auto behind = values.begin() + 2;
  result.is_left_finite = std::all_of(behind, behind + of_left, is_finite);
  result.is_right_finite = std::all_of(behind + of_left, values.end(), is_finite);
}

/// Nothing where a side has no value in the algebra.
template <te::RealAlgebra A>
std::optional<Comparison> compare(const Sides& graph, const LawInstance& instance, A algebra, Random& random,
                                  const DrawnInputs& drawn) {
  const te::Concrete<A> scalars{std::move(algebra)};
  WideIntegers wide(random);
  std::vector<te::ValuesOver<A>> inputs;
  for (const auto& [name, type] : instance.types) {
    te::ValuesOver<A> values{type.dtype, *constants(*type.shape), {}};
    const int64_t count = element_count(values.dims);
    for (int64_t k = 0; k < count; ++k) {
      if (is_float(type.dtype))
        values.elements.push_back(draw_real(scalars, type.dtype, drawn, random));
      else if (drawn.are_irregular)
        values.elements.push_back(scalars.integer(wide.draw(type.dtype)));
      else if (type.dtype == DataType::kBool)
        values.elements.push_back(scalars.integer(random.between(0, 1)));
      else
        values.elements.push_back(scalars.integer(te::wrap(type.dtype, random.between(-9, 9))));
    }
    inputs.push_back(std::move(values));
  }
  const auto sides = evaluate(graph.graph, scalars, inputs);
  if (!sides.ok()) return std::nullopt;
  const auto &left = (*sides)[0], &right = (*sides)[1];
  Comparison result;
  result.is_same =
      left.dtype == right.dtype && left.dims == right.dims &&
      std::equal(left.elements.begin(), left.elements.end(), right.elements.begin(), [&](const auto& a, const auto& b) {
        return a == b || (a.index() == 1 && b.index() == 1 && scalars.algebra().is_nan(std::get<1>(a)) &&
                          scalars.algebra().is_nan(std::get<1>(b)));
      });
  if (result.is_same) return result;
  note_finite(*sides, graph.of_left, [](const auto& values) { return is_finite<A>(values); }, result);
  size_t k = 0;
  for (const auto& [name, type] : instance.types)
    result.inputs.push_back(fmt::format("{}: {}", name, text_of<A>(inputs[k++])));
  result.left = text_of<A>(left);
  result.right = text_of<A>(right);
  return result;
}

/// In double precision, on inputs near 1, or on halves up to 1: the same but for rounding, beyond which nothing is
/// known.
std::optional<Comparison> compare_doubles(const Sides& graph, const LawInstance& instance, bool at_halves,
                                          Random& random) {
  std::vector<te::Array> inputs;
  Comparison result;
  for (const auto& [name, type] : instance.types) {
    if (!is_float(type.dtype)) return std::nullopt;
    const Dims dims = *constants(*type.shape);
    std::vector<double> values;
    for (int64_t count = element_count(dims); count > 0; --count)
      values.push_back(at_halves ? static_cast<double>(random.between(-2, 2)) / 2 : random.uniform(-2, 2));
    result.inputs.push_back(fmt::format("{}: {}[{}] = {{{}}}", name, isomer::name(type.dtype), fmt::join(dims, ","),
                                        fmt::join(values, ", ")));
    inputs.push_back(te::Array::reals(type.dtype, dims, values));
  }
  const auto sides = interpret(graph.graph, inputs, {});
  if (!sides.ok() || !is_float((*sides)[0].dtype()) || (*sides)[0].dims() != (*sides)[1].dims()) return std::nullopt;
  result.is_same = (*sides)[0].dtype() == (*sides)[1].dtype();
  const auto text = [](const te::Array& array) {
    std::vector<double> values;
    for (int64_t k = 0; k < array.count(); ++k) values.push_back(array.as_double(k));
    return fmt::format("[{}] = {{{}}}", fmt::join(array.dims(), ","), fmt::join(values, ", "));
  };
  for (int64_t k = 0; result.is_same && k < (*sides)[0].count(); ++k) {
    const double left = (*sides)[0].real(k), right = (*sides)[1].real(k);
    const bool are_finite = std::isfinite(left) && std::isfinite(right);
    const bool is_close = are_finite
                              ? std::abs(left - right) <= kRounding * std::max({1.0, std::abs(left), std::abs(right)})
                              : left == right || (std::isnan(left) && std::isnan(right));
    result.is_same &= is_close;
  }
  note_finite(*sides, graph.of_left, [](const te::Array& array) { return is_finite(array); }, result);
  result.left = text((*sides)[0]);
  result.right = text((*sides)[1]);
  return result;
}

/// As a machine has them: integers of the whole range, which wrap. Nothing where a law has none, or where it divides by
/// zero.
std::optional<Comparison> compare_wrapped(const Sides& graph, const LawInstance& instance, Random& random) {
  std::vector<te::Array> inputs;
  Comparison result;
  WideIntegers wide(random);
  const auto text = [](const te::Array& array) {
    std::vector<std::string> values;
    for (int64_t k = 0; k < array.count(); ++k) values.push_back(integer_text(array.dtype(), array.integer(k)));
    return fmt::format("{}[{}] = {{{}}}", name(array.dtype()), fmt::join(array.dims(), ","), fmt::join(values, ", "));
  };
  for (const auto& [name, type] : instance.types) {
    if (isomer::is_float(type.dtype)) return std::nullopt;
    const Dims dims = *constants(*type.shape);
    std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
    for (int64_t& value : values) value = wide.draw(type.dtype);
    inputs.push_back(te::Array::integers(type.dtype, dims, values));
    result.inputs.push_back(fmt::format("{}: {}", name, text(inputs.back())));
  }
  if (inputs.empty()) return std::nullopt;
  const auto sides = interpret(graph.graph, inputs, {});
  if (!sides.ok() || is_float((*sides)[0].dtype())) return std::nullopt;
  const te::Array &left = (*sides)[0], &right = (*sides)[1];
  result.is_same = left.dims() == right.dims();
  for (int64_t k = 0; result.is_same && k < left.count(); ++k) result.is_same = left.integer(k) == right.integer(k);
  result.left = text(left);
  result.right = text(right);
  return result;
}

void add_applications(const Term& term, std::vector<Term>& terms) {
  const auto* application = term.as_application();
  if (!application) return;
  terms.push_back(term);
  for (const Term& argument : application->arguments) add_applications(argument, terms);
}

Result<Sides> sides_of(const LawInstance& instance, bool with_applications) {
  std::vector<Term> terms = {instance.law.left, instance.law.right};
  if (with_applications) add_applications(instance.law.left, terms);
  const auto of_left = static_cast<std::ptrdiff_t>(terms.size()) - 2;
  if (with_applications) add_applications(instance.law.right, terms);
  TRY(Graph graph, graph_of(terms, instance.types));
  return Sides{std::move(graph), of_left};
}

Counterexample counterexample(const LawInstance& instance, Comparison comparison) {
  return {instance, std::move(comparison.inputs), std::move(comparison.left), std::move(comparison.right)};
}

}  // namespace

std::string Counterexample::text() const {
  std::string result = instance.law.text();
  for (const std::string& input : inputs) result += "\n  " + input;
  return fmt::format("{}\n  left: {}\n  right: {}", result, left, right);
}

std::optional<InstanceCheck> check_instance(const LawInstance& instance, Random& random, FloatClass float_class,
                                            const DrawnInputs& drawn) {
  const auto graph = sides_of(instance, float_class >= FloatClass::kFinite);
  if (!graph.ok()) return std::nullopt;
  InstanceCheck result;
  auto comparison = drawn.are_irregular ? compare(*graph, instance, RealNumbers(), random, drawn)
                                        : compare(*graph, instance, te::RationalAlgebra(), random, drawn);
  result.over_rationals = comparison.has_value();
  if (!comparison) comparison = compare(*graph, instance, te::PrimeFieldAlgebra(random.next()), random, drawn);
  if (comparison && !comparison->is_same && !result.over_rationals) {
    comparison = compare_doubles(*graph, instance, false, random);
    result.in_doubles = true;
  }
  if (!comparison || (!comparison->is_same && !comparison->is_finite())) return std::nullopt;
  if (comparison->is_same)
    if (auto wrapped = compare_wrapped(*graph, instance, random)) comparison = std::move(wrapped);
  if (!comparison->is_same) result.counterexample = counterexample(instance, *std::move(comparison));
  return result;
}

std::optional<Counterexample> value_of_one_side(const LawInstance& instance, Random& random) {
  constexpr DrawnInputs kSmall{.most = 2};
  const auto graph = sides_of(instance, true);
  if (!graph.ok()) return std::nullopt;
  auto comparison = compare(*graph, instance, te::RationalAlgebra(), random, kSmall);
  if (!comparison) comparison = compare_doubles(*graph, instance, true, random);
  if (!comparison || comparison->is_same || comparison->is_left_finite == comparison->is_right_finite)
    return std::nullopt;
  return counterexample(instance, *std::move(comparison));
}

}  // namespace isomer::verify
