#include "verify/check/stage_sizes.h"

#include <algorithm>

#include "graph/node_program.h"

namespace isomer {
namespace {

double elements_of(const Shape& shape) {
  double elements = 1;
  for (const Dim& dim : shape) elements *= static_cast<double>(dim.constant().value_or(1));
  return elements;
}

bool loads_floats(const te::Expr& expr) {
  return te::any_node(expr, [](const te::Expr& e) { return te::as<te::Load>(e) && is_float(e.dtype()); });
}

bool is_other_than_zero(const te::Expr& expr) {
  const te::Literal* literal = te::as<te::Literal>(expr);
  return literal && literal->value != te::Number(0);
}

/// Has steps: floor and its like, and a choice of a number that is given and not zero, as Sign is and Relu is not.
bool decides(const te::Expr& expr) {
  return te::any_node(expr, [](const te::Expr& e) {
    if (const te::Unary* unary = te::as<te::Unary>(e))
      return unary->op == te::UnaryOp::kFloor || unary->op == te::UnaryOp::kCeil || unary->op == te::UnaryOp::kRound;
    if (const te::Binary* binary = te::as<te::Binary>(e))
      return is_float(e.dtype()) && (binary->op == te::BinaryOp::kFloorMod || binary->op == te::BinaryOp::kTruncMod);
    const te::Select* select = te::as<te::Select>(e);
    return select && is_float(e.dtype()) && te::has_load(select->condition) &&
           (is_other_than_zero(select->then) || is_other_than_zero(select->otherwise));
  });
}

class Sizer {
 public:
  StageSizes of(const Graph& graph) {
    for (const NodeId id : graph.nodes()) look(graph, id);
    return sizes_;
  }

 private:
  void look(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    for (const auto& [name, attribute] : node.attributes) {
      if (const GraphPtr* body = std::get_if<GraphPtr>(&attribute)) look_at_body(**body);
      if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&attribute))
        for (const GraphPtr& body : *bodies) look_at_body(*body);
    }
    const auto program = program_of(graph, id);
    if (!program) return;
    for (const te::Stage& stage : program->stages) {
      if (const auto* body = std::get_if<te::MapReduce>(&stage.body)) look(*body, 1);
      if (const auto* scan = std::get_if<te::Scan>(&stage.body))
        for (const te::MapReduce& step : scan->steps) look(step, elements_of({scan->trip}));
      if (const auto* update = std::get_if<te::Update>(&stage.body))
        sizes_.elements += elements_of(update->shape) + elements_of(update->updates);
      if (std::holds_alternative<te::Imperative>(stage.body))
        for (int k = 0; k < stage.components(); ++k) {
          sizes_.elements += elements_of(stage.shape(k));
          sizes_.has_decisions |= !is_float(stage.dtype(k)) && reads_floats(graph, node);
        }
    }
  }

  void look(const te::MapReduce& stage, double times) {
    const double terms = stage.combine.arity() > 0 ? elements_of(stage.reduce) : 1;
    if (stage.combine.arity() > 0) sizes_.longest_sum = std::max(sizes_.longest_sum, terms);
    sizes_.elements += times * terms * elements_of(stage.axes);
    const auto& bodies = stage.bodies;
    const auto is_other = [](const te::Expr& body) { return !is_float(body.dtype()); };
    sizes_.has_decisions |=
        std::any_of(bodies.begin(), bodies.end(), decides) || (std::any_of(bodies.begin(), bodies.end(), is_other) &&
                                                               std::any_of(bodies.begin(), bodies.end(), loads_floats));
  }

  void look_at_body(const Graph& body) {
    const StageSizes inside = Sizer().of(body);
    sizes_.longest_sum = std::max(sizes_.longest_sum, inside.longest_sum);
    sizes_.has_decisions |= inside.has_decisions;
    sizes_.elements += inside.elements;
  }

  static bool reads_floats(const Graph& graph, const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return id.valid() && is_float(graph.value(id).type.dtype); });
  }

  StageSizes sizes_;
};

}  // namespace

StageSizes stage_sizes(const Graph& graph) { return Sizer().of(graph); }

}  // namespace isomer
