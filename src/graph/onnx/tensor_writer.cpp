#include "graph/onnx/tensor_writer.h"

#include "graph/onnx/packing.h"
#include "graph/onnx/wire.h"

namespace isomer {
namespace {

using onnx_proto::TensorProto;

std::string data_prefix(const Tensor& tensor) {
  std::string prefix;
  wire::append_tag(prefix, TensorProto::kRawDataFieldNumber, wire::Type::kBytes);
  wire::append_varint(prefix, size_in_file(tensor));
  return prefix;
}

}  // namespace

TensorProto tensor_header(const std::string& name, const Tensor& tensor) {
  TensorProto proto;
  if (!name.empty()) proto.set_name(name);
  proto.set_data_type(static_cast<int>(tensor.dtype()));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  return proto;
}

void add_data(TensorProto& header, const Tensor& tensor) {
  if (tensor.dtype() == DataType::kString) {
    for (const std::string& text : tensor.strings()) header.add_string_data(text);
    return;
  }
  const FileBytes data(tensor);
  header.set_raw_data(data.bytes().data(), data.bytes().size());
}

TensorProto tensor_message(const std::string& name, const Tensor& tensor) {
  TensorProto proto = tensor_header(name, tensor);
  add_data(proto, tensor);
  return proto;
}

uint64_t written_size(const TensorProto& header, const Tensor& tensor) {
  if (tensor.dtype() == DataType::kString) {
    TensorProto proto = tensor_message("", tensor);
    proto.clear_data_type();
    proto.clear_dims();
    return header.ByteSizeLong() + proto.ByteSizeLong();
  }
  return header.ByteSizeLong() + data_prefix(tensor).size() + size_in_file(tensor);
}

Result<void> write_tensor(const TensorProto& header, const Tensor& tensor, OutputFile& file) {
  TRY_VOID(file.write(header.SerializeAsString()));
  if (tensor.dtype() == DataType::kString) {
    TensorProto proto = tensor_message("", tensor);
    proto.clear_data_type();
    proto.clear_dims();
    return file.write(proto.SerializeAsString());
  }
  TRY_VOID(file.write(data_prefix(tensor)));
  return file.write(FileBytes(tensor).bytes());
}

}  // namespace isomer
