#include "graph/passes/contract.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/infer.h"
#include "graph/node_form.h"
#include "graph/ops/same_arithmetic.h"
#include "graph/passes/compose_movement.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/merge_equal.h"
#include "graph/passes/remove_dead.h"
#include "graph/passes/remove_identities.h"
#include "graph/passes/shrink_constants.h"
#include "util/check.h"

namespace isomer {
namespace {

constexpr size_t kLargestRegion = 128;
/// Inputs that are constants of more bytes are compared as inputs, not by their elements.
constexpr int64_t kSmallConstant = 8192;
/// Of a constant that a composite is written out with (a Winograd transform of tiles of 8x8x8).
constexpr int64_t kLargestOwnConstant = int64_t{1} << 20;

/// Rows look around freely when they recognize.
constexpr int kMaxNodes = 50'000;

/// Copies values of a graph into a scratch graph.
class Copier {
 public:
  explicit Copier(const Graph& graph) : graph_(graph) { scratch.share_info(graph); }

  Graph scratch;

  /// As a constant of the scratch graph if it is one of at most so many bytes, else as an input.
  ValueId leaf(ValueId id, int64_t largest_constant) {
    if (!id.valid()) return {};
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    Value value = graph_.value(id);
    value.declared.reset();
    const bool small = constant_of(graph_, id) && value.constant->dtype() != DataType::kString &&
                       static_cast<int64_t>(value.constant->bytes().size()) <= largest_constant;
    if (!small) value.constant.reset();
    const ValueId copy = scratch.add_value(std::move(value));
    if (!small) {
      std::vector<ValueId> inputs = scratch.inputs();
      inputs.push_back(copy);
      scratch.set_inputs(std::move(inputs));
    }
    copies_.emplace(id, copy);
    return copy;
  }

  /// A value that a node of the scratch graph will make.
  ValueId made(ValueId id) {
    if (!id.valid()) return {};
    if (const auto known = copies_.find(id); known != copies_.end()) return known->second;
    Value value;
    value.name = graph_.value(id).name;
    value.type = graph_.value(id).type;
    return copies_.emplace(id, scratch.add_value(std::move(value))).first->second;
  }

  bool has(ValueId id) const { return copies_.contains(id); }

