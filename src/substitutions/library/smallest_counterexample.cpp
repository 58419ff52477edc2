#include "substitutions/library/smallest_counterexample.h"

#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "graph/interpret.h"

namespace isomer::substitutions {
namespace {

te::Array with_elements(const te::Array& array, const std::vector<double>& values) {
  if (is_float(array.dtype())) return te::Array::reals(array.dtype(), array.dims(), values);
  const std::vector<int64_t> integers(values.begin(), values.end());
  return te::Array::integers(array.dtype(), array.dims(), integers);
}

using verify::VariableTypes;

constexpr int kDraws = 6;  ///< of inputs at each size
constexpr double kDifference = 1e-6;

std::string nested(const te::Array& array, size_t axis, int64_t& at) {
  if (axis == array.dims().size())
    return is_float(array.dtype()) ? fmt::format("{}", array.real(at++))
                                   : fmt::format("{}", array.integers()[static_cast<size_t>(at++)]);
  std::vector<std::string> parts;
  for (int64_t k = 0; k < array.dims()[axis]; ++k) parts.push_back(nested(array, axis + 1, at));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string text(const te::Array& array) {
  int64_t at = 0;
  return fmt::format("{}[{}] = {}", name(array.dtype()), fmt::join(array.dims(), ","), nested(array, 0, at));
}

class Shrinker {
 public:
  Shrinker(const StatedEquation& equation, size_t output, Random& random)
      : equation_(equation), output_(output), random_(random) {}

  /// Whether the sides differ on some drawn inputs of these types, which then are the best so far.
  bool takes(const VariableTypes& types) {
    if (!build(types)) return false;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<te::Array> inputs;
      for (const auto& [name, type] : types) {
        const Dims dims = *constants(*type.shape);
        std::vector<double> values;
        for (int64_t count = element_count(dims); count > 0; --count)
          values.push_back(static_cast<double>(random_.between(-3, 3)));
        inputs.push_back(te::Array::reals(type.dtype, dims, values));
      }
      if (!differs(inputs)) continue;
      types_ = types;
      inputs_ = std::move(inputs);
      return true;
    }
    return false;
  }

  void shrink_sizes() {
    for (bool changed = true; changed;) {
      changed = false;
      std::vector<std::pair<std::string, size_t>> places;
      for (const auto& [name, type] : types_)
        for (size_t axis = 0; axis < type.shape->size(); ++axis) places.emplace_back(name, axis);
      const auto dim = [](VariableTypes& types, const std::pair<std::string, size_t>& place) -> Dim& {
        return (*types.find(place.first)->second.shape)[place.second];
      };
      const auto try_set = [&](const std::function<bool(size_t)>& is_set, int64_t size) {
        VariableTypes types = types_;
        for (size_t k = 0; k < places.size(); ++k)
          if (is_set(k)) dim(types, places[k]) = size;
        changed = takes(types);
      };
      for (size_t k = 0; k < places.size() && !changed; ++k) {
        const int64_t now = dim(types_, places[k]).value();
        for (int64_t size = 1; size < now && !changed; ++size) {
          try_set([&](size_t other) { return dim(types_, places[other]).is(now); }, size);
          if (!changed) try_set([&](size_t other) { return other == k; }, size);
          for (size_t j = k + 1; j < places.size() && !changed; ++j)
            if (dim(types_, places[j]).is(now)) try_set([&](size_t other) { return other == k || other == j; }, size);
        }
      }
    }
  }

  void shrink_values() {
    CHECK(build(types_));
    for (te::Array& input : inputs_) {
      std::vector<double> values(static_cast<size_t>(input.count()));
      for (size_t k = 0; k < values.size(); ++k) values[k] = input.real(static_cast<int64_t>(k));
      for (double& value : values) {
        const double before = value;
        for (const double simpler : {0.0, 1.0, -1.0, 2.0}) {
          if (simpler == before) break;
          // A side may be the input itself, and share its elements.
          value = simpler;
          input = with_elements(input, values);
          if (differs(inputs_)) break;
          value = before;
        }
      }
      input = with_elements(input, values);
    }
  }

  verify::Counterexample result() {
    CHECK(build(types_) && differs(inputs_));
    const Output at = equations_at(equation_, types_)[output_];
    verify::Counterexample made{{{at.left, at.right, {}}, types_}, {}, text(sides_[0]), text(sides_[1])};
    size_t k = 0;
    for (const auto& [name, type] : types_) made.inputs.push_back(fmt::format("{}: {}", name, text(inputs_[k++])));
    return made;
  }

 private:
  bool build(const VariableTypes& types) {
    const Output at = equations_at(equation_, types)[output_];
    auto graph = verify::graph_of({at.left, at.right}, types);
    if (!graph.ok()) return false;
    graph_ = *std::move(graph);
    return true;
  }

  bool differs(const std::vector<te::Array>& inputs) {
    auto sides = interpret(graph_, inputs, {});
    if (!sides.ok() || (*sides)[0].dims() != (*sides)[1].dims() || !is_float((*sides)[0].dtype()) ||
        (*sides)[0].dtype() != (*sides)[1].dtype())
      return false;
    bool result = false;
    for (int64_t k = 0; k < (*sides)[0].count(); ++k) {
      const double left = (*sides)[0].real(k), right = (*sides)[1].real(k);
      if (!std::isfinite(left) || !std::isfinite(right)) return false;
      result |= std::abs(left - right) > kDifference * std::max({1.0, std::abs(left), std::abs(right)});
    }
    if (result) sides_ = *std::move(sides);
    return result;
  }

  const StatedEquation& equation_;
  size_t output_;
  Random& random_;
  Graph graph_;
  VariableTypes types_;
  std::vector<te::Array> inputs_, sides_;
};

}  // namespace

verify::Counterexample smallest(const StatedEquation& equation, size_t output, verify::Counterexample found,
                                Random& random) {
  for (const auto& [name, type] : *equation.types)
    if (!is_float(type.dtype)) return found;
  Shrinker shrinker(equation, output, random);
  if (!shrinker.takes(*equation.types)) return found;
  shrinker.shrink_sizes();
  shrinker.shrink_values();
  return shrinker.result();
}

}  // namespace isomer::substitutions
