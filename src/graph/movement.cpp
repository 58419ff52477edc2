#include "graph/movement.h"

#include <algorithm>

#include "graph/edit.h"
#include "graph/infer.h"
#include "util/check.h"

namespace isomer {
namespace {

using te::Expr;

/// Programs of more nodes than this are no movements; inlining stages could grow without bound.
constexpr int kMaxNodes = 4000;

int size_of(const Expr& expr) {
  int nodes = 0;
  te::for_each_node(expr, [&](const Expr&) { ++nodes; });
  return nodes;
}

/// Replaces loads of plain earlier maps by their bodies; false where a load is of something else.
bool inline_stages(const te::Program& program, Expr& body) {
  for (int round = 0; round < 8; ++round) {
    bool plain = true, found = false;
    body = te::transform(body, [&](const Expr& node) {
      const te::Load* load = te::as<te::Load>(node);
      if (!load || load->buffer.kind == te::BufferRef::Kind::kInput) return Expr();
      const auto* map = load->buffer.kind == te::BufferRef::Kind::kStage
                            ? std::get_if<te::MapReduce>(&program.stages[load->buffer.index].body)
                            : nullptr;
      if (!map || !map->reduce.empty() || map->combine.arity() > 0) {
        plain = false;
        return Expr();
      }
      found = true;
      return with_axes(map->bodies[load->buffer.component], load->index);
    });
    if (!plain || size_of(body) > kMaxNodes) return false;
    if (!found) return true;
  }
  return false;
}

/// Loads of constants: any element of a splat, the element at a literal index; not of -0.
Expr bind_constants(const Graph& graph, const Node& node, const Expr& body) {
  return te::transform(body, [&](const Expr& expr) -> Expr {
    const te::Load* load = te::as<te::Load>(expr);
    if (!load || load->buffer.kind != te::BufferRef::Kind::kInput) return {};
    const ValueId input = input_of(node, load->buffer.index);
    const Tensor* constant = constant_of(graph, input);
    if (!constant || !is_computable(constant->dtype()) || constant->count() == 0) return {};
    int64_t at = 0;
    for (size_t k = 0; k < load->index.size(); ++k) {
      const auto position = te::as_constant(load->index[k]);
      if (position && (*position < 0 || *position >= constant->dims()[k])) return {};
      at = position && at >= 0 ? at * constant->dims()[k] + *position : -1;
    }
    if (at < 0 && !is_splat(*constant)) return {};
    const auto number = constant->number(std::max<int64_t>(at, 0));
    return number ? te::literal(*number, constant->dtype()) : Expr();
  });
}

std::optional<te::Number> literal_of(const Expr& expr) {
  const te::Literal* literal = te::as<te::Literal>(expr);
  return literal ? std::optional(literal->value) : std::nullopt;
}

/// What the row says of the node. Where an input only says the output's shape, of the shape that the output is known to
/// have.
Result<te::Program> program_of_shape(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const OpContext context = context_of(graph, id);
  const ValueType* made = node.outputs[0].valid() ? &graph.value(node.outputs[0]).type : nullptr;
  if (!node.op->shape_input || !made || !made->has_shape()) return node.op->compute(context);
  const Content shape(made->shape->begin(), made->shape->end());
  auto program = node.op->compute(context.with_content(*node.op->shape_input, shape));
  const bool fits = program.ok() && program->stages[program->outputs[0].stage].shape(0) == *made->shape;
  return fits ? std::move(program) : node.op->compute(context);
}

/// The row's own expression of the proposal is this map.
bool does(const SpelledMap& proposal, const ElementMap& map) {
  Graph graph;
  const auto add = [&](const char* name, const ValueType& type) {
    Value value;
    value.name = name;
    value.type = type;
    return graph.add_value(std::move(value));
  };
  const ValueId source = add("source", map.from), made = add("made", map.to);
  graph.set_inputs({source});
  graph.set_outputs({made});
  Node node;
  node.outputs = {made};
  const NodeId id = graph.add_node(std::move(node));
  if (!rewrite(graph, id, source, proposal).ok()) return false;
  const auto found = element_map_of(graph, id, 0);
  return found && found->source == source && found->fp_class == FloatClass::kExact && found->to == map.to &&
         is_same_index(*found, map.index);
}

}  // namespace

Expr without_neutral(const Expr& expr, FloatClass& fp_class) {
  return te::transform(expr, [&](const Expr& node) -> Expr {
    const te::Binary* e = te::as<te::Binary>(node);
    if (!e) return {};
    const auto left = literal_of(e->left), right = literal_of(e->right);
    switch (e->op) {
      case te::BinaryOp::kMul: return right && right->equals(1) ? e->left : left && left->equals(1) ? e->right : Expr();
      case te::BinaryOp::kDiv:
      case te::BinaryOp::kPow: return right && right->equals(1) ? e->left : Expr();
      case te::BinaryOp::kSub: return right && right->equals(0) ? e->left : Expr();
      case te::BinaryOp::kAdd:
        if (!(right && right->equals(0)) && !(left && left->equals(0))) return {};
        if (is_float(node.dtype())) fp_class = FloatClass::kSignOfZero;
        return right && right->equals(0) ? e->left : e->right;
      case te::BinaryOp::kMax:
      case te::BinaryOp::kMin: {
        const te::Number neutral = te::Number::infinity(e->op == te::BinaryOp::kMax);
        return right && *right == neutral ? e->left : left && *left == neutral ? e->right : Expr();
      }
      default: return {};
    }
  });
}

te::Expr simplified(const te::Expr& expr, const Shape& extents) { return normal_data(expr, extents); }

std::optional<std::pair<Shape, Expr>> pointwise_of(const te::Program& program, int output) {
  const te::StageValue made = program.outputs[static_cast<size_t>(output)];
  if (made.stage < 0) return std::nullopt;
  const auto* map = std::get_if<te::MapReduce>(&program.stages[static_cast<size_t>(made.stage)].body);
  if (!map || !map->reduce.empty() || map->combine.arity() > 0) return std::nullopt;
  Expr body = map->bodies[static_cast<size_t>(made.component)];
  if (size_of(body) > kMaxNodes || !inline_stages(program, body)) return std::nullopt;
  return std::pair(map->axes, simplified(body, map->axes));
}

std::optional<Pointwise> pointwise_of(const Graph& graph, NodeId id, int output) {
  const Node& node = graph.node(id);
  if (node.is_opaque() || !node.op->compute) return std::nullopt;
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph.value(input).type.has_shape()) return std::nullopt;
  const auto program = program_of_shape(graph, id);
  if (!program.ok()) return std::nullopt;
  const auto made = pointwise_of(*program, output);
  if (!made) return std::nullopt;
  const auto& [shape, body] = *made;
  std::set<int> inputs;
  te::for_each_node(body, [&](const Expr& expr) {
    if (const te::Load* load = te::as<te::Load>(expr)) inputs.insert(load->buffer.index);
  });
  return Pointwise{shape, simplified(bind_constants(graph, node, body), shape), std::move(inputs)};
}

