// Simplifies index arithmetic: int64 expressions over iterators, symbols and loads. The result is equal for every value
// of the variables within their ranges, and in normal form: a sum of products with sorted terms.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "graph/te/expr.h"

namespace isomer::te {

/// Inclusive bounds of an expression; a missing side is unbounded. Symbols are >= 0.
struct Interval {
  std::optional<int64_t> low;
  std::optional<int64_t> high;
};

/// What is known of a variable, symbol or load; asked for leaves only. An empty function knows nothing but that symbols
/// are >= 0.
using Ranges = std::function<Interval(const Expr& leaf)>;

/// Normal form of an expression that says a place: nothing in it overflows. Equal expressions that differ by +, -, *
/// and literals become identical. bool conditions over int64 are simplified too (to a literal where the ranges decide
/// them).
Expr simplify_index(const Expr& expr, const Ranges& ranges = {});

/// The same of elements, whose arithmetic wraps at 64 bits; indices of what they load are places.
Expr simplify_data(const Expr& expr, const Ranges& ranges = {});

/// The nodes of the expression as a tree, or `limit` where there are more. Shared parts count each time: a few dozen
/// operations can make a tree beyond all memory, and printing or comparing walks the tree.
int64_t node_count(const Expr& expr, int64_t limit);

/// Bounds of an int64 expression by interval arithmetic.
Interval bounds(const Expr& expr, const Ranges& ranges = {});

}  // namespace isomer::te
