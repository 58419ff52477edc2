#include "graph/passes/merge_equal.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/hash.h"

namespace isomer {
namespace {

/// All elements known, and not all of them literals (such a value becomes a constant). Floats have none to be merged
/// by: contents are integers, which know no -0, and no proof says that floats are equal by them.
bool has_symbolic_content(const Value& value) {
  if (!value.content || !value.type.has_shape() || is_float(value.type.dtype)) return false;
  const auto is_literal = [](const std::optional<Dim>& element) { return element && element->is_constant(); };
  const auto is_known = [](const std::optional<Dim>& element) { return element.has_value(); };
  return std::ranges::all_of(*value.content, is_known) && !std::ranges::all_of(*value.content, is_literal);
}

Hash128 content_hash(const Value& value) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(value.type.dtype)).add(value.type.shape->size());
  for (const Dim& dim : *value.type.shape) hasher.add(dim.expr()->hash);
  for (const auto& element : *value.content) hasher.add(element->expr()->hash);
  return hasher.finish();
}

/// Values by what they are, each with the first that is the same. A hash only says where to look.
class Leaders {
 public:
  /// `exact`: a node that is asked for more outputs is another, as runtimes have other code for it then.
  Leaders(const Graph& graph, bool exact)
      : graph_(graph), exact_(exact), hashes_(value_hashes(graph)), leaders_(hashes_.size()) {}

  /// The first constant, or output of a node, that is the same as this one: itself if there is none.
  ValueId leader_of(ValueId id) {
    for (const ValueId candidate : values_[hashes_[id.index]])
      if (is_same(candidate, id)) return leaders_[id.index] = candidate;
    values_[hashes_[id.index]].push_back(id);
    return leaders_[id.index] = id;
  }
  /// The first with the same elements, which are known.
  ValueId leader_of_content(ValueId id) {
    const Value& value = graph_.value(id);
    std::vector<ValueId>& candidates = contents_[content_hash(value)];
    for (const ValueId candidate : candidates) {
      const Value& other = graph_.value(candidate);
      if (other.type == value.type && other.content == value.content) return candidate;
    }
    candidates.push_back(id);
    return id;
  }

 private:
  ValueId known_leader(ValueId id) const { return id.valid() && leaders_[id.index].valid() ? leaders_[id.index] : id; }
  bool is_same(ValueId a, ValueId b) const {
    const Value &x = graph_.value(a), &y = graph_.value(b);
    if (x.constant || y.constant) return x.constant && y.constant && x.constant->same_contents(*y.constant);
    const Node &one = graph_.node(x.producer), &other = graph_.node(y.producer);
    return x.output_index == y.output_index && (!exact_ || one.outputs.size() == other.outputs.size()) &&
           do_the_same(one, other, [&](ValueId p, ValueId q) { return known_leader(p) == known_leader(q); });
  }

  const Graph& graph_;
  bool exact_;
  std::vector<Hash128> hashes_;
  std::unordered_map<Hash128, std::vector<ValueId>> values_, contents_;
  std::vector<ValueId> leaders_;  ///< by ValueId::index; invalid where none is known
};

}  // namespace

Result<int> merge_equal(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return merge_equal(body, context); }));

  Leaders leaders(graph, !context.allows(FloatClass::kFinite));
  Redirects redirects(graph);
  const auto merge = [&](ValueId id, ValueId leader) { return id != leader && redirects.redirect(id, leader); };
  // Constants that nobody reads any more are still there. Those that are outputs stay as they are: of another constant
  // they would be copies, which are folded to constants again.
  const std::vector<int> uses = graph.use_counts();
  const std::set<ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (const ValueId id : graph.values())
    if (graph.is_constant(id) && uses[id.index] > 0 && !outputs.contains(id))
      changes += merge(id, leaders.leader_of(id));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    if (has_opaque(graph.node(id))) continue;
    int merged = 0;
    for (const ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      const ValueId leader = leaders.leader_of(output);
      if (leader != output)
        merged += merge(output, leader);
      else if (has_symbolic_content(graph.value(output)))
        merged += merge(output, leaders.leader_of_content(output));
    }
    if (merged) context.step("merge equal", label(graph, id));
    changes += merged;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
