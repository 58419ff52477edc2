#include "graph/passes/fold_affine.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/passes/affine.h"
#include "graph/passes/anchor.h"
#include "graph/passes/contract.h"

namespace isomer {
namespace {

constexpr FloatClass kClass = FloatClass::kReassociated;

bool read_once(const Graph& graph, ValueId id, const std::vector<int>& uses) {
  return uses[id.index] == 1 && !is_output(graph, id);
}

/// The anchor that makes the value, which only one node reads.
std::optional<Anchor> anchor_before(const Graph& graph, ValueId value, const std::vector<int>& uses) {
  const NodeId made = graph.value(value).producer;
  return made.valid() && read_once(graph, value, uses) ? anchor_at(graph, made) : std::nullopt;
}

/// MatMul, then Add of a constant along the last axis.
struct BiasedProduct {
  NodeId add;
  ValueId bias;
  Anchor product;
};
std::optional<BiasedProduct> biased_product_before(const Graph& graph, ValueId value, const std::vector<int>& uses) {
  const NodeId made = graph.value(value).producer;
  if (!made.valid() || !read_once(graph, value, uses) || !is_op(graph.node(made), "Add")) return std::nullopt;
  const auto affine = affine_at(graph, made);
  if (!affine || !affine->is_shift()) return std::nullopt;
  const auto product = anchor_before(graph, affine->source, uses);
  if (!product || product->kind != Anchor::Kind::kMatMul || (affine->axis >= 0 && affine->axis != product->out_axis))
    return std::nullopt;
  const Node& add = graph.node(made);
  return BiasedProduct{made, add.inputs[add.inputs[0] == affine->source ? 1 : 0], *product};
}

/// old * scale + shift along the last axis; nothing where an element would be infinite.
std::optional<Tensor> scaled_addend(const Tensor& old, int64_t channels, const std::vector<double>& scale,
                                    const std::vector<double>& shift) {
  std::vector<double> values(channels);
  for (int64_t c = 0; c < channels; ++c) {
    values[c] = old.real(old.count() == 1 ? 0 : c) * scale[c] + shift[c];
    if (!std::isfinite(round_to(old.dtype(), values[c]))) return std::nullopt;
  }
  return Tensor::from_doubles(old.dtype(), {channels}, values);
}

/// An Add's constant operand becomes another.
void replace_addend(Graph& graph, NodeId add, ValueId old, Tensor addend) {
  const ValueId made = emit_constant(graph, std::move(addend), graph.value(old).name);
  std::vector<ValueId>& inputs = graph.edit(add).inputs;
  std::replace(inputs.begin(), inputs.end(), old, made);
}

class AffineFolder {
 public:
  AffineFolder(Graph& graph, PassContext& context) : graph_(graph), context_(context) { count(); }

  Result<bool> fold(NodeId id) {
    const auto affine = affine_at(graph_, id);
    if (!affine || !graph_.node(id).outputs[0].valid() || uses_[graph_.node(id).outputs[0].index] == 0) return false;
    TRY(const bool before, fold_into_producer(id, *affine));
    const bool folded = before || fold_into_readers(id, *affine);
    if (folded) count();
    return folded;
  }

 private:
  void count() {
    uses_ = graph_.use_counts();
    consumers_ = graph_.consumers();
  }

  /// The value that the node passes on is now what it reads.
  void bypass(NodeId id, const Affine& affine) {
    Redirects redirects(graph_);
    redirects.redirect(graph_.node(id).outputs[0], affine.source);
    redirects.apply();
    graph_.remove_node(id);
  }

  Result<bool> fold_into_producer(NodeId id, const Affine& affine) {
    if (const auto anchor = anchor_before(graph_, affine.source, uses_)) {
      if (affine.axis >= 0 && affine.axis != anchor->out_axis) return false;
      const std::vector<double> scale = affine.scales(anchor->out_channels),
                                shift = affine.shifts(anchor->out_channels);
      if (fold_into_outputs(graph_, context_, *anchor, scale, shift)) {
        bypass(id, affine);
        return true;
      }
      // A product takes the factor; the shift stays behind as an Add, which costs less than the normalization.
      if (anchor->takes_bias() || affine.is_shift() || !is_op(graph_.node(id), "BatchNormalization")) return false;
      if (!fold_into_outputs(graph_, context_, *anchor, scale, std::vector<double>(scale.size(), 0.0))) return false;
      const DataType dtype = graph_.value(affine.source).type.dtype;
      const ValueId addend = emit_constant(graph_, Tensor::from_doubles(dtype, {anchor->out_channels}, shift), "shift");
      TRY_VOID(rewrite(graph_, id, "Add", {affine.source, addend}, {}));
      return true;
    }
    if (const auto biased = biased_product_before(graph_, affine.source, uses_)) {
      const int64_t channels = biased->product.out_channels;
      if (affine.axis >= 0 && affine.axis != biased->product.out_axis) return false;
      const std::vector<double> scale = affine.scales(channels), shift = affine.shifts(channels);
      auto addend = scaled_addend(*graph_.value(biased->bias).constant, channels, scale, shift);
      if (!addend || !fold_into_outputs(graph_, context_, biased->product, scale, std::vector<double>(channels, 0.0)))
        return false;
      replace_addend(graph_, biased->add, biased->bias, *std::move(addend));
      bypass(id, affine);
      return true;
    }
    return false;
  }

  bool fold_into_readers(NodeId id, const Affine& affine) {
    const ValueId output = graph_.node(id).outputs[0];
    if (is_output(graph_, output)) return false;
    std::vector<Anchor> readers;
    int reads = 0;
    for (const NodeId reader : consumers_[output.index]) {
      const auto anchor = anchor_at(graph_, reader);
      if (!anchor || graph_.node(reader).inputs[0] != output || (affine.axis >= 0 && affine.axis != anchor->in_axis))
        return false;
      readers.push_back(*anchor);
      ++reads;
    }
    if (readers.empty() || reads != uses_[output.index]) return false;
    // All readers or none: what can't be undone is tried on a copy.
    Graph changed = graph_;
    for (const Anchor& anchor : readers)
      if (!fold_into_inputs(changed, context_, anchor, affine.scales(anchor.in_channels),
                            affine.shifts(anchor.in_channels)))
        return false;
    graph_ = std::move(changed);
    bypass(id, affine);
    return true;
  }

  Graph& graph_;
  PassContext& context_;
  std::vector<int> uses_;
  std::vector<std::vector<NodeId>> consumers_;
};

}  // namespace

Result<int> fold_affine(Graph& graph, PassContext& context) {
  int changes = 0;
  if (!context.allows(kClass)) return changes;
  TRY(changes, for_each_body(graph, [&](Graph& body, NodeId) {
        body.edit_info() = graph.info();
        return fold_affine(body, context);
      }));
  TRY(const std::vector<NodeId> order, topological_order(graph));
  TRY(const std::set<NodeId> kept, kept_nodes(graph, context));
  AffineFolder folder(graph, context);
  for (const NodeId id : order) {
    if (kept.contains(id)) continue;
    const std::string where = label(graph, id);
    TRY(const bool folded, folder.fold(id));
    if (!folded) continue;
    context.step("fold scale and shift into weights", where, kClass);
    ++changes;
  }
  return changes;
}

}  // namespace isomer
