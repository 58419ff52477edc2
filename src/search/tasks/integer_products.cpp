#include "search/tasks/integer_products.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "graph/edit.h"
#include "graph/movement.h"

namespace isomer::search {
namespace {

/// Of products of bytes less zero points, whose sum is an int32 then.
constexpr int64_t kMostSummed = 1 << 15;

/// Elements of the first input alone become those of the result; of a window the largest.
bool is_movement(const Node& node) {
  static constexpr const char* kMovements[] = {"Flatten", "Gather",  "MaxPool",   "Reshape",
                                               "Slice",   "Squeeze", "Transpose", "Unsqueeze"};
  const auto is_it = [&](const char* op) { return is_op(node, op); };
  return std::ranges::any_of(kMovements, is_it) && node.outputs.size() == 1;
}

/// Quantized in blocks, which have scales of their own.
bool has_blocks(const Node& node) {
  const auto* blocks = attribute_of<int64_t>(node, "block_size");
  return blocks && *blocks != 0;
}

/// Of scales: neither products with bytes nor reciprocals leave the normal numbers.
bool is_usual(double scale) { return scale > 1e-30 && scale < 1e30; }

/// What an operand is dequantized from.
struct Quantized {
  ValueId numbers, zero;  ///< zero: none where it is 0
  ValueId scale;
  std::optional<int64_t> axis;  ///< of the scale and the zero; nothing: they are one element each
};

/// One element of a constant as a scalar, and none where that is 0; other values as they are.
ValueId simple_zero(Graph& graph, ValueId zero) {
  const Tensor* const known = zero.valid() ? constant_of(graph, zero) : nullptr;
  if (!known || known->count() == 0 || !is_splat(*known)) return zero;
  const int64_t value = known->integer(0);
  if (value == 0) return {};
  return emit_constant(graph, Tensor::from_ints(known->dtype(), {}, std::vector<int64_t>{value}), "zero_point");
}

std::optional<Quantized> quantized(const Graph& graph, ValueId value) {
  const Node* const node = producer(graph, value, "DequantizeLinear");
  if (!node) return std::nullopt;
  const ValueType &numbers = graph.value(node->inputs[0]).type, &scale = graph.value(node->inputs[1]).type;
  const bool are_bytes = numbers.dtype == DataType::kInt8 || numbers.dtype == DataType::kUInt8;
  if (!are_bytes || !numbers.has_shape() || !scale.has_shape() || scale.dtype != DataType::kFloat32 ||
      graph.value(value).type.dtype != DataType::kFloat32 || has_blocks(*node))
    return std::nullopt;
  Quantized result{node->inputs[0], input_of(*node, 2), node->inputs[1], std::nullopt};
  const auto elements = element_count(*scale.shape).constant();
  if (scale.shape->size() > 1) return std::nullopt;
  if (elements == 1) return result;
  const auto rank = static_cast<int64_t>(numbers.shape->size());
  const auto* axis = attribute_of<int64_t>(*node, "axis");
  if (!axis || *axis < -rank || *axis >= rank) return std::nullopt;
  result.axis = *axis < 0 ? *axis + rank : *axis;
  return result;
}

class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph), uses_(graph.use_counts()) {}

  /// Whether the node was such a product.
  Result<bool> product(NodeId id) {
    const Node node = graph_.node(id);
    if (is_op(node, "Conv")) return convolution(id, node);
    if (is_op(node, "MatMul")) return matrix_product(id, node, false);
    if (!is_op(node, "Gemm") || *attribute_of<int64_t>(node, "transA") != 0 ||
        *attribute_of<float>(node, "alpha") != 1 || *attribute_of<float>(node, "beta") != 1)
      return false;
    return matrix_product(id, node, *attribute_of<int64_t>(node, "transB") != 0);
  }

