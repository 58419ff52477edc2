#include "graph/passes/drop_defaults.h"

#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/movement.h"
#include "graph/passes/contract.h"
#include "graph/te/program_text.h"
#include "graph/te/rewrite_program.h"

namespace isomer {
namespace {

constexpr int kLongestWay = 16;

/// The number that every element is, where that is known whatever the sizes are.
std::optional<te::Number> uniform(const Graph& graph, ValueId value, int way = 0) {
  if (const Tensor* constant = constant_of(graph, value)) {
    if (!is_computable(constant->dtype()) || constant->count() == 0 || !is_splat(*constant)) return std::nullopt;
    return constant->number(0);
  }
  const NodeId id = graph.value(value).producer;
  if (!id.valid() || way > kLongestWay) return std::nullopt;
  const int output = graph.value(value).output_index;
  if (const auto pointwise = pointwise_of(graph, id, output))
    if (const te::Literal* literal = te::as<te::Literal>(pointwise->body)) return literal->value;
  const auto movement = movement_of(graph, id, output);
  if (!movement || movement->fp_class != FloatClass::kExact) return std::nullopt;
  return uniform(graph, movement->source, way + 1);
}

/// The node means the same without its input i, all elements of which are `number`.
bool is_default(const Graph& graph, NodeId id, int i, const te::Number& number) {
  const Node& node = graph.node(id);
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph.value(input).type.has_shape()) return false;
  Graph with = alone(graph, node), without = with;
  const NodeId only = with.nodes().front();
  without.edit(only).inputs[i] = ValueId();
  if (!infer_node(without, only).ok() || without.node(only).is_opaque()) return false;
  for (size_t k = 0; k < node.outputs.size(); ++k)
    if (node.outputs[k].valid() &&
        without.value(without.node(only).outputs[k]).type != graph.value(node.outputs[k]).type)
      return false;
  auto before = node.op->compute(context_of(with, only));
  const auto after = node.op->compute(context_of(without, only));
  if (!before.ok() || !after.ok()) return false;
  bool is_read = false;
  const bool rewritten = te::rewrite(*before, [&](const te::Expr& expr) {
    const te::Load* load = te::as<te::Load>(expr);
    if (!load || load->buffer.kind != te::BufferRef::Kind::kInput || load->buffer.index != i) return te::Expr();
    is_read = true;
    return te::literal(number, expr.dtype());
  });
  return rewritten && is_read && te::print(*before) == te::print(*after);
}

void omit_input(Graph& graph, NodeId id, size_t i) {
  std::vector<ValueId>& inputs = graph.edit(id).inputs;
  inputs[i] = ValueId();
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
}

/// Zero points are there for who looks at them: ONNX Runtime runs QuantizeLinear and DequantizeLinear as one with what
/// stands between them where both have three inputs.
bool is_kept(const Parameter& parameter, const PassContext& context) {
  return context.options.keep_composites && parameter.name.ends_with("zero_point");
}

}  // namespace

Result<int> drop_defaults(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return drop_defaults(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    // ONNX Runtime reads inputs of its own operators without asking whether they are there (QLinearSigmoid).
    if (node.is_opaque() || !node.op->compute || !node.op->domain.empty()) continue;
    const std::vector<Parameter>& parameters = node.op->inputs;
    for (size_t i = 0; i < parameters.size() && i < graph.node(id).inputs.size(); ++i) {
      const ValueId input = graph.node(id).inputs[i];
      if (!input.valid() || parameters[i].arity != Parameter::Arity::kOptional || is_kept(parameters[i], context))
        continue;
      const auto number = uniform(graph, input);
      if (!number || !is_default(graph, id, static_cast<int>(i), *number)) continue;
      omit_input(graph, id, i);
      context.step("drop default", label(graph, id));
      ++changes;
    }
    for (const AttributeDef& def : node.op->attributes) {
      if (!def.is_idle) continue;
      const int64_t* given = attribute_of<int64_t>(graph.node(id), def.name);
      if (!given || *given == std::get<int64_t>(*def.fallback) || !def.is_idle(context_of(graph, id))) continue;
      graph.edit(id).attributes.erase(std::string(def.name));
      context.step("drop default", label(graph, id));
      ++changes;
    }
  }
  return changes;
}

}  // namespace isomer
