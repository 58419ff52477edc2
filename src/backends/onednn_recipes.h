// Which primitive of oneDNN an operator of ONNX is.
#pragma once

#include <functional>
#include <vector>

#include "backends/onednn_library.h"
#include "graph/graph.h"

namespace isomer::backends::dnnl {

/// An argument of a primitive: elements of ours, and the layout that the primitive is to see.
struct Operand {
  enum class Layout : uint8_t { kAny, kPlain, kChannelsLast, kBlocks8, kBlocks16 };

  int argument = 0;
  Dims dims;
  Dims strides;                    ///< of our elements
  const Tensor* tensor = nullptr;  ///< null: the result
  Layout layout = Layout::kAny;
};

struct Recipe {
  std::vector<Operand> operands;  ///< the last is the result
  /// Fills a descriptor, given those of the operands, in their order; gives a status. Null: a reorder of the first
  /// operand.
  std::function<int(const Library&, Descriptor&, const std::vector<const MemoryDescriptor*>&)> describe;
};

/// Ways to run a node on its inputs (null where omitted), float32 all; empty where there is no primitive. Which layout
/// and which of two primitives is best only measuring tells.
std::vector<Recipe> recipes(const Node& node, const std::vector<const Tensor*>& inputs, const Dims& output);

}  // namespace isomer::backends::dnnl
