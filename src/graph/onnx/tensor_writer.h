// Tensors into messages and files, without a copy of large ones.
#pragma once

#include <cstdint>
#include <string>

#include "graph/onnx/onnx.pb.h"
#include "graph/tensor.h"
#include "util/output_file.h"

namespace isomer {

/// Name, type and dims, without data.
onnx_proto::TensorProto tensor_header(const std::string& name, const Tensor& tensor);

/// The same with its data, for messages that are serialized as a whole.
onnx_proto::TensorProto tensor_message(const std::string& name, const Tensor& tensor);

/// A message of header and data, from the header.
void add_data(onnx_proto::TensorProto& header, const Tensor& tensor);

/// Bytes that write_tensor writes.
uint64_t written_size(const onnx_proto::TensorProto& header, const Tensor& tensor);

/// The serialized message of header and data.
Result<void> write_tensor(const onnx_proto::TensorProto& header, const Tensor& tensor, OutputFile& file);

}  // namespace isomer
