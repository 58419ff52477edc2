// Guesses at how the sums of two elements go together. Whoever takes one checks it: a wrong guess proves nothing.
// Test: tests/verify/element_cases_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "verify/proof/element.h"

namespace isomer::verify {

/// By factor of one product, the number of that of another which it may be.
using Pairing = std::vector<size_t>;
/// Whether one of the pairings is right; of very many some are tried.
bool any_pairing(const Product& a, const Product& b, const std::function<bool(const Pairing&)>& is_right);

/// Indices that are to be equal.
using IndexPairs = std::vector<std::pair<te::Expr, te::Expr>>;

/// The indices of loads that stand in the same places.
void add_pairs(const FactorRef& a, const FactorRef& b, IndexPairs& pairs);
void add_pairs(const Element& a, const Element& b, IndexPairs& pairs);

/// What the bounds are, over the others, so that the pairs are equal.
std::optional<Replacement> paired_bounds(const IndexPairs& pairs, const std::vector<Bound>& bounds,
                                         const std::vector<Bound>& others, const ElementMaker& make);
/// The least that conditions allow of each, or what may be.
Replacement least_of(const std::vector<Bound>& bounds, const std::vector<te::Expr>& conditions,
                     const ElementMaker& make);
/// The last value of each.
Replacement greatest_of(const std::vector<Bound>& bounds, const ElementMaker& make);

}  // namespace isomer::verify
