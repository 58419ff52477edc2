#include "verify/element.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/te/print.h"
#include "graph/te/simplifier.h"

namespace isomer::verify {
namespace {

/// Bounds by the order in which they are bound.
class Printer {
 public:
  std::string print(const Product& product) {
    std::string result = bind(product.bounds);
    result += conditions(product.conditions);
    for (const FactorRef& factor : product.factors) result += "*" + print(factor);
    unbind(product.bounds);
    return result;
  }
  std::string print(const Element& element) {
    std::string result;
    for (const Product& product : element.products) result += fmt::format("+{}{}", product.coefficient.text(), print(product));
    return result;
  }
  std::string print(const FactorRef& factor) {
    std::string result = factor->kind == Factor::Kind::kGreatest ? "max(" : factor->name + "(";
    for (const te::Expr& index : factor->index) result += print(index) + ";";
    for (const Element& argument : factor->arguments) result += print(argument) + ";";
    for (const Piece& piece : factor->pieces) {
      result += bind(piece.bounds);
      result += conditions(piece.conditions);
      result += print(piece.value) + ";";
      unbind(piece.bounds);
    }
    return result + ")";
  }

 private:
  std::string print(const te::Expr& expr) const { return te::print(names_.empty() ? expr : with_names(expr, names_)); }
  std::string bind(const std::vector<Bound>& bounds) {
    std::string result;
    for (const Bound& bound : bounds) {
      result += fmt::format("sum {}.", print(bound.extent));
      names_.insert_or_assign(bound.name, te::symbol(fmt::format("bound {}", names_.size())));
    }
    return result;
  }
  void unbind(const std::vector<Bound>& bounds) {
    for (const Bound& bound : bounds) names_.erase(bound.name);
  }
  std::string conditions(const std::vector<te::Expr>& conditions) const {
    std::string result;
    for (const te::Expr& condition : conditions) result += "[" + print(condition) + "]";
    return result;
  }

  Replacement names_;
};

std::string key(const Product& product) { return Printer().print(product); }

bool is_call(const FactorRef& factor, std::string_view name) { return factor->kind == Factor::Kind::kCall && factor->name == name; }

}  // namespace

te::Expr with_names(const te::Expr& expr, const Replacement& names) {
  return te::transform(expr, [&](const te::Expr& e) -> te::Expr {
    const auto* symbol = te::as<te::Symbol>(e);
    const auto found = symbol ? names.find(symbol->name) : names.end();
    return found == names.end() ? te::Expr() : found->second;
  });
}

std::string text(const Product& product) { return product.coefficient.text() + key(product); }
std::string text(const FactorRef& factor) { return Printer().print(factor); }
std::string text(const Element& element) { return Printer().print(element); }

bool mentions(const te::Expr& expr, const std::vector<Bound>& bounds) {
  bool result = false;
  te::for_each_node(expr, [&](const te::Expr& e) {
    if (const auto* symbol = te::as<te::Symbol>(e)) result |= std::any_of(bounds.begin(), bounds.end(), [&](const Bound& bound) { return bound.name == symbol->name; });
  });
  return result;
}

bool mentions(const std::vector<te::Expr>& exprs, const std::vector<Bound>& bounds) {
  return std::any_of(exprs.begin(), exprs.end(), [&](const te::Expr& expr) { return mentions(expr, bounds); });
}

bool mentions(const FactorRef& factor, const std::vector<Bound>& bounds) {
  return mentions(factor->index, bounds) || std::any_of(factor->arguments.begin(), factor->arguments.end(), [&](const Element& e) { return mentions(e, bounds); }) ||
         std::any_of(factor->pieces.begin(), factor->pieces.end(), [&](const Piece& piece) {
           return std::any_of(piece.bounds.begin(), piece.bounds.end(), [&](const Bound& bound) { return mentions(bound.extent, bounds); }) || mentions(piece.conditions, bounds) ||
                  mentions(piece.value, bounds);
         });
}

bool mentions(const Element& element, const std::vector<Bound>& bounds) {
  return std::any_of(element.products.begin(), element.products.end(), [&](const Product& product) {
    return std::any_of(product.bounds.begin(), product.bounds.end(), [&](const Bound& bound) { return mentions(bound.extent, bounds); }) || mentions(product.conditions, bounds) ||
           std::any_of(product.factors.begin(), product.factors.end(), [&](const FactorRef& factor) { return mentions(factor, bounds); });
  });
}

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
    if (found == extents_.end()) return {1, std::nullopt};
    const auto extent = te::as_constant(found->second);
    return {0, extent ? std::optional(*extent - 1) : std::nullopt};
  };
}

