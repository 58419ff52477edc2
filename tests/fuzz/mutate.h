// Mutations of a model that keep it a model: they change fields of its messages, not bytes, so that most results pass
// the parser and reach what stands behind it.
#pragma once

#include "graph/onnx/onnx.pb.h"
#include "util/random.h"

namespace isomer::test {

/// One change: a field gets another value, elements are added, taken away, exchanged or copied from elsewhere in the
/// model; a node becomes another operator with attributes of its row; a tensor's data are made to fit its shape.
void mutate(onnx_proto::ModelProto& model, Random& random);

/// Takes parts of `other` over into `model`.
void cross_over(onnx_proto::ModelProto& model, const onnx_proto::ModelProto& other, Random& random);

}  // namespace isomer::test
