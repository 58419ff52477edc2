// Arithmetic of the integer types and bool, in every algebra the same: the result over unbounded integers, wrapped to
// the type. A value is held as int64: uint64 as its two's complement, bool as 0 or 1. Throws Failure on division by
// zero.
#pragma once

#include <cstdint>

#include "graph/te/expr.h"

namespace isomer::te {

/// value modulo 2^bits, in the type's range; bool: value != 0.
int64_t wrap(DataType dtype, __int128 value);
/// The integer that the int64 stands for.
__int128 unwrap(DataType dtype, int64_t value);

int64_t apply_integer(UnaryOp op, DataType dtype, int64_t operand);
/// Comparisons give 0 or 1. A shift by the width or more, or by a negative count, shifts everything out; a negative
/// power is 0 but for the bases 1 and -1.
int64_t apply_integer(BinaryOp op, DataType dtype, int64_t left, int64_t right);

}  // namespace isomer::te
