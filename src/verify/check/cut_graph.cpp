#include "verify/check/cut_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/equal.h"
#include "graph/sequence_ops.h"

namespace isomer {
namespace {

bool has_opaque(const Graph& graph);

/// A constant that no run can read, such as one of strings.
bool is_foreign(const Graph& graph, ValueId id) {
  return id.valid() && graph.value(id).constant && !is_computable(graph.value(id).constant->dtype());
}

bool is_runnable(const Node& node) {
  if (node.is_opaque() && !is_sequence_op(node)) return false;
  for (const auto& [name, attribute] : node.attributes) {
    if (const GraphPtr* body = std::get_if<GraphPtr>(&attribute); body && has_opaque(**body)) return false;
    if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
      if (std::any_of(bodies->begin(), bodies->end(), [](const GraphPtr& body) { return has_opaque(*body); }))
        return false;
  }
  return true;
}

bool has_opaque(const Graph& graph) {
  const auto any_foreign = [&](const std::vector<ValueId>& read) {
    return std::ranges::any_of(read, [&](ValueId id) { return is_foreign(graph, id); });
  };
  return any_foreign(graph.outputs()) || std::ranges::any_of(graph.nodes(), [&](NodeId id) {
           const Node& node = graph.node(id);
           return !is_runnable(node) || any_foreign(node.inputs) || any_foreign(node.captures);
         });
}

using Named = std::vector<std::pair<std::string, ValueId>>;

ValueId first_output(const Node& node) {
  const auto made =
      std::find_if(node.outputs.begin(), node.outputs.end(), [](ValueId output) { return output.valid(); });
  return made == node.outputs.end() ? ValueId() : *made;
}

/// Levels of bodies in the node: what stands in them has fewer.
int height(const Node& node) {
  int deepest = 0;
  for (const auto& [name, attribute] : node.attributes)
    for (const Graph* body : bodies_of(attribute))
      for (const NodeId id : body->nodes()) deepest = std::max(deepest, 1 + height(body->node(id)));
  return deepest;
}

/// Names for what a node reads that stay when the node does. Where one of its branches was taken, another makes the
/// same output.
Named reads_of(const Graph& graph, const Node& node) {
  const ValueId made = first_output(node);
  if (!made.valid()) return {};
  const std::string name =
      fmt::format("{} of {}::{} {}", graph.value(made).name, node.domain, node.op_type, height(node));
  Named reads;
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

/// Positions, as names, of one kind of what a node reads or makes.
void name_by_position(std::string_view node, std::string_view kind, const std::vector<ValueId>& values, Named& named) {
  for (size_t k = 0; k < values.size(); ++k) named.emplace_back(fmt::format("{} {} {}", node, kind, k), values[k]);
}

/// Where the value stands among what the node reads.
bool reads_at_one_place(const Node& first, ValueId a, const Node& second, ValueId b) {
  const auto at_one_place = [&](const std::vector<ValueId>& x, const std::vector<ValueId>& y) {
    for (size_t k = 0; k < std::min(x.size(), y.size()); ++k)
      if (x[k] == a && y[k] == b) return true;
    return false;
  };
  return at_one_place(first.inputs, second.inputs) || at_one_place(first.captures, second.captures);
}

/// Nodes that are cut out besides the opaque ones, with a name that they have in both graphs.
using Further = std::map<NodeId, std::string>;

/// One graph without its opaque nodes: by name, the values that come in at the seams and those that go out.
class Cutter {
 public:
  using Values = std::map<std::string, ValueId>;

  /// Of the values that opaque nodes make, those in `allowed` become inputs, if it is given.
  Cutter(const Graph& graph, const Further& further, const Values* allowed)
      : result_{graph, 0}, graph_(result_.graph), further_(further), allowed_(allowed) {
    // Inputs for which no values can be made, such as strings, feed nothing that can be run; nor do such constants.
    for (const ValueId id : graph.inputs())
      if (const ValueType& type = graph.value(id).type; !type.is_tensor() || !is_computable(type.dtype))
        unknown_.insert(id);
    for (const ValueId id : graph.values())
      if (is_foreign(graph, id)) unknown_.insert(id);
  }

  Result<void> cut() {
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) {
      const Node node = graph_.node(id);
      if (const auto cut_out = further_.find(id); cut_out != further_.end()) {
        Named reads, makes;
        name_by_position(cut_out->second, "input", node.inputs, reads);
        name_by_position(cut_out->second, "capture", node.captures, reads);
        name_by_position(cut_out->second, "output", node.outputs, makes);
        remove_at_seam(id, reads, makes);
      } else if (!is_runnable(node) || (may_read_others(node) && reads_unknown(node))) {
        Named makes;
        for (const ValueId output : node.outputs)
          if (output.valid()) makes.emplace_back(graph_.value(output).name, output);
        remove_at_seam(id, reads_of(graph_, node), makes);
      } else if (reads_unknown(node)) {
        remove(id);
        for (const ValueId output : node.outputs)
          if (output.valid()) unknown_.insert(output);
      }
    }
    std::set<ValueId> made_at_seams;
    for (const auto& [name, id] : seam_inputs_) made_at_seams.insert(id);
    for (const ValueId id : graph_.outputs())
      if (!unknown_.contains(id) && !made_at_seams.contains(id)) outputs_.emplace(graph_.value(id).name, id);
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
  /// Values that are no tensors: what is made of them may be.
  static bool may_read_others(const Node& node) { return node.is_opaque() || node.op->control; }

  bool reads_unknown(const Node& node) const {
    const auto is_unknown = [&](ValueId value) { return value.valid() && unknown_.contains(value); };
    return std::ranges::any_of(node.inputs, is_unknown) || std::ranges::any_of(node.captures, is_unknown);
  }

  void remove(NodeId id) {
    graph_.remove_node(id);
    ++result_.unchecked;
  }

  void remove_at_seam(NodeId id, const Named& reads, const Named& makes) {
    for (const auto& [name, value] : reads)
      if (value.valid() && !unknown_.contains(value)) seam_outputs_.emplace(name, value);
    remove(id);
    for (const auto& [name, value] : makes) {
      if (!value.valid()) continue;
      const ValueType& type = graph_.value(value).type;
      if (type.has_shape() && is_computable(type.dtype) && (!allowed_ || allowed_->contains(name)))
        seam_inputs_.emplace(name, value);
      else
        unknown_.insert(value);
    }
  }

  CutGraph result_;
  Graph& graph_;
  const Further& further_;
  const Values* allowed_;
  std::set<ValueId> unknown_;
  Values seam_inputs_, seam_outputs_, outputs_;
};

}  // namespace

std::optional<NodeId> find_counterpart(const Graph& before, NodeId node, const Graph& after) {
  const Node& wanted = before.node(node);
  const ValueId made = first_output(wanted);
  const std::string name = made.valid() ? before.value(made).name : "";
  const auto makes_it = [&](const Node& other) {
    const ValueId output = first_output(other);
    return made.valid() && output.valid() && after.value(output).name == name;
  };
  const auto is_called_so = [&](const Node& other) { return !wanted.name.empty() && other.name == wanted.name; };
  std::vector<NodeId> called_so;
  for (const NodeId id : after.nodes()) {
    const Node& other = after.node(id);
    const auto same = [&](ValueId a, ValueId b) { return reads_at_one_place(wanted, a, other, b); };
    if (!makes_it(other) && !is_called_so(other)) continue;
    if (other.captures.size() != wanted.captures.size() || !do_the_same(wanted, other, same)) continue;
    if (makes_it(other)) return id;
    called_so.push_back(id);
  }
  return called_so.size() == 1 ? std::optional(called_so.front()) : std::nullopt;
}

Result<CutPair> cut_at_opaque(const Graph& before, const Graph& after, std::span<const NodePair> further) {
  Further of_before, of_after;
  for (const NodePair& pair : further) {
    const std::string name = fmt::format("node {}", pair.before.index);
    of_before.emplace(pair.before, name);
    of_after.emplace(pair.after, name);
  }
  Cutter first(before, of_before, nullptr), second(after, of_after, nullptr);
  TRY_VOID(first.cut());
  TRY_VOID(second.cut());
  // Shapes may be better known in one of them.
  Cutter before_cut(before, of_before, &second.seam_inputs()), after_cut(after, of_after, &first.seam_inputs());
  TRY_VOID(before_cut.cut());
  TRY_VOID(after_cut.cut());
  const auto theirs = after_cut.compared(), ours = before_cut.compared();
  return CutPair{std::move(before_cut).result({theirs.begin(), theirs.end()}),
                 std::move(after_cut).result({ours.begin(), ours.end()})};
}

}  // namespace isomer
