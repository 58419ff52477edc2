// Products brought to normal form: factors that cancel, bounds that go, names replaced.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "util/append.h"
#include "util/check.h"
#include "verify/proof/element.h"

namespace isomer::verify {

/// Factors in one order, those that are 0 or 1 once; exponentials as one sum of what they are of.
void ElementMaker::cancel(std::vector<FactorRef>& factors, Element& exponents) const {
  std::multimap<std::string, FactorRef> sorted;
  for (const FactorRef& factor : factors) {
    if (is_call(factor, "exp")) {
      append(exponents.products, factor->arguments[0].products);
      continue;
    }
    std::string name = text(factor);
    if (factor->is_truth && sorted.contains(name)) continue;
    // A size is not zero, so that it and its reciprocal are nothing.
    const bool is_reciprocal = is_call(factor, "reciprocal");
    if (is_reciprocal || factor->kind == Factor::Kind::kInteger) {
      const FactorRef inner = is_reciprocal ? only_factor(factor->arguments[0]) : factor;
      const bool is_size = inner && inner->kind == Factor::Kind::kInteger && is_at_least_one(inner->index[0]);
      const auto other =
          is_size ? sorted.find(is_reciprocal ? text(inner) : fmt::format("reciprocal(+1*{};)", name)) : sorted.end();
      if (other != sorted.end()) {
        sorted.erase(other);
        continue;
      }
    }
    sorted.emplace(std::move(name), factor);
  }
  factors.clear();
  for (auto& [name, factor] : sorted) factors.push_back(std::move(factor));
}

Element ElementMaker::settled(Product product) {
  for (size_t k = 0; k < product.bounds.size(); ++k)
    if (auto without = without_bound(product, k)) return *std::move(without);
  Element exponents;
  cancel(product.factors, exponents);
  if (exponents.products.empty()) return {{std::move(product)}};
  // What is left of the exponentials is put back as exponential() makes it.
  const Element powers = exponential(collected(std::move(exponents.products)));
  CHECK(powers.products.size() == 1) << "exponentials of sums are products";
  append(product.factors, powers.products[0].factors);
  return {{std::move(product)}};
}

std::optional<int64_t> ElementMaker::slope(const te::Expr& expr, const std::string& name) const {
  const te::Expr first = simplified(with_names(expr, {{name, te::index(0)}}));
  const auto rise = te::as_constant(simplified(with_names(expr, {{name, te::index(1)}}) - first));
  const bool is_line = rise && simplified(expr) == simplified(first + te::index(*rise) * te::symbol(name));
  return is_line && *rise != 0 ? rise : std::nullopt;
}

/// The product without a bound that takes one value, or that nothing mentions.
std::optional<Element> ElementMaker::without_bound(const Product& product, size_t at) {
  const Bound& bound = product.bounds[at];
  Product rest = product;
  rest.bounds.erase(rest.bounds.begin() + static_cast<std::ptrdiff_t>(at));
  if (te::as_constant(bound.extent) == 1) return replaced(rest, {{bound.name, te::index(0)}});
  if (!mentions(product, {bound}))
    return this->product({{std::move(rest)}}, integer(te::max(bound.extent, te::index(0))));
  for (const te::Expr& condition : product.conditions) {
    const auto* equal = te::as<te::Binary>(condition);
    if (!equal || equal->op != te::BinaryOp::kEqual || equal->left.dtype() != DataType::kInt64 ||
        !mentions(condition, {bound}))
      continue;
    const te::Expr difference = equal->left - equal->right;
    const auto by = slope(difference, bound.name);
    if (by != 1 && by != -1) continue;
    const te::Expr value = simplified(te::index(-*by) * with_names(difference, {{bound.name, te::index(0)}}));
    std::erase(rest.conditions, condition);
    return restricted(replaced(rest, {{bound.name, value}}), te::index(0) <= value && value < bound.extent);
  }
  return std::nullopt;
}

Element ElementMaker::replaced(const Product& product, const Replacement& names) {
  Product bare{product.coefficient, product.bounds, {}, {}};
  for (Bound& bound : bare.bounds) bound.extent = simplified(with_names(bound.extent, names));
  for (const te::Expr& condition : product.conditions)
    if (!add_condition(bare.conditions, with_names(condition, names))) return {};
  // Bounds are put around the factors at last, so that these keep their names.
  const std::vector<Bound> bounds = std::exchange(bare.bounds, {});
  std::vector<Product> made = {std::move(bare)};
  for (const FactorRef& factor : product.factors) {
    const Element next = replaced(factor, names);
    std::vector<Product> products;
    for (const Product& left : made)
      for (const Product& right : next.products)
        if (auto both = joined(left, renamed(right))) products.push_back(*std::move(both));
    made = std::move(products);
  }
  std::vector<Product> result;
  for (Product& each : made) {
    each.bounds.insert(each.bounds.begin(), bounds.begin(), bounds.end());
    append(result, settled(std::move(each)).products);
  }
  return collected(std::move(result));
}

Element ElementMaker::replaced(const Element& element, const Replacement& names) {
  std::vector<Product> products;
  for (const Product& product : element.products) append(products, replaced(product, names).products);
  return collected(std::move(products));
}

Element ElementMaker::replaced(const FactorRef& factor, const Replacement& names) {
  const auto of = [&](const te::Expr& expr) { return with_names(expr, names); };
  if (factor->kind == Factor::Kind::kInteger) return integer(of(factor->index[0]));
  if (factor->kind == Factor::Kind::kLoad) {
    std::vector<te::Expr> index;
    for (const te::Expr& each : factor->index) index.push_back(of(each));
    return load(factor->name, factor->is_truth, std::move(index));
  }
  if (factor->kind == Factor::Kind::kCall) {
    std::vector<Element> arguments;
    for (const Element& each : factor->arguments) arguments.push_back(replaced(each, names));
    return call(factor->name, std::move(arguments), factor->is_truth);
  }
  std::vector<Piece> pieces;
  for (const Piece& piece : factor->pieces) {
    Piece made{piece.bounds, {}, replaced(piece.value, names)};
    for (Bound& bound : made.bounds) bound.extent = simplified(of(bound.extent));
    const bool is_possible =
        std::ranges::all_of(piece.conditions, [&](const te::Expr& c) { return add_condition(made.conditions, of(c)); });
    if (is_possible) pieces.push_back(std::move(made));
  }
  return greatest(std::move(pieces));
}

}  // namespace isomer::verify
