// Tensors of a model file: every element type, typed fields or raw data, inside the file or beside it.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/onnx/onnx.pb.h"
#include "graph/onnx/payloads.h"
#include "graph/tensor.h"
#include "util/file.h"
#include "util/result.h"

namespace isomer {

class TensorReader {
 public:
  /// For tensors whose data stand in the message.
  TensorReader() = default;
  /// For tensors that are there: a message names one by its `payload`.
  explicit TensorReader(std::vector<Tensor> given) : given_(std::move(given)) {}
  /// `payloads` are ranges of `file`, which `owner` keeps alive; external data are looked for beneath `folder`;
  /// links there may also lead beneath `beside`, where that is a folder.
  TensorReader(std::span<const std::byte> file, std::shared_ptr<const void> owner, std::vector<Payload> payloads,
               std::filesystem::path folder, std::filesystem::path beside = {});

  /// Views into the file where it has the bytes as we want them, else a copy. Errors are sentences about the tensor
  /// without its name: the caller knows what it is called (`within`).
  Result<Tensor> read(const onnx_proto::TensorProto& proto);

  /// The dense tensor. Its size is limited by that of the data that are stored.
  Result<Tensor> read(const onnx_proto::SparseTensorProto& proto);

  /// For a message that is kept as it is: its tensors get the data that were cut out, and those from beside the file,
  /// which may not be there where the message is read again.
  Result<void> restore(onnx_proto::AttributeProto& proto);
  /// The same for what nobody reads here: where data from beside the file can't be had, the tensor stays as it is.
  void restore_unread(onnx_proto::GraphProto& proto);
  void restore_unread(google::protobuf::RepeatedPtrField<onnx_proto::NodeProto>& nodes);

  /// Location of the first external data that were read, not restored; empty: there were none.
  const std::string& external_file() const { return external_file_; }
  /// All that were read.
  std::vector<std::string> external_files() const;

 private:
  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  Result<Bytes> payload(uint32_t index) const;
  Result<Bytes> external(const onnx_proto::TensorProto& proto, uint64_t size);
  Result<void> restore(onnx_proto::TensorProto& proto);
  Result<void> restore(onnx_proto::SparseTensorProto& proto);
  Result<void> bring_in(onnx_proto::TensorProto& proto);

  std::vector<Tensor> given_;
  std::span<const std::byte> file_;
  std::shared_ptr<const void> owner_;
  std::vector<Payload> payloads_;
  std::filesystem::path path_, path_beside_;
  std::optional<Folder> folder_, beside_;
  std::map<std::string, std::shared_ptr<const MappedFile>> opened_;
  std::string external_file_;
  int64_t sparse_stored_ = 0, sparse_dense_ = 0;  ///< bytes so far
  int64_t restored_ = 0;                          ///< bytes of the file in what is kept
  uint64_t brought_in_ = 0;                       ///< bytes of external data in what is kept
};

}  // namespace isomer
