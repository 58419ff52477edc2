#include "graph/passes/merge_equal.h"

#include <map>
#include <unordered_map>

#include "graph/algorithms.h"
#include "graph/hash.h"
#include "graph/passes/edit.h"

namespace isomer {
namespace {

/// All elements known, as a key; nothing where some are not, or where all are literals (such a value becomes a
/// constant).
std::optional<Hash128> content_key(const Value& value) {
  if (!value.content || !value.type.has_shape()) return std::nullopt;
  bool symbolic = false;
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(value.type.dtype)).add(value.type.shape->size());
  for (const Dim& dim : *value.type.shape) hasher.add(dim.expr()->hash);
  for (const auto& element : *value.content) {
    if (!element) return std::nullopt;
    symbolic |= !element->is_constant();
    hasher.add(element->expr()->hash);
  }
  return symbolic ? std::optional(hasher.finish()) : std::nullopt;
}

}  // namespace

Result<int> merge_equal(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return merge_equal(body, context); }));

  const std::vector<Hash128> hashes = value_hashes(graph);
  std::unordered_map<Hash128, ValueId> first, first_content;
  Redirects redirects(graph);
  for (const ValueId id : graph.values())
    if (graph.is_constant(id)) {
      const auto [known, inserted] = first.emplace(hashes[id.index], id);
      if (!inserted && redirects.redirect(id, known->second)) ++changes;
    }
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) {
    if (graph.node(id).is_opaque()) continue;
    int merged = 0;
    for (const ValueId output : graph.node(id).outputs) {
      if (!output.valid()) continue;
      const auto [known, inserted] = first.emplace(hashes[output.index], output);
      if (!inserted) {
        merged += redirects.redirect(output, known->second);
        continue;
      }
      if (const auto key = content_key(graph.value(output))) {
        const auto [made, is_first] = first_content.emplace(*key, output);
        if (!is_first) merged += redirects.redirect(output, made->second);
      }
    }
    if (merged) context.step("merge equal", label(graph, id));
    changes += merged;
  }
  redirects.apply();
  return changes;
}

}  // namespace isomer