  /// A normalization by statistics that are known is a factor and a shift, which others become one with.
  Result<bool> normalization(NodeId id) {
    const Node node = graph_.node(id);
    const auto* training = attribute_of<int64_t>(node, "training_mode");
    const auto* epsilon = attribute_of<float>(node, "epsilon");
    if (!is_op(node, "BatchNormalization") || node.outputs.size() != 1 || (training && *training != 0) || !epsilon)
      return false;
    std::array<const Tensor*, 4> known{};  // scale, bias, mean, variance
    for (size_t k = 0; k < known.size(); ++k) {
      known[k] = constant_of(graph_, node.inputs[k + 1]);
      if (!known[k] || known[k]->dtype() != DataType::kFloat32 || known[k]->count() != known[0]->count()) return false;
    }
    const ValueType& x = graph_.value(node.inputs[0]).type;
    if (x.dtype != DataType::kFloat32 || !x.has_shape() || x.shape->size() < 2) return false;
    Dims dims(x.shape->size() - 1, 1);
    dims[0] = known[0]->count();
    std::vector<double> factors, shifts;
    for (int64_t k = 0; k < known[0]->count(); ++k) {
      factors.push_back(known[0]->real(k) / std::sqrt(known[3]->real(k) + static_cast<double>(*epsilon)));
      shifts.push_back(known[1]->real(k) - known[2]->real(k) * factors.back());
    }
    const ValueId factor = emit_constant(graph_, Tensor::from_doubles(DataType::kFloat32, dims, factors), "factor");
    const ValueId shift = emit_constant(graph_, Tensor::from_doubles(DataType::kFloat32, dims, shifts), "shift");
    TRY(const ValueId product, emit(graph_, "Mul", {node.inputs[0], factor}, {}, node.name));
    TRY_VOID(isomer::rewrite(graph_, id, "Add", {product, shift}, {}));
    return true;
  }

  /// QuantizeLinear(x, s, z) = QuantizeLinear(x*(1/s), 1, z), of what arithmetic has made.
  Result<bool> quotient(NodeId id) {
    const Node node = graph_.node(id);
    if (!is_op(node, "QuantizeLinear") || has_blocks(node)) return false;
    const auto* precision = attribute_of<int64_t>(node, "precision");
    if (precision && *precision != 0) return false;
    const ValueId x = node.inputs[0];
    const Tensor* const scale = constant_of(graph_, node.inputs[1]);
    const NodeId maker = graph_.value(x).producer;
    if (!scale || scale->count() != 1 || scale->dtype() != DataType::kFloat32 ||
        graph_.value(x).type.dtype != DataType::kFloat32 || !maker.valid())
      return false;
    const double known = scale->real(0);
    const Node& made_by = graph_.node(maker);
    // What only moves is as exact as it was, and may lie between two steps.
    if (known == 1 || !is_usual(known) || is_movement(made_by) || is_op(made_by, "DequantizeLinear")) return false;
    const Tensor no_scale = Tensor::from_doubles(DataType::kFloat32, scale->dims(), std::vector<double>{1});
    const ValueId one = emit_constant(graph_, no_scale, "scale");
    factor_ = emit_constant(graph_, Tensor::scalar(DataType::kFloat32, 1 / known), "reciprocal");
    std::vector<ValueId> inputs = node.inputs;
    TRY(inputs[0], times_factor(x));
    inputs[1] = one;
    TRY_VOID(isomer::rewrite(graph_, id, "QuantizeLinear", inputs, node.attributes));
    return true;
  }

  /// What is quantized as it was before it was moved: QuantizeLinear(Move(DequantizeLinear(q, s, z)), s, z) = Move(q),
  /// bit for bit: for |q - z| < 2^9 its product with s, divided by s, is less than a half away from it.
  Result<bool> movement(NodeId id) {
    const Node node = graph_.node(id);
    const Tensor* const scale = is_op(node, "QuantizeLinear") ? constant_of(graph_, node.inputs[1]) : nullptr;
    if (!scale || scale->count() != 1 || !is_usual(scale->real(0)) || has_blocks(node)) return false;
    std::vector<Node> moves;  // the last one first
    ValueId real = node.inputs[0];
    for (NodeId maker; (maker = graph_.value(real).producer).valid() && is_movement(graph_.node(maker));
         real = moves.back().inputs[0])
      moves.push_back(graph_.node(maker));
    const auto from = quantized(graph_, real);
    if (!from || from->axis || !is_same(from->scale, node.inputs[1]) || !is_same(from->zero, input_of(node, 2)) ||
        graph_.value(from->numbers).type.dtype != graph_.value(node.outputs[0]).type.dtype)
      return false;
    ValueId bytes = from->numbers;
    if (moves.empty()) {
      TRY_VOID(isomer::rewrite(graph_, id, "Identity", {bytes}, {}));
      return true;
    }
    while (!moves.empty()) {
      const Node move = std::move(moves.back());
      moves.pop_back();
      std::vector<ValueId> inputs = move.inputs;
      inputs[0] = bytes;
      if (moves.empty()) {
        TRY_VOID(isomer::rewrite(graph_, id, move.op_type, inputs, move.attributes));
      } else {
        TRY(bytes, emit(graph_, move.op_type, inputs, move.attributes, move.name));
      }
    }
    return true;
  }

