#include "graph/te/approximate.h"

#include <algorithm>
#include <cmath>

#include "graph/rounding.h"

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

/// Of the absolute values; 0 of none.
double median(const Array& value) {
  std::vector<double> sizes(static_cast<size_t>(value.count()));
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::fabs(value.real(static_cast<int64_t>(i)));
  if (sizes.empty()) return 0;
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

/// That covers all bounds; `known` where it does, so that what is only moved is as far off as it was.
Distance covering(const Array& value, std::span<const double> off, const Distance& known) {
  const auto size = [&](size_t i) { return std::fabs(value.as_double(static_cast<int64_t>(i))); };
  bool is_covered = true;
  double largest = 0;
  for (size_t i = 0; i < off.size(); ++i) {
    if (off[i] == 0) continue;
    is_covered = is_covered && off[i] <= kSlack * (known.relative * size(i) + known.absolute);
    largest = std::max(largest, off[i] / size(i));
  }
  if (largest == 0) return {};
  if (is_covered) return known;
  if (largest <= kFew) return {largest, 0};
  const double middle = median(value);
  Distance result;
  for (size_t i = 0; i < off.size(); ++i)
    if (off[i] > 0 && size(i) >= middle && middle > 0) result.relative = std::max(result.relative, off[i] / size(i));
  for (size_t i = 0; i < off.size(); ++i)
    if (off[i] > result.relative * size(i)) result.absolute = std::max(result.absolute, off[i]);
  return result;
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
  TRY(const auto errors, error_program(program, output, distances));
  TRY(Approximate result, in_doubles(program, output, inputs));
  if (!errors) return result;
  TRY(const Approximate off, in_doubles(*errors, errors->outputs[0], inputs));
  const std::span<const double> bounds = off.value.reals();
  if (!std::ranges::all_of(bounds, [](double bound) { return std::isfinite(bound); })) return undecided();
  result.distance = covering(result.value, bounds, most);
  return result;
}

Result<RoundedTensor> rounded(const Approximate& approximate) {
  const Array& exact = approximate.value;
  const Distance& before = approximate.distance;
  RoundedTensor result{to_tensor(exact), {}};
  if (!is_float(exact.dtype())) return result;
  const Array value = Array::from(result.tensor);
  std::vector<double> off(static_cast<size_t>(value.count()));
  double largest = 0;
  for (size_t i = 0; i < off.size(); ++i) {
    const double x = exact.real(static_cast<int64_t>(i)), rounded = value.real(static_cast<int64_t>(i));
    const bool is_kept = x == rounded || (std::isnan(x) && std::isnan(rounded));
    if (is_kept && before.is_zero()) continue;
    off[i] = before.relative * std::fabs(x) + before.absolute + (is_kept ? 0 : std::fabs(rounded - x));
    if (!std::isfinite(off[i])) return undecided();
    largest = std::max(largest, off[i] / std::fabs(rounded));
  }
  const double limit = std::max(kMostNoise, 2 * spacing_at_one(exact.dtype()));
  if (largest > limit) {
    const double middle = median(value);
    for (size_t i = 0; i < off.size(); ++i)
      if (off[i] > limit * std::max(middle, std::fabs(value.real(static_cast<int64_t>(i))))) return undecided();
  }
  result.distance = covering(value, off, before);
  return result;
}

}  // namespace isomer::te
