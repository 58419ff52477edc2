#include "backends/onednn_recipes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace isomer::backends::dnnl {
namespace {

using Layout = Operand::Layout;
using Descriptors = std::vector<const MemoryDescriptor*>;

// dnnl_alg_kind_t
enum Algorithm : int {
  kConvolution = 3,  // the library decides between direct and Winograd
  kDeconvolution = 0xa,
  kMaxPool = 0x1ff,
  kMeanPool = 0x2ff,
  kMeanPoolInside = 0x3ff,
  kSoftmax = 0x30000,
  kLogSoftmax = 0x30001,
};

Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t k = dims.size(); k-- > 1;) strides[k - 1] = strides[k] * std::max<int64_t>(dims[k], 1);
  return strides;
}

int64_t product(const Dims& dims, size_t from, size_t to) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from),
                         dims.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1}, std::multiplies<>());
}

Operand operand(int argument, Dims dims, const Tensor* tensor, Layout layout = Layout::kAny) {
  return {argument, dims, row_major(dims), tensor, layout};
}

/// A node with its attributes, as a recipe asks for them.
struct Operator {
  const Node& node;
  const std::vector<const Tensor*>& inputs;
  const Dims& output;

  template <class T>
  T get(const char* name, T otherwise) const {
    const auto found = node.attributes.find(name);
    const T* const value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value ? *value : otherwise;
  }
  bool has(size_t input) const { return input < inputs.size() && inputs[input]; }
  const Tensor& input(size_t k) const { return *inputs[k]; }
  bool are_inputs_at_most(size_t count) const { return has(0) && inputs.size() <= count && node.outputs.size() == 1; }
};

/// Elements of an input that holds integers; nothing where it is omitted.
std::optional<Dims> integers(const Operator& op, size_t input) {
  return op.has(input) && op.input(input).dtype() == DataType::kInt64 ? std::optional(op.input(input).integers())
                                                                      : std::nullopt;
}

std::optional<float> scalar(const Operator& op, size_t input) {
  return op.has(input) && op.input(input).count() == 1 ? std::optional(static_cast<float>(op.input(input).real(0)))
                                                       : std::nullopt;
}

/// Strides, dilations and padding of a window over the axes behind the channels; `large` and `small` are the extents
/// that the window slides over and that it gives.
struct Window {
  DimArray kernel = {}, strides = {}, dilations = {}, begin = {}, end = {};

  Window(const Operator& op, const Dims& kernel_shape, const Dims& large, const Dims& small, bool must_end) {
    const size_t rank = kernel_shape.size();
    const auto of_each = [&](const char* name, int64_t otherwise) { return op.get<Dims>(name, Dims(rank, otherwise)); };
    const Dims stride = of_each("strides", 1), dilation = of_each("dilations", 1);
    Dims pads = op.get<Dims>("pads", Dims(2 * rank, 0));
    const std::string automatic = op.get<std::string>("auto_pad", "NOTSET");
    for (size_t k = 0; k < rank; ++k) {
      const int64_t all = (small[k + 2] - 1) * stride[k] + (kernel_shape[k] - 1) * dilation[k] + 1 - large[k + 2];
      if (automatic.starts_with("SAME"))
        pads[k] = automatic == "SAME_UPPER" ? std::max<int64_t>(all, 0) / 2 : (std::max<int64_t>(all, 0) + 1) / 2;
      // What rounding up adds stands behind; what a last stride leaves out is no padding, but to transposed windows.
      const int64_t behind =
          must_end ? all - pads[k] : std::max(all - pads[k], automatic == "NOTSET" ? pads[rank + k] : 0);
      kernel[k] = kernel_shape[k];
      strides[k] = stride[k];
      dilations[k] = dilation[k] - 1;
      begin[k] = pads[k];
      end[k] = behind;
    }
  }
};

