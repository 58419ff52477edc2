// Tensors whose elements stand in TensorProto's typed fields.
#pragma once

#include "graph/onnx/onnx.pb.h"
#include "graph/tensor.h"
#include "util/result.h"

namespace isomer {

/// How many of the typed fields hold something.
int typed_fields(const onnx_proto::TensorProto& proto);

/// Elements from the field that is theirs; no other typed field and no raw_data may be set. Not for strings.
Result<Tensor> read_typed(const onnx_proto::TensorProto& proto, DataType dtype, Dims dims);

Result<Tensor> read_strings(const onnx_proto::TensorProto& proto, Dims dims);

}  // namespace isomer
