#include "verify/proof/element_cases.h"

#include <algorithm>

namespace isomer::verify {
namespace {

Element written_out(const Product& product, const std::set<std::string>& bounds, ElementMaker& make) {
  const auto chosen = std::ranges::find_if(
      product.bounds, [&](const Bound& own) { return bounds.contains(own.name) && te::as_constant(own.extent); });
  if (chosen == product.bounds.end()) return {{product}};
  Product rest = product;
  rest.bounds.erase(rest.bounds.begin() + (chosen - product.bounds.begin()));
  Element result;
  for (int64_t value = 0; value < *te::as_constant(chosen->extent); ++value)
    for (const Product& one : make.replaced(rest, {{chosen->name, te::index(value)}}).products)
      result = make.sum(result, written_out(one, bounds, make));
  return result;
}

/// The end where it is none of the product's.
auto place_of(const std::string& name, const Product& product) {
  return std::ranges::find(product.bounds, name, &Bound::name);
}

Element cut(Product product, const Division& division, ElementMaker& make) {
  const auto bound = place_of(division.name, product);
  if (bound == product.bounds.end() || mentions(division.by, {*bound}) || !make.is_at_least_one(division.by))
    return {{std::move(product)}};
  const Cut cut = cut_of(bound->extent, division.by, make);
  product.bounds.insert(product.bounds.erase(bound), {cut.quotient, cut.remainder});
  if (cut.condition) product.conditions.push_back(cut.condition);
  return make.replaced(product, {{division.name, cut.value}});
}

Element joined(Product product, const BoundPair& pair, ElementMaker& make) {
  const auto quotient = place_of(pair.quotient, product), remainder = place_of(pair.remainder, product),
             end = product.bounds.cend();
  if (quotient == end || remainder == end || quotient == remainder || mentions(quotient->extent, product.bounds) ||
      mentions(remainder->extent, product.bounds))
    return {{std::move(product)}};
  const te::Expr by = remainder->extent;
  const Bound both = make.fresh("j", quotient->extent * by);
  const te::Expr value = te::symbol(both.name);
  std::erase_if(product.bounds, [&](const Bound& b) { return b.name == pair.quotient || b.name == pair.remainder; });
  product.bounds.insert(product.bounds.begin(), both);
  return make.replaced(product,
                       {{pair.quotient, te::floor_div(value, by)}, {pair.remainder, te::floor_mod(value, by)}});
}

}  // namespace

Cut cut_of(const te::Expr& extent, const te::Expr& by, ElementMaker& make) {
  const te::Expr whole = make.simplified(te::floor_div(extent, by));
  const bool is_exact = te::as_constant(make.simplified(te::floor_mod(extent, by))) == 0;
  Cut cut{{}, make.fresh("q", is_exact ? whole : whole + 1), make.fresh("r", by), {}};
  cut.value = te::symbol(cut.quotient.name) * by + te::symbol(cut.remainder.name);
  if (!is_exact) cut.condition = cut.value < extent;
  return cut;
}

std::optional<Element> with_other_bounds(const Element& element, ElementMaker& make) {
  Element result;
  bool is_other = false;
  for (const Product& product : element.products) {
    const auto pair = bounds_to_join(product, make);
    const auto division = pair ? std::nullopt : bound_to_cut(product, make);
    is_other = is_other || pair || division;
    result = make.sum(result, pair       ? joined(product, *pair, make)
                              : division ? cut(product, *division, make)
                                         : Element{{product}});
  }
  return is_other ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Element> with_sums_written_out(const Element& element, ElementMaker& make) {
  const std::set<std::string> bounds = sums_to_write_out(element);
  Element result;
  for (const Product& product : element.products) result = make.sum(result, written_out(product, bounds, make));
  return bounds.empty() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace isomer::verify