std::optional<Movement> element_map_of(const Graph& graph, NodeId id, int output) {
  const auto pointwise = pointwise_of(graph, id, output);
  if (!pointwise) return std::nullopt;
  FloatClass fp_class = FloatClass::kExact;
  Expr body = without_neutral(pointwise->body, fp_class);
  const DataType dtype = body.dtype();
  if (const te::Cast* cast = te::as<te::Cast>(body)) body = cast->operand;
  const te::Load* load = te::as<te::Load>(body);
  if (!load) return std::nullopt;
  for (const Expr& position : load->index)
    if (te::any_node(position, [](const Expr& node) { return te::as<te::Load>(node) != nullptr; })) return std::nullopt;
  const Node& node = graph.node(id);
  const ValueId source = input_of(node, load->buffer.index), made = node.outputs[output];
  const ValueType to = made.valid() && graph.value(made).type.has_shape() ? graph.value(made).type
                                                                          : ValueType::tensor(dtype, pointwise->shape);
  return Movement{{graph.value(source).type, to, load->index}, source, fp_class};
}

std::optional<Movement> movement_of(const Graph& graph, NodeId id, int output) {
  auto map = element_map_of(graph, id, output);
  return map && only_moves(*map) ? std::move(map) : std::nullopt;
}

std::optional<SpelledMap> spell_map(const ElementMap& map) {
  for (const OpDef* op : all_ops()) {
    if (!op->spell) continue;
    if (auto spelling = op->spell(map))
      if (SpelledMap proposal{op, std::move(*spelling)}; does(proposal, map)) return proposal;
  }
  return std::nullopt;
}

Result<void> rewrite(Graph& graph, NodeId id, ValueId source, const SpelledMap& map) {
  std::vector<ValueId> inputs = {source};
  for (const std::vector<int64_t>& list : map.spelling.lists)
    inputs.push_back(emit_ints(graph, list, map.op->inputs[inputs.size()].name));
  return rewrite(graph, id, map.op->name, std::move(inputs), map.spelling.attributes);
}

}  // namespace isomer
