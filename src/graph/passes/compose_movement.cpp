#include "graph/passes/compose_movement.h"

#include <algorithm>

#include "graph/algorithms.h"
#include "graph/passes/edit.h"
#include "graph/passes/movement.h"

namespace isomer {
namespace {

constexpr int kLongestChain = 8;

/// A chain that ends in a node, and what it does as a whole.
struct Chain {
  ValueId source;
  Spelling spelling;
};

class Composer {
 public:
  explicit Composer(const Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  /// The longest chain of at least two movements up to this node that one operator can do.
  std::optional<Chain> chain_to(NodeId id) {
    const Node& node = graph_.node(id);
    if (node.outputs.size() != 1 || !node.outputs[0].valid()) return std::nullopt;
    const Movement* last = movement(id);
    if (!last) return std::nullopt;
    const Shape& to = *graph_.value(node.outputs[0]).type.shape;
    std::vector<te::Expr> index = last->index;
    ValueId source = last->source;
    std::optional<Chain> best;
    bool private_so_far = true;
    for (int length = 2; length <= kLongestChain; ++length) {
      const Value& between = graph_.value(source);
      if (!between.producer.valid() || between.output_index != 0) break;
      private_so_far &= uses_[source.index] == 1;
      const Movement* before = movement(between.producer);
      if (!before) break;
      const Shape& from = *graph_.value(before->source).type.shape;
      std::vector<te::Expr> composed;
      for (const te::Expr& position : before->index) {
        composed.push_back(simplified(te::transform(position,
                                                    [&](const te::Expr& expr) {
                                                      const te::Var* var = te::as<te::Var>(expr);
                                                      return var && var->kind == te::VarKind::kSpatial
                                                                 ? index[var->index]
                                                                 : te::Expr();
                                                    }),
                                      to));
      }
      index = std::move(composed);
      source = before->source;
      auto spelling = spell_movement(index, from, to);
      if (!spelling) continue;
      const bool returns = spelling->kind == Spelling::Kind::kIdentity;
      if (returns || private_so_far) best = Chain{source, std::move(*spelling)};
      if (returns) break;
    }
    return best;
  }

 private:
  const Movement* movement(NodeId id) {
    if (static_cast<size_t>(id.index) >= known_.size()) known_.resize(id.index + 1);
    auto& entry = known_[id.index];
    if (!entry) {
      const Node& node = graph_.node(id);
      const bool tensor =
          !node.outputs.empty() && node.outputs[0].valid() && graph_.value(node.outputs[0]).type.has_shape();
      entry = tensor ? movement_of(graph_, id, 0) : std::nullopt;
      // What changes the type or rounds is no movement; a neutral element is remove_identities' business.
      if (*entry && ((*entry)->fp_class != FloatClass::kExact ||
                     graph_.value((*entry)->source).type.dtype != graph_.value(node.outputs[0]).type.dtype))
        *entry = std::nullopt;
    }
    return *entry ? &**entry : nullptr;
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<std::optional<std::optional<Movement>>> known_;
};

Result<void> respell(Graph& graph, NodeId id, const Chain& chain) {
  const Spelling& spelling = chain.spelling;
  switch (spelling.kind) {
    case Spelling::Kind::kIdentity: return {};
    case Spelling::Kind::kReshape:
      return rewrite(graph, id, "Reshape", {chain.source, emit_ints(graph, spelling.values, "shape")}, {});
    case Spelling::Kind::kTranspose:
      return rewrite(graph, id, "Transpose", {chain.source}, {{"perm", spelling.values}});
    case Spelling::Kind::kExpand:
      return rewrite(graph, id, "Expand", {chain.source, emit_ints(graph, spelling.values, "shape")}, {});
    case Spelling::Kind::kSlice:
      return rewrite(
          graph, id, "Slice",
          {chain.source, emit_ints(graph, spelling.values, "starts"), emit_ints(graph, spelling.ends, "ends"),
           emit_ints(graph, spelling.axes, "axes"), emit_ints(graph, spelling.steps, "steps")},
          {});
  }
  return {};
}

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
  std::vector<ValueId> sources;
  for (auto entry = found.rbegin(); entry != found.rend(); ++entry) {
    const auto& [id, chain] = *entry;
    if (chain.spelling.kind == Spelling::Kind::kIdentity) {
      if (!redirects.redirect(graph.node(id).outputs[0], chain.source)) continue;
    } else {
      TRY_VOID(respell(graph, id, chain));
    }
    context.step("compose movement", label(graph, id));
    ++changes;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