te::Expr ElementMaker::simplified(const te::Expr& expr) const { return te::simplify_index(expr, ranges()); }

Element ElementMaker::number(te::Rational value) const {
  if (value.sign() == 0) return {};
  return {{Product{std::move(value), {}, {}, {}}}};
}

Element ElementMaker::single(Factor factor) const { return {{Product{te::Rational(1), {}, {}, {std::make_shared<const Factor>(std::move(factor))}}}}; }

Element ElementMaker::integer(const te::Expr& value) const {
  const te::Polynomial polynomial = te::Simplifier(ranges()).polynomial(value);
  Element result = number(te::Rational(polynomial.constant));
  for (const te::Term& term : polynomial.terms) {
    Product product{te::Rational(term.coefficient), {}, {}, {}};
    for (const te::Expr& atom : term.factors) product.factors.push_back(std::make_shared<const Factor>(Factor{.kind = Factor::Kind::kInteger, .index = {atom}}));
    result.products.push_back(std::move(product));
  }
  return result;
}

Element ElementMaker::truth(const te::Expr& condition) const { return restricted(number(te::Rational(1)), condition); }

Element ElementMaker::load(std::string name, bool is_truth, std::vector<te::Expr> index) const {
  for (te::Expr& each : index) each = simplified(each);
  return single({.kind = Factor::Kind::kLoad, .name = std::move(name), .is_truth = is_truth, .index = std::move(index)});
}

bool ElementMaker::add_condition(std::vector<te::Expr>& conditions, const te::Expr& condition) const {
  const te::Expr simple = simplified(condition);
  if (const auto value = te::as_constant(simple)) return *value != 0;
  if (const auto* both = te::as<te::Binary>(simple); both && both->op == te::BinaryOp::kAnd) return add_condition(conditions, both->left) && add_condition(conditions, both->right);
  const te::Expr opposite = simplified(te::logical_not(simple));
  for (const te::Expr& known : conditions) {
    if (known == simple) return true;
    if (known == opposite) return false;
  }
  const auto at = std::find_if(conditions.begin(), conditions.end(), [&](const te::Expr& known) { return te::order(simple, known) < 0; });
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
    if (std::find(product.conditions.begin(), product.conditions.end(), opposite) != product.conditions.end()) continue;
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
  products.insert(products.end(), b.products.begin(), b.products.end());
  return collected(std::move(products));
}

Element ElementMaker::collected(std::vector<Product> products) {
  if (products.size() > kMostProducts) exhausted_ = true;
  if (exhausted_) return {};
  std::map<std::string, Product> known;
  for (Product& product : products) {
    const auto [at, is_new] = known.emplace(key(product), product);
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
  for (const te::Expr& condition : product.conditions) result.conditions.push_back(simplified(with_names(condition, names)));
  for (const FactorRef& factor : product.factors) {
    const Element made = replaced(factor, names);
    // Another name changes nothing but names, and the order of what is added up.
    if (made.products.size() == 1 && made.products[0].factors.size() == 1 && made.products[0].coefficient == te::Rational(1) && made.products[0].bounds.empty())
      result.factors.push_back(made.products[0].factors[0]);
    else
      exhausted_ = true;
  }
  return result;
}

std::optional<Product> ElementMaker::joined(const Product& a, const Product& b) const {
  Product result{a.coefficient * b.coefficient, a.bounds, a.conditions, a.factors};
  result.bounds.insert(result.bounds.end(), b.bounds.begin(), b.bounds.end());
  result.factors.insert(result.factors.end(), b.factors.begin(), b.factors.end());
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
      const Element settled = this->settled(*std::move(made));
      products.insert(products.end(), settled.products.begin(), settled.products.end());
      if (products.size() > kMostProducts) exhausted_ = true;
      if (exhausted_) return {};
    }
  return collected(std::move(products));
}

