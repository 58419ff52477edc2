// Tensor expressions as text, and back.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "graph/te/expr.h"
#include "util/result.h"

namespace isomer::te {

/// Infix, minimal parentheses; literals of other types than the context implies carry theirs: `1/2:float32`.
std::string print(const Expr& expr);
/// The same with other names for the buffers that it loads from, for people.
using BufferNames = std::function<std::string(const BufferRef&)>;
std::string print(const Expr& expr, const BufferNames& buffer_name);
/// The inverse of `print`: parse(print(e)) == e.
Result<Expr> parse_expr(std::string_view text);

}  // namespace isomer::te