std::vector<Recipe> convolution(const Operator& op, bool transposed) {
  if (!op.are_inputs_at_most(3) || !op.has(1) || op.input(0).dims().size() < 3) return {};
  const Dims &x = op.input(0).dims(), &w = op.input(1).dims();
  const int64_t groups = op.get<int64_t>("group", 1);
  const Dims kernel(w.begin() + 2, w.end());
  Operand weights{kWeights, {}, {}, op.inputs[1], Layout::kAny};
  if (groups > 1) weights.dims.push_back(groups);
  // Of a transposed convolution ONNX keeps the input's channels first.
  const int64_t positions = product(w, 2, w.size());
  const int64_t out = transposed ? w[1] : w[0] / groups, in = transposed ? w[0] / groups : w[1];
  weights.dims.insert(weights.dims.end(), {out, in});
  weights.dims.insert(weights.dims.end(), kernel.begin(), kernel.end());
  weights.strides = row_major(weights.dims);
  if (transposed) {
    weights.strides[groups > 1] = positions;
    weights.strides[groups > 1 ? 2 : 1] = out * positions;
  }
  Recipe recipe;
  recipe.operands = {operand(kSource, x, op.inputs[0]), weights};
  const bool has_bias = op.has(2);
  if (has_bias) recipe.operands.push_back(operand(kBias, op.input(2).dims(), op.inputs[2]));
  recipe.operands.push_back(operand(kDestination, op.output, nullptr));
  const Window window = transposed ? Window(op, kernel, op.output, x, true) : Window(op, kernel, x, op.output, false);
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    const MemoryDescriptor* const bias = has_bias ? d[2] : nullptr;
    return library.call(
        transposed ? "dnnl_dilated_deconvolution_forward_desc_init" : "dnnl_dilated_convolution_forward_desc_init",
        &descriptor, static_cast<int>(kForwardInference), static_cast<int>(transposed ? kDeconvolution : kConvolution),
        d[0], d[1], bias, d.back(), window.strides.data(), window.dilations.data(), window.begin.data(),
        window.end.data());
  };
  return {recipe};
}

/// The layouts that a primitive which takes any may be at its best in.
std::vector<Recipe> in_layouts(const Recipe& recipe) {
  std::vector<Recipe> all;
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocks8, Layout::kBlocks16}) {
    all.push_back(recipe);
    for (Operand& one : all.back().operands)
      if (one.dims.size() > 2) one.layout = layout;
  }
  return all;
}

std::vector<Recipe> pooling(const Operator& op, bool is_max, bool global) {
  if (!op.are_inputs_at_most(1) || op.input(0).dims().size() < 3) return {};
  const Dims& x = op.input(0).dims();
  const Dims kernel = global ? Dims(x.begin() + 2, x.end()) : op.get<Dims>("kernel_shape", {});
  if (kernel.size() + 2 != x.size()) return {};
  const int algorithm = is_max ? kMaxPool : op.get<int64_t>("count_include_pad", 0) ? kMeanPool : kMeanPoolInside;
  // What rounding up adds is not counted, whatever the padding is.
  if (algorithm == kMeanPool && op.get<int64_t>("ceil_mode", 0)) return {};
  const Window window(op, kernel, x, op.output, false);
  Recipe recipe;
  recipe.operands = {operand(kSource, x, op.inputs[0]), operand(kDestination, op.output, nullptr)};
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_pooling_v2_forward_desc_init", &descriptor, static_cast<int>(kForwardInference),
                        algorithm, d[0], d[1], window.strides.data(), window.kernel.data(), window.dilations.data(),
                        window.begin.data(), window.end.data());
  };
  return in_layouts(recipe);
}

/// A product of [batch, m, k] and [batch, k, n] with a bias that is equal in each row; rank 2 has the primitive of
/// fully connected layers beside it, with weights transposed.
std::vector<Recipe> product_of(Operand a, Operand b, const std::optional<Operand>& bias, const Dims& result) {
  const auto described = [has_bias = bias.has_value()](const char* name, bool has_kind) {
    return [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
      const MemoryDescriptor* const added = has_bias ? d[2] : nullptr;
      if (has_kind)
        return library.call(name, &descriptor, static_cast<int>(kForwardInference), d[0], d[1], added, d.back());
      return library.call(name, &descriptor, d[0], d[1], added, d.back());
    };
  };
  Recipe recipe;
  recipe.operands = {a, b};
  if (bias) recipe.operands.push_back(*bias);
  recipe.operands.push_back(operand(kDestination, result, nullptr));
  recipe.describe = described("dnnl_matmul_desc_init", false);
  std::vector<Recipe> all = {recipe};
  if (result.size() != 2) return all;
  Operand& weights = recipe.operands[1];
  std::reverse(weights.dims.begin(), weights.dims.end());
  std::reverse(weights.strides.begin(), weights.strides.end());
  if (bias) recipe.operands[2] = operand(kBias, {result[1]}, bias->tensor);
  recipe.describe = described("dnnl_inner_product_forward_desc_init", true);
  all.push_back(recipe);
  return all;
}

