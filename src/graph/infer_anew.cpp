#include "graph/infer_anew.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "graph/each_dim.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/te/symbols.h"

namespace isomer {
namespace {

/// What an axis of a loop's state is called where iterations change it.
std::string step_size(const Graph& body, ValueId formal, size_t axis) {
  return size_by_step(body.value(formal).name, static_cast<int64_t>(axis));
}

/// What a row asked of a body last, and was told.
struct BodyTypes {
  std::vector<ValueType> given, made;
};

BodyTypes asked_of_body(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpContext known = context_of(graph, id);
  std::vector<OpContext::Input> inputs;
  for (int k = 0; k < known.input_count(); ++k) {
    OpContext::Input& input = inputs.emplace_back();
    if (known.has_input(k)) input = {true, known.type(k), known.content(k), known.constant(k)};
  }
  std::vector<std::string> names;
  for (const ValueId output : node.outputs) names.push_back(output.valid() ? graph.value(output).name : "");
  BodyTypes last;
  const OpContext context(*node.op, node.attributes, known.label(), std::move(inputs), std::move(names),
                          [&](const Graph& body, const std::vector<ValueType>& types) {
                            auto made = known.infer_body(body, types);
                            last = {types, made.ok() ? *made : std::vector<ValueType>()};
                            return made;
                          });
  return infer_types(context).ok() ? last : BodyTypes();
}

/// Whether the states are after an iteration as they were before it, but for sizes that are called after steps.
bool holds_in_each(const Graph& body, const BodyTypes& asked) {
  for (size_t k = 2; k < asked.given.size(); ++k) {
    const ValueType &before = asked.given[k], &after = asked.made[k - 1];
    if (!before.has_shape()) continue;
    if (!after.has_shape() || before.dtype != after.dtype || before.shape->size() != after.shape->size()) return false;
    for (size_t axis = 0; axis < before.shape->size(); ++axis) {
      const Dim& dim = (*before.shape)[axis];
      if (dim != (*after.shape)[axis] && dim != Dim::symbol(step_size(body, body.inputs()[k], axis))) return false;
    }
  }
  return true;
}

/// What ends the names of sizes that iterations change, which begin with axis and input: a '#' tells them from names
/// that files give. They may be 0 (`may_be_zero`).
std::string step_suffix(const Node& node, int depth) {
  return fmt::format(" {} {}::{}#?", depth, node.domain, node.op_type);
}

/// Whether something outside of the body has a size that is called as a step's.
bool is_step_named(const Graph& graph, const Node& node, const Graph& body, int depth) {
  std::set<std::string> outside;
  for (const auto* list : {&node.inputs, &node.captures})
    for (const ValueId id : *list)
      if (id.valid()) for_each_dim(graph.value(id).type, [&](const Dim& dim) { outside.merge(names(dim)); });
  return std::ranges::any_of(outside, [&](const std::string& name) {
    return name.ends_with(step_suffix(node, depth)) || std::ranges::any_of(body.inputs(), [&](ValueId formal) {
             return name.starts_with(body.value(formal).name + ".step.");
           });
  });
}

/// What a body at a depth is given, whenever it runs.
std::vector<ValueType> formal_types(const Graph& graph, NodeId id, const Graph& body, int depth) {
  const Node& node = graph.node(id);
  BodyTypes asked = asked_of_body(graph, id);
  const std::vector<ValueType> unknown(body.inputs().size());
  if (asked.given.size() != unknown.size() || asked.made.size() != body.outputs().size()) return unknown;
  const bool is_loop = std::holds_alternative<LoopForm>(node.op->form);
  if (is_loop && (!holds_in_each(body, asked) || is_step_named(graph, node, body, depth))) return unknown;
  for (size_t k = 0; k < asked.given.size() && is_loop; ++k) {
    size_t axis = 0;
    for_each_dim(asked.given[k], [&](Dim& dim) {
      if (dim == Dim::symbol(step_size(body, body.inputs()[k], axis)))
        dim = Dim::symbol(fmt::format("step {} {}", axis, k) + step_suffix(node, depth));
      ++axis;
    });
  }
  return asked.given;
}

}  // namespace

Result<void> infer_anew(Graph& graph, int depth) {
  TRY_VOID(infer(graph));
  // A file may state less than another one of what its nodes without a row give: bodies are given neither.
  std::optional<Graph> unstated;
  const auto inside = for_each_body(graph, [&](Graph& body, NodeId id) -> Result<int> {
    if (!unstated) {
      unstated = graph;
      forget_stated_types(*unstated);
      TRY_VOID(infer(*unstated));
    }
    const Node& node = graph.node(id);
    for (size_t k = 0; k < std::min(node.captures.size(), body.captures().size()); ++k) {
      const Value& captured = unstated->value(node.captures[k]);
      Value& formal = body.edit(body.captures()[k]);
      formal.type = captured.type;
      formal.content = captured.content;
    }
    if (!node.is_opaque() && !body.inputs().empty()) {
      const std::vector<ValueType> types = formal_types(*unstated, id, body, depth + 1);
      for (size_t k = 0; k < types.size(); ++k) {
        Value& formal = body.edit(body.inputs()[k]);
        formal.type = types[k];
        formal.content.reset();
      }
    }
    Graph inferred = body;
    if (const auto done = infer_anew(inferred, depth + !body.inputs().empty()); done.ok())
      body = std::move(inferred);
    else if (done.error().kind != ErrorKind::kInvalid)
      return done.error();
    return 1;
  });
  return inside.ok() ? Result<void>() : Result<void>(inside.error());
}

}  // namespace isomer
