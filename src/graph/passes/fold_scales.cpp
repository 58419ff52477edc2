#include "graph/passes/fold_scales.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/movement.h"
#include "graph/passes/affine.h"
#include "graph/passes/anchor.h"
#include "graph/passes/contract.h"
#include "graph/te/simplify.h"

namespace isomer {
namespace {

constexpr FloatClass kClass = FloatClass::kReassociated;
constexpr int kLongestWay = 16;

/// How somebody reads a value: his element at axis(…) of `extents` is the value's element at `index`.
struct View {
  std::vector<te::Expr> index;
  Shape extents;

  /// The view of what the movement reads, seen through this view of what it makes.
  View through(const Movement& movement) const {
    View result{{}, extents};
    for (const te::Expr& position : movement.index)
      result.index.push_back(simplified(te::transform(position,
                                                      [&](const te::Expr& expr) {
                                                        const te::Var* var = te::as<te::Var>(expr);
                                                        return var && var->kind == te::VarKind::kSpatial
                                                                   ? index[var->index]
                                                                   : te::Expr();
                                                      }),
                                        extents));
    return result;
  }

  /// Positions along an axis of the value that are read, as a closed interval; nothing where there are no bounds.
  std::optional<std::pair<int64_t, int64_t>> range(int axis) const {
    const auto bounds = te::bounds(index[axis], [&](const te::Expr& leaf) -> te::Interval {
      const te::Var* var = te::as<te::Var>(leaf);
      if (!var || var->kind != te::VarKind::kSpatial || !extents[var->index].is_constant()) return {0, std::nullopt};
      return {0, std::max<int64_t>(extents[var->index].value() - 1, 0)};
    });
    if (!bounds.low || !bounds.high) return std::nullopt;
    return std::pair(*bounds.low, *bounds.high);
  }
};

/// The views of one value: of the reader whose elements are scaled, and of all others.
struct Readers {
  View ours;
  std::vector<View> others;

  /// The channels that only we read; all of them where there are no others.
  std::optional<std::pair<int64_t, int64_t>> channels(int axis, int64_t count) const {
    if (others.empty()) return std::pair<int64_t, int64_t>(0, count - 1);
    const auto mine = ours.range(axis);
    if (!mine) return std::nullopt;
    for (const View& other : others) {
      const auto theirs = other.range(axis);
      if (!theirs || (theirs->first <= mine->second && mine->first <= theirs->second)) return std::nullopt;
    }
    return mine;
  }
};

/// Who reads what, of a graph that stays as it is while factors look for their way.
struct Uses {
  std::vector<int> counts;
  std::vector<std::vector<NodeId>> consumers;
  explicit Uses(const Graph& graph) : counts(graph.use_counts()), consumers(graph.consumers()) {}
};

/// Carries a factor to the constants that take it. `look` only finds out whether there is a way; where there is none in
/// the end, a graph that was changed on the way is to be thrown away.
class Carrier {
 public:
  /// What is `kept` takes no factor and passes none on.
  Carrier(Graph& graph, PassContext& context, const Uses& uses, const std::set<NodeId>& kept, double factor, bool look)
      : graph_(graph),
        context_(context),
        uses_(uses.counts),
        consumers_(uses.consumers),
        kept_(kept),
        factor_(factor),
        look_(look) {}

  /// Scales a value that only one reader has, by changing what it is made of.
  bool scale_value(ValueId value, int way = 0) {
    if (way > kLongestWay || is_output(graph_, value) || !graph_.value(value).producer.valid()) return false;
    const NodeId id = graph_.value(value).producer;
    if (uses_[value.index] != 1 || kept_.contains(id)) return false;
    const Node& node = graph_.node(id);
    if (node.is_opaque()) return false;
    if (graph_.value(value).output_index != 0) return moved_source(id, value, way);
    if (const auto anchor = anchor_at(graph_, id)) return scale_anchor(*anchor, std::nullopt);
    if (is_op(node, "Mul"))
      return scale_constant(id, 0) || scale_constant(id, 1) || scale_value(node.inputs[0], way + 1) ||
             scale_value(node.inputs[1], way + 1);
    if (is_op(node, "Div")) return scale_constant(id, 0) || divide_constant(id) || scale_value(node.inputs[0], way + 1);
    if (is_op(node, "MatMul")) return scale_value(node.inputs[0], way + 1) || scale_value(node.inputs[1], way + 1);
    if (is_op(node, "Neg") || is_op(node, "ReduceSum") || is_op(node, "ReduceMean"))
      return scale_value(node.inputs[0], way + 1);
    if (is_op(node, "Add"))
      for (const int side : {1, 0})
        if (can_multiply(id, side, factor_))
          return scale_value(node.inputs[1 - side], way + 1) && scale_constant(id, side);
    return moved_source(id, value, way);
  }

