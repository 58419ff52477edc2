#include "verify/seams.h"

#include <algorithm>
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
      if (std::any_of(bodies->begin(), bodies->end(), [](const GraphPtr& body) { return has_opaque(*body); })) return false;
  }
  return true;
}

bool has_opaque(const Graph& graph) {
  const auto nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return !is_runnable(graph.node(id)); });
}

class Cutter {
 public:
  /// Inputs for which no values can be made, such as strings, feed nothing that can be run.
  explicit Cutter(const Graph& graph) : result_{graph, 0}, graph_(result_.graph) {
    for (const ValueId id : graph.inputs())
      if (const ValueType& type = graph.value(id).type; !type.is_tensor() || !is_computable(type.dtype)) unknown_.insert(id);
  }

  Result<CutGraph> cut() {
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) {
      const Node node = graph_.node(id);
      if (!is_runnable(node)) {
        expose(node.inputs);
        expose(node.captures);
        remove(id, node, true);
      } else if (reads_unknown(node.inputs) || reads_unknown(node.captures)) {
        remove(id, node, false);
      }
    }
    set_interface();
    return std::move(result_);
  }

 private:
  bool reads_unknown(const std::vector<ValueId>& values) const {
    return std::any_of(values.begin(), values.end(), [&](ValueId v) { return v.valid() && unknown_.contains(v); });
  }

  /// What an opaque node reads is compared as if it were an output.
  void expose(const std::vector<ValueId>& values) {
    for (const ValueId id : values)
      if (id.valid() && !unknown_.contains(id) && graph_.value(id).producer.valid()) seam_outputs_.emplace(graph_.value(id).name, id);
  }

  void remove(NodeId id, const Node& node, bool is_seam) {
    graph_.remove_node(id);
    ++result_.unchecked;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const ValueType& type = graph_.value(output).type;
      if (is_seam && type.has_shape() && is_computable(type.dtype))
        seam_inputs_.emplace(graph_.value(output).name, output);
      else
        unknown_.insert(output);
    }
  }

  void set_interface() {
    std::vector<ValueId> inputs;
    for (const ValueId id : graph_.inputs())
      if (!unknown_.contains(id)) inputs.push_back(id);
    for (const auto& [name, id] : seam_inputs_) inputs.push_back(id);
    std::vector<ValueId> outputs;
    for (const ValueId id : graph_.outputs())
      if (!unknown_.contains(id) && !seam_inputs_.contains(graph_.value(id).name)) outputs.push_back(id);
    for (const auto& [name, id] : seam_outputs_)
      if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) outputs.push_back(id);
    graph_.set_inputs(std::move(inputs));
    graph_.set_outputs(std::move(outputs));
  }

  CutGraph result_;
  Graph& graph_;
  std::set<ValueId> unknown_;
  std::map<std::string, ValueId> seam_inputs_, seam_outputs_;
};

}  // namespace

Result<CutGraph> cut_at_opaque(const Graph& graph) { return Cutter(graph).cut(); }

}  // namespace isomer
