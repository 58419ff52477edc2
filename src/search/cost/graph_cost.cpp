#include "search/cost/graph_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/op_def.h"
#include "substitutions/rewrite/subprogram.h"

namespace isomer::search {
namespace {

bool is_folded(const Node& node, Folded folded) {
  switch (folded) {
    case Folded::kAll: return true;
    case Folded::kAllButDequantized: return !node.op || !dequantizes(*node.op);
    case Folded::kHeld: return node.op && node.op->constant;
  }
  return true;
}

}  // namespace

Result<void> assume_folded(Graph& graph, Folded folded) {
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    if (!is_folded(node, folded)) continue;
    const auto is_known = [&](ValueId input) { return !input.valid() || graph.is_constant(input); };
    const bool has_shapes = std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) {
      return !v.valid() || (graph.value(v).type.has_shape() && constants(*graph.value(v).type.shape));
    });
    if (!node.captures.empty() || !has_shapes || !std::all_of(node.inputs.begin(), node.inputs.end(), is_known))
      continue;
    const std::vector<ValueId> outputs = node.outputs;
    graph.remove_node(id);
    for (const ValueId output : outputs)
      if (output.valid()) graph.edit(output).constant = substitutions::placeholder(graph.value(output).type);
  }
  return {};
}

Result<std::pair<Cost, Cost>> GraphCost::compare(const Graph& part, const Graph& other) {
  TRY(const Cost first, cost(part, Effort::kMeasure));
  TRY(const Cost second, cost(other, Effort::kMeasure));
  return std::pair(first, second);
}

Result<TaskCost::Fused> TaskCost::fused(const Graph& part) const {
  Fused result{part, {}};
  TRY_VOID(assume_folded(result.graph, Folded::kAll));
  TaskDecider as_preferred;
  TRY(result.tasks, tasks_of(result.graph, options_, Surroundings::kPart, as_preferred, timer_.table()));
  return result;
}

Result<std::pair<Cost, Cost>> TaskCost::compare(const Graph& part, const Graph& other) {
  TRY(const Fused first, fused(part));
  TRY(const Fused second, fused(other));
  std::map<TaskKey, std::pair<TaskOf, int>> differing;  // how much oftener the first one has it
  for (const Fused* side : {&first, &second})
    for (const Task& task : side->tasks) {
      TRY(const TaskKey key, timer_.key(side->graph, task));
      if (!key.is_view)
        differing.try_emplace(key, TaskOf{&side->graph, &task}, 0).first->second.second += side == &first ? 1 : -1;
    }
  std::vector<TaskOf> again;
  for (const auto& [key, task] : differing)
    if (task.second != 0) again.push_back(task.first);
  for (const auto& time : timer_.measure_again(again)) TRY_VOID(time);
  TRY(const Cost cost_of_first, cost(first, Effort::kMeasure));
  TRY(const Cost cost_of_second, cost(second, Effort::kMeasure));
  return std::pair(cost_of_first, cost_of_second);
}

Result<Cost> TaskCost::cost(const Graph& part, Effort effort) {
  TRY(const Fused whole, fused(part));
  return cost(whole, effort);
}

Result<Cost> TaskCost::cost(const Fused& part, Effort effort) {
  const auto& [graph, tasks] = part;
  Cost result;
  std::vector<TaskOf> unknown;
  for (const Task& task : tasks) {
    TRY(const TaskKey key, timer_.key(graph, task));
    if (key.is_view) continue;
    if (const auto known = timer_.known(key))
      result.microseconds += *known;
    else
      unknown.push_back({&graph, &task});
  }
  if (effort == Effort::kLookUp) {
    for (const TaskOf& task : unknown) {
      TRY(const double least, timer_.roofline(*task.graph, *task.task));
      result.microseconds += least * std::exp(measured_ == 0 ? 0 : logarithms_ / measured_);
      result.is_measured = false;
    }
    return result;
  }
  const auto times = timer_.measure(unknown);
  for (size_t k = 0; k < times.size(); ++k) {
    TRY(const double time, times[k]);
    result.microseconds += time;
    TRY(const double least, timer_.roofline(*unknown[k].graph, *unknown[k].task));
    logarithms_ += std::log(std::max(time, 1e-3) / std::max(least, 1e-3));
    ++measured_;
  }
  return result;
}

}  // namespace isomer::search
