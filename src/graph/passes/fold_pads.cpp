#include "graph/passes/fold_pads.h"

#include <algorithm>
#include <limits>

#include "graph/edit.h"

namespace isomer {
namespace {

/// A Pad of spatial axes by a constant: pads of those axes as windows have them, begins then ends.
struct Padding {
  ValueId source;
  double value = 0;
  std::vector<int64_t> pads;
};

std::optional<Padding> padding_of(const Graph& graph, const Node& node) {
  const std::string* mode = attribute_of<std::string>(node, "mode");
  const Tensor* amounts = constant_of(graph, input_of(node, 1));
  const ValueType& type = graph.value(node.inputs[0]).type;
  if (!mode || *mode != "constant" || !amounts || !type.has_shape()) return std::nullopt;
  Padding padding{node.inputs[0], 0, {}};
  if (input_of(node, 2).valid()) {
    const Tensor* value = constant_of(graph, node.inputs[2]);
    if (!value || value->count() != 1 || !is_float(value->dtype())) return std::nullopt;
    padding.value = value->real(0);
  }
  const auto rank = static_cast<int64_t>(type.shape->size());
  std::vector<int64_t> axes(rank);
  for (int64_t k = 0; k < rank; ++k) axes[k] = k;
  if (input_of(node, 3).valid()) {
    const Tensor* listed = constant_of(graph, node.inputs[3]);
    if (!listed) return std::nullopt;
    axes = listed->integers();
    for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  }
  const std::vector<int64_t> pads = amounts->integers();
  if (rank < 3 || pads.size() != 2 * axes.size()) return std::nullopt;
  const auto spatial = static_cast<size_t>(rank) - 2;
  padding.pads.assign(2 * spatial, 0);
  for (size_t i = 0; i < pads.size(); ++i) {
    const int64_t axis = axes[i % axes.size()];
    if (pads[i] == 0) continue;
    if (pads[i] < 0 || axis < 2 || axis >= rank) return std::nullopt;
    padding.pads[static_cast<size_t>(axis) - 2 + (i < axes.size() ? 0 : spatial)] = pads[i];
  }
  return padding;
}

/// A sum over padding is one of other terms; runtimes have their own maximum of nothing but -inf.
FloatClass class_of(const Node& window) {
  return is_op(window, "MaxPool") ? FloatClass::kFinite : FloatClass::kReassociated;
}

/// The attributes of the window with the padding added to its own; nothing where it can't take it.
std::optional<Attributes> padded(const Node& window, const Padding& padding) {
  const bool is_conv = is_op(window, "Conv"), averages = is_op(window, "AveragePool"),
             maximizes = is_op(window, "MaxPool");
  if (!is_conv && !averages && !maximizes) return std::nullopt;
  if (padding.value != (maximizes ? -std::numeric_limits<double>::infinity() : 0.0)) return std::nullopt;
  if (maximizes && window.outputs.size() > 1) return std::nullopt;
  Attributes attributes = window.attributes;
  const std::string* automatic = attribute_of<std::string>(window, "auto_pad");
  if (automatic && *automatic != "NOTSET" && *automatic != "VALID") return std::nullopt;
  const int64_t* rounds_up = attribute_of<int64_t>(window, "ceil_mode");
  if (!is_conv && rounds_up && *rounds_up != 0) return std::nullopt;
  const auto* own = attribute_of<std::vector<int64_t>>(window, "pads");
  std::vector<int64_t> pads = own && !own->empty() ? *own : std::vector<int64_t>(padding.pads.size(), 0);
  if (pads.size() != padding.pads.size()) return std::nullopt;
  if (averages) {
    const int64_t* counts = attribute_of<int64_t>(window, "count_include_pad");
    const bool has_own = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad != 0; });
    if (has_own && !(counts && *counts != 0)) return std::nullopt;
    attributes.insert_or_assign("count_include_pad", int64_t{1});
  }
  for (size_t i = 0; i < pads.size(); ++i) pads[i] += padding.pads[i];
  if (!is_conv) {
    // Runtimes refuse pools whose window may lie in padding alone.
    const auto* kernel = attribute_of<std::vector<int64_t>>(window, "kernel_shape");
    for (size_t i = 0; i < pads.size(); ++i)
      if (!kernel || 2 * kernel->size() != pads.size() || pads[i] >= (*kernel)[i % kernel->size()]) return std::nullopt;
  }
  attributes.erase("auto_pad");
  attributes.insert_or_assign("pads", std::move(pads));
  return attributes;
}

}  // namespace

Result<int> fold_pads(Graph& graph, PassContext& context) {
  int changes = 0;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) { return fold_pads(body, context); }));
  for (const NodeId id : graph.nodes()) {
    const Node& window = graph.node(id);
    const Node* pad = window.inputs.empty() ? nullptr : producer(graph, window.inputs[0], "Pad");
    const auto padding = pad ? padding_of(graph, *pad) : std::nullopt;
    auto attributes = padding ? padded(window, *padding) : std::nullopt;
    const FloatClass fp_class = class_of(window);
    if (!attributes || !context.allows(fp_class)) continue;
    std::vector<ValueId> inputs = window.inputs;
    inputs[0] = padding->source;
    TRY_VOID(rewrite(graph, id, std::string(window.op_type), std::move(inputs), std::move(*attributes)));
    context.step("fold pad into window", label(graph, id), fp_class);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
