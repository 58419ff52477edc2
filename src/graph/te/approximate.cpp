#include "graph/te/approximate.h"

#include <algorithm>
#include <cmath>

#include "graph/rounding.h"
#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "graph/te/rewrite_program.h"

namespace isomer::te {
namespace {

/// How much of an element of a constant may be noise.
constexpr double kMostNoise = 0x1p-10;
/// Bounds that are all within so much of their elements need no second part.
constexpr double kFew = 0x1p-16;
/// Bounds are doubles, too.
constexpr double kSlack = 1 + 0x1p-40;

Error undecided() {
  return unsupported("", "a constant expected that rounding does not decide, one found of numbers that cancel");
}

/// The absolute values; 0 of NaN.
std::vector<double> sizes_of(const Array& array) {
  std::vector<double> result(static_cast<size_t>(array.count()));
  const auto set = [&](const auto& element) {
    for (size_t i = 0; i < result.size(); ++i) {
      const double size = std::fabs(static_cast<double>(element(i)));
      result[i] = size == size ? size : 0;
    }
  };
  // Nearly all are of these.
  if (array.storage() == Storage::kDouble)
    set([reals = array.reals()](size_t i) { return reals[i]; });
  else if (array.storage() == Storage::kFloat32)
    set([floats = static_cast<const float*>(array.data())](size_t i) { return floats[i]; });
  else
    set([&](size_t i) { return array.as_double(static_cast<int64_t>(i)); });
  return result;
}

/// 0 of none.
double median(std::vector<double> sizes) {
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

/// The largest of the bounds as a part of their elements; infinite where that of a zero is none.
double largest_part(std::span<const double> sizes, std::span<const double> off) {
  double result = 0;
  for (size_t i = 0; i < off.size(); ++i) result = off[i] > result * sizes[i] ? off[i] / sizes[i] : result;
  return result;
}

/// That covers all bounds; `known` where it does, so that what is only moved is as far off as it was.
Distance covering(const std::vector<double>& sizes, std::span<const double> off, const Distance& known) {
  const double largest = largest_part(sizes, off);
  if (largest == 0) return {};
  bool is_covered = !known.is_zero();
  for (size_t i = 0; is_covered && i < off.size(); ++i)
    is_covered = off[i] <= kSlack * (known.relative * sizes[i] + known.absolute);
  if (is_covered) return known;
  if (largest <= kFew) return {largest, 0};
  const double middle = median(sizes);
  Distance result;
  for (size_t i = 0; i < off.size(); ++i)
    if (sizes[i] >= middle && middle > 0) result.relative = std::max(result.relative, off[i] / sizes[i]);
  for (size_t i = 0; i < off.size(); ++i)
    if (off[i] > result.relative * sizes[i]) result.absolute = std::max(result.absolute, off[i]);
  return result;
}

/// Elements, and steps to them, that are worth to be computed as rationals.
constexpr int64_t kFewElements = 64, kFewSteps = 1 << 12;
/// How far a double may be from a rational that was rounded to it once, as a part of itself.
constexpr double kRoundedOnce = 0x1p-50;

/// Rationals, where nothing else comes of them: what a cast would round, what is infinite or no number, is a failure.
struct FiniteRationals : RationalAlgebra {
  Rational rounded(const Rational& value, DataType dtype) const {
    if (!(value.rounded(dtype) == value)) fail_unsupported("{} as {}", value.text(), name(dtype));
    return value;
  }
  Rational apply(UnaryOp op, const Rational& x) const { return finite(RationalAlgebra::apply(op, x)); }
  Rational apply(BinaryOp op, const Rational& a, const Rational& b) const {
    return finite(RationalAlgebra::apply(op, a, b));
  }
  static Rational finite(Rational value) {
    if (!value.is_finite()) fail_unsupported("{}", value.text());
    return value;
  }
};

/// The doubles, if the value stands for them.
std::vector<Rational> rationals(const Array& array) {
  std::vector<Rational> result;
  for (int64_t i = 0; i < array.count(); ++i) result.emplace_back(Number(array.real(i)));
  return result;
}

bool are_finite(const Array& array) {
  for (int64_t i = 0; i < array.count(); ++i)
    if (!std::isfinite(array.real(i))) return false;
  return true;
}

/// The rationals that the value stands for; nothing where it is not known which, or where they are many.
std::optional<ValuesOver<FiniteRationals>> elements_of(const Approximate& input) {
  using Scalars = Concrete<FiniteRationals>;
  const Array& array = input.value;
  if (!array.is_tensor() || array.count() > kFewElements) return std::nullopt;
  if (!input.distance.is_zero() && input.exact.empty()) return std::nullopt;
  ValuesOver<FiniteRationals> result{array.dtype(), array.dims(), {}};
  if (!is_float(array.dtype())) {
    for (int64_t i = 0; i < array.count(); ++i) result.elements.push_back(Scalars::integer(array.integer(i)));
    return result;
  }
  if (!are_finite(array)) return std::nullopt;
  const std::vector<Rational> reals = input.exact.empty() ? rationals(array) : input.exact;
  for (const Rational& each : reals) result.elements.push_back(Scalars::real(each));
  return result;
}

/// At most one operation on floats makes each element: a runtime's result is the real one, rounded.
bool rounds_once(const Program& program) {
  int operations = 0;
  for (const Stage& stage : program.stages) {
    const auto* map = std::get_if<MapReduce>(&stage.body);
    if (!map || !map->reduce.empty()) return false;
    for (const Expr& body : map->bodies)
      for_each_node(body, [&](const Expr& expr) {
        const Unary* unary = as<Unary>(expr);
        const Binary* binary = as<Binary>(expr);
        operations += (unary && is_float(unary->operand.dtype())) || (binary && is_float(binary->left.dtype()));
      });
  }
  return operations <= 1;
}

/// What runtimes compute, which round each result, is the value rounded once: no rounding has decided anything.
bool is_what_runtimes_compute(const Array& value, const Program& program, StageValue output,
                              std::span<const Approximate> inputs) {
  std::vector<Approximate> rounded;
  for (const Approximate& input : inputs)
    rounded.push_back({input.value.empty() ? input.value : Array::from(to_tensor(input.value)), {}});
  const auto run = in_doubles(program, output, rounded);
  if (!run.ok()) return false;
  const Array found = Array::from(to_tensor(run->value)), expected = Array::from(to_tensor(value));
  for (int64_t i = 0; i < found.count(); ++i)
    if (found.as_double(i) != expected.as_double(i)) return false;
  return true;
}

/// The output, of few rationals; nothing where it is of others, or where runtimes compute something else.
std::optional<Approximate> in_rationals(const Program& program, StageValue output,
                                        std::span<const Approximate> inputs) {
  using Scalars = Concrete<FiniteRationals>;
  if (!rounds_once(program)) return std::nullopt;
  std::vector<std::optional<ValuesOver<FiniteRationals>>> values;
  std::vector<const ValuesOver<FiniteRationals>*> given;
  for (const Approximate& input : inputs) {
    const bool is_given = !input.value.empty();
    values.push_back(is_given ? elements_of(input) : std::nullopt);
    if (is_given && !values.back()) return std::nullopt;
  }
  for (const auto& each : values) given.push_back(each ? &*each : nullptr);
  Program one = program;
  one.outputs = {output};
  const auto made = evaluate(one, Scalars(), given, {kFewElements, kFewSteps});
  if (!made.ok()) return std::nullopt;
  const auto& [dtype, dims, elements] = made->front();
  if (!is_float(dtype)) {
    std::vector<int64_t> integers;
    for (const auto& element : elements) integers.push_back(Scalars::integer_of(element));
    const Array value = Array::integers(dtype, dims, integers);
    if (!is_what_runtimes_compute(value, program, output, inputs)) return std::nullopt;
    return Approximate{value, {}};
  }
  Approximate result;
  std::vector<double> reals;
  bool is_exact = true;
  for (const auto& element : elements) {
    const Rational& real = Scalars::real_of(element);
    reals.push_back(real.to_double());
    // Numbers that grow with each step are not followed.
    if (!real.is_finite() || !real.is_small() || (real.sign() != 0 && std::fabs(reals.back()) < kNegligible))
      return std::nullopt;
    is_exact = is_exact && Rational(Number(reals.back())) == real;
    result.exact.push_back(real);
  }
  result.value = Array::reals(dtype, dims, reals);
  if (!is_what_runtimes_compute(result.value, program, output, inputs)) return std::nullopt;
  if (is_exact) result.exact.clear();
  if (!is_exact) result.distance = {kRoundedOnce, 0};
  return result;
}

/// Inputs that are one array are read as one: x - x is zero, whatever x is.
Program reading_once(Program program, std::span<const Approximate> inputs) {
  rewrite(program, [&](const Expr& expr) -> Expr {
    const Load* read = as<Load>(expr);
    if (!read || read->buffer.kind != BufferRef::Kind::kInput) return {};
    const Array& array = inputs[static_cast<size_t>(read->buffer.index)].value;
    const auto first = std::ranges::find_if(inputs, [&](const Approximate& each) {
      return each.value.data() == array.data() && each.value.dims() == array.dims();
    });
    BufferRef buffer = read->buffer;
    buffer.index = static_cast<int>(first - inputs.begin());
    return load(buffer, expr.dtype(), read->index);
  });
  return program;
}

}  // namespace

Result<Approximate> in_doubles(const Program& program, StageValue output, std::span<const Approximate> inputs) {
  std::vector<Array> arrays;
  for (const Approximate& input : inputs) arrays.push_back(input.value);
  Program one = program;
  one.outputs = {output};
  TRY(std::vector<Array> results, interpret(one, arrays));
  return Approximate{std::move(results[0]), {}};
}

namespace {

Result<Approximate> with_distance(const Program& program, StageValue output, std::span<const Approximate> inputs) {
  std::vector<Distance> distances;
  Distance most;
  for (const Approximate& input : inputs) {
    distances.push_back(input.distance);
    most = {std::max(most.relative, input.distance.relative), std::max(most.absolute, input.distance.absolute)};
  }
  TRY(const auto errors, error_program(reading_once(program, inputs), output, distances));
  TRY(Approximate result, in_doubles(program, output, inputs));
  if (!errors) return result;
  TRY(const Approximate off, in_doubles(*errors, errors->outputs[0], inputs));
  const std::span<const double> bounds = off.value.reals();
  // Of exact numbers for which a function has no value there is none, however it rounds.
  const bool may_be_none = most.is_zero() && is_float(result.value.dtype());
  for (size_t i = 0; i < bounds.size(); ++i)
    if (!std::isfinite(bounds[i]) && !(may_be_none && std::isnan(result.value.as_double(static_cast<int64_t>(i)))))
      return undecided();
  if (std::ranges::any_of(bounds, [](double bound) { return bound > 0; }))
    result.distance = covering(sizes_of(result.value), bounds, most);
  return result;
}

}  // namespace

Result<Approximate> approximate(const Program& program, StageValue output, std::span<const Approximate> inputs) {
  auto result = with_distance(program, output, inputs);
  if (result.ok() && result->distance.is_zero()) return result;
  if (auto exact = in_rationals(program, output, inputs)) return *std::move(exact);
  return result;
}

Result<RoundedTensor> rounded(const Approximate& approximate) {
  const Array& exact = approximate.value;
  const Distance& before = approximate.distance;
  RoundedTensor result{to_tensor(exact), before};
  if (!is_float(exact.dtype())) return result;
  const bool is_exact = before.is_zero() && exact.count() <= kFewElements && are_finite(exact);
  result.exact = is_exact ? rationals(exact) : approximate.exact;
  if (!result.exact.empty() && result.exact == rationals(Array::from(result.tensor))) {
    result.exact.clear();
    result.distance = {};
    return result;
  }
  const std::vector<double> sizes = sizes_of(exact), roundings = sizes_of(Array::from(result.tensor));
  std::vector<double> off(sizes.size());
  for (size_t i = 0; i < off.size(); ++i)
    if (std::isfinite(sizes[i]))
      off[i] = before.relative * sizes[i] + before.absolute + std::fabs(roundings[i] - sizes[i]);
  const double limit = std::max(kMostNoise, 2 * spacing_at_one(exact.dtype()));
  if (largest_part(sizes, off) > limit) {
    const double middle = median(sizes);
    for (size_t i = 0; i < off.size(); ++i)
      if (off[i] > limit * std::max(middle, sizes[i]) + kNegligible) return undecided();
  }
  result.distance = covering(sizes, off, before);
  return result;
}

}  // namespace isomer::te
