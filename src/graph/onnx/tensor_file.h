// Tensors in files of their own: a bare TensorProto each, as in ONNX's test data (input_0.pb, output_0.pb).
#pragma once

#include <filesystem>
#include <string>

#include "graph/tensor.h"
#include "util/result.h"

namespace isomer {

/// Errors don't name the file. Sequences and optionals are kUnsupported.
Result<Tensor> read_tensor_file(const std::filesystem::path& path);
Result<void> write_tensor_file(const std::filesystem::path& path, const std::string& name, const Tensor& tensor);

}  // namespace isomer
