// What a runtime's own way of computing an expression may change in its bits. Each of +, -, *, / and sqrt is rounded
// once, to nearest even, everywhere; a runtime may fuse or reorder two of them, has its own exp and its own pow, and
// which of two zeros it calls the greater hangs on whether it looks at one element or at eight at once.
#pragma once

#include "graph/float_class.h"
#include "graph/te/program.h"
#include "graph/tensor.h"

namespace isomer {

/// Of a body whose elements are computed by other code of the same runtime: beside an operand of another shape, in the
/// rest of a vector.
FloatClass class_elsewhere(const te::Expr& body);

/// Of a program that is computed in double precision and rounded at last, instead of by a runtime.
FloatClass class_in_doubles(const te::Program& program);

/// The distance of the type's numbers next to one.
double spacing_at_one(DataType dtype);
/// How far two constants are apart: the largest relative difference of two elements; infinite where they are not floats
/// of one type and shape, zero only where they have the same bytes.
double distance(const Tensor& one, const Tensor& other);
/// What rounding may take constants of one value apart, whatever was computed in doubles: some units in the last place.
double most_apart(DataType dtype);

}  // namespace isomer
