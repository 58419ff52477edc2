#include "graph/onnx/typed_data.h"

#include <cstring>

#include "graph/onnx/packing.h"

namespace isomer {
namespace {

using onnx_proto::TensorProto;

enum class Field { kFloat, kInt32, kInt64, kDouble, kUInt64, kString };

/// The field that the specification has for a type.
Field field_of(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat32:
    case DataType::kComplex64: return Field::kFloat;
    case DataType::kFloat64:
    case DataType::kComplex128: return Field::kDouble;
    case DataType::kInt64: return Field::kInt64;
    case DataType::kUInt32:
    case DataType::kUInt64: return Field::kUInt64;
    case DataType::kString: return Field::kString;
    default: return Field::kInt32;
  }
}

std::string_view name_of(Field field) {
  switch (field) {
    case Field::kFloat: return "float_data";
    case Field::kInt32: return "int32_data";
    case Field::kInt64: return "int64_data";
    case Field::kDouble: return "double_data";
    case Field::kUInt64: return "uint64_data";
    case Field::kString: return "string_data";
  }
  return {};
}

int64_t size_of(const TensorProto& proto, Field field) {
  switch (field) {
    case Field::kFloat: return proto.float_data_size();
    case Field::kInt32: return proto.int32_data_size();
    case Field::kInt64: return proto.int64_data_size();
    case Field::kDouble: return proto.double_data_size();
    case Field::kUInt64: return proto.uint64_data_size();
    case Field::kString: return proto.string_data_size();
  }
  return 0;
}

/// Elements of int32_data, or bytes of several: what the bits of so many bytes allow, read as signed or unsigned,
/// whatever the type.
bool fits(int bytes, int64_t value) {
  const int bits = 8 * bytes;
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << bits;
}

template <class Values>
std::vector<std::byte> copied(const Values& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(*values.data()));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Result<std::vector<std::byte>> narrowed(const TensorProto& proto, DataType dtype) {
  const int width = std::max(1, bit_width(dtype) / 8);
  std::vector<std::byte> bytes(static_cast<size_t>(proto.int32_data_size()) * width);
  for (int i = 0; i < proto.int32_data_size(); ++i) {
    const int32_t value = dtype == DataType::kBool ? proto.int32_data(i) != 0 : proto.int32_data(i);
    if (!fits(width, value)) return invalid("", "values that fit {} expected, {} found", name(dtype), value);
    std::memcpy(&bytes[static_cast<size_t>(i) * width], &value, width);
  }
  return bytes;
}

Result<std::vector<std::byte>> narrowed_unsigned(const TensorProto& proto) {
  std::vector<std::byte> bytes(static_cast<size_t>(proto.uint64_data_size()) * 4);
  for (int i = 0; i < proto.uint64_data_size(); ++i) {
    const uint64_t value = proto.uint64_data(i);
    if (value > UINT32_MAX) return invalid("", "values that fit uint32 expected, {} found", value);
    std::memcpy(&bytes[static_cast<size_t>(i) * 4], &value, 4);
  }
  return bytes;
}

/// Words of the field that `count` elements take.
int64_t words(DataType dtype, int64_t count) {
  if (dtype == DataType::kComplex64 || dtype == DataType::kComplex128) return 2 * count;
  return value_bits(dtype) < 8 ? packed_bytes(dtype, count) : count;
}

}  // namespace

int typed_fields(const TensorProto& proto) {
  int count = 0;
  for (const Field field :
       {Field::kFloat, Field::kInt32, Field::kInt64, Field::kDouble, Field::kUInt64, Field::kString})
    count += size_of(proto, field) > 0;
  return count;
}

Result<Tensor> read_typed(const TensorProto& proto, DataType dtype, Dims dims) {
  const Field field = field_of(dtype);
  const int64_t expected = words(dtype, element_count(dims));
  if (size_of(proto, field) != expected || (expected == 0 && typed_fields(proto) > 0))
    return invalid("", "{} elements of {} in {} expected, {} found", expected, name(dtype), name_of(field),
                   size_of(proto, field));
  switch (field) {
    case Field::kFloat: return Tensor(dtype, std::move(dims), copied(proto.float_data()));
    case Field::kDouble: return Tensor(dtype, std::move(dims), copied(proto.double_data()));
    case Field::kInt64: return Tensor(dtype, std::move(dims), copied(proto.int64_data()));
    case Field::kUInt64: {
      if (dtype == DataType::kUInt64) return Tensor(dtype, std::move(dims), copied(proto.uint64_data()));
      TRY(auto bytes, narrowed_unsigned(proto));
      return Tensor(dtype, std::move(dims), std::move(bytes));
    }
    case Field::kInt32: {
      if (dtype == DataType::kInt32) return Tensor(dtype, std::move(dims), copied(proto.int32_data()));
      TRY(auto bytes, narrowed(proto, dtype));
      if (value_bits(dtype) < 8) bytes = unpacked(dtype, element_count(dims), bytes);
      return Tensor(dtype, std::move(dims), std::move(bytes));
    }
    case Field::kString: break;
  }
  return read_strings(proto, std::move(dims));
}

Result<Tensor> read_strings(const TensorProto& proto, Dims dims) {
  if (proto.string_data_size() != element_count(dims))
    return invalid("", "{} elements in string_data expected, {} found", element_count(dims), proto.string_data_size());
  return Tensor(std::move(dims), {proto.string_data().begin(), proto.string_data().end()});
}

}  // namespace isomer