std::vector<Recipe> matmul(const Operator& op) {
  if (!op.are_inputs_at_most(2) || !op.has(1)) return {};
  Dims a = op.input(0).dims(), b = op.input(1).dims();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  // Rows of all batches are rows of one product with the same weights.
  if (b.size() == 2) a = {product(a, 0, a.size() - 1), a.back()};
  const size_t rank = std::max(a.size(), b.size());
  a.insert(a.begin(), rank - a.size(), 1);
  b.insert(b.begin(), rank - b.size(), 1);
  Dims result(rank);
  for (size_t k = 0; k + 2 < rank; ++k) result[k] = std::max(a[k], b[k]);
  result[rank - 2] = a[rank - 2];
  result[rank - 1] = b[rank - 1];
  return product_of(operand(kSource, a, op.inputs[0]), operand(kWeights, b, op.inputs[1]), std::nullopt, result);
}

std::vector<Recipe> gemm(const Operator& op) {
  if (!op.are_inputs_at_most(3) || !op.has(1) || op.get<float>("alpha", 1) != 1 || op.get<float>("beta", 1) != 1)
    return {};
  const auto side = [&](size_t input, int argument, const char* transposed) {
    Operand one = operand(argument, op.input(input).dims(), op.inputs[input]);
    if (op.get<int64_t>(transposed, 0)) {
      std::reverse(one.dims.begin(), one.dims.end());
      std::reverse(one.strides.begin(), one.strides.end());
    }
    return one;
  };
  std::optional<Operand> bias;
  if (op.has(2)) {
    const Dims& c = op.input(2).dims();
    if (c.empty() || c.back() != op.output[1] || op.input(2).count() != op.output[1]) return {};
    bias = operand(kBias, {1, op.output[1]}, op.inputs[2]);
  }
  return product_of(side(0, kSource, "transA"), side(1, kWeights, "transB"), bias, op.output);
}

std::vector<Recipe> softmax(const Operator& op, int algorithm) {
  if (!op.are_inputs_at_most(1) || op.output.empty()) return {};
  const auto rank = static_cast<int64_t>(op.output.size());
  const int64_t axis = op.get<int64_t>("axis", -1);
  const int at = static_cast<int>(axis < 0 ? axis + rank : axis);
  Recipe recipe;
  recipe.operands = {operand(kSource, op.output, op.inputs[0], Layout::kPlain),
                     operand(kDestination, op.output, nullptr, Layout::kPlain)};
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_softmax_v2_forward_desc_init", &descriptor, static_cast<int>(kForwardInference),
                        algorithm, d[0], d[1], at);
  };
  return {recipe};
}

std::vector<Recipe> layer_normalization(const Operator& op) {
  if (!op.are_inputs_at_most(3) || !op.has(1)) return {};
  const auto rank = static_cast<int64_t>(op.output.size());
  const int64_t axis = op.get<int64_t>("axis", -1);
  const auto from = static_cast<size_t>(axis < 0 ? axis + rank : axis);
  const Dims rows = {product(op.output, 0, from), product(op.output, from, op.output.size())};
  if (op.input(1).count() != rows[1] || (op.has(2) && op.input(2).count() != rows[1])) return {};
  const auto epsilon = op.get<float>("epsilon", 1e-5F);
  const unsigned flags = kUseScale | (op.has(2) ? kUseShift : 0);
  Recipe recipe;
  recipe.operands = {operand(kSource, rows, op.inputs[0], Layout::kPlain),
                     operand(kScale, {rows[1]}, op.inputs[1], Layout::kPlain)};
  if (op.has(2)) recipe.operands.push_back(operand(kShift, {rows[1]}, op.inputs[2], Layout::kPlain));
  recipe.operands.push_back(operand(kDestination, rows, nullptr, Layout::kPlain));
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    const MemoryDescriptor* const statistics = nullptr;
    return library.call("dnnl_layer_normalization_forward_desc_init", &descriptor, static_cast<int>(kForwardInference),
                        d[0], statistics, epsilon, flags);
  };
  return {recipe};
}

