#include "graph/onnx/tensor_reader.h"

#include <algorithm>
#include <cstring>

#include "graph/infer.h"
#include "graph/onnx/packing.h"
#include "graph/onnx/typed_data.h"
#include "util/parse_number.h"

namespace isomer {
namespace {

using onnx_proto::SparseTensorProto;
using onnx_proto::TensorProto;

/// Dense bytes that sparse tensors may become: so many, and so many times what is stored. The same of what is kept, as
/// each call of a function has its attributes.
constexpr int64_t kDenseBytes = int64_t{64} << 20;
constexpr int64_t kDenseFactor = 32;

/// What may come into the file from beside it.
constexpr uint64_t kMaxBroughtIn = uint64_t{1} << 30;

/// Of one tensor: what reads all of it, as a hash does, must come to an end.
constexpr uint64_t kMaxExternalBytes = uint64_t{1} << 38;

Result<Dims> read_dims(const google::protobuf::RepeatedField<int64_t>& proto, DataType dtype) {
  if (proto.size() > kMaxRank) return invalid("", "rank of at most {} expected, {} found", kMaxRank, proto.size());
  const Dims dims(proto.begin(), proto.end());
  Dim bytes = std::max(1, bit_width(dtype) / 8);
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > kMaxDim) return invalid("", "dims in [0, 2^40] expected, {} found", dim);
    if (dim != 0) bytes = bytes * Dim(dim);
  }
  if (bytes.value() > kMaxBytes) return invalid("", "a tensor of at most 2^46 bytes expected, a larger one found");
  return dims;
}

Result<DataType> read_data_type(int64_t code) {
  if (code == 0) return invalid("", "a data type expected, none found");
  if (code < 0 || code > TensorProto::DataType_MAX)
    return invalid("", "a data type from 1 to {} expected, {} found", static_cast<int>(TensorProto::DataType_MAX),
                   code);
  if (!is_known_data_type(code)) return unsupported("", "data type {} is not supported", code);
  return static_cast<DataType>(code);
}

struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<ExternalPlace> read_place(const TensorProto& proto) {
  ExternalPlace place;
  std::map<std::string_view, std::string_view> entries;
  for (const auto& entry : proto.external_data())
    if (!entries.emplace(entry.key(), entry.value()).second)
      return invalid("", "external data keys of different names expected, '{}' found twice", entry.key());
  if (!entries.contains("location")) return invalid("", "external data with a location expected, none found");
  TRY_VOID(check_relative_path(entries["location"]));
  place.location = std::filesystem::path(entries["location"]).lexically_normal().string();
  for (const std::string_view key : {"offset", "length"}) {
    if (!entries.contains(key)) continue;
    const auto value = parse_number<uint64_t>(entries[key]);
    if (!value)
      return invalid("", "external data with {} {} in decimal expected, '{}' found", key == "offset" ? "an" : "a", key,
                     entries[key]);
    if (key == "offset")
      place.offset = *value;
    else
      place.length = value;
  }
  return place;
}

/// Where in the dense tensor each stored element goes: given as flat positions, or as one index a dim.
Result<std::vector<int64_t>> sparse_positions(const Tensor& indices, const Dims& dims, int64_t stored) {
  const auto rank = static_cast<int64_t>(dims.size());
  const bool flat = indices.dims() == Dims{stored};
  if (indices.dtype() != DataType::kInt64 || !(flat || indices.dims() == Dims{stored, rank}))
    return invalid("", "indices of type int64 and shape [{}] or [{},{}] expected, another found", stored, stored, rank);
  const int64_t count = element_count(dims);
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < stored; ++i) {
    int64_t position = flat ? indices.integer(i) : 0;
    for (int64_t axis = 0; !flat && axis < rank; ++axis) {
      const int64_t index = indices.integer(i * rank + axis);
      if (index < 0 || index >= dims[axis])
        return invalid("", "an index in [0, {}) expected, {} found", dims[axis], index);
      position = position * dims[axis] + index;
    }
    if (position < 0 || position >= count)
      return invalid("", "an index in [0, {}) expected, {} found", count, position);
    if (!positions.empty() && position <= positions.back())
      return invalid("", "indices in ascending order expected, others found");
    positions.push_back(position);
  }
  return positions;
}

}  // namespace

