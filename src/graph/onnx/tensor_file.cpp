#include "graph/onnx/tensor_file.h"

#include "graph/onnx/tensor_reader.h"
#include "graph/onnx/tensor_writer.h"
#include "util/output_file.h"

namespace isomer {

Result<Tensor> read_tensor_file(const std::filesystem::path& path) {
  TRY(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  onnx_proto::TensorProto proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("", "a TensorProto expected, something else found");
  return TensorReader().read(proto);
}

Result<void> write_tensor_file(const std::filesystem::path& path, const std::string& name, const Tensor& tensor) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(write_tensor(tensor_header(name, tensor), tensor, file));
  return file.commit();
}

}  // namespace isomer
