// Random index expressions and their values, for properties of simplifier, printer and parser.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "graph/te/expr.h"
#include "graph/te/simplify.h"
#include "util/random.h"

namespace isomer::te::test {

/// Iterators i0, i1, i2 and r0 with small extents, symbols n and m.
Interval range_of(const Expr& leaf);
/// An int64 expression of about this depth; divisions are mostly by literals.
Expr random_index(Random& random, int depth);
Expr random_condition(Random& random, int depth);

using Binding = std::function<int64_t(const Expr& leaf)>;
/// Values within range_of, the same for equal leaves.
Binding random_binding(Random& random);

/// The value in exact integers; nothing where a division by zero or an overflow of 2^60 occurs.
std::optional<int64_t> value_of(const Expr& expr, const Binding& leaf);

}  // namespace isomer::te::test
