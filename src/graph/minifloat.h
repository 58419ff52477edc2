// Floats of at most a byte, as ONNX has them: of a sign, an exponent and a mantissa, without infinities in most. Each
// element is known by its code, which is the byte in memory.
#pragma once

#include <cstdint>

#include "graph/te/dtype.h"

namespace isomer {

struct Minifloat {
  int exponent_bits = 0;
  int mantissa_bits = 0;
  int bias = 0;
  bool is_signed = true;
  bool has_infinity = false;
  bool has_negative_zero = true;
  int largest = 0;  ///< code of the greatest finite value
  int nan = -1;     ///< code of a NaN; none in float4e2m1

  int sign() const { return 1 << (exponent_bits + mantissa_bits); }  ///< the sign's bit, where there is one
};

/// The format of a type in kMinifloats.
Minifloat minifloat_of(DataType dtype);
/// The value of a code.
double decode_minifloat(DataType dtype, int code);
/// The code of the nearest finite value; of NaN that of zero, or of the least value.
int nearest_minifloat(DataType dtype, double value);

}  // namespace isomer
