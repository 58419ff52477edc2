#include "properties/same_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "verify/check/equivalence.h"

namespace isomer::test {
namespace {

Inputs arrays_of(const std::vector<Tensor>& tensors) {
  Inputs arrays;
  for (const Tensor& tensor : tensors) arrays.push_back(te::Array::from(tensor));
  return arrays;
}

/// A run with all that was on the way.
struct Trace {
  std::vector<te::Array> outputs;
  std::map<int32_t, te::Array> values;
  bool ok = false;
};

Trace traced(const Graph& graph, const Inputs& inputs, bool rounded) {
  Trace trace;
  InterpretOptions options{.round_values = rounded};
  options.observe = [&](ValueId id, const te::Array& array) { trace.values[id.index] = array; };
  auto outputs = interpret(graph, inputs, options);
  trace.ok = outputs.ok();
  if (trace.ok) trace.outputs = std::move(*outputs);
  return trace;
}

bool is_finite(const te::Array& array) {
  for (int64_t i = 0; i < array.count(); ++i)
    if (!std::isfinite(array.as_double(i))) return false;
  return true;
}

/// Integers and sizes are the same, and all is finite.
bool decides_alike(const Trace& a, const Trace& b) {
  if (!a.ok || !b.ok) return false;
  for (const auto& [id, x] : a.values) {
    const auto found = b.values.find(id);
    if (found == b.values.end()) return false;
    const te::Array& y = found->second;
    if (x.dims() != y.dims() || !is_finite(x) || !is_finite(y)) return false;
    for (int64_t i = 0; i < x.count() && !is_float(x.dtype()); ++i)
      if (x.integer(i) != y.integer(i)) return false;
  }
  return true;
}

/// Each float a little away from where it was, except for round numbers, which rounding leaves alone.
Tensor nudged(const Tensor& tensor, Random& random) {
  if (!is_float(tensor.dtype())) return tensor;
  const double unit = tensor.dtype() == DataType::kBFloat16  ? 0x1p-7
                      : tensor.dtype() == DataType::kFloat16 ? 0x1p-10
                                                             : 0x1p-22;
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const double value = tensor.real(i);
    values.push_back(value * 4 == std::floor(value * 4) ? value : value * (1 + unit * random.uniform(-1, 1)));
  }
  return Tensor::from_doubles(tensor.dtype(), tensor.dims(), values);
}

Graph nudged(const Graph& graph, Random& random) {
  Graph result = graph;
  for (const ValueId id : result.values())
    if (const auto& constant = result.value(id).constant; constant && is_computable(constant->dtype()))
      result.edit(id).constant = nudged(*constant, random);
  return result;
}

/// The bound that small changes of all numbers suggest; infinite where they flip a decision.
std::vector<double> bounds_by_nudging(const Graph& graph, const Inputs& inputs) {
  constexpr int kTrials = 8;
  const Trace exact = traced(graph, inputs, false);
  std::vector<double> bounds(exact.outputs.size());
  const Trace rounded = traced(graph, inputs, true);
  Random random(1);
  for (int trial = 0; trial <= kTrials; ++trial) {
    Trace other = rounded;
    if (trial > 0) {
      Inputs near;
      for (const te::Array& input : inputs) near.push_back(te::Array::from(nudged(te::to_tensor(input), random)));
      other = traced(nudged(graph, random), near, trial % 2 == 0);
    }
    if (!decides_alike(exact, other)) return std::vector<double>(exact.outputs.size(), INFINITY);
    for (size_t i = 0; i < bounds.size(); ++i)
      bounds[i] = std::max(bounds[i], error_bound(exact.outputs[i], other.outputs[i]));
  }
  return bounds;
}

/// A node makes integers of reals that nobody sees, as an Upsample of integers: what these are close to decides, and no
/// nudge of what is seen says how close.
bool rounds_inside(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [&](NodeId id) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || !node.op->compute || !is_int(graph.value(node.outputs[0]).type.dtype)) return false;
    const auto program = node.op->compute(context_of(graph, id));
    return program.ok() && std::ranges::any_of(program->stages, [](const te::Stage& stage) {
             const auto* map = std::get_if<te::MapReduce>(&stage.body);
             return map && std::ranges::any_of(map->bodies, [](const te::Expr& e) { return is_float(e.dtype()); });
           });
  });
}

bool same_integers(const Trace& a, const Trace& b) {
  for (const auto& [id, x] : a.values) {
    const auto found = b.values.find(id);
    if (is_float(x.dtype())) continue;
    if (found == b.values.end() || found->second.dims() != x.dims()) return false;
    for (int64_t i = 0; i < x.count(); ++i)
      if (x.integer(i) != found->second.integer(i)) return false;
  }
  return true;
}

std::string shape_mismatch(const te::Array& expected, const te::Array& found) {
  if (expected.dtype() == found.dtype() && expected.dims() == found.dims()) return "";
  return fmt::format("{}{} expected, {}{} found", name(expected.dtype()), expected.dims(), name(found.dtype()),
                     found.dims());
}

bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

}  // namespace

Comparisons& comparisons() {
  static Comparisons counts;
  return counts;
}

Case case_of(Sample sample, uint64_t seed) {
  Random random(seed);
  std::vector<Inputs> candidates = {arrays_of(sample.inputs), arrays_of(other_inputs(sample, random))};
  if (auto sized = other_sizes(sample, random); !sized.empty()) candidates.push_back(arrays_of(sized));
  Case result{std::move(sample), seed, {}};
  for (Inputs& inputs : candidates) {
    auto exact = interpret(result.sample.graph, inputs, {});
    if (!exact.ok()) continue;
    auto rounded = interpret(result.sample.graph, inputs, {.round_values = true});
    result.runs.push_back(
        {std::move(inputs), std::move(*exact), rounded.ok() ? std::move(*rounded) : std::vector<te::Array>()});
  }
  return result;
}

std::string difference(const Graph& graph, const Run& run, const std::vector<te::Array>& found) {
  ++comparisons().all;
  std::vector<double> bounds;
  for (size_t i = 0; i < found.size(); ++i) {
    const te::Array& wanted = run.exact[i];
    const std::string name = graph.value(graph.outputs()[i]).name;
    Equivalence result;
    compare_output(name, wanted, found[i], run.rounded.empty() ? 0 : error_bound(wanted, run.rounded[i]), result);
    if (result.passed()) continue;
    if (bounds.empty()) bounds = bounds_by_nudging(graph, run.inputs);
    if (std::isinf(bounds[i]) || (is_int(wanted.dtype()) && rounds_inside(graph))) {
      ++comparisons().undecided;
      break;
    }
    if (const std::string shape = shape_mismatch(wanted, found[i]); !shape.empty())
      return fmt::format("{}: {}", name, shape);
    Equivalence again;
    compare_output(name, wanted, found[i], bounds[i], again);
    if (!again.passed()) return again.difference->text();
  }
  return "";
}

std::string difference(const Case& before, const Graph& after) {
  for (const Run& run : before.runs) {
    const auto found = interpret(after, run.inputs, {});
    if (!found.ok()) return fmt::format("does not run any more: {}", found.error().message());
    if (std::string text = difference(before.sample.graph, run, *found); !text.empty()) return text;
  }
  return "";
}

std::string difference_in_nans(const Graph& graph, const Run& run, uint64_t seed,
                               const std::function<Result<std::vector<te::Array>>(const Inputs&)>& made) {
  Random random(seed);
  Inputs inputs = run.inputs;
  std::vector<size_t> floats;
  for (size_t k = 0; k < inputs.size(); ++k)
    if (is_float(inputs[k].dtype()) && inputs[k].count() > 0) floats.push_back(k);
  if (floats.empty()) return "";
  te::Array& input = inputs[floats[random.below(floats.size())]];
  std::vector<double> values;
  for (int64_t i = 0; i < input.count(); ++i) values.push_back(input.real(i));
  values[random.below(values.size())] = std::nan("");
  input = te::Array::reals(input.dtype(), input.dims(), values);
  const Trace before = traced(graph, run.inputs, false), expected = traced(graph, inputs, false);
  if (!before.ok || !expected.ok || !same_integers(before, expected)) return "";
  const auto found = made(inputs);
  if (!found.ok()) return found.error().message();
  for (size_t k = 0; k < expected.outputs.size(); ++k) {
    const te::Array &wanted = expected.outputs[k], &got = (*found)[k];
    for (int64_t i = 0; is_float(wanted.dtype()) && i < wanted.count(); ++i)
      if (std::isnan(wanted.real(i)) != std::isnan(got.real(i)))
        return fmt::format("output {}, element {}: {} expected, {} found", k, i, wanted.real(i), got.real(i));
  }
  return "";
}

std::string difference_in_bits(const Graph& graph, const std::vector<te::Array>& expected,
                               const std::vector<te::Array>& found) {
  for (size_t i = 0; i < found.size(); ++i) {
    const te::Array &x = expected[i], &y = found[i];
    const std::string name = graph.value(graph.outputs()[i]).name;
    if (const std::string shape = shape_mismatch(x, y); !shape.empty()) return fmt::format("{}: {}", name, shape);
    for (int64_t k = 0; k < x.count(); ++k)
      if (is_float(x.dtype()) ? !same_bits(x.real(k), y.real(k)) : x.integer(k) != y.integer(k))
        return fmt::format("{}, element {}: {} expected, {} found", name, k, x.as_double(k), y.as_double(k));
  }
  return "";
}

std::string difference_in_bits(const Case& before, const Graph& after) {
  for (const Run& run : before.runs) {
    if (run.rounded.empty()) continue;
    const auto found = interpret(after, run.inputs, {.round_values = true});
    if (!found.ok()) return fmt::format("does not run any more: {}", found.error().message());
    if (std::string text = difference_in_bits(before.sample.graph, run.rounded, *found); !text.empty()) return text;
  }
  return "";
}

}  // namespace isomer::test
