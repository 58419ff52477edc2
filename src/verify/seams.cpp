#include "verify/seams.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/algorithms.h"

namespace isomer {
namespace {

bool has_opaque(const Graph& graph);

bool is_runnable(const Node& node) {
  if (node.is_opaque()) return false;
  for (const auto& [name, attribute] : node.attributes) {
    if (const GraphPtr* body = std::get_if<GraphPtr>(&attribute); body && has_opaque(**body)) return false;
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
      if (std::any_of(bodies->begin(), bodies->end(), [](const GraphPtr& body) { return has_opaque(*body); }))
        return false;
  }
  return true;
}

bool has_opaque(const Graph& graph) {
  const auto nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return !is_runnable(graph.node(id)); });
}

/// Names for what a node reads that stay when the node does.
std::vector<std::pair<std::string, ValueId>> reads_of(const Graph& graph, const Node& node) {
  const auto made =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId output) { return output.valid(); });
  if (made == node.outputs.end()) return {};
  const std::string& name = graph.value(*made).name;
  std::vector<std::pair<std::string, ValueId>> reads;
  for (size_t i = 0; i < node.inputs.size(); ++i)
    reads.emplace_back(fmt::format("{} input {}", name, i), node.inputs[i]);
  const Graph* body = nullptr;
  for (const auto& [attribute, value] : node.attributes) {
    if (const GraphPtr* only = std::get_if<GraphPtr>(&value)) body = only->get();
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&value); bodies && !bodies->empty())
      body = bodies->front().get();
  }
  for (size_t i = 0; body && i < node.captures.size(); ++i)
    reads.emplace_back(fmt::format("{} capture {}", name, body->value(body->captures()[i]).name), node.captures[i]);
  return reads;
}

/// One graph without its opaque nodes: by name, the values that come in at the seams and those that go out.
class Cutter {
 public:
  using Values = std::map<std::string, ValueId>;

  /// Of the values that opaque nodes make, those in `allowed` become inputs, if it is given.
  Cutter(const Graph& graph, const Values* allowed) : result_{graph, 0}, graph_(result_.graph), allowed_(allowed) {
    // Inputs for which no values can be made, such as strings, feed nothing that can be run.
    for (const ValueId id : graph.inputs())
      if (const ValueType& type = graph.value(id).type; !type.is_tensor() || !is_computable(type.dtype))
        unknown_.insert(id);
  }

  Result<void> cut() {
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) {
      const Node node = graph_.node(id);
      if (!is_runnable(node)) {
        for (const auto& [name, value] : reads_of(graph_, node))
          if (value.valid() && !unknown_.contains(value)) seam_outputs_.emplace(name, value);
        remove(id, node, true);
      } else if (reads_unknown(node.inputs) || reads_unknown(node.captures)) {
        remove(id, node, false);
      }
    }
    for (const ValueId id : graph_.outputs())
      if (!unknown_.contains(id) && !seam_inputs_.contains(graph_.value(id).name))
        outputs_.emplace(graph_.value(id).name, id);
    return {};
  }

  const Values& seam_inputs() const { return seam_inputs_; }

  /// Names of what can be compared: outputs of the graph, then seams.
  std::vector<std::string> compared() const {
    std::vector<std::string> names;
    for (const Values* values : {&outputs_, &seam_outputs_})
      for (const auto& [name, id] : *values) names.push_back(name);
    return names;
  }

  /// The graph with those outputs of the names that it has.
  CutGraph result(const std::set<std::string>& names) && {
    std::vector<ValueId> inputs, outputs;
    for (const ValueId id : graph_.inputs())
      if (!unknown_.contains(id)) inputs.push_back(id);
    for (const auto& [name, id] : seam_inputs_) inputs.push_back(id);
    for (const Values* values : {&outputs_, &seam_outputs_})
      for (const auto& [name, id] : *values)
        if (names.contains(name)) outputs.push_back(id);
    graph_.set_inputs(std::move(inputs));
    graph_.set_outputs(std::move(outputs));
    return std::move(result_);
  }

 private:
  bool reads_unknown(const std::vector<ValueId>& values) const {
    return std::any_of(values.begin(), values.end(), [&](ValueId v) { return v.valid() && unknown_.contains(v); });
  }

  void remove(NodeId id, const Node& node, bool is_seam) {
    graph_.remove_node(id);
    ++result_.unchecked;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const Value& value = graph_.value(output);
      if (is_seam && value.type.has_shape() && is_computable(value.type.dtype) &&
          (!allowed_ || allowed_->contains(value.name)))
        seam_inputs_.emplace(value.name, output);
      else
        unknown_.insert(output);
    }
  }

  CutGraph result_;
  Graph& graph_;
  const Values* allowed_;
  std::set<ValueId> unknown_;
  Values seam_inputs_, seam_outputs_, outputs_;
};

}  // namespace

Result<CutPair> cut_at_opaque(const Graph& before, const Graph& after) {
  Cutter first(before, nullptr), second(after, nullptr);
  TRY_VOID(first.cut());
  TRY_VOID(second.cut());
  // Shapes may be better known in one of them.
  Cutter before_cut(before, &second.seam_inputs()), after_cut(after, &first.seam_inputs());
  TRY_VOID(before_cut.cut());
  TRY_VOID(after_cut.cut());
  const auto theirs = after_cut.compared(), ours = before_cut.compared();
  return CutPair{std::move(before_cut).result({theirs.begin(), theirs.end()}),
                 std::move(after_cut).result({ours.begin(), ours.end()})};
}

}  // namespace isomer
