// Models in one line, so that a table of cases shows what each of them says:
//
//   @9 y, i = TopK<axis=-1>(x: f32[3,4], k: i64[1]{2}); z = Relu(y) -> z: f32[3,2], i
//
// Statements are separated by `;`, an operand's first use may give it a type (then it is an input of the graph) and
// elements in braces (then it is an initializer), `_` leaves an operand or output out, `@9` at the front is the opset
// (default 17), `->` names the graph's outputs (default: those of the last statement).
//
//   type       f32[2,n,?]; without brackets the shape is unknown; also f16 bf16 f64 i8 … u64 bool string
//   elements   {1,-2,inf}; {*0} for as many equal ones as the shape has; f16 and bf16 as their bits
//   attribute  name=3, 0.5, "text", [1,2], [0.5], ["a","b"], a tensor i64[1]{3}, a body {x: f32, y -> z | z = Add(x,
//   y)} integers   also 2^62, -2^63, 2^63-1 operator   Relu, or with its domain, which is imported at version 1:
//   com.example.Scale
#pragma once

#include <string_view>

#include "graph/onnx/onnx.pb.h"

namespace isomer::test {

/// Throws std::runtime_error, with what is left of the text, where it can't be read.
onnx_proto::ModelProto model_of(std::string_view text);

}  // namespace isomer::test
