// Sparse initializers.
#pragma once

#include <optional>
#include <string>

#include "graph/onnx/onnx.pb.h"
#include "graph/tensor.h"

namespace isomer {

/// Elements whose bits are not all zero; nothing where the dense tensor is smaller.
std::optional<onnx_proto::SparseTensorProto> sparse_message(const std::string& name, const Tensor& tensor);

}  // namespace isomer
