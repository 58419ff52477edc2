#include "graph/onnx/types.h"

#include <algorithm>
#include <iterator>

#include "graph/each_dim.h"
#include "graph/infer.h"
#include "graph/onnx/parse.h"
#include "graph/te/symbols.h"

namespace isomer {
namespace {

using onnx_proto::TensorShapeProto;
using onnx_proto::TypeProto;

constexpr std::string_view kInner = ".?";

/// Names that exporters write for every dim that they don't know, in small letters: used twice they don't say one size.
constexpr std::string_view kPlaceholders[] = {"?", "*", "-1", "none", "null", "unk", "unknown", "undefined", "dynamic"};

bool is_placeholder(std::string_view name) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!name.empty() && is_space(name.front())) name.remove_prefix(1);
  while (!name.empty() && is_space(name.back())) name.remove_suffix(1);
  const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
  return name.empty() || std::any_of(std::begin(kPlaceholders), std::end(kPlaceholders), [&](std::string_view known) {
           return std::equal(name.begin(), name.end(), known.begin(), known.end(), is_same);
         });
}

Result<Dim> read_dim(const TensorShapeProto::Dimension& proto, std::string_view value_name, int axis) {
  if (proto.value_case() == TensorShapeProto::Dimension::kDimValue) {
    const int64_t value = proto.dim_value();
    // Exporters write -1, or another negative number, for what they do not know.
    if (value < 0) return Dim::symbol(fmt::format("{}.{}", value_name, axis));
    if (value > kMaxDim) return invalid("", "dim {} of at most 2^40 expected, {} found", axis, value);
    return Dim(value);
  }
  if (!is_placeholder(proto.dim_param())) return Dim::symbol(proto.dim_param());
  return Dim::symbol(fmt::format("{}.{}", value_name, axis));
}

Result<Shape> read_shape(const TensorShapeProto& proto, DataType dtype, std::string_view value_name) {
  if (proto.dim_size() > kMaxRank)
    return invalid("", "rank of at most {} expected, {} found", kMaxRank, proto.dim_size());
  Shape shape;
  Dim bytes = std::max(1, bit_width(dtype) / 8);
  for (int axis = 0; axis < proto.dim_size(); ++axis) {
    TRY(Dim dim, read_dim(proto.dim(axis), value_name, axis));
    if (dim.is_constant() && !dim.is(0)) bytes = bytes * dim;
    shape.push_back(std::move(dim));
  }
  if (bytes.value() > kMaxBytes)
    return invalid("", "at most 2^46 bytes expected, {}{} found", name(dtype), text(shape));
  return shape;
}

/// A named dim by its name as it is, without the quotes that the text form may need.
std::string dim_name(const Dim& dim) {
  const auto* symbol = te::as<te::Symbol>(dim.expr());
  return symbol ? symbol->name : dim.text();
}

std::string text_of(const TypeProto& proto) {
  switch (proto.value_case()) {
    case TypeProto::kTensorType: {
      const int64_t code = proto.tensor_type().elem_type();
      return is_known_data_type(code) ? std::string(name(static_cast<DataType>(code)))
                                      : fmt::format("elements of type {}", code);
    }
    case TypeProto::kSequenceType: return "a sequence of " + text_of(proto.sequence_type().elem_type());
    case TypeProto::kOptionalType: return "an optional " + text_of(proto.optional_type().elem_type());
    case TypeProto::kMapType: return "a map";
    case TypeProto::kSparseTensorType: return "a sparse tensor";
    case TypeProto::kOpaqueType:
    case TypeProto::VALUE_NOT_SET: break;
  }
  return "a value of unknown type";
}

}  // namespace

std::string text_of_other(const ValueType& type) {
  TypeProto proto;
  write_type(type, proto);
  return text_of(proto);
}

Result<ValueType> read_type(const TypeProto& proto, std::string_view value_name) {
  ValueType type;
  if (proto.value_case() == TypeProto::VALUE_NOT_SET) return type;
  const int64_t code = proto.tensor_type().elem_type();
  if (proto.has_tensor_type() && code == 0) return type;
  if (proto.has_tensor_type() && (code < 0 || code > onnx_proto::TensorProto::DataType_MAX))
    return invalid("", "an element type expected, {} found", code);
  if (!proto.has_tensor_type() || !is_known_data_type(code)) {
    type.kind = ValueType::Kind::kOther;
    type.opaque = proto.SerializeAsString();
    return type;
  }
  type.kind = ValueType::Kind::kTensor;
  type.dtype = static_cast<DataType>(code);
  if (proto.tensor_type().has_shape()) {
    TRY(type.shape, read_shape(proto.tensor_type().shape(), type.dtype, value_name));
  }
  return type;
}

ValueType with_inner_names(ValueType type, const IsFree& is_free) {
  for_each_dim(type, [&](Dim& dim) {
    dim = with_symbols(dim, [&](const std::string& name) {
      if (is_free(name)) return te::Expr();
      std::string inner = name;
      do inner += kInner;
      while (is_free(inner));
      return te::symbol(inner);
    });
  });
  return type;
}

ValueType with_given_names(ValueType type, const IsFree& is_free) {
  for_each_dim(type, [&](Dim& dim) {
    dim = with_symbols(dim, [&](const std::string& name) {
      if (is_free(name) || !name.ends_with(kInner)) return te::Expr();
      std::string given = name;
      do given.resize(given.size() - kInner.size());
      while (is_free(given) && given.ends_with(kInner));
      return te::symbol(given);
    });
  });
  return type;
}

void write_type(const ValueType& type, TypeProto& proto) {
  switch (type.kind) {
    case ValueType::Kind::kUnknown: return;
    case ValueType::Kind::kOther: parse_nested(type.opaque, proto); return;
    case ValueType::Kind::kTensor: break;
  }
  auto& tensor = *proto.mutable_tensor_type();
  tensor.set_elem_type(static_cast<int>(type.dtype));
  if (!type.shape) return;
  auto& shape = *tensor.mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto& written = *shape.add_dim();
    if (dim.is_constant())
      written.set_dim_value(dim.value());
    else
      written.set_dim_param(dim_name(dim));
  }
}

}  // namespace isomer
