// Whether a program is well-formed: every variable and buffer that is read is there, of the rank and type it is read
// with, stages read earlier stages only, tuples have the length and types of their monoid.
#pragma once

#include "graph/te/program.h"
#include "util/result.h"

namespace isomer::te {

/// The error names the stage. Inputs of the operator are not checked: a program does not say what they are.
Result<void> validate(const Program& program);

}  // namespace isomer::te