  /// Scales what the only reader of a value makes of it, so that the value itself need not be.
  bool scale_reader(ValueId value, int way = 0) {
    if (way > kLongestWay || is_output(graph_, value) || uses_[value.index] != 1) return false;
    const NodeId id = consumers_[value.index].front();
    const Node& node = graph_.node(id);
    if (kept_.contains(id) || node.is_opaque() || node.outputs.size() != 1 || !node.outputs[0].valid()) return false;
    const bool is_first = node.inputs[0] == value;
    if (const auto anchor = anchor_at(graph_, id); anchor && is_first)
      return look_ || fold_into_inputs(graph_, context_, *anchor, std::vector<double>(anchor->in_channels, factor_),
                                       std::vector<double>(anchor->in_channels, 0.0));
    if (is_op(node, "Mul")) return scale_constant(id, is_first ? 1 : 0) || scale_reader(node.outputs[0], way + 1);
    if (is_op(node, "Div") && is_first) return divide_constant(id) || scale_reader(node.outputs[0], way + 1);
    const bool is_linear = is_op(node, "MatMul") ||
                           (is_first && (is_op(node, "Neg") || is_op(node, "ReduceSum") || is_op(node, "ReduceMean")));
    if (is_linear) return scale_reader(node.outputs[0], way + 1);
    const auto movement = movement_of(graph_, id, 0);
    return movement && movement->source == value && scale_reader(node.outputs[0], way + 1);
  }

 private:
  bool scale_anchor(const Anchor& anchor, std::optional<std::pair<int64_t, int64_t>> channels) {
    if (look_) return true;
    std::vector<double> scale(anchor.out_channels, channels ? 1.0 : factor_);
    if (channels) std::fill(scale.begin() + channels->first, scale.begin() + channels->second + 1, factor_);
    return fold_into_outputs(graph_, context_, anchor, scale, std::vector<double>(scale.size(), 0.0));
  }

  /// Replaces a constant float operand by its multiple.
  bool scale_constant(NodeId id, int side) { return multiply_constant(id, side, factor_); }
  bool divide_constant(NodeId id) { return multiply_constant(id, 1, 1 / factor_); }
  bool can_multiply(NodeId id, int side, double factor) const {
    const Tensor* tensor = constant_of(graph_, graph_.node(id).inputs[side]);
    if (!tensor || !is_float(tensor->dtype())) return false;
    for (int64_t i = 0; i < tensor->count(); ++i)
      if (!keeps_precision(tensor->dtype(), tensor->real(i), tensor->real(i) * factor)) return false;
    return true;
  }
  bool multiply_constant(NodeId id, int side, double factor) {
    if (!can_multiply(id, side, factor)) return false;
    if (look_) return true;
    const ValueId old = graph_.node(id).inputs[side];
    if (!may_replace(graph_, context_, old, uses_)) return false;
    const Tensor tensor = *graph_.value(old).constant;
    replace_constant(id, side, tensor, [&](int64_t i) { return tensor.real(i) * factor; });
    return true;
  }

  template <class F>
  void replace_constant(NodeId id, int side, const Tensor& old, const F& element) {
    std::vector<std::byte> bytes(old.bytes().size());
    const int width = bit_width(old.dtype()) / 8;
    for (int64_t i = 0; i < old.count(); ++i) encode_real(old.dtype(), element(i), &bytes[i * width]);
    const std::string name = graph_.value(graph_.node(id).inputs[side]).name;
    const ValueId made = emit_constant(graph_, Tensor(old.dtype(), old.dims(), std::move(bytes)), name);
    graph_.edit(id).inputs[side] = made;
  }

  /// The value is only moved: its source can be scaled instead, as far as this value reads it.
  bool moved_source(NodeId id, ValueId value, int way) {
    const auto movement = movement_of(graph_, id, graph_.value(value).output_index);
    if (!movement || !movement->source.valid()) return false;
    const bool whole = uses_[movement->source.index] == 1 && graph_.node(id).outputs.size() == 1;
    if (whole) return scale_value(movement->source, way + 1);
    // The node has other outputs, or its source other readers: they must all move, and read other channels than we do.
    Readers readers;
    for (const NodeId reader : consumers_[movement->source.index]) {
      for (size_t i = 0; i < graph_.node(reader).outputs.size(); ++i) {
        const ValueId output = graph_.node(reader).outputs[i];
        if (!output.valid()) continue;
        const auto theirs = movement_of(graph_, reader, static_cast<int>(i));
        if (!theirs || theirs->source != movement->source || !graph_.value(output).type.has_shape()) return false;
        const Shape& extents = *graph_.value(output).type.shape;
        View view{theirs->index, extents};
        if (output == value)
          readers.ours = std::move(view);
        else
          readers.others.push_back(std::move(view));
      }
    }
    return !is_output(graph_, movement->source) && scale_part(movement->source, std::move(readers), way + 1);
  }