std::vector<Recipe> batch_normalization(const Operator& op) {
  if (!op.are_inputs_at_most(5) || op.inputs.size() != 5 || op.output.size() < 2 || op.get<int64_t>("training_mode", 0))
    return {};
  const auto epsilon = op.get<float>("epsilon", 1e-5F);
  Recipe recipe;
  recipe.operands = {operand(kSource, op.output, op.inputs[0], Layout::kPlain)};
  for (const auto& [k, argument] :
       {std::pair{size_t{1}, kScale}, {size_t{2}, kShift}, {size_t{3}, kMean}, {size_t{4}, kVariance}})
    recipe.operands.push_back(operand(argument, op.input(k).dims(), op.inputs[k], Layout::kPlain));
  recipe.operands.push_back(operand(kDestination, op.output, nullptr, Layout::kPlain));
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_batch_normalization_forward_desc_init", &descriptor, static_cast<int>(kForwardInference),
                        d[0], epsilon, static_cast<unsigned>(kGlobalStatistics | kUseScale | kUseShift));
  };
  return in_layouts(recipe);
}

std::vector<Recipe> elementwise(const Operator& op, int algorithm, float alpha = 0, float beta = 0) {
  if (!op.has(0) || op.node.outputs.size() != 1) return {};
  const Dims all = {element_count(op.output)};
  Recipe recipe;
  recipe.operands = {operand(kSource, all, op.inputs[0], Layout::kPlain),
                     operand(kDestination, all, nullptr, Layout::kPlain)};
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_eltwise_forward_desc_init", &descriptor, static_cast<int>(kForwardInference), algorithm,
                        d[0], alpha, beta);
  };
  return {recipe};
}

std::vector<Recipe> clip(const Operator& op) {
  const auto low = scalar(op, 1), high = scalar(op, 2);
  return low && high ? elementwise(op, 0xff, *low, *high) : std::vector<Recipe>();
}

std::vector<Recipe> binary(const Operator& op, int algorithm) {
  if (!op.are_inputs_at_most(2) || !op.has(1) || op.output.empty()) return {};
  Recipe recipe;
  for (const auto& [k, argument] : {std::pair{size_t{0}, kSource}, {size_t{1}, kSecondSource}}) {
    Dims dims = op.input(k).dims();
    dims.insert(dims.begin(), op.output.size() - dims.size(), 1);
    if (k == 0 && dims != op.output) return {};  // only the second one is broadcast
    recipe.operands.push_back(operand(argument, dims, op.inputs[k], Layout::kPlain));
  }
  recipe.operands.push_back(operand(kDestination, op.output, nullptr, Layout::kPlain));
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_binary_desc_init", &descriptor, algorithm, d[0], d[1], d[2]);
  };
  return {recipe};
}

std::vector<Recipe> reduction(const Operator& op, int algorithm) {
  if (!op.are_inputs_at_most(2) || op.input(0).dims().empty()) return {};
  const Dims& x = op.input(0).dims();
  const Dims axes = integers(op, 1).value_or(Dims());
  if (axes.empty() && op.get<int64_t>("noop_with_empty_axes", 0)) return {};
  Dims result = axes.empty() ? Dims(x.size(), 1) : x;
  for (const int64_t axis : axes)
    result[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis)] = 1;
  Recipe recipe;
  recipe.operands = {operand(kSource, x, op.inputs[0], Layout::kPlain),
                     operand(kDestination, result, nullptr, Layout::kPlain)};
  recipe.describe = [=](const Library& library, Descriptor& descriptor, const Descriptors& d) {
    return library.call("dnnl_reduction_desc_init", &descriptor, algorithm, d[0], d[1], 0.0F, 0.0F);
  };
  return {recipe};
}

std::vector<Recipe> transposition(const Operator& op) {
  if (!op.are_inputs_at_most(1) || op.output.empty()) return {};
  Dims order(op.output.size());
  std::iota(order.rbegin(), order.rend(), 0);
  order = op.get<Dims>("perm", order);
  Operand from = operand(kSource, op.output, op.inputs[0], Layout::kPlain);
  const Dims strides = row_major(op.input(0).dims());
  for (size_t k = 0; k < order.size(); ++k) from.strides[k] = strides[static_cast<size_t>(order[k])];
  return {{{from, operand(kDestination, op.output, nullptr, Layout::kPlain)}, nullptr}};
}

