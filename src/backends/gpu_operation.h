// A graph as one call of a GPU library: an operator, then perhaps a bias and an activation.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace isomer::backends::gpu {

/// What a window does along each axis behind the channels; `begin` and `end` are paddings.
struct Window {
  Dims kernel, strides, dilations, begin, end;
};

struct Convolution {
  Tensor input, weights;  ///< channels are the second axis
  Window window;
};

/// Of row-major matrices [m, k] and [k, n], or what they are transposed; in batches, each its own or all the same.
struct Product {
  Tensor left, right;
  bool is_left_transposed = false, is_right_transposed = false;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  int64_t left_batch = 1, right_batch = 1;  ///< `batch`, or 1: the same in all
  float factor = 1;
};

struct Softmax {
  Tensor input;
  int64_t outer = 1, length = 1, inner = 1;  ///< elements before, along and behind the axis
};

struct LayerNormalization {
  Tensor input, scale, shift;     ///< a shift of zeros where the node has none
  int64_t rows = 1, columns = 1;  ///< each row is normalized
  float epsilon = 1e-5F;
};

struct Pooling {
  enum class Mode : uint8_t { kMaximum, kMeanWithPadding, kMeanInside };
  Tensor input;
  Window window;
  Mode mode = Mode::kMaximum;
};

enum class Activation : uint8_t { kNone, kRelu, kRelu6, kGelu, kGeluTanh };

struct Operation {
  std::variant<Convolution, Product, Softmax, LayerNormalization, Pooling> core;
  std::optional<Tensor> bias = {};  ///< [channels] of a convolution, [n] of a product
  Activation activation = Activation::kNone;
  DataType dtype = DataType::kFloat32;  ///< of all tensors: float32, float16 or bfloat16
  Dims output = {};
};

/// Nothing where the graph is not one, or computes with more or other types.
std::optional<Operation> operation_of(const Graph& graph, const std::vector<Tensor>& inputs);

}  // namespace isomer::backends::gpu
