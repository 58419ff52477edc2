#include "graph/te/approximate.h"

#include <algorithm>
#include <cmath>

#include "graph/rounding.h"
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

Result<Approximate> approximate(const Program& program, StageValue output, std::span<const Approximate> inputs) {
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

Result<RoundedTensor> rounded(const Approximate& approximate) {
  const Array& exact = approximate.value;
  const Distance& before = approximate.distance;
  RoundedTensor result{to_tensor(exact), before};
  if (!is_float(exact.dtype())) return result;
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