 private:
  const Graph& graph_;
  std::map<ValueId, ValueId> copies_;
};

struct Proposal {
  NodeId root;
  Node node;                  ///< without outputs
  std::set<NodeId> interior;  ///< what it replaces besides the root
};

/// The nodes between the proposal's inputs and the root; nothing where the root needs other values, too.
std::optional<std::set<NodeId>> region_of(const Graph& graph, NodeId root, const Node& proposal) {
  const std::set<ValueId> inputs(proposal.inputs.begin(), proposal.inputs.end());
  std::set<NodeId> interior;
  std::vector<NodeId> pending = {root};
  while (!pending.empty()) {
    const Node& node = graph.node(pending.back());
    pending.pop_back();
    if (node.is_opaque() || !node.captures.empty()) return std::nullopt;
    for (const ValueId input : node.inputs) {
      if (!input.valid() || inputs.contains(input)) continue;
      const Tensor* constant = constant_of(graph, input);
      if (constant && static_cast<int64_t>(constant->bytes().size()) <= kLargestOwnConstant) continue;
      const NodeId made = graph.value(input).producer;
      if (!made.valid()) return std::nullopt;
      for (const ValueId output : graph.node(made).outputs)
        if (output.valid() && inputs.contains(output)) return std::nullopt;
      if (made != root && interior.insert(made).second) pending.push_back(made);
      if (interior.size() > kLargestRegion) return std::nullopt;
    }
  }
  return interior;
}

/// The oldest opset that has the operator.
int64_t oldest_version(const OpDef& op) { return op.versions.empty() ? op.since : op.versions.back().since; }

Result<Graph> simplified(Graph graph) {
  TRY_VOID(simplify_lightly(graph));
  return graph;
}

/// The region as a graph of its own, its inputs in the order of the proposal's. `position` of each node: its producers
/// first.
Graph region_graph(const Graph& graph, const Proposal& proposal, const std::vector<int>& position) {
  Copier copier(graph);
  for (const ValueId input : proposal.node.inputs) copier.leaf(input, kSmallConstant);
  std::vector<NodeId> members(proposal.interior.begin(), proposal.interior.end());
  members.push_back(proposal.root);
  std::sort(members.begin(), members.end(), [&](NodeId a, NodeId b) { return position[a.index] < position[b.index]; });
  for (const NodeId id : members) {
    Node node = graph.node(id);
    for (ValueId& input : node.inputs) {
      const bool outside = input.valid() && !copier.has(input);
      input = outside ? copier.leaf(input, kLargestOwnConstant) : input.valid() ? copier.made(input) : input;
    }
    for (ValueId& output : node.outputs) output = copier.made(output);
    copier.scratch.add_node(std::move(node));
  }
  std::vector<ValueId> outputs;
  for (const ValueId output : graph.node(proposal.root).outputs)
    if (output.valid()) outputs.push_back(copier.made(output));
  copier.scratch.set_outputs(std::move(outputs));
  return std::move(copier.scratch);
}

/// Which composites are meant: those that the model's opset has, or those that it lacks.
enum class Composites : uint8_t { kOfOpset, kLacking };

bool has(const Graph& graph, const OpDef& op) {
  return op.domain == kOwnDomain || oldest_version(op) <= graph.info().opset() || (op.early && graph.info().has_early);
}

/// The proposal and what it would replace mean the same, and the opset can say it.
Result<bool> holds(const Graph& graph, const Proposal& proposal, const std::vector<int>& position) {
  Node node = proposal.node;
  node.outputs = graph.node(proposal.root).outputs;
  Graph composite = alone(graph, node, kSmallConstant);
  const NodeId only = composite.nodes().front();
  TRY_VOID(infer_node(composite, only));
  if (composite.node(only).is_opaque()) return false;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i].valid() &&
        composite.value(composite.node(only).outputs[i]).type != graph.value(node.outputs[i]).type)
      return false;
  Graph lowered = composite;
  const bool is_own = proposal.node.op->domain == kOwnDomain;
  if (!is_own && (!lower_to_opset(lowered, graph.info().opset()).ok() || lowered.node_count() != 1)) return false;
  TRY_VOID(reform_node(composite, only, proposal.node.op->expand));
  TRY(const Graph expected, simplified(std::move(composite)));
  TRY(const Graph found, simplified(region_graph(graph, proposal, position)));
  return !difference(expected, found) || ops::same_arithmetic(expected, found);
}

/// Those that the opset lacks are believed for what they look like: nothing is replaced by them.
std::vector<Proposal> proposals_of(const Graph& graph, const std::vector<NodeId>& order, Composites composites) {
  std::vector<const OpDef*> rows;
  for (const OpDef* op : all_ops())
    if (op->recognize && op->expand && has(graph, *op) == (composites == Composites::kOfOpset)) rows.push_back(op);
  if (rows.empty()) return {};
  std::vector<int> position(order.empty() ? 0 : std::max_element(order.begin(), order.end())->index + 1);
  for (size_t i = 0; i < order.size(); ++i) position[order[i].index] = static_cast<int>(i);
  std::vector<Proposal> proposals;
  for (const NodeId root : order) {
    if (graph.node(root).is_opaque()) continue;
    std::optional<Proposal> best;
    for (const OpDef* op : rows) {
      auto node = op->recognize(graph, root);
      if (!node || node->op == graph.node(root).op) continue;
      auto interior = region_of(graph, root, *node);
      if (!interior || interior->empty() || (best && best->interior.size() >= interior->size())) continue;
      Proposal proposal{root, std::move(*node), std::move(*interior)};
      if (composites == Composites::kOfOpset) {
        const auto same = holds(graph, proposal, position);
        if (!same.ok() || !*same) continue;
      }
      best = std::move(proposal);
    }
    if (best) proposals.push_back(std::move(*best));
  }
  return proposals;
}

