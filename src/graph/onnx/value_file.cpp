#include "graph/onnx/value_file.h"

#include <algorithm>

#include "graph/onnx/tensor_reader.h"
#include "graph/onnx/tensor_writer.h"
#include "graph/onnx/types.h"
#include "util/output_file.h"

namespace isomer {
namespace {

using onnx_proto::OptionalProto;
using onnx_proto::SequenceProto;
using onnx_proto::TensorProto;
using onnx_proto::TypeProto;
using te::Array;

template <class Message>
Result<Message> read_message(const std::filesystem::path& path, std::string_view name) {
  TRY(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  Message proto;
  if (bytes.size() > INT32_MAX || !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return invalid("", "a {} expected, something else found", name);
  return proto;
}

Error of_other_elements(int32_t type) {
  return unsupported("", "elements that are tensors, sequences or optionals expected, type {} found", type);
}

Result<Array> value_of(const TensorProto& proto) {
  TRY(const Tensor tensor, TensorReader().read(proto));
  if (!is_computable(tensor.dtype())) return unsupported("", "numbers expected, {} found", name(tensor.dtype()));
  return Array::from(tensor);
}

Result<Array> value_of(const OptionalProto& proto);

Result<Array> value_of(const SequenceProto& proto) {
  std::vector<Array> elements;
  const auto add = [&](const auto& values) -> Result<void> {
    for (const auto& value : values) {
      TRY(Array element, value_of(value));
      elements.push_back(std::move(element));
    }
    return {};
  };
  switch (proto.elem_type()) {
    case SequenceProto::UNDEFINED:
    case SequenceProto::TENSOR: TRY_VOID(add(proto.tensor_values())); break;
    case SequenceProto::SEQUENCE: TRY_VOID(add(proto.sequence_values())); break;
    case SequenceProto::OPTIONAL: TRY_VOID(add(proto.optional_values())); break;
    default: return of_other_elements(proto.elem_type());
  }
  return Array::sequence(std::move(elements));
}

Result<Array> value_of(const OptionalProto& proto) {
  switch (proto.elem_type()) {
    case SequenceProto::UNDEFINED: return Array::none();
    case SequenceProto::TENSOR: return proto.has_tensor_value() ? value_of(proto.tensor_value()) : Array::none();
    case SequenceProto::SEQUENCE: return proto.has_sequence_value() ? value_of(proto.sequence_value()) : Array::none();
    case SequenceProto::OPTIONAL: return proto.has_optional_value() ? value_of(proto.optional_value()) : Array::none();
    default: return of_other_elements(proto.elem_type());
  }
}

void write(const Array& value, const TypeProto& type, OptionalProto& proto);

/// Types are asked only for which values are optionals: one that holds a value is that value.
void write(const Array& value, const TypeProto& type, SequenceProto& proto) {
  const std::vector<Array>& elements = *value.sequence_elements();
  const TypeProto& inner = type.sequence_type().elem_type();
  const bool are_tensors = std::ranges::all_of(elements, &Array::is_tensor),
             are_sequences = inner.has_sequence_type() ||
                             (!elements.empty() && std::ranges::all_of(elements, [](const Array& element) {
                               return element.sequence_elements() != nullptr;
                             }));
  if (inner.has_optional_type() || !(are_tensors || are_sequences)) {
    proto.set_elem_type(SequenceProto::OPTIONAL);
    for (const Array& element : elements) write(element, inner, *proto.add_optional_values());
  } else if (are_sequences) {
    proto.set_elem_type(SequenceProto::SEQUENCE);
    for (const Array& element : elements) write(element, inner, *proto.add_sequence_values());
  } else {
    proto.set_elem_type(SequenceProto::TENSOR);
    for (const Array& element : elements) *proto.add_tensor_values() = tensor_message("", te::to_tensor(element));
  }
}

void write(const Array& value, const TypeProto& type, OptionalProto& proto) {
  const TypeProto& inner = type.optional_type().elem_type();
  if (value.is_none()) {
    proto.set_elem_type(SequenceProto::UNDEFINED);
  } else if (inner.has_optional_type()) {
    proto.set_elem_type(SequenceProto::OPTIONAL);
    write(value, inner, *proto.mutable_optional_value());
  } else if (value.sequence_elements()) {
    proto.set_elem_type(SequenceProto::SEQUENCE);
    write(value, inner, *proto.mutable_sequence_value());
  } else {
    proto.set_elem_type(SequenceProto::TENSOR);
    *proto.mutable_tensor_value() = tensor_message("", te::to_tensor(value));
  }
}

template <class Message>
Result<void> write_message(const std::filesystem::path& path, const std::string& name, const Array& value,
                           const TypeProto& type) {
  Message proto;
  proto.set_name(name);
  write(value, type, proto);
  std::string bytes;
  if (!proto.SerializeToString(&bytes))
    return unsupported(path.string(), "a value of less than 2 GB expected, more found");
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(file.write(bytes));
  return file.commit();
}

}  // namespace

Result<Tensor> read_tensor_file(const std::filesystem::path& path) {
  TRY(const TensorProto proto, read_message<TensorProto>(path, "TensorProto"));
  return TensorReader().read(proto);
}

Result<void> write_tensor_file(const std::filesystem::path& path, const std::string& name, const Tensor& tensor) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(write_tensor(tensor_header(name, tensor), tensor, file));
  return file.commit();
}

Result<Array> read_value_file(const std::filesystem::path& path, const ValueType& type) {
  TypeProto proto;
  write_type(type, proto);
  if (proto.has_sequence_type()) {
    TRY(const SequenceProto sequence, read_message<SequenceProto>(path, "SequenceProto"));
    return value_of(sequence);
  }
  if (proto.has_optional_type()) {
    TRY(const OptionalProto optional, read_message<OptionalProto>(path, "OptionalProto"));
    return value_of(optional);
  }
  return unsupported("", "a value that is a tensor, a sequence or an optional expected, {} found", text_of_other(type));
}

Result<void> write_value_file(const std::filesystem::path& path, const std::string& name, const Array& value,
                              const ValueType& type) {
  TypeProto proto;
  write_type(type, proto);
  if (proto.has_optional_type() || value.is_none()) return write_message<OptionalProto>(path, name, value, proto);
  if (value.sequence_elements()) return write_message<SequenceProto>(path, name, value, proto);
  return write_tensor_file(path, name, te::to_tensor(value));
}

}  // namespace isomer
