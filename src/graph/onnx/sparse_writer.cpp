#include "graph/onnx/sparse_writer.h"

#include <algorithm>

#include "graph/onnx/tensor_writer.h"

namespace isomer {

std::optional<onnx_proto::SparseTensorProto> sparse_message(const std::string& name, const Tensor& tensor) {
  const int width = bit_width(tensor.dtype()) / 8;
  if (width == 0) return std::nullopt;
  const auto bytes = tensor.bytes();
  std::vector<int64_t> indices;
  std::vector<std::byte> values;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const auto element = bytes.subspan(i * width, width);
    if (std::all_of(element.begin(), element.end(), [](std::byte byte) { return byte == std::byte{0}; })) continue;
    indices.push_back(i);
    values.insert(values.end(), element.begin(), element.end());
  }
  if (indices.size() * (width + sizeof(int64_t)) >= bytes.size()) return std::nullopt;
  onnx_proto::SparseTensorProto proto;
  const auto count = static_cast<int64_t>(indices.size());
  *proto.mutable_values() = tensor_message(name, Tensor(tensor.dtype(), {count}, std::move(values)));
  *proto.mutable_indices() = tensor_message("", Tensor::int64s(std::move(indices)));
  for (const int64_t dim : tensor.dims()) proto.add_dims(dim);
  return proto;
}

}  // namespace isomer
