#include "verify/proof/guess/pairing.h"

#include <algorithm>

namespace isomer::verify {
namespace {

constexpr int kMostPairings = 24;

bool can_be_same(const Product& a, const Product& b) {
  if (a.bounds.size() != b.bounds.size() || a.factors.size() != b.factors.size()) return false;
  return std::all_of(a.factors.begin(), a.factors.end(), [&](const FactorRef& one) {
    const auto like = [&](const FactorRef& other) { return are_alike(one, other); };
    return std::count_if(a.factors.begin(), a.factors.end(), like) ==
           std::count_if(b.factors.begin(), b.factors.end(), like);
  });
}

/// A name that makes the difference zero, where it is the only one of the bounds there.
bool solve(const te::Expr& difference, const std::vector<Bound>& bounds, const ElementMaker& make, Replacement& names) {
  const te::Expr here = make.simplified(te::with_names(difference, names));
  const Bound* only = nullptr;
  for (const Bound& bound : bounds) {
    if (names.contains(bound.name) || !mentions(here, {bound})) continue;
    if (only) return false;
    only = &bound;
  }
  const auto rise = only ? make.slope(here, only->name) : std::nullopt;
  if (!rise) return false;
  const te::Expr rest = te::with_names(here, {{only->name, te::index(0)}});
  names.emplace(only->name, make.simplified(te::floor_div(te::index(0) - rest, te::index(*rise))));
  return true;
}

}  // namespace

bool any_pairing(const Product& a, const Product& b, const std::function<bool(const Pairing&)>& is_right) {
  if (!can_be_same(a, b)) return false;
  Pairing partners;
  int tries = 0;
  const std::function<bool()> search = [&] {
    if (partners.size() == a.factors.size()) return ++tries <= kMostPairings && is_right(partners);
    for (size_t k = 0; k < b.factors.size() && tries < kMostPairings; ++k) {
      if (std::find(partners.begin(), partners.end(), k) != partners.end() ||
          !are_alike(a.factors[partners.size()], b.factors[k]))
        continue;
      partners.push_back(k);
      const bool found = search();
      partners.pop_back();
      if (found) return true;
    }
    return false;
  };
  return search();
}

void add_pairs(const FactorRef& a, const FactorRef& b, IndexPairs& pairs) {
  if (!are_alike(a, b)) return;
  for (size_t k = 0; k < a->index.size(); ++k) pairs.emplace_back(a->index[k], b->index[k]);
  for (size_t k = 0; k < a->arguments.size(); ++k) add_pairs(a->arguments[k], b->arguments[k], pairs);
  for (size_t k = 0; k < std::min(a->pieces.size(), b->pieces.size()); ++k)
    add_pairs(a->pieces[k].value, b->pieces[k].value, pairs);
}

void add_pairs(const Element& a, const Element& b, IndexPairs& pairs) {
  for (size_t k = 0; k < std::min(a.products.size(), b.products.size()); ++k) {
    const auto &left = a.products[k].factors, &right = b.products[k].factors;
    for (size_t f = 0; f < std::min(left.size(), right.size()); ++f) add_pairs(left[f], right[f], pairs);
  }
}

std::optional<Replacement> paired_bounds(const IndexPairs& pairs, const std::vector<Bound>& bounds,
                                         const std::vector<Bound>& others, const ElementMaker& make) {
  Replacement names;
  for (bool found = true; found && names.size() < bounds.size();) {
    found = false;
    for (const auto& [left, right] : pairs) found |= solve(right - left, bounds, make, names);
  }
  for (const Bound& bound : bounds) {
    if (names.contains(bound.name)) continue;
    const auto is_free = [&](const Bound& other) {
      return other.extent == bound.extent && std::none_of(names.begin(), names.end(), [&](const auto& named) {
               return mentions(named.second, {other});
             });
    };
    const auto other = std::find_if(others.begin(), others.end(), is_free);
    if (other == others.end()) return std::nullopt;
    names.emplace(bound.name, te::symbol(other->name));
  }
  return names;
}

Replacement least_of(const std::vector<Bound>& bounds, const std::vector<te::Expr>& conditions,
                     const ElementMaker& make) {
  Replacement names;
  for (const Bound& bound : bounds) {
    te::Expr least = te::index(0);
    for (const te::Expr& condition : conditions) {
      const auto* order = te::as<te::Binary>(condition);
      if (!order || order->op != te::BinaryOp::kLessEqual || !mentions(order->right, {bound})) continue;
      const te::Expr room = order->right - order->left;
      if (const auto rise = make.slope(room, bound.name); rise && *rise > 0) {
        const te::Expr missing = te::index(0) - te::with_names(room, {{bound.name, te::index(0)}});
        least = te::max(least, te::floor_div(missing + (*rise - 1), te::index(*rise)));
      }
    }
    names.emplace(bound.name, make.simplified(least));
  }
  return names;
}

Replacement greatest_of(const std::vector<Bound>& bounds, const ElementMaker& make) {
  Replacement names;
  for (const Bound& bound : bounds) names.emplace(bound.name, make.simplified(bound.extent - 1));
  return names;
}

}  // namespace isomer::verify
