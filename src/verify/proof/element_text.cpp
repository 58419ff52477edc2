// Elements as text, and the names in them.
#include <fmt/format.h>

#include <algorithm>

#include "graph/te/print.h"
#include "verify/proof/element.h"

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
    for (const Product& product : element.products)
      result += fmt::format("+{}{}", product.coefficient.text(), print(product));
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

}  // namespace

std::string text(const Product& product) { return product.coefficient.text() + text_without_coefficient(product); }
std::string text_without_coefficient(const Product& product) { return Printer().print(product); }
std::string text(const FactorRef& factor) { return Printer().print(factor); }
std::string text(const Element& element) { return Printer().print(element); }

bool mentions(const te::Expr& expr, const std::vector<Bound>& bounds) {
  return te::any_symbol(
      expr, [&](const std::string& name) { return std::ranges::find(bounds, name, &Bound::name) != bounds.end(); });
}

bool mentions(const Bound& bound, const std::vector<Bound>& bounds) { return mentions(bound.extent, bounds); }

bool mentions(const FactorRef& factor, const std::vector<Bound>& bounds) {
  return mentions(factor->index, bounds) || mentions(factor->arguments, bounds) ||
         std::ranges::any_of(factor->pieces, [&](const Piece& piece) {
           return mentions(piece.bounds, bounds) || mentions(piece.conditions, bounds) || mentions(piece.value, bounds);
         });
}

bool mentions(const Product& product, const std::vector<Bound>& bounds) {
  return mentions(product.bounds, bounds) || mentions(product.conditions, bounds) || mentions(product.factors, bounds);
}

bool mentions(const Element& element, const std::vector<Bound>& bounds) { return mentions(element.products, bounds); }

bool are_alike(const FactorRef& a, const FactorRef& b) {
  return a->kind == b->kind && a->name == b->name && a->index.size() == b->index.size() &&
         a->arguments.size() == b->arguments.size();
}

bool is_call(const FactorRef& factor, std::string_view name) {
  return factor && factor->kind == Factor::Kind::kCall && factor->name == name;
}

const te::Expr* free_condition(const Element& element) {
  for (const Product& product : element.products)
    for (const te::Expr& condition : product.conditions)
      if (!mentions(condition, product.bounds)) return &condition;
  return nullptr;
}

}  // namespace isomer::verify
