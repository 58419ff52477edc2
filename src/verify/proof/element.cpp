#include "verify/proof/element.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/te/simplifier.h"
#include "util/append.h"

namespace isomer::verify {

Bound ElementMaker::fresh(std::string_view prefix, te::Expr extent) {
  Bound result{fmt::format("{}{}", prefix, count_++), simplified(extent)};
  extents_.emplace(result.name, result.extent);
  return result;
}

te::Ranges ElementMaker::ranges() const {
  return [this](const te::Expr& leaf) -> te::Interval {
    const auto* symbol = te::as<te::Symbol>(leaf);
    if (!symbol) return {};
    const auto found = extents_.find(symbol->name);
    if (found == extents_.end()) return {least(symbol->name), std::nullopt};
    const auto extent = te::as_constant(found->second);
    return {0, extent ? std::optional(*extent - 1) : std::nullopt};
  };
}

te::Expr ElementMaker::simplified(const te::Expr& expr) const {
  if (const auto known = simplified_.find(expr); known != simplified_.end()) return known->second;
  return simplified_.emplace(expr, simplified_anew(expr)).first->second;
}

te::Expr ElementMaker::simplified_anew(const te::Expr& expr) const {
  const te::Expr simple = te::simplify_index(expr, ranges());
  // An index is below its extent, which the simplifier knows of numbers alone.
  const auto below = [&](const te::Expr& e) -> te::Expr {
    const auto* by = te::as<te::Binary>(e);
    const bool divides = by && (by->op == te::BinaryOp::kFloorDiv || by->op == te::BinaryOp::kFloorMod);
    const auto* symbol = divides ? te::as<te::Symbol>(by->left) : nullptr;
    if (!symbol || !is_bounded(symbol->name) || !(extent(symbol->name) == by->right)) return {};
    return by->op == te::BinaryOp::kFloorDiv ? te::index(0) : by->left;
  };
  return te::any_node(simple, below) ? simplified(te::transform(simple, below)) : simple;
}

Element ElementMaker::number(te::Rational value) const {
  if (value.sign() == 0) return {};
  return {{Product{std::move(value), {}, {}, {}}}};
}

Element single(FactorRef factor) { return {{Product{te::Rational(1), {}, {}, {std::move(factor)}}}}; }
Element single(Factor factor) { return single(std::make_shared<const Factor>(std::move(factor))); }

FactorRef only_factor(const Element& element) {
  if (element.products.size() != 1) return nullptr;
  const Product& product = element.products[0];
  const bool is_bare = product.coefficient == te::Rational(1) && product.bounds.empty() && product.conditions.empty() &&
                       product.factors.size() == 1;
  return is_bare ? product.factors[0] : nullptr;
}

Element ElementMaker::integer(const te::Expr& value) const {
  const te::Polynomial polynomial = te::Simplifier(ranges()).polynomial(value);
  Element result = number(te::Rational(polynomial.constant));
  for (const te::Term& term : polynomial.terms) {
    Product product{te::Rational(term.coefficient), {}, {}, {}};
    for (const te::Expr& atom : term.factors)
      product.factors.push_back(
          std::make_shared<const Factor>(Factor{.kind = Factor::Kind::kInteger, .index = {atom}}));
    result.products.push_back(std::move(product));
  }
  return result;
}

Element ElementMaker::truth(const te::Expr& condition) const { return restricted(number(te::Rational(1)), condition); }

Element ElementMaker::load(std::string name, bool is_truth, std::vector<te::Expr> index) const {
  for (te::Expr& each : index) each = simplified(each);
  return single(
      {.kind = Factor::Kind::kLoad, .name = std::move(name), .is_truth = is_truth, .index = std::move(index)});
}

bool ElementMaker::add_condition(std::vector<te::Expr>& conditions, const te::Expr& condition) const {
  const te::Expr simple = simplified(condition);
  if (const auto value = te::as_constant(simple)) return *value != 0;
  if (const auto* both = te::as<te::Binary>(simple); both && both->op == te::BinaryOp::kAnd)
    return add_condition(conditions, both->left) && add_condition(conditions, both->right);
  const te::Expr opposite = simplified(te::logical_not(simple));
  for (const te::Expr& known : conditions) {
    if (known == simple) return true;
    if (known == opposite) return false;
  }
  const auto at = std::ranges::find_if(conditions, [&](const te::Expr& known) { return te::order(simple, known) < 0; });
  conditions.insert(at, simple);
  return true;
}

Element ElementMaker::restricted(const Element& a, const te::Expr& condition) const {
  Element result;
  for (Product product : a.products)
    if (add_condition(product.conditions, condition)) result.products.push_back(std::move(product));
  return result;
}

Element ElementMaker::assumed(const Element& a, const te::Expr& condition) const {
  Element result;
  const te::Expr opposite = simplified(te::logical_not(condition));
  for (Product product : a.products) {
    if (std::ranges::find(product.conditions, opposite) != product.conditions.end()) continue;
    std::erase(product.conditions, condition);
    result.products.push_back(std::move(product));
  }
  return result;
}

Element ElementMaker::scaled(const Element& a, const te::Rational& by) const {
  if (by.sign() == 0) return {};
  Element result = a;
  for (Product& product : result.products) product.coefficient = product.coefficient * by;
  return result;
}

Element ElementMaker::sum(const Element& a, const Element& b) {
  std::vector<Product> products = a.products;
  append(products, b.products);
  return collected(std::move(products));
}

Element ElementMaker::collected(std::vector<Product> products) {
  if (products.size() > kMostProducts) exhausted_ = true;
  if (exhausted_) return {};
  std::map<std::string, Product> known;
  for (Product& product : products) {
    const auto [at, is_new] = known.emplace(text_without_coefficient(product), product);
    if (!is_new) at->second.coefficient = at->second.coefficient + product.coefficient;
  }
  Element result;
  for (auto& [name, product] : known)
    if (product.coefficient.sign() != 0) result.products.push_back(std::move(product));
  return result;
}

Product ElementMaker::renamed(const Product& product) {
  if (product.bounds.empty()) return product;
  Replacement names;
  Product result{product.coefficient, {}, {}, {}};
  for (const Bound& bound : product.bounds) {
    result.bounds.push_back(fresh("r", with_names(bound.extent, names)));
    names.emplace(bound.name, te::symbol(result.bounds.back().name));
  }
  for (const te::Expr& condition : product.conditions)
    result.conditions.push_back(simplified(with_names(condition, names)));
  for (const FactorRef& factor : product.factors) {
    // Another name changes nothing but names, and the order of what is added up.
    if (const FactorRef made = only_factor(replaced(factor, names)))
      result.factors.push_back(made);
    else
      exhausted_ = true;
  }
  return result;
}

std::optional<Product> ElementMaker::joined(const Product& a, const Product& b) const {
  Product result{a.coefficient * b.coefficient, a.bounds, a.conditions, a.factors};
  append(result.bounds, b.bounds);
  append(result.factors, b.factors);
  for (const te::Expr& condition : b.conditions)
    if (!add_condition(result.conditions, condition)) return std::nullopt;
  return result;
}

Element ElementMaker::product(const Element& a, const Element& b) {
  std::vector<Product> products;
  for (const Product& left : a.products)
    for (const Product& written : b.products) {
      auto made = joined(left, renamed(written));
      if (!made) continue;
      append(products, settled(*std::move(made)).products);
      if (products.size() > kMostProducts) exhausted_ = true;
      if (exhausted_) return {};
    }
  return collected(std::move(products));
}

Element ElementMaker::sum_over(const std::vector<Bound>& bounds, const Element& body) {
  std::vector<Product> products;
  for (Product product : body.products) {
    product.bounds.insert(product.bounds.begin(), bounds.begin(), bounds.end());
    append(products, settled(renamed(product)).products);
  }
  return collected(std::move(products));
}

}  // namespace isomer::verify
