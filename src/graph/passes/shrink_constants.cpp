#include "graph/passes/shrink_constants.h"

#include <limits>
#include <set>

#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/movement.h"
#include "graph/passes/contract.h"
#include "graph/rounding.h"

namespace isomer {
namespace {

/// The tensor in its smallest shape that broadcasts alike beside operands of other shapes; nothing if it has that
/// already.
std::optional<Tensor> smallest(const Tensor& tensor) {
  if (tensor.dims().empty() || tensor.count() == 0 || !is_computable(tensor.dtype())) return std::nullopt;
  if (is_splat(tensor)) return first_element(tensor);
  Dims dims = tensor.dims();
  if (dims[0] != 1) return std::nullopt;
  while (dims[0] == 1) dims.erase(dims.begin());
  return tensor.reshaped(std::move(dims));
}

/// The body with loads of input `i` marked by the last `rank` indices only.
te::Expr without_leading(const te::Expr& body, int i, size_t rank) {
  return te::transform(body, [&](const te::Expr& expr) {
    const te::Load* load = te::as<te::Load>(expr);
    if (!load || load->buffer.kind != te::BufferRef::Kind::kInput || load->buffer.index != i ||
        load->index.size() <= rank)
      return te::Expr();
    return te::load(load->buffer, expr.dtype(),
                    {load->index.end() - static_cast<std::ptrdiff_t>(rank), load->index.end()});
  });
}

/// A dim of the output is not made of the inputs' dims: elements decide it, perhaps together with the rank of an input.
bool is_decided_by_data(const Graph& graph, const Node& node) {
  std::set<std::string> known;
  const auto symbols = [&](ValueId id, auto&& visit) {
    if (!id.valid() || !graph.value(id).type.has_shape()) return;
    for (const Dim& dim : *graph.value(id).type.shape)
      te::for_each_node(dim.expr(), [&](const te::Expr& e) {
        if (const te::Symbol* symbol = te::as<te::Symbol>(e)) visit(symbol->name);
      });
  };
  for (const ValueId input : node.inputs) symbols(input, [&](const std::string& name) { known.insert(name); });
  bool decided = false;
  symbols(node.outputs[0], [&](const std::string& name) { decided = decided || !known.contains(name); });
  return decided;
}

/// How exactly input i of the node may be the smaller constant: its elements are operands, the output has the same
/// type, and each element is the same expression. Axes, starts and the like are lists, of one element too.
std::optional<FloatClass> class_with(const Graph& graph, NodeId id, int i, const Tensor& smaller) {
  // A shape that is not known may copy dims by their place.
  const auto shape_input = graph.node(id).op->shape_input;
  if (shape_input && !constant_of(graph, input_of(graph.node(id), *shape_input))) return std::nullopt;
  const auto before = pointwise_of(graph, id, 0);
  if (!before || !before->inputs.contains(i) || is_decided_by_data(graph, graph.node(id))) return std::nullopt;
  Graph changed = alone(graph, graph.node(id), std::numeric_limits<int64_t>::max());
  const NodeId only = changed.nodes().front();
  const ValueId made = emit_constant(changed, smaller, "constant");
  changed.edit(only).inputs[i] = made;
  if (!infer_node(changed, only).ok() || changed.node(only).is_opaque()) return std::nullopt;
  const Value &expected = graph.value(graph.node(id).outputs[0]), &found = changed.value(changed.node(only).outputs[0]);
  if (found.type != expected.type || found.content != expected.content) return std::nullopt;
  const auto after = pointwise_of(changed, only, 0);
  if (!after || after->shape != before->shape) return std::nullopt;
  // One element that all loads see is bound as a literal in both.
  if (without_leading(before->body, i, smaller.dims().size()) != after->body) return std::nullopt;
  return class_elsewhere(after->body);
}

}  // namespace

Result<int> shrink_constants(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return shrink_constants(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || node.inputs.size() < 2 || node.outputs.size() != 1 || !node.outputs[0].valid()) continue;
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) {
      const ValueId input = graph.node(id).inputs[i];
      const Tensor* constant = constant_of(graph, input);
      auto smaller = constant ? smallest(*constant) : std::nullopt;
      const auto fp_class = smaller ? class_with(graph, id, static_cast<int>(i), *smaller) : std::nullopt;
      if (!fp_class || !context.allows(*fp_class)) continue;
      const ValueId made = emit_constant(graph, std::move(*smaller), graph.value(input).name);
      graph.edit(id).inputs[i] = made;
      context.step("shrink constant", label(graph, id), *fp_class);
      ++changes;
    }
  }
  return changes;
}

}  // namespace isomer
