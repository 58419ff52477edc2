#include "backends/gpu_operation.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace isomer::backends::gpu {
namespace {

int64_t product(const Dims& dims, size_t from, size_t to) {
  return std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(from),
                         dims.begin() + static_cast<std::ptrdiff_t>(to), int64_t{1}, std::multiplies<>());
}

/// What a value is before the graph runs; null where a node computes it.
const Tensor* given(const Graph& graph, const std::vector<Tensor>& inputs, ValueId id) {
  if (!id.valid()) return nullptr;
  const auto input = std::find(graph.inputs().begin(), graph.inputs().end(), id);
  if (input != graph.inputs().end()) return &inputs[static_cast<size_t>(input - graph.inputs().begin())];
  const Value& value = graph.value(id);
  return value.constant ? &*value.constant : nullptr;
}

/// A node with its operands, null where omitted or computed, and the dims of what it gives.
struct Operator {
  const Node& node;
  std::vector<const Tensor*> inputs;
  Dims output;

  template <class T>
  T get(const char* name, T otherwise) const {
    const auto found = node.attributes.find(name);
    const T* const value = found == node.attributes.end() ? nullptr : std::get_if<T>(&found->second);
    return value ? *value : otherwise;
  }
  bool has(size_t k) const { return k < inputs.size() && inputs[k]; }
  const Tensor& input(size_t k) const { return *inputs[k]; }
  /// Whether all operands are given, at least `least` and at most `most`.
  bool is_given(size_t least, size_t most) const {
    for (size_t k = 0; k < node.inputs.size(); ++k)
      if (node.inputs[k].valid() != has(k)) return false;
    for (size_t k = 0; k < least; ++k)
      if (!has(k)) return false;
    return inputs.size() <= most;
  }
  size_t axis(int64_t otherwise) const {
    const int64_t given = get<int64_t>("axis", otherwise);
    return static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(output.size()) : given);
  }
};

std::optional<Operator> operator_of(const Graph& graph, const std::vector<Tensor>& inputs, NodeId id) {
  const Node& node = graph.node(id);
  if (node.outputs.size() != 1 || !node.domain.empty() || !node.captures.empty()) return std::nullopt;
  const ValueType& type = graph.value(node.outputs[0]).type;
  const auto output = type.has_shape() ? constants(*type.shape) : std::nullopt;
  if (!output || element_count(*output) == 0) return std::nullopt;
  Operator op{node, {}, *output};
  for (const ValueId input : node.inputs) op.inputs.push_back(given(graph, inputs, input));
  return op;
}

/// A tensor that is the same along all axes of `output` but one; as a vector.
std::optional<Tensor> vector_along(const Tensor& tensor, const Dims& output, size_t axis) {
  Dims dims = tensor.dims();
  if (dims.size() > output.size()) return std::nullopt;
  dims.insert(dims.begin(), output.size() - dims.size(), 1);
  if (dims[axis] != output[axis] || tensor.count() != output[axis]) return std::nullopt;
  return tensor.reshaped({output[axis]});
}

Window window_of(const Operator& op, const Dims& kernel, const Dims& input) {
  const size_t rank = kernel.size();
  const auto of_each = [&](const char* name, int64_t otherwise) { return op.get<Dims>(name, Dims(rank, otherwise)); };
  Window window{kernel, of_each("strides", 1), of_each("dilations", 1), Dims(rank, 0), Dims(rank, 0)};
  const Dims pads = op.get<Dims>("pads", Dims(2 * rank, 0));
  const std::string automatic = op.get<std::string>("auto_pad", "NOTSET");
  for (size_t k = 0; k < rank; ++k) {
    if (automatic.starts_with("SAME")) {
      const int64_t reach = (op.output[k + 2] - 1) * window.strides[k] + (kernel[k] - 1) * window.dilations[k] + 1;
      const int64_t all = std::max<int64_t>(reach - input[k + 2], 0);
      window.begin[k] = automatic == "SAME_UPPER" ? all / 2 : (all + 1) / 2;
      window.end[k] = all - window.begin[k];
    } else if (automatic == "NOTSET") {
      window.begin[k] = pads[k];
      window.end[k] = pads[rank + k];
    }
  }
  return window;
}

using Made = std::optional<Operation>;