TensorReader::TensorReader(std::span<const std::byte> file, std::shared_ptr<const void> owner,
                           std::vector<Payload> payloads, std::filesystem::path folder, std::filesystem::path beside)
    : file_(file),
      owner_(std::move(owner)),
      payloads_(std::move(payloads)),
      path_(std::move(folder)),
      path_beside_(std::move(beside)) {}

Result<TensorReader::Bytes> TensorReader::payload(uint32_t index) const {
  if (index >= payloads_.size()) return invalid("", "raw_data expected, none found");
  return Bytes{file_.subspan(payloads_[index].offset, payloads_[index].size), owner_};
}

Result<TensorReader::Bytes> TensorReader::external(const TensorProto& proto, uint64_t size) {
  TRY(const ExternalPlace place, read_place(proto));
  if (path_.empty()) return unsupported("", "external data need a model that is read from a file");
  if (size > kMaxExternalBytes) return unsupported("", "external data of at most 2^38 bytes expected, {} found", size);
  // Some exporters write 0 for all.
  if (place.length.value_or(0) != 0 && *place.length != size)
    return invalid("", "external data of {} bytes expected, {} found", size, *place.length);
  if (!folder_) {
    TRY(folder_, Folder::open(path_));
    if (!path_beside_.empty()) {
      TRY(beside_, Folder::open(path_beside_));
    }
  }
  auto& file = opened_[place.location];
  if (!file) {
    auto mapped = folder_->map_file(place.location, beside_ ? &*beside_ : nullptr);
    if (!mapped.ok()) return std::move(mapped).error().within(fmt::format("external data '{}'", place.location));
    file = std::move(*mapped);
  }
  const auto bytes = file->bytes();
  if (place.offset > bytes.size() || size > bytes.size() - place.offset)
    return invalid("", "{} bytes from offset {} of external data '{}' expected, a file of {} bytes found", size,
                   place.offset, place.location, bytes.size());
  return Bytes{bytes.subspan(place.offset, size), file};
}

std::vector<std::string> TensorReader::external_files() const {
  std::vector<std::string> files;
  for (const auto& [location, file] : opened_) files.push_back(location);
  return files;
}

Result<Tensor> TensorReader::read(const TensorProto& proto) {
  if (proto.has_payload() && proto.payload() < given_.size()) return given_[proto.payload()];
  TRY(const DataType dtype, read_data_type(proto.data_type()));
  TRY(Dims dims, read_dims(proto.dims(), dtype));
  if (proto.has_segment()) return unsupported("", "tensors in segments are not supported");
  if (proto.data_location() != TensorProto::DEFAULT && proto.data_location() != TensorProto::EXTERNAL)
    return invalid("", "data_location 0 or 1 expected, {} found", proto.data_location());
  const bool outside = proto.data_location() == TensorProto::EXTERNAL;
  const bool raw = proto.has_raw_data() || proto.has_payload();
  if (raw + outside + typed_fields(proto) > 1) return invalid("", "data in one field expected, in several found");
  if (dtype == DataType::kString) {
    if (raw || outside) return invalid("", "strings in string_data expected, other data found");
    return read_strings(proto, std::move(dims));
  }
  const int64_t count = element_count(dims);
  const auto size = static_cast<uint64_t>(packed_bytes(dtype, count));
  if (!raw && !outside) return read_typed(proto, dtype, std::move(dims));
  Bytes data;
  if (outside) {
    TRY(data, external(proto, size));
    if (external_file_.empty()) external_file_ = read_place(proto)->location;
  } else if (proto.has_payload()) {
    TRY(data, payload(proto.payload()));
  } else {
    const auto owner = std::make_shared<const std::string>(proto.raw_data());
    data = {std::as_bytes(std::span(*owner)), owner};
  }
  if (data.bytes.size() != size)
    return invalid("", "raw_data of {} bytes for {}{} expected, {} found", size, name(dtype),
                   text(Shape(dims.begin(), dims.end())), data.bytes.size());
  if (value_bits(dtype) < 8) return Tensor(dtype, std::move(dims), unpacked(dtype, count, data.bytes));
  return Tensor(dtype, std::move(dims), data.bytes, std::move(data.owner));
}