 private:
  const Shape& shape(ValueId value) const { return *graph_.value(value).type.shape; }

  /// Operands that are not both known before, of one scale on the left.
  bool find(const Node& node) {
    left_ = quantized(graph_, node.inputs[0]);
    right_ = quantized(graph_, node.inputs[1]);
    return left_ && right_ && !left_->axis &&
           !(constant_of(graph_, left_->numbers) && constant_of(graph_, right_->numbers));
  }

  static bool are_few(std::span<const Dim> dims) {
    double terms = 1;
    for (const Dim& dim : dims) terms *= static_cast<double>(dim.constant().value_or(2 * kMostSummed));
    return terms <= kMostSummed;
  }

  Result<bool> convolution(NodeId id, const Node& node) {
    // Groups of channels have no words of several.
    if (*attribute_of<int64_t>(node, "group") != 1 || !find(node) || right_->axis.value_or(0) != 0) return false;
    const Shape filters = shape(right_->numbers);
    if (!are_few(std::span(filters).subspan(1))) return false;
    std::vector<int64_t> spatial(filters.size() - 2);
    std::iota(spatial.begin(), spatial.end(), 1);
    TRY(const ValueId sums, emit(graph_, "ConvInteger", operands(right_->numbers), node.attributes, node.name));
    ValueId scale = right_->scale, bias = input_of(node, 2);
    if (right_->axis) {
      TRY(scale, along_channels(scale, spatial));
    }
    if (bias.valid()) {
      TRY(bias, along_channels(bias, spatial));
    }
    TRY_VOID(scaled(id, node.name, sums, scale, bias));
    return true;
  }

  Result<bool> matrix_product(NodeId id, const Node& node, bool is_transposed) {
    if (!find(node)) return false;
    const size_t rank = shape(right_->numbers).size();
    if (rank < 2 || shape(left_->numbers).size() < 2 || (right_->axis && rank != 2) ||
        right_->axis.value_or(is_transposed ? 0 : 1) != (is_transposed ? 0 : 1))
      return false;
    const size_t along = is_transposed ? rank - 1 : rank - 2;
    if (!are_few(std::span(shape(right_->numbers)).subspan(along, 1))) return false;
    ValueId right = right_->numbers;
    if (is_transposed) {
      TRY(right, emit(graph_, "Transpose", {right}, {{"perm", std::vector<int64_t>{1, 0}}}, node.name));
    }
    TRY(const ValueId sums, emit(graph_, "MatMulInteger", operands(right), {}, node.name));
    TRY_VOID(scaled(id, node.name, sums, right_->scale, input_of(node, 2)));
    return true;
  }

  /// Whether a positive factor of a value can become part of constants that it is made of; nobody else reads what is on
  /// the way.
  bool absorbs(ValueId value) const {
    if (is_known(value)) return true;
    const NodeId maker = graph_.value(value).producer;
    const auto at = static_cast<size_t>(value.index);
    if (!maker.valid() || (at < uses_.size() && uses_[at] > 1)) return false;
    const Node& node = graph_.node(maker);
    if (is_op(node, "Mul")) return is_known(node.inputs[0]) || is_known(node.inputs[1]);
    if (is_op(node, "DequantizeLinear"))
      return is_known(node.inputs[1]) && graph_.value(node.inputs[1]).type.dtype == DataType::kFloat32;
    return (is_op(node, "Add") || is_op(node, "Relu")) &&
           std::ranges::all_of(node.inputs, [&](ValueId input) { return absorbs(input); });
  }

  /// A value times the factor.
  Result<ValueId> times_factor(ValueId value) {
    if (is_known(value) || !absorbs(value)) return emit(graph_, "Mul", {value, factor_}, {}, "");
    const Node node = graph_.node(graph_.value(value).producer);
    std::vector<ValueId> inputs = node.inputs;
    if (is_op(node, "Mul") || is_op(node, "DequantizeLinear")) {
      ValueId& known = inputs[is_op(node, "Mul") && is_known(inputs[0]) ? 0 : 1];
      TRY(known, times_factor(known));
    } else {
      for (ValueId& input : inputs) {
        TRY(input, times_factor(input));
      }
    }
    return emit(graph_, node.op_type, inputs, node.attributes, node.name);
  }

