#include "verify/laws/check_float_class.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "util/parallel.h"
#include "verify/laws/float_sides.h"
#include "verify/laws/float_values.h"

namespace isomer::verify {
namespace {

constexpr int64_t kLanes = 256;           ///< tuples of values that are tried together
constexpr int64_t kMostSimplified = 256;  ///< elements of a counterexample whose values are made simpler one by one
constexpr int kDraws = 4;                 ///< of values, at each instance: instances take longer to draw
constexpr int kFailures = 8;              ///< of which the smallest is shown
constexpr size_t kMostVariables = 3;      ///< of which all tuples of special values are tried

class Checker {
 public:
  explicit Checker(FloatClass declared) : declared_(declared) {}

  FloatClassCheck finish() { return std::move(result_); }
  bool is_done() const { return failures_ >= kFailures; }

  /// All tuples at once; `single` is the same law on vectors of one element.
  void try_lanes(const FloatSides& sides, const FloatSides& single, const FloatInputs& inputs) {
    const auto elements = sides.compare(inputs);
    if (!elements) return;
    const auto overlaps = needs_bounds(*elements) ? sides.overlaps(inputs) : std::nullopt;
    for (size_t k = 0; k < elements->size() && !is_done(); ++k) {
      const FloatClass seen = (*elements)[k];
      const bool is_bounded = needs_bound(seen) && overlaps && (*overlaps)[k];
      if (seen <= declared_ && (!needs_bound(seen) || is_bounded)) {
        result_.seen = std::max(result_.seen, seen);
        result_.bounded += is_bounded ? 1 : 0;
        ++result_.inputs;
        continue;
      }
      FloatInputs one;
      for (const auto& values : inputs) one.push_back({values[k]});
      try_instance(single, one);
    }
  }

  void try_instance(const FloatSides& sides, const FloatInputs& inputs) {
    const auto elements = sides.compare(inputs);
    if (!elements) return;
    ++result_.inputs;
    for (const FloatClass seen : *elements) result_.seen = std::max(result_.seen, seen);
    const Verdict found = verdict(sides, inputs, *elements);
    if (needs_bounds(*elements)) ++(found == Verdict::kUnbounded ? result_.unbounded : result_.bounded);
    if (found == Verdict::kBeyond) keep_smallest(sides, inputs);
  }

 private:
  bool needs_bound(FloatClass seen) const {
    return declared_ >= FloatClass::kReassociated && seen == FloatClass::kReassociated;
  }
  bool needs_bounds(const std::vector<FloatClass>& elements) const {
    return std::any_of(elements.begin(), elements.end(), [&](FloatClass seen) { return needs_bound(seen); });
  }

  enum class Verdict : uint8_t { kWithin, kUnbounded, kBeyond };
  Verdict verdict(const FloatSides& sides, const FloatInputs& inputs, const std::vector<FloatClass>& elements) const {
    if (std::any_of(elements.begin(), elements.end(), [&](FloatClass seen) { return seen > declared_; }))
      return Verdict::kBeyond;
    if (!needs_bounds(elements)) return Verdict::kWithin;
    const auto overlaps = sides.overlaps(inputs);
    if (!overlaps) return Verdict::kUnbounded;
    return std::find(overlaps->begin(), overlaps->end(), false) == overlaps->end() ? Verdict::kWithin
                                                                                   : Verdict::kBeyond;
  }

  void keep_smallest(const FloatSides& sides, const FloatInputs& inputs) {
    ++failures_;
    const int64_t size = std::accumulate(inputs.begin(), inputs.end(), int64_t{0}, [](int64_t sum, const auto& values) {
      return sum + static_cast<int64_t>(values.size());
    });
    if (result_.counterexample && size >= smallest_) return;
    smallest_ = size;
    result_.counterexample = sides.counterexample(simplified(sides, inputs, size));
  }

