// What a runtime's own way of computing an expression may change in its bits. Each of +, -, *, / and sqrt is rounded
// once, to nearest even, everywhere; a runtime may fuse or reorder two of them, has its own exp and its own pow, and
// which of two zeros it calls the greater hangs on whether it looks at one element or at eight at once.
#pragma once

#include "graph/float_class.h"
#include "graph/te/program.h"

namespace isomer {

/// Of a body whose elements are computed by other code of the same runtime: beside an operand of another shape, in the
/// rest of a vector.
FloatClass class_elsewhere(const te::Expr& body);

/// Of a program that is computed in double precision and rounded at last, instead of by a runtime.
FloatClass class_in_doubles(const te::Program& program);

}  // namespace isomer
