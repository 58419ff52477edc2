// Tensor expressions as text, and back.
#pragma once

#include <string>
#include <string_view>

#include "graph/te/expr.h"
#include "util/result.h"

namespace isomer::te {

/// Infix, minimal parentheses; literals of other types than the context implies carry theirs: `1/2:float32`.
std::string print(const Expr& expr);
/// The inverse of `print`: parse(print(e)) == e.
Result<Expr> parse_expr(std::string_view text);

}  // namespace isomer::te