Result<Tensor> TensorReader::read(const SparseTensorProto& proto) {
  TRY(const Tensor values, read(proto.values()));
  TRY(const Tensor indices, read(proto.indices()));
  TRY(Dims dims, read_dims(proto.dims(), values.dtype()));
  const int width = bit_width(values.dtype()) / 8;
  if (width == 0) return unsupported("", "sparse tensors of {} are not supported", name(values.dtype()));
  if (values.dims().size() != 1)
    return invalid("", "values of rank 1 expected, of rank {} found", values.dims().size());
  TRY(const auto positions, sparse_positions(indices, dims, values.count()));
  sparse_stored_ += static_cast<int64_t>(values.bytes().size() + indices.bytes().size());
  sparse_dense_ += byte_size(values.dtype(), element_count(dims));
  if (sparse_dense_ > kDenseBytes + kDenseFactor * sparse_stored_)
    return unsupported("", "a sparse tensor of at most 64 MiB and {} times its data expected, one of shape {} found",
                       kDenseFactor, text(Shape(dims.begin(), dims.end())));
  std::vector<std::byte> dense(byte_size(values.dtype(), element_count(dims)));
  for (size_t i = 0; i < positions.size(); ++i)
    std::memcpy(&dense[positions[i] * width], &values.bytes()[i * width], width);
  return Tensor(values.dtype(), std::move(dims), std::move(dense));
}

Result<void> TensorReader::bring_in(TensorProto& proto) {
  TRY(const DataType dtype, read_data_type(proto.data_type()));
  TRY(const Dims dims, read_dims(proto.dims(), dtype));
  if (dtype == DataType::kString) return invalid("", "strings in string_data expected, other data found");
  const auto size = static_cast<uint64_t>(packed_bytes(dtype, element_count(dims)));
  if (size > kMaxBroughtIn - brought_in_)
    return unsupported("", "external data of at most {} MiB where tensors are kept as they are expected, more found",
                       kMaxBroughtIn >> 20);
  TRY(const Bytes data, external(proto, size));
  brought_in_ += size;
  proto.set_raw_data(data.bytes.data(), data.bytes.size());
  proto.clear_data_location();
  proto.clear_external_data();
  return {};
}

Result<void> TensorReader::restore(TensorProto& proto) {
  if (proto.has_payload()) {
    TRY(const Bytes data, payload(proto.payload()));
    restored_ += static_cast<int64_t>(data.bytes.size());
    if (restored_ > kDenseBytes + kDenseFactor * static_cast<int64_t>(file_.size()))
      return unsupported(
          "", "tensors that are kept as they are of at most 64 MiB and {} times the file expected, more found",
          kDenseFactor);
    proto.set_raw_data(data.bytes.data(), data.bytes.size());
    proto.clear_payload();
  }
  return proto.data_location() == TensorProto::EXTERNAL ? bring_in(proto) : Result<void>();
}

Result<void> TensorReader::restore(SparseTensorProto& proto) {
  const auto values = proto.has_values() ? restore(*proto.mutable_values()) : Result<void>();
  const auto indices = proto.has_indices() ? restore(*proto.mutable_indices()) : Result<void>();
  return values.ok() ? indices : values;
}

Result<void> TensorReader::restore(onnx_proto::AttributeProto& proto) {
  Result<void> done = proto.has_t() ? restore(*proto.mutable_t()) : Result<void>();
  const auto restore_next = [&](auto& tensor) {
    if (auto next = restore(tensor); done.ok()) done = std::move(next);
  };
  for (TensorProto& tensor : *proto.mutable_tensors()) restore_next(tensor);
  if (proto.has_sparse_tensor()) restore_next(*proto.mutable_sparse_tensor());
  for (SparseTensorProto& sparse : *proto.mutable_sparse_tensors()) restore_next(sparse);
  return done;
}

void TensorReader::restore_unread(onnx_proto::GraphProto& proto) {
  for (TensorProto& tensor : *proto.mutable_initializer()) (void)restore(tensor);
  for (SparseTensorProto& sparse : *proto.mutable_sparse_initializer()) (void)restore(sparse);
  restore_unread(*proto.mutable_node());
}

void TensorReader::restore_unread(google::protobuf::RepeatedPtrField<onnx_proto::NodeProto>& nodes) {
  for (onnx_proto::NodeProto& node : nodes)
    for (onnx_proto::AttributeProto& attribute : *node.mutable_attribute()) {
      (void)restore(attribute);
      if (attribute.has_g()) restore_unread(*attribute.mutable_g());
      for (onnx_proto::GraphProto& body : *attribute.mutable_graphs()) restore_unread(body);
    }
}

}  // namespace isomer