  /// Ones and zeros wherever it stays a counterexample.
  FloatInputs simplified(const FloatSides& sides, FloatInputs inputs, int64_t size) const {
    if (size > kMostSimplified) return inputs;
    for (auto& values : inputs)
      for (float& value : values)
        for (const float simple : {1.0f, 0.0f}) {
          const float before = std::exchange(value, simple);
          const auto elements = sides.compare(inputs);
          if (elements && verdict(sides, inputs, *elements) == Verdict::kBeyond) break;
          value = before;
        }
    return inputs;
  }

  const FloatClass declared_;
  FloatClassCheck result_;
  int failures_ = 0;
  int64_t smallest_ = 0;
};

/// The law on vectors of so many elements; nothing where it says more of its shapes, or its operators mix elements.
std::optional<FloatSides> on_vectors(const Law& law, int64_t count) {
  if (law.condition || !integer_names(law).empty() || !rest_names({law.left, law.right}).empty()) return std::nullopt;
  VariableTypes types;
  for (const std::string& name : variables({law.left, law.right}))
    types.emplace(name, ValueType::tensor(DataType::kFloat32, {count}));
  auto sides = FloatSides::make({law, types}, true);
  return sides && (count == 1 || sides->has_lanes()) ? std::move(sides) : std::nullopt;
}

/// All tuples of so many values of the list, kLanes at a time; the last ones are filled up with the first.
template <class Try>
void for_all_tuples(const std::vector<float>& values, size_t variables, const Try& try_inputs) {
  const auto base = static_cast<int64_t>(values.size());
  int64_t total = 1;
  for (size_t k = 0; k < variables; ++k) total *= base;
  for (int64_t first = 0; first < total; first += kLanes) {
    FloatInputs inputs(variables);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      int64_t rest = first + lane < total ? first + lane : 0;
      for (auto& each : inputs) {
        each.push_back(values[static_cast<size_t>(rest % base)]);
        rest /= base;
      }
    }
    try_inputs(inputs);
  }
}

void try_special_values(const Law& law, Checker& checker) {
  const auto lanes = on_vectors(law, kLanes), single = on_vectors(law, 1);
  const size_t count = lanes && single ? lanes->counts().size() : 0;
  if (count == 0 || count > kMostVariables) return;
  std::vector<float> values = special_values();
  if (count == 1) {
    const std::vector<float> halves = half_values();
    values.insert(values.end(), halves.begin(), halves.end());
  }
  for_all_tuples(values, count, [&](const FloatInputs& inputs) {
    if (!checker.is_done()) checker.try_lanes(*lanes, *single, inputs);
  });
}

}  // namespace

FloatClassCheck check_float_class(const Law& law, std::string_view family, FloatClass declared, int trials,
                                  uint64_t seed) {
  Checker checker(declared);
  try_special_values(law, checker);
  Random random(seed);
  int instances = 0, with_floats = 0;
  for (int trial = 0; trial < trials && !checker.is_done(); trial += kDraws) {
    auto instance = draw_instance(law, family, random);
    if (!instance) break;
    ++instances;
    const auto sides = FloatSides::make(*std::move(instance), false);
    if (!sides) continue;
    ++with_floats;
    for (int draw = trial; draw < std::min(trial + kDraws, trials); ++draw)
      checker.try_instance(*sides, draw_values(sides->counts(), random));
  }
  FloatClassCheck result = checker.finish();
  result.takes_floats = instances == 0 || with_floats > 0 || declared != FloatClass::kExact;
  return result;
}

std::vector<FloatClassCheck> check_float_classes(const std::vector<StatedAxiom>& stated, int trials, uint64_t seed,
                                                 int threads) {
  std::vector<FloatClassCheck> result(stated.size());
  ThreadPool pool(threads);
  pool.run(static_cast<int64_t>(stated.size()), [&](int64_t k, int) {
    const StatedAxiom& axiom = stated[static_cast<size_t>(k)];
    result[static_cast<size_t>(k)] =
        check_float_class(axiom.law, axiom.axiom->shapes, axiom.axiom->float_class, trials, seed);
  });
  return result;
}

}  // namespace isomer::verify
