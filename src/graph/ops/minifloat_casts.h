// Casts of any type to any other, minifloats included, which expressions know as codes (graph/minifloat.h).
#pragma once

#include "graph/te/expr.h"

namespace isomer::ops {

/// What casts to minifloats do where the type has no such number.
struct MinifloatRounding {
  bool saturates = true;  ///< what is beyond becomes the largest number, not an infinity or NaN
  /// Of float8e8m0, which has powers of two only; the others round to nearest even.
  enum class Mode { kUp, kDown, kNearest } mode = Mode::kUp;
};

/// The number that a code of a minifloat type stands for, in float32: exact.
te::Expr decoded(te::Expr code);
/// As ONNX's Cast has it.
te::Expr cast_number(DataType to, te::Expr x, const MinifloatRounding& rounding = {});

}  // namespace isomer::ops
