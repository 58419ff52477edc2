#include "verify/laws/float_sides.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "graph/te/algebra_floating.h"
#include "verify/laws/rounding_algebra.h"
#include "verify/proof/refute/evaluate_exact.h"

namespace isomer::verify {
namespace {

constexpr float kLargestModerate = 1000, kLeastModerate = 1e-3f;

template <te::RealAlgebra A>
using Scalar = typename te::Concrete<A>::Scalar;
using Floats = te::ValuesOver<te::FloatAlgebra>;

float as_float(const Scalar<te::FloatAlgebra>& element) {
  return element.index() == 0 ? static_cast<float>(std::get<0>(element)) : std::get<1>(element);
}
bool is_finite(const Scalar<te::FloatAlgebra>& element) { return std::isfinite(as_float(element)); }

template <te::RealAlgebra A>
std::vector<te::ValuesOver<A>> values_of(const FloatInputs& inputs, const VariableTypes& types) {
  std::vector<te::ValuesOver<A>> result;
  for (const auto& [name, type] : types) {
    const auto& floats = inputs[result.size()];
    auto& values = result.emplace_back(te::ValuesOver<A>{type.dtype, *constants(*type.shape), {}});
    for (const float value : floats) {
      if (type.dtype == DataType::kBool)
        values.elements.push_back(te::Concrete<A>::integer(value != 0));
      else if constexpr (std::is_same_v<A, te::FloatAlgebra>)
        values.elements.push_back(te::Concrete<A>::real(value));
      else
        values.elements.push_back(te::Concrete<A>::real({value, value}));
    }
  }
  return result;
}

/// Element k of each; what has one element only has it for all.
template <class F>
bool all_at(const std::vector<Floats>& arrays, size_t k, const F& holds) {
  return std::all_of(arrays.begin(), arrays.end(),
                     [&](const Floats& array) { return holds(array.elements[array.elements.size() == 1 ? 0 : k]); });
}
template <class F>
bool all_in(const Floats& array, const F& holds) {
  return std::all_of(array.elements.begin(), array.elements.end(), holds);
}

bool is_moderate(const Scalar<te::FloatAlgebra>& element) {
  const float size = std::fabs(as_float(element));
  return size == 0 || (size >= kLeastModerate && size <= kLargestModerate);
}

FloatClass seen_at(const Scalar<te::FloatAlgebra>& left, const Scalar<te::FloatAlgebra>& right, bool all_finite) {
  const float a = as_float(left), b = as_float(right);
  if ((std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b))
    return FloatClass::kExact;
  if (a == 0 && b == 0) return FloatClass::kSignOfZero;
  return all_finite ? FloatClass::kReassociated : FloatClass::kFinite;
}

void add_applications(const Term& term, std::vector<Term>& terms) {
  const auto* application = term.as_application();
  if (!application) return;
  terms.push_back(term);
  for (const Term& argument : application->arguments) add_applications(argument, terms);
}

/// Both sides, then all that is computed on the way.
std::optional<Graph> sides_of(const LawInstance& instance) {
  std::vector<Term> terms = {instance.law.left, instance.law.right};
  for (const Term* side : {&instance.law.left, &instance.law.right}) add_applications(*side, terms);
  auto graph = graph_of(terms, instance.types);
  if (!graph.ok()) return std::nullopt;
  const auto type_of = [&](size_t side) { return graph->value(graph->outputs()[side]).type; };
  return type_of(0) == type_of(1) ? std::optional(*std::move(graph)) : std::nullopt;
}

std::string text_of(const Floats& values) {
  std::vector<float> elements;
  for (const auto& element : values.elements)
    elements.push_back(std::isnan(as_float(element)) ? std::numeric_limits<float>::quiet_NaN() : as_float(element));
  return fmt::format("{}[{}] = {{{}}}", name(values.dtype), fmt::join(values.dims, ","), fmt::join(elements, ", "));
}

}  // namespace

FloatSides::FloatSides(LawInstance instance, Graph graph, bool are_lanes)
    : instance_(std::move(instance)), graph_(std::move(graph)), are_lanes_(are_lanes) {
  for (const auto& [name, type] : instance_.types) counts_.push_back(element_count(*constants(*type.shape)));
}

std::optional<FloatSides> FloatSides::make(LawInstance instance, bool are_lanes) {
  for (auto& [name, type] : instance.types) type.dtype = DataType::kFloat32;
  auto graph = sides_of(instance);
  for (auto type = instance.types.begin(); !graph && type != instance.types.end(); ++type) {
    type->second.dtype = DataType::kBool;
    graph = sides_of(instance);
    if (!graph) type->second.dtype = DataType::kFloat32;
  }
  const bool takes_floats = std::any_of(instance.types.begin(), instance.types.end(),
                                        [](const auto& type) { return isomer::is_float(type.second.dtype); });
  if (!graph || !(takes_floats || instance.types.empty())) return std::nullopt;
  return FloatSides(std::move(instance), *std::move(graph), are_lanes);
}

std::optional<std::vector<FloatClass>> FloatSides::compare(const FloatInputs& inputs) const {
  const auto values = values_of<te::FloatAlgebra>(inputs, instance_.types);
  const auto computed = evaluate(graph_, te::Concrete<te::FloatAlgebra>(), values);
  if (!computed.ok()) return std::nullopt;
  const Floats &left = (*computed)[0], &right = (*computed)[1];
  const auto every = [&](const std::vector<Floats>& arrays, size_t k, const auto& holds) {
    return are_lanes_
               ? all_at(arrays, k, holds)
               : std::all_of(arrays.begin(), arrays.end(), [&](const Floats& array) { return all_in(array, holds); });
  };
  std::vector<FloatClass> result(left.elements.size());
  bool all_finite = false, may_be_unsafe = false, left_finite = false, right_finite = false;
  for (size_t k = 0; k < result.size(); ++k) {
    if (are_lanes_ || k == 0) {
      all_finite = every(values, k, is_finite) && every(*computed, k, is_finite);
      may_be_unsafe = every(values, k, is_moderate);
      left_finite = every({left}, k, is_finite);
      right_finite = every({right}, k, is_finite);
    }
    result[k] = may_be_unsafe && left_finite != right_finite ? FloatClass::kUnsafe
                                                             : seen_at(left.elements[k], right.elements[k], all_finite);
  }
  return result;
}

std::optional<std::vector<bool>> FloatSides::overlaps(const FloatInputs& inputs) const {
  const auto computed =
      evaluate(graph_, te::Concrete<RoundingAlgebra>(), values_of<RoundingAlgebra>(inputs, instance_.types));
  if (!computed.ok()) return std::nullopt;
  const auto &left = (*computed)[0], &right = (*computed)[1];
  std::vector<bool> result;
  for (size_t k = 0; k < left.elements.size(); ++k) {
    const auto &a = left.elements[k], &b = right.elements[k];
    result.push_back(a.index() == 0 ? std::get<0>(a) == std::get<0>(b) : meet(std::get<1>(a), std::get<1>(b)));
  }
  return result;
}

bool FloatSides::has_lanes() const {
  FloatInputs inputs;
  for (const int64_t count : counts_) inputs.emplace_back(static_cast<size_t>(count), 1.0f);
  const auto before =
      evaluate(graph_, te::Concrete<te::FloatAlgebra>(), values_of<te::FloatAlgebra>(inputs, instance_.types));
  for (auto& values : inputs) values.front() = std::numeric_limits<float>::infinity();
  const auto after =
      evaluate(graph_, te::Concrete<te::FloatAlgebra>(), values_of<te::FloatAlgebra>(inputs, instance_.types));
  if (!before.ok() || !after.ok()) return false;
  for (size_t k = 0; k < before->size(); ++k) {
    const auto &one = (*before)[k].elements, &other = (*after)[k].elements;
    if (one.size() > 1 && (one.size() != (*before)[0].elements.size() ||
                           !std::equal(one.begin() + 1, one.end(), other.begin() + 1, other.end())))
      return false;
    if (one.size() == 1 && one != other) return false;
  }
  return true;
}

Counterexample FloatSides::counterexample(const FloatInputs& inputs) const {
  const auto values = values_of<te::FloatAlgebra>(inputs, instance_.types);
  const auto computed = evaluate(graph_, te::Concrete<te::FloatAlgebra>(), values);
  CHECK(computed.ok()) << instance_.law.text();
  Counterexample result{instance_, {}, text_of((*computed)[0]), text_of((*computed)[1])};
  size_t k = 0;
  for (const auto& [name, type] : instance_.types)
    result.inputs.push_back(fmt::format("{}: {}", name, text_of(values[k++])));
  return result;
}

}  // namespace isomer::verify
