// What the rows of ONNX Runtime's operators share.
#pragma once

#include "graph/op_def.h"

namespace isomer::ops {

inline constexpr std::string_view kContribDomain = "com.microsoft";
/// What most of them compute with.
inline constexpr TypeSet kContribFloats = DataType::kFloat16 | DataType::kBFloat16 | DataType::kFloat32;
/// What products of integers are made of.
inline constexpr TypeSet kContribBytes = DataType::kInt8 | DataType::kUInt8;

}  // namespace isomer::ops
