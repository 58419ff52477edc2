#include "graph/passes/compose_movement.h"

#include <algorithm>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/movement.h"

namespace isomer {
namespace {

constexpr int kLongestChain = 8;

/// A chain that ends in a node, and what it does as a whole.
struct Chain {
  ValueId source;
  std::optional<SpelledMap> spelled;  ///< nothing: the elements come back to their places
};

class Composer {
 public:
  explicit Composer(const Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  /// The longest chain of at least two movements up to this node that one operator can do.
  std::optional<Chain> chain_to(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || !node.outputs[0].valid()) return std::nullopt;
    // It takes two: of a node behind others that do not move, nobody has to know whether it does.
    if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return may_be_moved(input); }))
      return std::nullopt;
    const Movement* last = movement(id);
    if (!last) return std::nullopt;
    Movement whole = *last;
    std::vector<Movement> composed;  // nobody else reads what lies between
    bool private_so_far = true;
    for (int length = 2; length <= kLongestChain; ++length) {
      const Value& between = graph_.value(whole.source);
      if (!between.producer.valid() || between.output_index != 0) break;
      private_so_far &= uses_[whole.source.index] == 1;
      const Movement* before = movement(between.producer);
      if (!before) break;
      std::vector<te::Expr> index;
      for (const te::Expr& position : before->index)
        index.push_back(normal_index(with_axes(position, whole.index), *whole.to.shape));
      whole = {{before->from, whole.to, std::move(index)}, before->source};
      if (keeps_places(whole)) return Chain{whole.source, std::nullopt};
      if (private_so_far) composed.push_back(whole);
    }
    for (auto longest = composed.rbegin(); longest != composed.rend(); ++longest)
      if (auto spelled = spell_map(*longest)) return Chain{longest->source, std::move(spelled)};
    return std::nullopt;
  }

 private:
  /// Not where it is known that what makes the value moves nothing.
  bool may_be_moved(ValueId value) const {
    const NodeId producer = value.valid() ? graph_.value(value).producer : NodeId();
    if (!producer.valid()) return false;
    const bool is_known = static_cast<size_t>(producer.index) < known_.size() && known_[producer.index];
    return !is_known || known_[producer.index]->has_value();
  }

  const Movement* movement(NodeId id) {
    if (static_cast<size_t>(id.index) >= known_.size()) known_.resize(id.index + 1);
    auto& entry = known_[id.index];
    if (!entry) {
      const Node& node = graph_.node(id);
      const bool tensor =
          !node.outputs.empty() && node.outputs[0].valid() && graph_.value(node.outputs[0]).type.has_shape();
      entry = tensor ? movement_of(graph_, id, 0) : std::nullopt;
      // A neutral element is remove_identities' business.
      if (*entry && (*entry)->fp_class != FloatClass::kExact) *entry = std::nullopt;
    }
    return *entry ? &**entry : nullptr;
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<std::optional<std::optional<Movement>>> known_;
};

}  // namespace

Result<int> compose_movement(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return compose_movement(body, context); }));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  std::vector<std::pair<NodeId, Chain>> found;
  {
    Composer composer(graph);
    for (const NodeId id : order)
      if (auto chain = composer.chain_to(id)) found.emplace_back(id, std::move(*chain));
  }
  // Last first: a chain that is taken makes those that end inside it superfluous.
  Redirects redirects(graph);
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    const auto& [id, chain] = *entry;
    if (chain.spelled)
      TRY_VOID(rewrite(graph, id, chain.source, *chain.spelled));
    else if (!redirects.redirect(graph.node(id).outputs[0], chain.source))
      continue;
    context.step("compose movement", label(graph, id));
    ++changes;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