using Make = std::vector<Recipe> (*)(const Operator&);

const std::map<std::string_view, Make>& makers() {
  static const std::map<std::string_view, Make> all = {
      {"Conv", [](const Operator& op) { return convolution(op, false); }},
      {"ConvTranspose", [](const Operator& op) { return convolution(op, true); }},
      {"MatMul", matmul},
      {"Gemm", gemm},
      {"MaxPool", [](const Operator& op) { return pooling(op, true, false); }},
      {"AveragePool", [](const Operator& op) { return pooling(op, false, false); }},
      {"GlobalMaxPool", [](const Operator& op) { return pooling(op, true, true); }},
      {"GlobalAveragePool", [](const Operator& op) { return pooling(op, false, true); }},
      {"Softmax", [](const Operator& op) { return softmax(op, kSoftmax); }},
      {"LogSoftmax", [](const Operator& op) { return softmax(op, kLogSoftmax); }},
      {"LayerNormalization", layer_normalization},
      {"BatchNormalization", batch_normalization},
      {"Relu", [](const Operator& op) { return elementwise(op, 0x1f); }},
      {"LeakyRelu", [](const Operator& op) { return elementwise(op, 0x1f, op.get<float>("alpha", 0.01F)); }},
      {"Tanh", [](const Operator& op) { return elementwise(op, 0x2f); }},
      {"Elu", [](const Operator& op) { return elementwise(op, 0x3f, op.get<float>("alpha", 1)); }},
      {"Abs", [](const Operator& op) { return elementwise(op, 0x5f); }},
      {"Sqrt", [](const Operator& op) { return elementwise(op, 0x6f); }},
      {"Sigmoid", [](const Operator& op) { return elementwise(op, 0xaf); }},
      {"Exp", [](const Operator& op) { return elementwise(op, 0xbf); }},
      {"Log", [](const Operator& op) { return elementwise(op, 0xef); }},
      {"Clip", clip},
      {"Gelu",
       [](const Operator& op) {
         return elementwise(op, op.get<std::string>("approximate", "none") == "tanh" ? 0xcf : 0x30);
       }},
      {"Round", [](const Operator& op) { return elementwise(op, 0x40); }},
      {"Mish", [](const Operator& op) { return elementwise(op, 0x60); }},
      {"HardSwish", [](const Operator& op) { return elementwise(op, 0x70); }},
      {"Add", [](const Operator& op) { return binary(op, 0x1fff0); }},
      {"Mul", [](const Operator& op) { return binary(op, 0x1fff1); }},
      {"Max", [](const Operator& op) { return binary(op, 0x1fff2); }},
      {"Min", [](const Operator& op) { return binary(op, 0x1fff3); }},
      {"Div", [](const Operator& op) { return binary(op, 0x1fff4); }},
      {"Sub", [](const Operator& op) { return binary(op, 0x1fff5); }},
      {"ReduceMax", [](const Operator& op) { return reduction(op, 0x2fff2); }},
      {"ReduceMin", [](const Operator& op) { return reduction(op, 0x2fff3); }},
      {"ReduceSum", [](const Operator& op) { return reduction(op, 0x2fff4); }},
      {"ReduceProd", [](const Operator& op) { return reduction(op, 0x2fff5); }},
      {"ReduceMean", [](const Operator& op) { return reduction(op, 0x2fff6); }},
      {"Transpose", transposition},
  };
  return all;
}

}  // namespace

std::vector<Recipe> recipes(const Node& node, const std::vector<const Tensor*>& inputs, const Dims& output) {
  const auto found = makers().find(node.op_type);
  if (!node.domain.empty() || found == makers().end() || element_count(output) == 0) return {};
  std::vector<Recipe> all = found->second({node, inputs, output});
  std::erase_if(all, [](const Recipe& recipe) {
    return std::any_of(recipe.operands.begin(), recipe.operands.end(), [](const Operand& one) {
      return one.dims.empty() || one.dims.size() > kMostDims ||
             (one.tensor && (one.tensor->dtype() != DataType::kFloat32 || one.tensor->count() == 0));
    });
  });
  return all;
}

}  // namespace isomer::backends::dnnl
