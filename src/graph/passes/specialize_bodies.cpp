#include "graph/passes/specialize_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/node_form.h"
#include "graph/passes/take_branches.h"
#include "graph/te/symbols.h"

namespace isomer {
namespace {

/// More rounds than dims of a loop's states that change one after the other.
constexpr int kMaxRounds = 6;

void set_type(Graph& body, ValueId formal, const ValueType& type) {
  if (body.value(formal).type != type) body.edit(formal).type = type;
}

/// Sizes of what a body is given, as it can ask for them: what the graph around makes of sizes that the body is not
/// given (of two that are joined, say) is a size of its own, called after the value that has it first.
class GivenSizes {
 public:
  GivenSizes(const Graph& outer, const Node& node) {
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId id : *list) {
        if (!id.valid() || !outer.value(id).type.has_shape()) continue;
        for (const Dim& dim : *outer.value(id).type.shape)
          if (const te::Symbol* symbol = te::as<te::Symbol>(dim.expr())) given_.insert(symbol->name);
      }
  }

  ValueType type(const Value& of) {
    ValueType result = of.type;
    if (!result.has_shape()) return result;
    for (size_t k = 0; k < result.shape->size(); ++k) {
      Dim& dim = (*result.shape)[k];
      if (is_given(dim)) continue;
      auto known = std::ranges::find(named_, dim, &std::pair<Dim, Dim>::first);
      if (known == named_.end())
        known = named_.insert(known, {dim, Dim::symbol(size_by_data(of.name, static_cast<int64_t>(k)))});
      dim = known->second;
    }
    return result;
  }

  std::optional<Content> content(const Value& of) const {
    std::optional<Content> result = of.content;
    if (!result) return result;
    for (std::optional<Dim>& element : *result) {
      if (!element || is_given(*element)) continue;
      const auto known = std::ranges::find(named_, *element, &std::pair<Dim, Dim>::first);
      element = known == named_.end() ? std::nullopt : std::optional(known->second);
    }
    return result;
  }

 private:
  bool is_given(const Dim& dim) const {
    return std::ranges::all_of(names(dim), [&](const std::string& name) { return given_.contains(name); });
  }

  std::set<std::string> given_;
  std::vector<std::pair<Dim, Dim>> named_;
};

/// Values of which inference says something else than before.
int count_changes(const Graph& before, const Graph& after) {
  int changes = 0;
  for (const ValueId id : after.values())
    changes += !before.contains(id) || before.value(id).type != after.value(id).type;
  return changes;
}

void take_captures(const Graph& outer, const Node& node, GivenSizes& sizes, Graph& body) {
  const std::vector<int> uses = body.use_counts();
  for (size_t i = 0; i < node.captures.size(); ++i)
    set_type(body, body.captures()[i], sizes.type(outer.value(node.captures[i])));
  for (size_t i = 0; i < node.captures.size(); ++i) {
    const ValueId inner = body.captures()[i];
    const Value& captured = outer.value(node.captures[i]);
    auto content = sizes.content(captured);
    if (body.value(inner).content != content) body.edit(inner).content = std::move(content);
    if (!outer.is_constant(node.captures[i]) || uses[inner.index] == 0) continue;
    body.replace_uses(inner, body.add_constant(*captured.constant, body.fresh_name(captured.name)));
  }
}

/// What holds before an iteration and behind it: a dim that differs is what the file calls it, or has a name of its
/// own. Nothing where ranks differ.
std::optional<Shape> common_shape(const Graph& body, ValueId formal, const Shape& after, const ValueType& declared) {
  Shape shape = *body.value(formal).type.shape;
  if (after.size() != shape.size()) return std::nullopt;
  for (size_t k = 0; k < shape.size(); ++k) {
    if (shape[k] == after[k]) continue;
    const bool is_named =
        declared.has_shape() && declared.shape->size() == shape.size() && !(*declared.shape)[k].is_constant();
    shape[k] =
        is_named ? (*declared.shape)[k] : Dim::symbol(size_by_step(body.value(formal).name, static_cast<int64_t>(k)));
  }
  return shape;
}

/// The body's first inputs and its states: as the loop begins with them, but for what iterations change.
Result<void> take_states(const Graph& outer, const Node& node, const LoopForm& form, GivenSizes& sizes, Graph& body) {
  const std::vector<ValueId> formals = body.inputs();
  std::vector<ValueType> declared;
  for (const ValueId formal : formals) declared.push_back(body.value(formal).type);
  for (const size_t k : {0, 1}) {
    const bool is_row = declared[k].has_shape() && declared[k].shape->size() == 1;
    set_type(body, formals[k],
             ValueType::tensor(k == 0 ? DataType::kInt64 : DataType::kBool, is_row ? Shape{1} : Shape{}));
  }
  std::vector<bool> is_taken(formals.size());
  for (size_t k = 2; k < formals.size(); ++k) {
    const ValueType first = sizes.type(outer.value(node.inputs[form.first_state + k - 2]));
    is_taken[k] = first.has_shape();
    if (is_taken[k]) set_type(body, formals[k], first);
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    TRY_VOID(infer(body));
    bool holds = true;
    for (size_t k = 2; k < formals.size(); ++k) {
      const ValueType &before = body.value(formals[k]).type, &after = body.value(body.outputs()[k - 1]).type;
      if (!is_taken[k] || after == before) continue;
      const auto shape =
          after.has_shape() ? common_shape(body, formals[k], *after.shape, declared[k]) : std::optional<Shape>();
      if (shape && *shape == *before.shape) continue;
      holds = false;
      is_taken[k] = shape.has_value();
      if (shape)
        body.edit(formals[k]).type.shape = *shape;
      else
        set_type(body, formals[k], declared[k]);
    }
    if (holds) return {};
  }
  for (size_t k = 2; k < formals.size(); ++k) set_type(body, formals[k], declared[k]);
  return infer(body);
}

Result<int> write_out(Graph& graph) {
  int changes = 0;
  for (const NodeId id : graph.nodes()) {
    const OpDef* op = graph.node(id).op;
    const bool is_branch = op && std::holds_alternative<BranchForm>(op->form);
    if (!op || !op->control || !op->expand || (is_branch && !is_decided_branch(graph, graph.node(id)))) continue;
    Graph changed = graph;
    const auto placed = reform_node(changed, id, op->expand);
    if (!placed.ok() && placed.error().kind != ErrorKind::kUnsupported) return placed.error();
    if (!placed.ok()) continue;
    graph = std::move(changed);
    ++changes;
  }
  return changes;
}

}  // namespace

Result<int> specialize_bodies(Graph& graph) {
  TRY(int changes, write_out(graph));
  TRY(const int inside, for_each_body(graph, [&](Graph& body, NodeId id) -> Result<int> {
        const Node& node = graph.node(id);
        if (node.is_opaque()) return 0;
        const Graph before = body;
        GivenSizes sizes(graph, node);
        take_captures(graph, node, sizes, body);
        const auto* loop = std::get_if<LoopForm>(&node.op->form);
        const auto inferred = loop ? take_states(graph, node, *loop, sizes, body) : infer(body);
        // What is wrong with a branch is the error of whoever takes it.
        if (!inferred.ok() && !loop && inferred.error().kind == ErrorKind::kInvalid) return 0;
        TRY_VOID(inferred);
        TRY(const int deeper, specialize_bodies(body));
        return deeper + count_changes(before, body);
      }));
  return changes + inside;
}

}  // namespace isomer