Element ElementMaker::sum_over(const std::vector<Bound>& bounds, const Element& body) {
  std::vector<Product> products;
  for (Product product : body.products) {
    product.bounds.insert(product.bounds.begin(), bounds.begin(), bounds.end());
    const Element made = settled(renamed(product));
    products.insert(products.end(), made.products.begin(), made.products.end());
  }
  return collected(std::move(products));
}

/// Factors in one order, those that are 0 or 1 once; exponentials as one sum of what they are of.
void ElementMaker::cancel(std::vector<FactorRef>& factors, Element& exponents) const {
  std::multimap<std::string, FactorRef> sorted;
  for (const FactorRef& factor : factors) {
    if (is_call(factor, "exp")) {
      exponents.products.insert(exponents.products.end(), factor->arguments[0].products.begin(), factor->arguments[0].products.end());
      continue;
    }
    std::string name = text(factor);
    if (factor->is_truth && sorted.contains(name)) continue;
    // A size is not zero, so that it and its reciprocal are nothing.
    const bool is_reciprocal = is_call(factor, "reciprocal");
    if (is_reciprocal || factor->kind == Factor::Kind::kInteger) {
      const FactorRef inner = is_reciprocal && factor->arguments[0].products.size() == 1 && factor->arguments[0].products[0].factors.size() == 1 ? factor->arguments[0].products[0].factors[0] : factor;
      const bool is_size = inner->kind == Factor::Kind::kInteger && te::bounds(inner->index[0], ranges()).low.value_or(0) >= 1;
      const auto other = is_size ? sorted.find(is_reciprocal ? text(inner) : fmt::format("reciprocal(+1*{};)", name)) : sorted.end();
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
  for (const FactorRef& factor : powers.products[0].factors) product.factors.push_back(factor);
  return {{std::move(product)}};
}

/// The product without a bound that takes one value, or that nothing mentions.
std::optional<Element> ElementMaker::without_bound(const Product& product, size_t at) {
  const Bound& bound = product.bounds[at];
  Product rest = product;
  rest.bounds.erase(rest.bounds.begin() + static_cast<std::ptrdiff_t>(at));
  if (te::as_constant(bound.extent) == 1) return replaced(rest, {{bound.name, te::index(0)}});
  bool is_used = false;
  for (const FactorRef& factor : product.factors) is_used |= mentions(factor, {bound});
  for (const Bound& other : product.bounds) is_used |= mentions(other.extent, {bound});
  if (!is_used && !mentions(product.conditions, {bound})) return this->product({{std::move(rest)}}, integer(te::max(bound.extent, te::index(0))));
  for (const te::Expr& condition : product.conditions) {
    const auto* equal = te::as<te::Binary>(condition);
    if (!equal || equal->op != te::BinaryOp::kEqual || equal->left.dtype() != DataType::kInt64 || !mentions(condition, {bound})) continue;
    const te::Expr zero = te::index(0), one = te::index(1);
    const te::Expr difference = equal->left - equal->right;
    const te::Expr offset = simplified(with_names(difference, {{bound.name, zero}}));
    const te::Expr slope = simplified(with_names(difference, {{bound.name, one}}) - offset);
    const auto by = te::as_constant(slope);
    if (!by || (*by != 1 && *by != -1) || !(simplified(difference) == simplified(te::index(*by) * te::symbol(bound.name) + offset))) continue;
    const te::Expr value = simplified(te::index(-*by) * offset);
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
        if (auto both = joined(left, right)) products.push_back(*std::move(both));
    made = std::move(products);
  }
  std::vector<Product> result;
  for (Product& each : made) {
    each.bounds.insert(each.bounds.begin(), bounds.begin(), bounds.end());
    const Element settled = this->settled(std::move(each));
    result.insert(result.end(), settled.products.begin(), settled.products.end());
  }
  return collected(std::move(result));
}

Element ElementMaker::replaced(const Element& element, const Replacement& names) {
  std::vector<Product> products;
  for (const Product& product : element.products) {
    const Element made = replaced(product, names);
    products.insert(products.end(), made.products.begin(), made.products.end());
  }
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
    const bool is_possible = std::all_of(piece.conditions.begin(), piece.conditions.end(), [&](const te::Expr& c) { return add_condition(made.conditions, of(c)); });
    if (is_possible) pieces.push_back(std::move(made));
  }
  return greatest(std::move(pieces));
}

}  // namespace isomer::verify
