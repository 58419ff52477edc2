#include "graph/passes/anchor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/edit.h"
#include "util/check.h"

namespace isomer {
namespace {

using Kind = Anchor::Kind;

int64_t groups_of(const Node& node) {
  const int64_t* group = attribute_of<int64_t>(node, "group");
  return group ? *group : 1;
}

bool flag(const Node& node, std::string_view name) {
  const int64_t* value = attribute_of<int64_t>(node, name);
  return value && *value != 0;
}

float factor(const Node& node, std::string_view name) {
  const float* value = attribute_of<float>(node, name);
  return value ? *value : 1.0f;
}

/// The distance of numbers next to one, and of those next to zero.
struct Spacing {
  double at_one, at_zero;
};
Spacing spacing_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return {0x1p-10, 0x1p-24};
    case DataType::kBFloat16: return {0x1p-7, 0x1p-133};
    case DataType::kFloat64: return {0x1p-52, std::numeric_limits<double>::denorm_min()};
    default: return {0x1p-23, 0x1p-149};
  }
}

int64_t product(Dims::const_iterator first, Dims::const_iterator last) {
  int64_t count = 1;
  for (; first != last; ++first) count *= *first;
  return count;
}

/// Channels of weight element i: [outer, rows, columns, inner] in row-major order says where it lies.
struct Layout {
  int64_t rows = 1, columns = 1, inner = 1, groups = 1;
  bool row_is_output = true;
  /// Of the elements of one row and column.
  int64_t output(int64_t row, int64_t column) const {
    if (groups == 1) return row_is_output ? row : column;
    return row_is_output ? row : row / (rows / groups) * columns + column;
  }
  int64_t input(int64_t row, int64_t column) const {
    if (groups == 1) return row_is_output ? column : row;
    return row_is_output ? row / (rows / groups) * columns + column : row;
  }
};

Layout layout_of(const Graph& graph, const Anchor& anchor) {
  const Node& node = graph.node(anchor.node);
  const Dims& dims = graph.value(anchor.weights).constant->dims();
  const size_t rank = dims.size();
  switch (anchor.kind) {
    case Kind::kConv: return {dims[0], dims[1], product(dims.begin() + 2, dims.end()), groups_of(node), true};
    case Kind::kConvTranspose: return {dims[0], dims[1], product(dims.begin() + 2, dims.end()), groups_of(node), false};
    case Kind::kGemm: return {dims[0], dims[1], 1, 1, flag(node, "transB")};
    case Kind::kMatMul: return {dims[rank - 2], dims[rank - 1], 1, 1, false};
  }
  return {};
}

/// What rounding a type's smallest numbers may take of a weight, as a part of the largest number beside it: no more
/// than what data of usual sizes would ever show.
constexpr double kNegligible = 0x1p-100;

/// A copy of the tensor with each element through `f(row, column, value)`; nothing where one of them is infinite then,
/// or has fewer bits and counts beside the other weights of its result and what is added to that.
template <class F>
std::optional<Tensor> mapped(const Tensor& tensor, const Layout& layout, std::span<const double> added, const F& f) {
  const int width = bit_width(tensor.dtype()) / 8;
  std::vector<std::byte> bytes(tensor.bytes().size());
  bool keeps = true;
  std::vector<double> largest, lost;
  const auto map_with = [&](const auto& decode, const auto& encode) {
    const std::byte* in = tensor.bytes().data();
    std::byte* out = bytes.data();
    while (out != bytes.data() + bytes.size()) {
      largest.assign(added.begin(), added.end());
      lost.assign(added.size(), 0);
      for (int64_t row = 0; row < layout.rows; ++row)
        for (int64_t column = 0; column < layout.columns; ++column) {
          const auto result = static_cast<size_t>(layout.output(row, column));
          for (int64_t k = 0; k < layout.inner; ++k, in += width, out += width) {
            const double before = decode(in), after = f(row, column, before);
            encode(after, out);
            if (keeps_precision(tensor.dtype(), before, after))
              largest[result] = std::max(largest[result], std::fabs(after));
            else
              lost[result] = std::max(lost[result], std::fabs(decode(out) - after));
          }
        }
      for (size_t k = 0; k < lost.size(); ++k) keeps = keeps && (lost[k] == 0 || lost[k] <= kNegligible * largest[k]);
    }
  };
  // Nearly all weights are float32, and there are many: decided once, not for each element.
  if (tensor.dtype() == DataType::kFloat32)
    map_with(
        [](const std::byte* in) {
          float value;
          std::memcpy(&value, in, sizeof value);
          return static_cast<double>(value);
        },
        [](double wide, std::byte* out) {
          const auto value = static_cast<float>(wide);
          std::memcpy(out, &value, sizeof value);
        });
  else
    map_with([&](const std::byte* in) { return decode_real(tensor.dtype(), in); },
             [&](double value, std::byte* out) { encode_real(tensor.dtype(), value, out); });
  if (!keeps) return std::nullopt;
  return Tensor(tensor.dtype(), tensor.dims(), std::move(bytes));
}

