// Values in files of their own, as in ONNX's test data (input_0.pb, output_0.pb): a bare TensorProto, SequenceProto or
// OptionalProto each.
#pragma once

#include <filesystem>
#include <string>

#include "graph/graph.h"
#include "graph/te/array.h"
#include "graph/tensor.h"
#include "util/result.h"

namespace isomer {

/// Errors don't name the file.
Result<Tensor> read_tensor_file(const std::filesystem::path& path);
Result<void> write_tensor_file(const std::filesystem::path& path, const std::string& name, const Tensor& tensor);

/// Of a value whose type is a sequence or an optional, of tensors of numbers, and of each other. Others, such as maps,
/// are kUnsupported.
Result<te::Array> read_value_file(const std::filesystem::path& path, const ValueType& type);
/// An OptionalProto where the type is an optional, else as the value is.
Result<void> write_value_file(const std::filesystem::path& path, const std::string& name, const te::Array& value,
                              const ValueType& type);

}  // namespace isomer
