#include "search/cost/work.h"

#include <algorithm>
#include <set>

#include "graph/infer.h"
#include "graph/op_def.h"
#include "search/tasks/form.h"
#include "search/tasks/fuse.h"

namespace isomer::search {
namespace {

/// Of a node: looking it up, calling its kernel, waking threads.
constexpr double kStartMicroseconds = 1;

/// Lists of int64 are what ONNX has for parameters: the sizes of a Split, axes, a shape.
bool is_weight(const Tensor& constant) { return constant.dtype() != DataType::kInt64 || constant.dims().size() > 1; }

double points(const Shape& shape) {
  double result = 1;
  for (const Dim& dim : shape) result *= static_cast<double>(dim.constant().value_or(1));
  return result;
}

void add_arithmetic(const te::Program& program, NodeWork& work) {
  for (const te::Stage& stage : program.stages) {
    const auto* body = std::get_if<te::MapReduce>(&stage.body);
    if (!body) {
      work.reduces = true;
      continue;
    }
    int each = body->combine.arity() > 0 ? 1 : 0;
    for (const te::Expr& e : body->bodies)
      te::for_each_node(e, [&](const te::Expr& part) {
        each += is_float(part.dtype()) && (te::as<te::Binary>(part) || te::as<te::Unary>(part));
      });
    work.operations += each * points(body->axes) * points(body->reduce);
    work.reduces = work.reduces || body->combine.arity() > 0;
  }
}

}  // namespace

std::optional<NodeWork> work_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.is_opaque() || !node.op->compute) return std::nullopt;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const ValueId value : *list)
      if (value.valid() && !graph.value(value).type.has_shape()) return std::nullopt;
  const auto program = node.op->compute(context_of(graph, id));
  if (!program.ok()) return std::nullopt;
  NodeWork work;
  std::vector<kernel::TaskType> types;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const ValueId value : *list) {
      if (!value.valid()) {
        if (list == &node.inputs) types.push_back({DataType::kUndefined, {}});
        continue;
      }
      const ValueType& type = graph.value(value).type;
      if (list == &node.inputs) types.push_back({type.dtype, *type.shape});
      work.bytes += static_cast<double>(byte_size(type.dtype, 1)) * points(*type.shape);
    }
  work.is_view = viewed_input(*program, types) >= 0;
  add_arithmetic(*program, work);
  return work;
}

Result<Work> work_of(const Graph& whole, Folded folded) {
  Graph graph = whole;
  TRY_VOID(assume_folded(graph, folded));
  Work sum;
  std::set<ValueId> weights;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.domain == kOwnDomain)
      return unsupported(node.op_type, "an operator that other runtimes have expected, one of ours found");
    ++sum.nodes;
    for (const ValueId input : node.inputs)
      if (input.valid() && graph.is_constant(input) && is_weight(*graph.value(input).constant)) weights.insert(input);
    sum.microseconds += kStartMicroseconds;
    const auto work = work_of(graph, id);
    if (!work || work->is_view) continue;
    sum.operations += work->operations;
    sum.bytes += work->bytes;
    sum.microseconds += std::max(work->operations / kOperationsPerMicrosecond, work->bytes / kBytesPerMicrosecond);
  }
  for (const ValueId weight : weights)
    sum.weight_bytes += static_cast<int64_t>(graph.value(weight).constant->bytes().size());
  return sum;
}

bool is_no_more(const Work& work, const Work& than) {
  return work.operations <= than.operations && work.bytes <= than.bytes && work.nodes <= than.nodes &&
         work.weight_bytes <= than.weight_bytes;
}

Result<bool> needs_no_more(const Graph& graph, const Graph& than) {
  for (const Folded folded : {Folded::kAllButDequantized, Folded::kHeld}) {
    TRY(const Work work, work_of(graph, folded));
    TRY(const Work most, work_of(than, folded));
    if (!is_no_more(work, most)) return false;
  }
  return true;
}

Result<Cost> WorkCost::cost(const Graph& part, Effort) {
  TRY(const Work work, work_of(part));
  return Cost{work.microseconds, true};
}

}  // namespace isomer::search