void set_input(Graph& graph, NodeId id, size_t i, ValueId value) {
  std::vector<ValueId>& inputs = graph.edit(id).inputs;
  if (inputs.size() <= i) inputs.resize(i + 1);
  inputs[i] = value;
}

/// What multiplies the bias.
double beta_of(const Graph& graph, const Anchor& anchor) {
  return anchor.kind == Kind::kGemm ? factor(graph.node(anchor.node), "beta") : 1.0;
}

/// bias * scale + shift, made where there is none; a Gemm's beta becomes 1. False, with nothing changed, where one
/// would be infinite.
bool set_bias(Graph& graph, const Anchor& anchor, std::span<const double> scale, std::span<const double> shift) {
  const DataType dtype = graph.value(anchor.weights).type.dtype;
  const int64_t channels = anchor.out_channels;
  const double beta = beta_of(graph, anchor);
  const bool has_bias = anchor.bias.valid();
  if (!has_bias && all_equal(shift, 0)) return true;
  const Tensor old = has_bias ? *graph.value(anchor.bias).constant : Tensor::scalar(dtype, 0);
  // A Gemm's C may be one element, a row, a column or a matrix; what has no axis of channels gets one.
  Dims dims = old.dims();
  const bool has_axis = !dims.empty() && (dims.back() == channels);
  if (dims.empty()) dims = {channels};
  dims.back() = channels;
  std::vector<double> values(element_count(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<int64_t>(i) % channels;
    const double before = old.real(has_axis ? static_cast<int64_t>(i) : static_cast<int64_t>(i) / channels);
    values[i] = beta * before * scale[channel] + shift[channel];
    if (std::isfinite(before) && !std::isfinite(round_to(dtype, values[i]))) return false;
  }
  set_input(graph, anchor.node, 2,
            emit_constant(graph, Tensor::from_doubles(dtype, dims, values),
                          has_bias ? graph.value(anchor.bias).name : "bias"));
  // What there was nothing to multiply with now has something.
  if (beta != 1.0) graph.edit(anchor.node).attributes.insert_or_assign("beta", 1.0f);
  return true;
}

/// The size of what is added to each result channel, as it is.
std::vector<double> added_by(const Graph& graph, const Anchor& anchor) {
  std::vector<double> added(static_cast<size_t>(anchor.out_channels));
  const Tensor* bias = constant_of(graph, anchor.bias);
  for (size_t c = 0; bias && c < added.size(); ++c) {
    const bool has_axis = !bias->dims().empty() && bias->dims().back() == anchor.out_channels;
    added[c] = std::fabs(beta_of(graph, anchor) * bias->real(has_axis ? static_cast<int64_t>(c) : 0));
  }
  return added;
}

bool has_padding(const Node& node) {
  const auto* pads = attribute_of<std::vector<int64_t>>(node, "pads");
  const auto* automatic = attribute_of<std::string>(node, "auto_pad");
  const bool same = automatic && automatic->starts_with("SAME");
  return same || (pads && std::any_of(pads->begin(), pads->end(), [](int64_t pad) { return pad != 0; }));
}

void replace_weights(Graph& graph, const Anchor& anchor, Tensor weights) {
  const ValueId made = emit_constant(graph, std::move(weights), graph.value(anchor.weights).name);
  graph.edit(anchor.node).inputs[1] = made;
}

}  // namespace

bool keeps_precision(DataType dtype, double before, double after) {
  if (!std::isfinite(before)) return true;
  const double error = std::fabs(round_to(dtype, after) - after);
  const Spacing spacing = spacing_of(dtype);
  const double precision = std::max(spacing.at_one, spacing.at_zero / std::fabs(before));
  return error == 0 || (std::isfinite(error) && error <= precision * std::fabs(after));
}

bool all_equal(std::span<const double> values, double value) {
  return std::all_of(values.begin(), values.end(), [&](double v) { return v == value; });
}