Made convolution(const Operator& op) {
  if (!op.is_given(2, 3) || op.input(0).dims().size() < 3) return std::nullopt;
  const Dims& weights = op.input(1).dims();
  const Dims kernel(weights.begin() + 2, weights.end());
  Operation made{Convolution{op.input(0), op.input(1), window_of(op, kernel, op.input(0).dims())}};
  if (op.has(2)) made.bias = op.input(2);
  return made;
}

Made pooling(const Operator& op, bool is_maximum, bool is_global) {
  if (!op.is_given(1, 1) || op.input(0).dims().size() < 3) return std::nullopt;
  const Dims& input = op.input(0).dims();
  const Dims kernel = is_global ? Dims(input.begin() + 2, input.end()) : op.get<Dims>("kernel_shape", {});
  if (kernel.size() + 2 != input.size()) return std::nullopt;
  using Mode = Pooling::Mode;
  const Mode mode = is_maximum                                     ? Mode::kMaximum
                    : op.get<int64_t>("count_include_pad", 0) != 0 ? Mode::kMeanWithPadding
                                                                   : Mode::kMeanInside;
  return Operation{Pooling{op.input(0), window_of(op, kernel, input), mode}};
}

Made matmul(const Operator& op) {
  if (!op.is_given(2, 2)) return std::nullopt;
  Dims a = op.input(0).dims(), b = op.input(1).dims();
  if (a.empty() || b.empty()) return std::nullopt;
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product made{.left = op.input(0), .right = op.input(1)};
  made.k = a.back();
  made.n = b.back();
  made.m = a[a.size() - 2];
  made.left_batch = product(a, 0, a.size() - 2);
  made.right_batch = product(b, 0, b.size() - 2);
  // Rows of all batches are rows of one product with the same right side.
  if (made.right_batch == 1) made.m *= std::exchange(made.left_batch, 1);
  made.batch = element_count(op.output) / (made.m * made.n);
  const auto is_whole = [&](int64_t batch) { return batch == 1 || batch == made.batch; };
  if (!is_whole(made.left_batch) || !is_whole(made.right_batch)) return std::nullopt;
  return Operation{std::move(made)};
}

Made gemm(const Operator& op) {
  if (!op.is_given(2, 3) || (op.has(2) && op.get<float>("beta", 1) != 1)) return std::nullopt;
  Product made{.left = op.input(0), .right = op.input(1)};
  made.is_left_transposed = op.get<int64_t>("transA", 0) != 0;
  made.is_right_transposed = op.get<int64_t>("transB", 0) != 0;
  made.m = op.output[0];
  made.n = op.output[1];
  made.k = made.left.dims()[made.is_left_transposed ? 0 : 1];
  made.factor = op.get<float>("alpha", 1);
  Operation operation{std::move(made)};
  if (!op.has(2)) return operation;
  operation.bias = vector_along(op.input(2), op.output, 1);
  return operation.bias ? Made(std::move(operation)) : std::nullopt;
}

Made softmax(const Operator& op) {
  if (!op.is_given(1, 1) || op.output.empty()) return std::nullopt;
  const size_t axis = op.axis(-1);
  return Operation{Softmax{op.input(0), product(op.output, 0, axis), op.output[axis],
                           product(op.output, axis + 1, op.output.size())}};
}

Made layer_normalization(const Operator& op) {
  if (!op.is_given(2, 3) || op.output.empty()) return std::nullopt;
  const size_t axis = op.axis(-1);
  const int64_t rows = product(op.output, 0, axis), columns = product(op.output, axis, op.output.size());
  const std::vector<double> zeros(static_cast<size_t>(columns));
  const Tensor shift = op.has(2) ? op.input(2) : Tensor::from_doubles(op.input(1).dtype(), {columns}, zeros);
  if (op.input(1).count() != columns || shift.count() != columns) return std::nullopt;
  return Operation{LayerNormalization{op.input(0), op.input(1), shift, rows, columns, op.get<float>("epsilon", 1e-5F)}};
}

Made core_of(const Operator& op) {
  using Make = Made (*)(const Operator&);
  static const std::map<std::string_view, Make> makers = {
      {"Conv", convolution},
      {"MatMul", matmul},
      {"Gemm", gemm},
      {"Softmax", softmax},
      {"LayerNormalization", layer_normalization},
      {"MaxPool", [](const Operator& node) { return pooling(node, true, false); }},
      {"AveragePool", [](const Operator& node) { return pooling(node, false, false); }},
      {"GlobalMaxPool", [](const Operator& node) { return pooling(node, true, true); }},
      {"GlobalAveragePool", [](const Operator& node) { return pooling(node, false, true); }},
  };
  const auto found = makers.find(op.node.op_type);
  return !op.node.domain.empty() || found == makers.end() ? std::nullopt : found->second(op);
}

