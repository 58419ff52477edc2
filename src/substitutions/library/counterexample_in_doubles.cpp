#include "substitutions/library/counterexample_in_doubles.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/algorithms.h"
#include "graph/interpret.h"
#include "graph/node_program.h"
#include "graph/te/approximate.h"
#include "graph/te/rewrite_program.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {
namespace {

using te::Approximate;

constexpr int kFarDraws = 8;          ///< every other one of positive numbers
constexpr int64_t kParts = 8;         ///< inputs are eighths, which float16 and bfloat16 have
constexpr int64_t kFarthest = 16;     ///< the largest
constexpr double kLeastApart = 1e-6;  ///< what is less is no counterexample to look at
constexpr int kStableDraws = 4, kMovements = 6;
constexpr double kNear = 2, kMovement = 0x1p-40;

bool is_finite(const te::Array& array) {
  if (!is_float(array.dtype())) return true;
  for (int64_t k = 0; k < array.count(); ++k)
    if (!std::isfinite(array.real(k))) return false;
  return true;
}

std::optional<te::Array> drawn(const ValueType& type, bool are_positive, Random& random) {
  const Dims dims = *constants(*type.shape);
  const auto count = static_cast<size_t>(element_count(dims));
  if (type.dtype == DataType::kBool) {
    std::vector<int64_t> values(count);
    for (int64_t& value : values) value = random.between(0, 1);
    return te::Array::integers(type.dtype, dims, values);
  }
  if (!is_float(type.dtype)) return std::nullopt;
  std::vector<double> values(count);
  for (double& value : values)
    value = static_cast<double>(random.between(are_positive ? 1 : -kFarthest * kParts, kFarthest * kParts)) / kParts;
  return te::Array::reals(type.dtype, dims, values);
}

/// Whether another value may be another branch, or another integer.
bool data_decide(const te::Expr& expr) {
  if (const auto* select = te::as<te::Select>(expr)) return te::has_load(select->condition);
  if (const auto* unary = te::as<te::Unary>(expr))
    return unary->op == te::UnaryOp::kFloor || unary->op == te::UnaryOp::kCeil || unary->op == te::UnaryOp::kRound;
  if (const auto* cast = te::as<te::Cast>(expr)) return is_float(cast->operand.dtype()) && !is_float(expr.dtype());
  const auto* binary = te::as<te::Binary>(expr);
  if (!binary || !is_float(binary->left.dtype())) return false;
  return expr.dtype() == DataType::kBool || binary->op == te::BinaryOp::kFloorDiv ||
         binary->op == te::BinaryOp::kFloorMod || binary->op == te::BinaryOp::kTruncMod;
}

bool data_decide(te::Program program) {
  bool result = false;
  const bool is_read = te::rewrite(program, [&](const te::Expr& expr) {
    result |= data_decide(expr);
    return te::Expr();
  });
  return result || !is_read;
}

/// The graph's outputs, node by node. Nothing where something is not finite, has no bound, or hangs on what rounding
/// chose: a bound is then of what was chosen.
std::optional<std::vector<Approximate>> outputs_of(const Graph& graph, const std::vector<te::Array>& inputs) {
  std::map<ValueId, Approximate> values;
  for (size_t k = 0; k < inputs.size(); ++k) values.emplace(graph.inputs()[k], Approximate{inputs[k], {}});
  const auto value_of = [&](ValueId id) -> Approximate {
    if (!id.valid()) return {};
    const auto known = values.find(id);
    return known == values.end() ? Approximate{te::Array::from(*graph.value(id).constant), {}} : known->second;
  };
  const auto order = topological_order(graph);
  if (!order.ok()) return std::nullopt;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    const auto program = program_of(graph, id);
    if (!program) return std::nullopt;
    std::vector<Approximate> arguments;
    for (const ValueId input : node.inputs) arguments.push_back(value_of(input));
    const auto is_rounded = [](const Approximate& one) { return !one.distance.is_zero(); };
    const bool decides = data_decide(*program), are_rounded = std::ranges::any_of(arguments, is_rounded);
    for (size_t k = 0; k < std::min(node.outputs.size(), program->outputs.size()); ++k) {
      if (!node.outputs[k].valid()) continue;
      auto made = te::approximate(*program, program->outputs[k], arguments);
      if (!made.ok() || !is_finite(made->value)) return std::nullopt;
      if (decides && are_rounded) return std::nullopt;
      if (is_rounded(*made) && (decides || !is_float(made->value.dtype()))) return std::nullopt;
      values.insert_or_assign(node.outputs[k], *std::move(made));
    }
  }
  std::vector<Approximate> result;
  for (const ValueId output : graph.outputs()) result.push_back(value_of(output));
  return result;
}

