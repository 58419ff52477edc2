#include "properties/shrink.h"

#include <algorithm>
#include <optional>

#include "graph/infer.h"
#include "graph/interpret.h"

namespace isomer::test {
namespace {

/// Without nodes, inputs and constants that no output needs.
void sweep(Sample& sample) {
  Graph& graph = sample.graph;
  for (bool removed = true; removed;) {
    removed = false;
    const std::vector<int> uses = graph.use_counts();
    for (const NodeId id : graph.nodes()) {
      const auto outputs = graph.node(id).outputs;
      if (std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return v.valid() && uses[v.index] > 0; }))
        continue;
      graph.remove_node(id);
      for (const ValueId output : outputs)
        if (output.valid()) graph.remove_value(output);
      removed = true;
    }
  }
  const std::vector<int> uses = graph.use_counts();
  std::vector<ValueId> inputs;
  Sample kept{{}, {}, {}};
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const ValueId id = graph.inputs()[i];
    if (uses[id.index] == 0) continue;
    inputs.push_back(id);
    kept.inputs.push_back(sample.inputs[i]);
    kept.free.push_back(sample.free[i]);
  }
  sample.inputs = std::move(kept.inputs);
  sample.free = std::move(kept.free);
  graph.set_inputs(std::move(inputs));
  for (const ValueId id : graph.values())
    if (uses[id.index] == 0 && !graph.value(id).producer.valid()) graph.remove_value(id);
}

std::optional<Sample> without_output(const Sample& sample, size_t i) {
  if (sample.graph.outputs().size() < 2) return std::nullopt;
  Sample result = sample;
  auto outputs = sample.graph.outputs();
  outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
  result.graph.set_outputs(std::move(outputs));
  return result;
}

/// What makes output i is left out: its inputs become outputs instead.
std::optional<Sample> without_last(const Sample& sample, size_t i) {
  auto outputs = sample.graph.outputs();
  const NodeId maker = sample.graph.value(outputs[i]).producer;
  if (!maker.valid()) return std::nullopt;
  outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
  Sample result = sample;
  for (const ValueId input : sample.graph.node(maker).inputs) {
    if (!input.valid() || !sample.graph.value(input).producer.valid() ||
        std::count(outputs.begin(), outputs.end(), input))
      continue;
    outputs.push_back(input);
    result.graph.edit(input).declared = declarable(sample.graph.value(input).type);
  }
  if (outputs.empty()) return std::nullopt;
  result.graph.set_outputs(std::move(outputs));
  return result;
}

/// Output `port` of the node becomes an input of the graph, with the value that it has.
std::optional<Sample> cut_off(const Sample& sample, NodeId node, size_t port) {
  const ValueId value = sample.graph.node(node).outputs[port];
  const auto& outputs = sample.graph.outputs();
  if (!value.valid() || std::count(outputs.begin(), outputs.end(), value)) return std::nullopt;
  std::optional<Tensor> tensor;
  std::vector<te::Array> arrays;
  for (const Tensor& input : sample.inputs) arrays.push_back(te::Array::from(input));
  const auto ran = interpret(sample.graph, arrays, {.observe = [&](ValueId id, const te::Array& array) {
                               if (id == value) tensor = te::to_tensor(array);
                             }});
  if (!ran.ok() || !tensor) return std::nullopt;
  Sample result = sample;
  Value input;
  input.name = result.graph.fresh_name("cut");
  input.type = sample.graph.value(value).type;
  if (!input.type.has_shape()) return std::nullopt;
  for (size_t k = 0; k < tensor->dims().size(); ++k)
    if (!te::as<te::Symbol>((*input.type.shape)[k].expr())) (*input.type.shape)[k] = tensor->dims()[k];
  input.declared = declarable(input.type);
  const ValueId id = result.graph.add_value(std::move(input));
  result.graph.replace_uses(value, id);
  auto inputs = result.graph.inputs();
  inputs.push_back(id);
  result.graph.set_inputs(std::move(inputs));
  result.inputs.push_back(*tensor);
  result.free.push_back(false);
  return result;
}

std::optional<Sample> bound(const Sample& sample) {
  Sample result = sample;
  bool symbolic = false;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    Value& value = result.graph.edit(result.graph.inputs()[i]);
    const Dims& dims = sample.inputs[i].dims();
    for (const Dim& dim : *value.type.shape) symbolic = symbolic || !dim.is_constant();
    value.type.shape = Shape(dims.begin(), dims.end());
    value.declared = value.type;
  }
  if (!symbolic || !infer(result.graph).ok()) return std::nullopt;
  for (const ValueId output : result.graph.outputs())
    result.graph.edit(output).declared = declarable(result.graph.value(output).type);
  return result;
}

}  // namespace

Sample shrunk(Sample sample, const std::function<bool(const Sample&)>& fails) {
  int tries_left = 400;
  const auto take = [&](std::optional<Sample> smaller) {
    if (!smaller || tries_left-- <= 0) return false;
    sweep(*smaller);
    if (smaller->graph.nodes().empty() || !fails(*smaller)) return false;
    sample = std::move(*smaller);
    return true;
  };
  for (bool again = true; again;) {
    again = take(bound(sample));
    for (size_t i = 0; i < sample.graph.outputs().size(); ++i) again |= take(without_output(sample, i));
    for (size_t i = 0; i < sample.graph.outputs().size(); ++i) again |= take(without_last(sample, i));
    const auto nodes = sample.graph.nodes();
    for (const NodeId node : nodes)
      for (size_t port = 0; sample.graph.contains(node) && port < sample.graph.node(node).outputs.size(); ++port)
        again |= take(cut_off(sample, node, port));
  }
  return sample;
}

}  // namespace isomer::test
