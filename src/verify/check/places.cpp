#include "verify/check/places.h"

#include <algorithm>
#include <map>

#include "graph/node_program.h"

namespace isomer {
namespace {

/// A reduction to a pair of an element and where it is, or a program that is none of expressions.
bool searches(const te::Stage& stage) {
  if (std::holds_alternative<te::Imperative>(stage.body)) return true;
  const auto* map = std::get_if<te::MapReduce>(&stage.body);
  return map && map->combine.arity() == 2 && !is_int(stage.dtype(0)) && is_int(stage.dtype(1));
}

class PlaceFinder {
 public:
  explicit PlaceFinder(const Graph& graph) : graph_(graph) {}

  std::vector<bool> outputs() {
    std::vector<bool> result;
    for (const ValueId output : graph_.outputs()) result.push_back(is_place(output));
    return result;
  }

 private:
  bool is_place(ValueId value) {
    if (!value.valid() || !is_int(graph_.value(value).type.dtype)) return false;
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid()) return false;
    if (const auto known = known_.find(value); known != known_.end()) return known->second;
    return known_[value] = makes_places(producer);
  }

  bool makes_places(NodeId id) {
    const Node& node = graph_.node(id);
    if (std::ranges::any_of(node.inputs, [&](ValueId input) { return is_place(input); })) return true;
    for (const auto& [name, attribute] : node.attributes)
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attribute))
        if (std::ranges::count(outputs_of_places(**body), true) > 0) return true;
    const auto program = program_of(graph_, id);
    return program && std::ranges::any_of(program->stages, searches);
  }

  const Graph& graph_;
  std::map<ValueId, bool> known_;
};

}  // namespace

std::vector<bool> outputs_of_places(const Graph& graph) { return PlaceFinder(graph).outputs(); }

}  // namespace isomer