bool differ(const Approximate& left, const Approximate& right) {
  if (left.value.dims() != right.value.dims() || left.value.dtype() != right.value.dtype()) return false;
  const bool are_floats = is_float(left.value.dtype());
  for (int64_t k = 0; k < left.value.count(); ++k) {
    if (!are_floats) {
      if (left.value.integer(k) != right.value.integer(k)) return true;
      continue;
    }
    const double a = left.value.real(k), b = right.value.real(k);
    const auto off = [](const te::Distance& distance, double of) {
      return distance.relative * std::abs(of) + distance.absolute;
    };
    const double most = 2 * (off(left.distance, a) + off(right.distance, b));
    if (std::abs(a - b) > most + kLeastApart * std::max({1.0, std::abs(a), std::abs(b)})) return true;
  }
  return false;
}

std::string shown(const te::Array& array) {
  std::vector<double> elements;
  for (int64_t k = 0; k < array.count(); ++k) elements.push_back(array.as_double(k));
  return fmt::format("{}[{}] = {{{}}}", name(array.dtype()), fmt::join(array.dims(), ","), fmt::join(elements, ", "));
}

/// Of what has no bounds.
bool are_apart(const te::Array& left, const te::Array& right) {
  if (left.dims() != right.dims() || left.dtype() != right.dtype()) return true;
  for (int64_t k = 0; k < left.count(); ++k) {
    if (!is_float(left.dtype())) {
      if (left.integer(k) != right.integer(k)) return true;
      continue;
    }
    const double a = left.real(k), b = right.real(k);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::abs(a - b) <= kLeastApart * std::max({1.0, std::abs(a), std::abs(b)}))) return true;
  }
  return false;
}

verify::Counterexample counterexample(const verify::LawInstance& instance, const std::vector<te::Array>& inputs,
                                      const te::Array& left, const te::Array& right) {
  verify::Counterexample result{instance, {}, shown(left), shown(right)};
  size_t k = 0;
  for (const auto& [name, type] : instance.types)
    result.inputs.push_back(fmt::format("{}: {}", name, shown(inputs[k++])));
  return result;
}

}  // namespace

std::optional<verify::Counterexample> far_counterexample(const verify::LawInstance& instance, Random& random) {
  const auto graph = verify::graph_of({instance.law.left, instance.law.right}, instance.types);
  if (!graph.ok()) return std::nullopt;
  for (int draw = 0; draw < kFarDraws; ++draw) {
    std::vector<te::Array> inputs;
    for (const auto& [name, type] : instance.types) {
      auto input = drawn(type, draw % 2 == 1, random);
      if (!input) return std::nullopt;
      inputs.push_back(*std::move(input));
    }
    const auto sides = outputs_of(*graph, inputs);
    if (!sides || !differ((*sides)[0], (*sides)[1])) continue;
    return counterexample(instance, inputs, (*sides)[0].value, (*sides)[1].value);
  }
  return std::nullopt;
}

std::optional<verify::Counterexample> stable_counterexample(const verify::LawInstance& instance, Random& random) {
  const auto graph = verify::graph_of({instance.law.left, instance.law.right}, instance.types);
  if (!graph.ok()) return std::nullopt;
  // Near the values, where there are some.
  const auto inputs_near = [&](const std::vector<std::vector<double>>* values) {
    std::vector<std::vector<double>> result;
    for (const auto& [name, type] : instance.types) {
      std::vector<double> numbers(static_cast<size_t>(element_count(*constants(*type.shape))));
      for (size_t k = 0; k < numbers.size(); ++k)
        numbers[k] = values ? (*values)[result.size()][k] * (1 + random.uniform(-kMovement, kMovement))
                            : random.uniform(-kNear, kNear);
      result.push_back(std::move(numbers));
    }
    return result;
  };
  const auto arrays = [&](const std::vector<std::vector<double>>& values) {
    std::vector<te::Array> result;
    for (const auto& [name, type] : instance.types)
      result.push_back(te::Array::reals(type.dtype, *constants(*type.shape), values[result.size()]));
    return result;
  };
  if (!std::ranges::all_of(instance.types, [](const auto& named) { return is_float(named.second.dtype); }))
    return std::nullopt;
  for (int draw = 0; draw < kStableDraws; ++draw) {
    const auto values = inputs_near(nullptr);
    const auto sides = interpret(*graph, arrays(values), {});
    if (!sides.ok() || !are_apart((*sides)[0], (*sides)[1])) continue;
    bool are_stable = true;
    for (int movement = 0; movement < kMovements && are_stable; ++movement) {
      const auto others = interpret(*graph, arrays(inputs_near(&values)), {});
      are_stable = others.ok() && !are_apart((*sides)[0], (*others)[0]) && !are_apart((*sides)[1], (*others)[1]);
    }
    if (are_stable) return counterexample(instance, arrays(values), (*sides)[0], (*sides)[1]);
  }
  return std::nullopt;
}

}  // namespace isomer::substitutions
