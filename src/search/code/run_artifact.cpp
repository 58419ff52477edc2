#include "search/code/run_artifact.h"

namespace isomer::search {

Result<std::vector<te::Array>> run_artifact(runtime::Session& session, std::span<const te::Array> inputs) {
  std::vector<Tensor> tensors;
  std::vector<runtime::Tensor> given, made(session.variant().outputs.size());
  for (const te::Array& array : inputs) tensors.push_back(te::to_tensor(array));
  for (const Tensor& tensor : tensors)
    // Inputs are only read.
    given.push_back({static_cast<runtime::ElementType>(tensor.dtype()), tensor.dims(),
                     const_cast<std::byte*>(tensor.bytes().data())});
  TRY_VOID(session.run(given, made));
  std::vector<te::Array> outputs;
  for (const runtime::Tensor& tensor : made) {
    const auto dtype = static_cast<DataType>(tensor.type);
    const Dims dims(tensor.dims.begin(), tensor.dims.end());
    const auto* first = static_cast<const std::byte*>(tensor.data);
    const auto size = static_cast<size_t>(byte_size(dtype, element_count(dims)));
    outputs.push_back(te::Array::from(Tensor(dtype, dims, std::vector<std::byte>(first, first + size))));
  }
  return outputs;
}

}  // namespace isomer::search