std::optional<Anchor> anchor_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  Anchor anchor{};
  anchor.node = id;
  if (is_op(node, "Conv"))
    anchor.kind = Kind::kConv;
  else if (is_op(node, "ConvTranspose"))
    anchor.kind = Kind::kConvTranspose;
  else if (is_op(node, "Gemm"))
    anchor.kind = Kind::kGemm;
  else if (is_op(node, "MatMul"))
    anchor.kind = Kind::kMatMul;
  else
    return std::nullopt;
  anchor.weights = node.inputs[1];
  anchor.bias = input_of(node, 2);
  const Tensor* weights = constant_of(graph, anchor.weights);
  if (!weights || !is_float(weights->dtype()) || weights->dims().size() < 2 || weights->count() == 0)
    return std::nullopt;
  const Tensor* bias = constant_of(graph, anchor.bias);
  if (anchor.bias.valid() && !bias) return std::nullopt;
  if (!node.outputs[0].valid() || !graph.value(node.outputs[0]).type.has_shape()) return std::nullopt;
  anchor.rank = static_cast<int>(graph.value(node.outputs[0]).type.shape->size());
  const bool is_conv = anchor.kind == Kind::kConv || anchor.kind == Kind::kConvTranspose;
  if (anchor.kind == Kind::kGemm && flag(node, "transA"))
    anchor.in_axis = 0;
  else
    anchor.in_axis = is_conv ? 1 : static_cast<int>(graph.value(node.inputs[0]).type.shape->size()) - 1;
  anchor.out_axis = is_conv ? 1 : anchor.rank - 1;
  // A vector times a matrix has no such axes; a stack of matrices has channels of its own in each.
  if (anchor.kind == Kind::kMatMul && graph.value(node.inputs[0]).type.shape->size() < 2) return std::nullopt;
  const Layout layout = layout_of(graph, anchor);
  anchor.out_channels = layout.row_is_output ? layout.rows : layout.columns * layout.groups;
  anchor.in_channels = layout.row_is_output ? layout.columns * layout.groups : layout.rows;
  if (bias && anchor.kind == Kind::kGemm &&
      !(bias->dims().empty() || bias->dims().back() == anchor.out_channels || bias->dims().back() == 1))
    return std::nullopt;
  if (bias && is_conv && bias->dims() != Dims{anchor.out_channels}) return std::nullopt;
  return anchor;
}

bool may_replace(const Graph& graph, PassContext& context, ValueId constant, const std::vector<int>& uses) {
  return uses[constant.index] <= 1 ||
         context.may_grow(static_cast<int64_t>(graph.value(constant).constant->bytes().size()));
}

bool fold_into_outputs(Graph& graph, PassContext& context, const Anchor& anchor, std::span<const double> scale,
                       std::span<const double> shift) {
  CHECK(static_cast<int64_t>(scale.size()) == anchor.out_channels && scale.size() == shift.size());
  if (!anchor.takes_bias() && !all_equal(shift, 0)) return false;
  const std::vector<int> uses = graph.use_counts();
  if (all_equal(scale, 1)) return set_bias(graph, anchor, scale, shift);
  if (!may_replace(graph, context, anchor.weights, uses)) return false;
  const Layout layout = layout_of(graph, anchor);
  std::vector<double> added = added_by(graph, anchor);
  for (size_t c = 0; c < added.size(); ++c) added[c] = std::fabs(added[c] * scale[c]) + std::fabs(shift[c]);
  auto scaled = mapped(*graph.value(anchor.weights).constant, layout, added,
                       [&](int64_t row, int64_t column, double w) { return w * scale[layout.output(row, column)]; });
  if (!scaled || !set_bias(graph, anchor, scale, shift)) return false;
  replace_weights(graph, anchor, *std::move(scaled));
  return true;
}

bool fold_into_inputs(Graph& graph, PassContext& context, const Anchor& anchor, std::span<const double> scale,
                      std::span<const double> shift) {
  CHECK(static_cast<int64_t>(scale.size()) == anchor.in_channels && scale.size() == shift.size());
  const Node& node = graph.node(anchor.node);
  const bool shifts = !all_equal(shift, 0);
  if (shifts && (!anchor.takes_bias() || anchor.kind == Kind::kConvTranspose || has_padding(node))) return false;
  if (!may_replace(graph, context, anchor.weights, graph.use_counts())) return false;
  const Tensor weights = *graph.value(anchor.weights).constant;
  const Layout layout = layout_of(graph, anchor);
  std::vector<double> moved(anchor.out_channels, 0.0);
  const double alpha = anchor.kind == Kind::kGemm ? factor(node, "alpha") : 1.0;
  auto scaled = mapped(weights, layout, added_by(graph, anchor), [&](int64_t row, int64_t column, double w) {
    const int64_t channel = layout.input(row, column);
    moved[layout.output(row, column)] += alpha * w * shift[channel];
    return w * scale[channel];
  });
  if (!scaled || (shifts && !set_bias(graph, anchor, std::vector<double>(anchor.out_channels, 1.0), moved)))
    return false;
  replace_weights(graph, anchor, *std::move(scaled));
  return true;
}

}  // namespace isomer
