#include "verify/proof/element_cases.h"

#include <algorithm>

namespace isomer::verify {
namespace {

Element written_out(const Product& product, const std::vector<Bound>& bounds, ElementMaker& make) {
  const auto chosen = std::find_if(product.bounds.begin(), product.bounds.end(), [&](const Bound& own) {
    return te::as_constant(own.extent) &&
           std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) { return bound.name == own.name; });
  });
  if (chosen == product.bounds.end()) return {{product}};
  Product rest = product;
  rest.bounds.erase(rest.bounds.begin() + (chosen - product.bounds.begin()));
  Element result;
  for (int64_t value = 0; value < *te::as_constant(chosen->extent); ++value)
    for (const Product& one : make.replaced(rest, {{chosen->name, te::index(value)}}).products)
      result = make.sum(result, written_out(one, bounds, make));
  return result;
}

Element cut(Product product, const Division& division, ElementMaker& make) {
  const auto bound = std::find_if(product.bounds.begin(), product.bounds.end(),
                                  [&](const Bound& each) { return each.name == division.name; });
  if (bound == product.bounds.end() || !make.is_at_least_one(division.by)) return {{std::move(product)}};
  const Cut cut = cut_of(division, make);
  product.bounds.insert(product.bounds.erase(bound), {cut.quotient, cut.remainder});
  if (cut.condition) product.conditions.push_back(cut.condition);
  return make.replaced(product, {{division.name, cut.value}});
}

Element joined(Product product, const BoundPair& pair, ElementMaker& make) {
  const auto& [quotient, remainder] = pair;
  const auto is_one = [&](const Bound& each) { return each.name == quotient.name || each.name == remainder.name; };
  const bool is_apart = mentions(quotient.extent, product.bounds) || mentions(remainder.extent, product.bounds);
  if (is_apart || std::count_if(product.bounds.begin(), product.bounds.end(), is_one) != 2)
    return {{std::move(product)}};
  std::erase_if(product.bounds, is_one);
  const Bound both = make.fresh("j", quotient.extent * remainder.extent);
  product.bounds.insert(product.bounds.begin(), both);
  const te::Expr value = te::symbol(both.name), by = remainder.extent;
  return make.replaced(product,
                       {{quotient.name, te::floor_div(value, by)}, {remainder.name, te::floor_mod(value, by)}});
}

}  // namespace

Cut cut_of(const Division& division, ElementMaker& make) {
  const te::Expr extent = make.extent(division.name), by = division.by;
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
  const std::vector<Bound> bounds = sums_to_write_out(element);
  Element result;
  for (const Product& product : element.products) result = make.sum(result, written_out(product, bounds, make));
  return bounds.empty() ? std::nullopt : std::optional(std::move(result));
}

}  // namespace isomer::verify