/// The proposals that can be taken together: what they replace is read by nothing that stays.
std::vector<Proposal> compatible(const Graph& graph, std::vector<Proposal> proposals) {
  const auto consumers = graph.consumers();
  const std::vector<NodeId> nodes = graph.nodes();
  const size_t count = nodes.empty() ? 0 : nodes.back().index + 1;
  std::vector<int> covered(count, 0);  // how many proposals replace the node as one of their interior
  std::vector<const Proposal*> at_root(count, nullptr);
  std::vector<bool> dropped(proposals.size(), false);
  for (const Proposal& proposal : proposals) {
    at_root[proposal.root.index] = &proposal;
    for (const NodeId id : proposal.interior) ++covered[id.index];
  }
  const auto read_by_what_stays = [&](const Proposal& proposal) {
    for (const NodeId id : proposal.interior)
      for (const ValueId output : graph.node(id).outputs) {
        if (!output.valid()) continue;
        if (is_output(graph, output)) return true;
        for (const NodeId reader : consumers[output.index]) {
          const Proposal* other = at_root[reader.index];
          if (other ? std::count(other->node.inputs.begin(), other->node.inputs.end(), output) > 0
                    : covered[reader.index] == 0)
            return true;
        }
      }
    return false;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < proposals.size(); ++i) {
      if (dropped[i] || !read_by_what_stays(proposals[i])) continue;
      dropped[i] = changed = true;
      at_root[proposals[i].root.index] = nullptr;
      for (const NodeId id : proposals[i].interior) --covered[id.index];
    }
  }
  // Those inside one that is taken are not needed.
  std::vector<Proposal> taken;
  for (size_t i = 0; i < proposals.size(); ++i)
    if (!dropped[i] && covered[proposals[i].root.index] == 0) taken.push_back(std::move(proposals[i]));
  return taken;
}

/// The name of the node that an expansion came from: emitted nodes are called after it.
std::string original_name(const Node& root) {
  const std::string suffix = "/" + root.op_type;
  return root.name.ends_with(suffix) ? root.name.substr(0, root.name.size() - suffix.size()) : root.name;
}

}  // namespace

Result<std::set<NodeId>> kept_nodes(const Graph& graph, const PassContext& context) {
  std::set<NodeId> nodes;
  if (!context.options.keep_composites || graph.node_count() > kMaxNodes) return nodes;
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (Proposal& proposal : compatible(graph, proposals_of(graph, order, Composites::kLacking))) {
    nodes.insert(proposal.root);
    nodes.merge(proposal.interior);
  }
  return nodes;
}

Graph alone(const Graph& graph, const Node& node, int64_t largest_constant) {
  Copier copier(graph);
  Node copy = node;
  for (ValueId& input : copy.inputs) input = copier.leaf(input, largest_constant);
  std::vector<ValueId> outputs;
  for (ValueId& output : copy.outputs) {
    output = copier.made(output);
    if (output.valid()) outputs.push_back(output);
  }
  copier.scratch.add_node(std::move(copy));
  copier.scratch.set_outputs(std::move(outputs));
  return std::move(copier.scratch);
}

Result<void> simplify_lightly(Graph& graph) {
  PassOptions options;
  std::vector<OptimizeStep> steps;
  PassContext context(options, steps);
  context.set_growth_left(options.max_growth);
  TRY_VOID(infer(graph));
  for (int round = 0; round < 4; ++round) {
    int changes = 0;
    for (const PassFunction pass : {remove_dead, fold_constants, shrink_constants, remove_identities, compose_movement,
                                    merge_equal, remove_dead}) {
      TRY(const int changed, pass(graph, context));
      changes += changed;
    }
    if (changes == 0) break;
  }
  return {};
}

Result<int> contract(Graph& graph, PassContext& context) {
  int changes = 0;
  if (!context.allows(FloatClass::kReassociated) || graph.node_count() > kMaxNodes) return changes;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return contract(body, context); }));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (Proposal& proposal : compatible(graph, proposals_of(graph, order, Composites::kOfOpset))) {
    const std::string where = label(graph, proposal.root);
    const std::string name = original_name(graph.node(proposal.root));
    TRY_VOID(rewrite(graph, proposal.root, proposal.node.op->name, std::move(proposal.node.inputs),
                     std::move(proposal.node.attributes)));
    graph.edit(proposal.root).name = name;
    context.step(fmt::format("contract to {}", graph.node(proposal.root).op_type), where, FloatClass::kReassociated);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
