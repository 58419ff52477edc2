#include "verify/proof/equal_elements.h"

#include <algorithm>
#include <functional>

namespace isomer::verify {
namespace {

constexpr int kDeepest = 16;  ///< conditions and functions of functions
constexpr int kMostPairings = 24;

bool can_be_same(const FactorRef& a, const FactorRef& b) {
  return a->kind == b->kind && a->name == b->name && a->index.size() == b->index.size() &&
         a->arguments.size() == b->arguments.size();
}

bool can_be_same(const Product& a, const Product& b) {
  if (a.bounds.size() != b.bounds.size() || a.factors.size() != b.factors.size()) return false;
  return std::all_of(a.factors.begin(), a.factors.end(), [&](const FactorRef& one) {
    const auto like = [&](const FactorRef& other) { return can_be_same(one, other); };
    return std::count_if(a.factors.begin(), a.factors.end(), like) ==
           std::count_if(b.factors.begin(), b.factors.end(), like);
  });
}

template <class Pairs>
void add_pairs(const Element& a, const Element& b, Pairs& pairs);

/// The indices of loads that stand in the same places.
template <class Pairs>
void add_pairs(const FactorRef& a, const FactorRef& b, Pairs& pairs) {
  if (!can_be_same(a, b)) return;
  for (size_t k = 0; k < a->index.size(); ++k) pairs.emplace_back(a->index[k], b->index[k]);
  for (size_t k = 0; k < a->arguments.size(); ++k) add_pairs(a->arguments[k], b->arguments[k], pairs);
  for (size_t k = 0; k < std::min(a->pieces.size(), b->pieces.size()); ++k)
    add_pairs(a->pieces[k].value, b->pieces[k].value, pairs);
}

template <class Pairs>
void add_pairs(const Element& a, const Element& b, Pairs& pairs) {
  for (size_t k = 0; k < std::min(a.products.size(), b.products.size()); ++k) {
    const auto &left = a.products[k].factors, &right = b.products[k].factors;
    for (size_t f = 0; f < std::min(left.size(), right.size()); ++f) add_pairs(left[f], right[f], pairs);
  }
}

Facts within(const std::vector<Bound>& bounds, const std::vector<te::Expr>& conditions) {
  Facts result;
  for (const Bound& bound : bounds) add_range(bound, result);
  result.insert(result.end(), conditions.begin(), conditions.end());
  return result;
}

Facts with_names(const Facts& facts, const Replacement& names) {
  Facts result;
  for (const te::Expr& fact : facts) result.push_back(verify::with_names(fact, names));
  return result;
}

Facts joined(Facts facts, const Facts& more) {
  facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

}  // namespace

bool ElementComparison::are_equal(const Element& a, const Element& b, const Facts& facts) {
  if (depth_ >= kDeepest) return false;
  ++depth_;
  const bool result = is_zero(make_.sum(a, make_.scaled(b, te::Rational(-1))), facts) && !make_.is_exhausted();
  --depth_;
  return result;
}

bool ElementComparison::is_zero(const Element& element, const Facts& facts) {
  Oracle* oracle = facts_.oracle();
  if (make_.is_exhausted() || (oracle && !oracle->has_budget())) return false;
  if (element.products.empty()) return true;
  if (const te::Expr* found = free_condition(element)) {
    if (depth_ >= kDeepest) return false;
    const te::Expr condition = *found, opposite = make_.simplified(te::logical_not(condition));
    const auto under = [&](const te::Expr& known, const Facts& then) {
      return is_zero(make_.sum({}, make_.assumed(element, known)), then);
    };
    if (facts_.follows(facts, condition)) return under(condition, facts);
    if (facts_.follows(facts, opposite)) return under(opposite, facts);
    ++depth_;
    const bool result = under(condition, joined(facts, {condition})) && under(opposite, joined(facts, {opposite}));
    --depth_;
    return result;
  }
  const Element rest = without_same(element, facts);
  if (rest.products.empty()) return true;
  if (depth_ < kDeepest)
    if (const auto simpler = narrowed(rest, facts)) {
      ++depth_;
      const bool result = is_zero(*simpler, facts);
      --depth_;
      if (result) return true;
    }
  return oracle && oracle->is_zero(rest, facts, make_, *this);
}

/// Products that are the same as one, those that are 0 together as none.
Element ElementComparison::without_same(const Element& element, const Facts& facts) {
  Element rest;
  for (const Product& product : element.products) {
    const auto same = std::find_if(rest.products.begin(), rest.products.end(),
                                   [&](const Product& other) { return are_same(other, product, facts); });
    if (same == rest.products.end())
      rest.products.push_back(product);
    else
      same->coefficient = same->coefficient + product.coefficient;
  }
  std::erase_if(rest.products, [](const Product& product) { return product.coefficient.sign() == 0; });
  return rest;
}

/// Without products whose conditions can't hold, without bounds that conditions leave one value, and without bounds in
/// conditions that do not hang on them; nothing where there are none of these.
std::optional<Element> ElementComparison::narrowed(const Element& element, const Facts& facts) {
  Element result;
  bool is_other = false;
  for (const Product& product : element.products) {
    const auto simpler = narrowed(product, joined(facts, within(product.bounds, product.conditions)), facts);
    is_other = is_other || simpler;
    result = make_.sum(result, simpler ? *simpler : Element{{product}});
  }
  return is_other ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Element> ElementComparison::narrowed(const Product& product, const Facts& inside, const Facts& facts) {
  if (facts_.follows(inside, te::truth(false))) return Element();
  for (size_t k = 0; k < product.bounds.size(); ++k) {
    const Bound& bound = product.bounds[k];
    const te::Expr value = first_of({bound}, product.conditions).at(bound.name);
    if (mentions(value, product.bounds) || !facts_.follows(inside, te::equal(te::symbol(bound.name), value))) continue;
    Product rest = product;
    rest.bounds.erase(rest.bounds.begin() + static_cast<std::ptrdiff_t>(k));
    return make_.replaced(rest, {{bound.name, value}});
  }
  const Facts within_bounds = joined(facts, within(product.bounds, {}));
  for (size_t k = 0; k < product.conditions.size(); ++k) {
    const te::Expr& condition = product.conditions[k];
    if (!mentions(condition, product.bounds)) continue;
    Replacement first;
    for (const Bound& bound : product.bounds) first.emplace(bound.name, te::index(0));
    const te::Expr without = make_.simplified(verify::with_names(condition, first));
    if (te::as_constant(without) || !facts_.follows(joined(within_bounds, {without}), condition) ||
        !facts_.follows(joined(within_bounds, {condition}), without))
      continue;
    Product rest = product;
    rest.conditions.erase(rest.conditions.begin() + static_cast<std::ptrdiff_t>(k));
    return make_.restricted({{rest}}, without);
  }
  return std::nullopt;
}

/// Factors are paired in every way, until one shows how the bounds of b are those of a.
bool ElementComparison::are_same(const Product& a, const Product& written, const Facts& facts) {
  if (!can_be_same(a, written)) return false;
  if (text_without_coefficient(a) == text_without_coefficient(written)) return true;
  const Product b = make_.renamed(written);
  std::vector<size_t> partners;
  int tries = 0;
  const std::function<bool()> search = [&] {
    if (partners.size() == a.factors.size())
      return ++tries <= kMostPairings && are_same_when_paired(a, b, partners, facts);
    for (size_t k = 0; k < b.factors.size() && tries < kMostPairings; ++k) {
      if (std::find(partners.begin(), partners.end(), k) != partners.end() ||
          !can_be_same(a.factors[partners.size()], b.factors[k]))
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

bool ElementComparison::are_same_when_paired(const Product& a, const Product& b, const std::vector<size_t>& partners,
                                             const Facts& facts) {
  Pairs pairs;
  for (size_t k = 0; k < partners.size(); ++k) add_pairs(a.factors[k], b.factors[partners[k]], pairs);
  const auto names = solution(pairs, b.bounds, a.bounds);
  if (!names || !is_one_to_one(*names, a.bounds)) return false;
  // Both sum over the same: what is in the one's bounds is in the other's.
  const Facts here = within(a.bounds, a.conditions), there = with_names(within(b.bounds, b.conditions), *names);
  const Facts inside = joined(facts, here);
  for (size_t k = 0; k < partners.size(); ++k) {
    const Element image = make_.replaced(b.factors[partners[k]], *names);
    const Element own = {{Product{te::Rational(1), {}, {}, {a.factors[k]}}}};
    const bool is_one = image.products.size() == 1 && image.products[0].factors.size() == 1 &&
                        image.products[0].bounds.empty() && image.products[0].conditions.empty();
    const bool same = is_one && image.products[0].coefficient == te::Rational(1)
                          ? are_same(a.factors[k], image.products[0].factors[0], inside)
                          : are_equal(own, image, inside);
    if (!same) return false;
  }
  return hold(inside, there) && hold(joined(facts, there), here);
}

bool ElementComparison::are_same(const FactorRef& a, const FactorRef& b, const Facts& facts) {
  if (!can_be_same(a, b)) return false;
  if (text(a) == text(b)) return true;
  for (size_t k = 0; k < a->index.size(); ++k)
    if (!facts_.are_equal(facts, a->index[k], b->index[k])) return false;
  for (size_t k = 0; k < a->arguments.size(); ++k)
    if (!are_equal(a->arguments[k], b->arguments[k], facts)) return false;
  const auto all_among = [&](const std::vector<Piece>& pieces, const std::vector<Piece>& others) {
    return std::all_of(pieces.begin(), pieces.end(),
                       [&](const Piece& piece) { return is_among(piece, others, facts); });
  };
  return all_among(a->pieces, b->pieces) && all_among(b->pieces, a->pieces);
}

/// Whether each value of the piece is one of another piece.
bool ElementComparison::is_among(const Piece& piece, const std::vector<Piece>& pieces, const Facts& facts) {
  if (depth_ >= kDeepest) return false;
  const Facts inside = joined(facts, within(piece.bounds, piece.conditions));
  return std::any_of(pieces.begin(), pieces.end(), [&](const Piece& written) {
    Replacement fresh;
    std::vector<Bound> bounds;
    for (const Bound& bound : written.bounds) {
      bounds.push_back(make_.fresh("r", verify::with_names(bound.extent, fresh)));
      fresh.emplace(bound.name, te::symbol(bounds.back().name));
    }
    const Element value = make_.replaced(written.value, fresh);
    const Facts conditions = with_names(written.conditions, fresh);
    Pairs pairs;
    add_pairs(piece.value, value, pairs);
    const auto fits = [&](const std::optional<Replacement>& names) {
      return names && hold(inside, with_names(within(bounds, conditions), *names)) &&
             are_equal(piece.value, make_.replaced(value, *names), inside);
    };
    if (fits(solution(pairs, bounds, piece.bounds))) return true;
    return !mentions(value, bounds) && !bounds.empty() && (fits(first_of(bounds, conditions)) || fits(last_of(bounds)));
  });
}

/// The least that conditions allow of each, or what may be.
Replacement ElementComparison::first_of(const std::vector<Bound>& bounds, const Facts& conditions) const {
  Replacement names;
  for (const Bound& bound : bounds) {
    te::Expr least = te::index(0);
    for (const te::Expr& condition : conditions) {
      const auto* order = te::as<te::Binary>(condition);
      if (!order || order->op != te::BinaryOp::kLessEqual || !mentions(order->right, {bound})) continue;
      const te::Expr room = order->right - order->left;
      const auto rise = slope(room, bound.name);
      if (rise && te::as_constant(*rise).value_or(0) > 0) {
        const te::Expr missing = te::index(0) - verify::with_names(room, {{bound.name, te::index(0)}});
        least = te::max(least, te::floor_div(missing + *rise - 1, *rise));
      }
    }
    names.emplace(bound.name, make_.simplified(least));
  }
  return names;
}

Replacement ElementComparison::last_of(const std::vector<Bound>& bounds) const {
  Replacement names;
  for (const Bound& bound : bounds) names.emplace(bound.name, make_.simplified(bound.extent - 1));
  return names;
}

/// By how much it grows with the name, where that is a number; nothing where it does not have the name, or is no line.
std::optional<te::Expr> ElementComparison::slope(const te::Expr& expr, const std::string& name) const {
  const auto at = [&](int64_t value) { return make_.simplified(verify::with_names(expr, {{name, te::index(value)}})); };
  const te::Expr rise = make_.simplified(at(1) - at(0));
  const auto constant = te::as_constant(rise);
  if (!constant || *constant == 0 || !(make_.simplified(expr) == make_.simplified(at(0) + rise * te::symbol(name))))
    return std::nullopt;
  return rise;
}

/// A name that makes the difference zero, where it is the only one of the bounds there.
bool ElementComparison::solve(const te::Expr& difference, const std::vector<Bound>& bounds, Replacement& names) const {
  const te::Expr here = make_.simplified(verify::with_names(difference, names));
  const Bound* only = nullptr;
  for (const Bound& bound : bounds) {
    if (names.contains(bound.name) || !mentions(here, {bound})) continue;
    if (only) return false;
    only = &bound;
  }
  const auto rise = only ? slope(here, only->name) : std::nullopt;
  if (!rise) return false;
  const te::Expr rest = verify::with_names(here, {{only->name, te::index(0)}});
  names.emplace(only->name, make_.simplified(te::floor_div(te::index(0) - rest, *rise)));
  return true;
}

/// What the bounds are, over the others, so that the pairs are equal. A guess, for the caller to check.
std::optional<Replacement> ElementComparison::solution(const Pairs& pairs, const std::vector<Bound>& bounds,
                                                       const std::vector<Bound>& others) const {
  Replacement names;
  for (bool found = true; found && names.size() < bounds.size();) {
    found = false;
    for (const auto& [left, right] : pairs) found |= solve(right - left, bounds, names);
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

/// Whether it is a bijection of integers: each is one of the others, or its negative, and something that does not
/// depend on them.
bool ElementComparison::is_one_to_one(const Replacement& names, const std::vector<Bound>& others) const {
  std::vector<std::string> used;
  for (const auto& [name, value] : names) {
    int count = 0;
    for (const Bound& other : others) {
      if (!mentions(value, {other})) continue;
      const auto rise = slope(value, other.name);
      const auto by = rise ? te::as_constant(*rise) : std::nullopt;
      if (by != 1 && by != -1) return false;
      ++count;
      used.push_back(other.name);
    }
    if (count != 1) return false;
  }
  std::sort(used.begin(), used.end());
  return used.size() == others.size() && std::adjacent_find(used.begin(), used.end()) == used.end();
}

bool ElementComparison::hold(const Facts& facts, const Facts& conditions) {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const te::Expr& condition) { return facts_.follows(facts, condition); });
}

}  // namespace isomer::verify
