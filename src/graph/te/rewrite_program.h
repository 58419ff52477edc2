// Substitution in whole programs.
#pragma once

#include <functional>

#include "graph/te/program.h"

namespace isomer::te {

/// Rebuilds every expression of the stages by te::transform, shapes excepted; false, and the program in parts as it
/// was, where a stage is imperative.
bool rewrite(Program& program, const std::function<Expr(const Expr&)>& replace);

}  // namespace isomer::te
