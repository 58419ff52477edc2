#include "verify/proof/equal_elements.h"

#include <algorithm>
#include <ranges>

#include "util/append.h"
#include "verify/proof/element_cases.h"
#include "verify/proof/guess/pairing.h"

namespace isomer::verify {
namespace {

constexpr int kDeepest = 16;  ///< conditions and functions of functions

Facts within(const std::vector<Bound>& bounds, const std::vector<te::Expr>& conditions) {
  Facts result;
  for (const Bound& bound : bounds) add_range(bound, result);
  append(result, conditions);
  return result;
}

Facts with_names(const Facts& facts, const Replacement& names) {
  Facts result;
  for (const te::Expr& fact : facts) result.push_back(te::with_names(fact, names));
  return result;
}

/// Whether it says what each of the bounds is, and of nothing else.
bool are_of(const Replacement& names, const std::vector<Bound>& bounds) {
  return names.size() == bounds.size() &&
         std::ranges::all_of(bounds, [&](const Bound& bound) { return names.contains(bound.name); });
}

Facts joined(Facts facts, const Facts& more) {
  append(facts, more);
  return facts;
}

}  // namespace

bool ElementComparison::are_equal(const Element& a, const Element& b, const Facts& facts) {
  if (depth_ >= kDeepest) return false;
  ++depth_;
  const bool result = is_zero(make_.difference(a, b), facts) && !make_.is_exhausted();
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
  if (depth_ < kDeepest) {
    ++depth_;
    auto simpler = narrowed(rest, facts);
    if (!simpler) simpler = make_.with_exponentials(rest);
    const bool result = simpler ? is_zero(*simpler, facts) : is_zero_by_cases(rest, facts);
    --depth_;
    if (result) return true;
  }
  return oracle && oracle->is_zero(rest, facts, make_, *this);
}

/// Two bounds joined, an index or a bound cut in two, sums of few summands written out.
bool ElementComparison::is_zero_by_cases(const Element& element, const Facts& facts) {
  if (const auto other = with_other_bounds(element, make_)) return is_zero(*other, facts);
  const auto index = index_to_cut(element, make_);
  // What facts speak of is bound nowhere in the element.
  if (index && make_.is_bounded(index->name) && mentions(facts, {Bound{index->name, {}}}) &&
      te::as_constant(index->by).value_or(0) > 0) {
    const Cut cut = cut_of(make_.extent(index->name), index->by, make_);
    const auto is_zero_at = [&](int64_t value) {
      const Replacement names = {{index->name, te::symbol(cut.quotient.name) * index->by + te::index(value)}};
      Facts there = with_names(facts, names);
      add_range(cut.quotient, there);
      return is_zero(make_.replaced(element, names), there);
    };
    bool result = true;
    for (int64_t value = 0; result && value < *te::as_constant(index->by); ++value) result = is_zero_at(value);
    return result;
  }
  const auto written = with_sums_written_out(element, make_);
  return written && is_zero(*written, facts);
}

/// Products that are the same as one, those that are 0 together as none.
Element ElementComparison::without_same(const Element& element, const Facts& facts) {
  Element rest;
  for (const Product& product : element.products) {
    const auto same =
        std::ranges::find_if(rest.products, [&](const Product& other) { return are_same(other, product, facts); });
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
    const te::Expr value = least_of({bound}, product.conditions, make_).at(bound.name);
    if (mentions(value, product.bounds) || !facts_.follows(inside, te::equal(te::symbol(bound.name), value))) continue;
    Product rest = product;
    rest.bounds.erase(rest.bounds.begin() + static_cast<std::ptrdiff_t>(k));
    // Where the value is beyond the extent there is no summand.
    return make_.restricted(make_.replaced(rest, {{bound.name, value}}), te::index(0) <= value && value < bound.extent);
  }
  const Facts within_bounds = joined(facts, within(product.bounds, {}));
  for (size_t k = 0; k < product.conditions.size(); ++k) {
    const te::Expr& condition = product.conditions[k];
    if (!mentions(condition, product.bounds)) continue;
    Replacement first;
    for (const Bound& bound : product.bounds) first.emplace(bound.name, te::index(0));
    const te::Expr without = make_.simplified(te::with_names(condition, first));
    if (te::as_constant(without) || !facts_.follows(joined(within_bounds, {without}), condition) ||
        !facts_.follows(joined(within_bounds, {condition}), without))
      continue;
    Product rest = product;
    rest.conditions.erase(rest.conditions.begin() + static_cast<std::ptrdiff_t>(k));
    return make_.restricted({{rest}}, without);
  }
  return std::nullopt;
}

bool ElementComparison::are_same(const Product& a, const Product& written, const Facts& facts) {
  if (text_without_coefficient(a) == text_without_coefficient(written)) return true;
  const Product b = make_.renamed(written);
  return any_pairing(a, b, [&](const Pairing& partners) { return are_same_when_paired(a, b, partners, facts); });
}

bool ElementComparison::are_same_when_paired(const Product& a, const Product& b, const Pairing& partners,
                                             const Facts& facts) {
  if (a.factors.size() != b.factors.size() ||
      !std::ranges::is_permutation(partners, std::views::iota(size_t{0}, b.factors.size())))
    return false;
  IndexPairs pairs;
  for (size_t k = 0; k < partners.size(); ++k) add_pairs(a.factors[k], b.factors[partners[k]], pairs);
  const auto names = paired_bounds(pairs, b.bounds, a.bounds, make_);
  if (!names || !are_of(*names, b.bounds) || !is_one_to_one(*names, a.bounds)) return false;
  // Both sum over the same: what is in the one's bounds is in the other's.
  const Facts here = within(a.bounds, a.conditions), there = with_names(within(b.bounds, b.conditions), *names);
  const Facts inside = joined(facts, here);
  for (size_t k = 0; k < partners.size(); ++k) {
    const Element image = make_.replaced(b.factors[partners[k]], *names);
    const FactorRef only = only_factor(image);
    if (!(only ? are_same(a.factors[k], only, inside) : are_equal(single(a.factors[k]), image, inside))) return false;
  }
  return hold(inside, there) && hold(joined(facts, there), here);
}

bool ElementComparison::are_same(const FactorRef& a, const FactorRef& b, const Facts& facts) {
  if (!are_alike(a, b)) return false;
  if (text(a) == text(b)) return true;
  for (size_t k = 0; k < a->index.size(); ++k)
    if (!facts_.are_equal(facts, a->index[k], b->index[k])) return false;
  for (size_t k = 0; k < a->arguments.size(); ++k)
    if (!are_equal(a->arguments[k], b->arguments[k], facts)) return false;
  const auto all_among = [&](const std::vector<Piece>& pieces, const std::vector<Piece>& others) {
    return std::ranges::all_of(pieces, [&](const Piece& piece) { return is_among(piece, others, facts); });
  };
  return all_among(a->pieces, b->pieces) && all_among(b->pieces, a->pieces);
}

/// Whether each value of the piece is one of another piece.
bool ElementComparison::is_among(const Piece& piece, const std::vector<Piece>& pieces, const Facts& facts) {
  if (depth_ >= kDeepest) return false;
  const Facts inside = joined(facts, within(piece.bounds, piece.conditions));
  return std::ranges::any_of(pieces, [&](const Piece& written) {
    Replacement fresh;
    std::vector<Bound> bounds;
    for (const Bound& bound : written.bounds) {
      bounds.push_back(make_.fresh("r", te::with_names(bound.extent, fresh)));
      fresh.emplace(bound.name, te::symbol(bounds.back().name));
    }
    const Element value = make_.replaced(written.value, fresh);
    const Facts conditions = with_names(written.conditions, fresh);
    IndexPairs pairs;
    add_pairs(piece.value, value, pairs);
    const auto fits = [&](const std::optional<Replacement>& names) {
      return names && are_of(*names, bounds) && hold(inside, with_names(within(bounds, conditions), *names)) &&
             are_equal(piece.value, make_.replaced(value, *names), inside);
    };
    if (fits(paired_bounds(pairs, bounds, piece.bounds, make_))) return true;
    return !mentions(value, bounds) && !bounds.empty() &&
           (fits(least_of(bounds, conditions, make_)) || fits(greatest_of(bounds, make_)));
  });
}

/// Whether it is a bijection of integers: each is one of the others, or its negative, and something that does not
/// depend on them.
bool ElementComparison::is_one_to_one(const Replacement& names, const std::vector<Bound>& others) const {
  std::vector<std::string> used;
  for (const auto& [name, value] : names) {
    int count = 0;
    for (const Bound& other : others) {
      if (!mentions(value, {other})) continue;
      const auto rise = make_.slope(value, other.name);
      if (rise != 1 && rise != -1) return false;
      ++count;
      used.push_back(other.name);
    }
    if (count != 1) return false;
  }
  std::ranges::sort(used);
  return used.size() == others.size() && std::ranges::adjacent_find(used) == used.end();
}

bool ElementComparison::hold(const Facts& facts, const Facts& conditions) {
  return std::ranges::all_of(conditions, [&](const te::Expr& condition) { return facts_.follows(facts, condition); });
}

}  // namespace isomer::verify