  /// Scales the elements of a value that one of its readers sees: down to a product and an Add on its channels.
  bool scale_part(ValueId value, Readers readers, int way) {
    if (way > kLongestWay || !graph_.value(value).producer.valid() || graph_.value(value).output_index != 0)
      return false;
    const NodeId id = graph_.value(value).producer;
    const Node& node = graph_.node(id);
    if (kept_.contains(id) || node.is_opaque()) return false;
    if (const auto anchor = anchor_at(graph_, id)) {
      const auto channels = readers.channels(anchor->out_axis, anchor->out_channels);
      return channels && scale_anchor(*anchor, channels);
    }
    if (is_op(node, "Add")) return scale_part_of_sum(id, readers, way);
    const auto movement = movement_of(graph_, id, 0);
    if (!movement || node.outputs.size() != 1 || uses_[movement->source.index] != 1) return false;
    Readers before{readers.ours.through(*movement), {}};
    for (const View& other : readers.others) before.others.push_back(other.through(*movement));
    return scale_part(movement->source, std::move(before), way + 1);
  }

  bool scale_part_of_sum(NodeId id, const Readers& readers, int way) {
    const auto affine = affine_at(graph_, id);
    if (!affine || !affine->is_shift() || affine->axis < 0 || uses_[affine->source.index] != 1) return false;
    const auto channels = readers.channels(affine->axis, static_cast<int64_t>(affine->shift.size()));
    const Node& node = graph_.node(id);
    const int side = node.inputs[0] == affine->source ? 1 : 0;
    if (!channels || !can_multiply(id, side, factor_) || !scale_part(affine->source, readers, way + 1)) return false;
    if (look_) return true;
    const Tensor old = *graph_.value(node.inputs[side]).constant;
    if (!may_replace(graph_, context_, node.inputs[side], uses_)) return false;
    replace_constant(id, side, old, [&](int64_t i) {
      return old.real(i) * (i >= channels->first && i <= channels->second ? factor_ : 1.0);
    });
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  const std::vector<int>& uses_;
  const std::vector<std::vector<NodeId>>& consumers_;
  const std::set<NodeId>& kept_;
  double factor_;
  bool look_;
};

/// The operand and the number of a Mul or Div by one number.
std::optional<std::pair<ValueId, double>> scaling(const Graph& graph, NodeId id) {
  if (is_op(graph.node(id), "BatchNormalization")) return std::nullopt;
  const auto affine = affine_at(graph, id);
  if (!affine || affine->axis >= 0 || !affine->is_scale()) return std::nullopt;
  // A factor as large as a mask's would overflow what is multiplied with it on the way.
  const double size = std::fabs(affine->scale[0]);
  if (!(size >= 0x1p-40 && size <= 0x1p40)) return std::nullopt;
  return std::pair(affine->source, affine->scale[0]);
}

}  // namespace

Result<int> fold_scales(Graph& graph, PassContext& context) {
  int changes = 0;
  if (!context.allows(kClass)) return changes;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) {
        body.edit_info() = graph.info();
        return fold_scales(body, context);
      }));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  TRY(const std::set<NodeId> kept, kept_nodes(graph, context));
  std::optional<Uses> uses;
  for (const NodeId id : order) {
    if (kept.contains(id)) continue;
    const auto scaled = scaling(graph, id);
    if (!scaled || !graph.node(id).outputs[0].valid()) continue;
    if (!uses) uses.emplace(graph);
    const ValueId source = scaled->first, result = graph.node(id).outputs[0];
    const auto attempt = [&](bool upwards) {
      const auto carry = [&](Graph& changed, bool look) {
        Carrier carrier(changed, context, *uses, kept, scaled->second, look);
        return upwards ? carrier.scale_value(source) : carrier.scale_reader(result);
      };
      if (!carry(graph, true)) return false;
      Graph changed = graph;
      if (!carry(changed, false)) return false;
      graph = std::move(changed);
      return true;
    };
    const std::string where = label(graph, id);
    if (!attempt(true) && !attempt(false)) continue;
    Redirects redirects(graph);
    redirects.redirect(result, source);
    redirects.apply();
    graph.remove_node(id);
    uses.reset();
    context.step("fold factor into constants", where, kClass);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