  /// One value, or constants of the same elements; no zero point is 0.
  bool is_same(ValueId a, ValueId b) {
    const auto known = [&](ValueId value) { return value.valid() ? constant_of(graph_, value) : nullptr; };
    const auto is_zero = [&](ValueId value) {
      const Tensor* const tensor = known(value);
      return !value.valid() ||
             (tensor && tensor->count() == 1 && !is_float(tensor->dtype()) && tensor->integer(0) == 0);
    };
    if (a == b || (is_zero(a) && is_zero(b))) return true;
    const Tensor *const one = known(a), *const other = known(b);
    return one && other && one->count() == 1 && other->count() == 1 && one->dtype() == other->dtype() &&
           one->real(0) == other->real(0);
  }

  /// A constant, or what is made of such alone.
  bool is_known(ValueId value) const {
    if (constant_of(graph_, value)) return true;
    const NodeId maker = graph_.value(value).producer;
    return maker.valid() && std::ranges::all_of(graph_.node(maker).inputs,
                                                [&](ValueId input) { return input.valid() && is_known(input); });
  }

  std::vector<ValueId> operands(ValueId right) {
    const ValueId left_zero = simple_zero(graph_, left_->zero), right_zero = simple_zero(graph_, right_->zero);
    std::vector<ValueId> all = {left_->numbers, right, left_zero, right_zero};
    while (!all.back().valid()) all.pop_back();
    return all;
  }

  Result<ValueId> along_channels(ValueId vector, const std::vector<int64_t>& spatial) {
    return emit(graph_, "Unsqueeze", {vector, emit_ints(graph_, spatial, "axes")}, {}, "");
  }

  /// The node becomes sums*(left scale*`scale`) + bias.
  Result<void> scaled(NodeId id, const std::string& name, ValueId sums, ValueId scale, ValueId bias) {
    const auto to = static_cast<int64_t>(DataType::kFloat32);
    TRY(const ValueId reals, emit(graph_, "Cast", {sums}, {{"to", to}}, name));
    TRY(const ValueId factor, emit(graph_, "Mul", {left_->scale, scale}, {}, name));
    if (!bias.valid()) return isomer::rewrite(graph_, id, "Mul", {reals, factor}, {});
    TRY(const ValueId product, emit(graph_, "Mul", {reals, factor}, {}, name));
    return isomer::rewrite(graph_, id, "Add", {product, bias}, {});
  }

  Graph& graph_;
  std::optional<Quantized> left_, right_;
  ValueId factor_;
  std::vector<int> uses_;
};

}  // namespace

Result<int> use_integer_products(Graph& graph) {
  TRY(int changes, for_each_body(graph, [](Graph& body, NodeId) { return use_integer_products(body); }));
  Rewriter rewriter(graph);
  for (const auto rewrite : {&Rewriter::movement, &Rewriter::product, &Rewriter::normalization, &Rewriter::quotient})
    for (const NodeId id : graph.nodes()) {
      TRY(const bool changed, (rewriter.*rewrite)(id));
      changes += changed ? 1 : 0;
    }
  return changes;
}

Result<int> dequantize_apart(Graph& graph) {
  TRY(int changes, for_each_body(graph, [](Graph& body, NodeId) { return dequantize_apart(body); }));
  const std::vector<std::vector<NodeId>> consumers = graph.consumers();
  for (const NodeId id : graph.nodes()) {
    const Node node = graph.node(id);
    const ValueId reals = node.outputs.empty() ? ValueId() : node.outputs[0];
    if (!is_op(node, "DequantizeLinear") || is_output(graph, reals) || !quantized(graph, reals)) continue;
    const std::vector<NodeId>& readers = consumers[reals.index];
    const auto is_map = [&](NodeId reader) {
      const Node& each = graph.node(reader);
      return each.outputs.size() == 1 && each.captures.empty() && pointwise_of(graph, reader, 0);
    };
    if (readers.size() < 2 || !std::ranges::all_of(readers, is_map)) continue;
    for (auto reader = readers.begin() + 1; reader != readers.end(); ++reader) {
      if (std::ranges::count(graph.node(*reader).inputs, reals) == 0) continue;  // it has its own
      TRY(const ValueId own, emit(graph, node.op_type, node.inputs, node.attributes, node.name));
      std::ranges::replace(graph.edit(*reader).inputs, reals, own);
      ++changes;
    }
  }
  return changes;
}

}  // namespace isomer::search