Activation activation_of(const Operator& op) {
  if (!op.node.domain.empty()) return Activation::kNone;
  if (op.node.op_type == "Relu") return Activation::kRelu;
  if (op.node.op_type == "Gelu")
    return op.get<std::string>("approximate", "none") == "tanh" ? Activation::kGeluTanh : Activation::kGelu;
  // Before opset 11 its limits are attributes.
  const auto limit = [&](size_t input, const char* name) {
    return op.has(input) && op.input(input).count() == 1 ? op.input(input).real(0) : double{op.get<float>(name, -1)};
  };
  return op.node.op_type == "Clip" && limit(1, "min") == 0 && limit(2, "max") == 6 ? Activation::kRelu6
                                                                                   : Activation::kNone;
}

std::vector<const Tensor*> tensors_of(const Operation& operation) {
  std::vector<const Tensor*> all;
  if (operation.bias) all.push_back(&*operation.bias);
  std::visit(
      [&](const auto& core) {
        if constexpr (requires { core.input; }) all.push_back(&core.input);
        if constexpr (requires { core.weights; }) all.push_back(&core.weights);
        if constexpr (requires { core.left; }) all.insert(all.end(), {&core.left, &core.right});
        if constexpr (requires { core.scale; }) all.insert(all.end(), {&core.scale, &core.shift});
      },
      operation.core);
  return all;
}

/// Elements of a bias; 0: what neither bias nor activation is part of.
int64_t columns_of(const Operation& operation) {
  if (const auto* const one = std::get_if<Convolution>(&operation.core)) return one->weights.dims()[0];
  const auto* const one = std::get_if<Product>(&operation.core);
  return one ? one->n : 0;
}

bool is_computable(const Operation& operation) {
  const DataType dtype = operation.dtype;
  if (dtype != DataType::kFloat32 && dtype != DataType::kFloat16 && dtype != DataType::kBFloat16) return false;
  const std::vector<const Tensor*> tensors = tensors_of(operation);
  return std::all_of(tensors.begin(), tensors.end(),
                     [&](const Tensor* one) { return one->dtype() == dtype && one->count() > 0; });
}

}  // namespace

std::optional<Operation> operation_of(const Graph& graph, const std::vector<Tensor>& inputs) {
  if (graph.outputs().size() != 1) return std::nullopt;
  // From the output back to the operator that all begins with; each node is the only source of the last one.
  std::optional<Tensor> bias;
  Activation activation = Activation::kNone;
  NodeId at = graph.value(graph.outputs()[0]).producer;
  for (int left = graph.node_count(); left > 1; --left) {
    const auto op = at.valid() ? operator_of(graph, inputs, at) : std::nullopt;
    if (!op || op->inputs.empty()) return std::nullopt;
    const bool is_sum = op->node.op_type == "Add" && op->has(0) != op->has(1);
    const size_t vector = op->has(0) ? 0 : 1;
    const ValueId source = op->node.inputs[is_sum ? 1 - vector : 0];
    if (!source.valid() || graph.value(source).type != graph.value(op->node.outputs[0]).type) return std::nullopt;
    at = graph.value(source).producer;
    if (bias || !at.valid()) return std::nullopt;
    if (is_sum) {
      const size_t axis = graph.node(at).op_type == "Conv" ? 1 : op->output.size() - 1;
      if (axis < op->output.size()) bias = vector_along(op->input(vector), op->output, axis);
      if (!bias) return std::nullopt;
    } else {
      if (activation != Activation::kNone) return std::nullopt;
      activation = activation_of(*op);
      if (activation == Activation::kNone) return std::nullopt;
    }
  }
  const auto first = at.valid() ? operator_of(graph, inputs, at) : std::nullopt;
  Made made = first ? core_of(*first) : std::nullopt;
  if (!made) return std::nullopt;
  const int64_t columns = columns_of(*made);
  if ((bias || activation != Activation::kNone) && columns == 0) return std::nullopt;
  if (bias && (made->bias || bias->count() != columns)) return std::nullopt;
  if (bias) made->bias = std::move(bias);
  made->activation = activation;
  made->output = first->output;
  made->dtype = graph.value(graph.outputs()[0]).type.dtype;
  return is_computable(*made) ? made : std::nullopt;
}

}  // namespace isomer::backends::gpu
