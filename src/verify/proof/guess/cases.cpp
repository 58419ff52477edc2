#include "verify/proof/guess/cases.h"

#include <algorithm>
#include <functional>

#include "graph/te/simplifier.h"

namespace isomer::verify {
namespace {

/// Values of one bound, and of all those of a product, that are written out.
constexpr int64_t kMostValues = 7, kMostOfAProduct = 49;

/// That anything in it is summed over, or a maximum is taken over.
void add_bounds(const Element& element, std::set<std::string>& bounds) {
  for (const Product& product : element.products) {
    for (const Bound& bound : product.bounds) bounds.insert(bound.name);
    for (const FactorRef& factor : product.factors) {
      for (const Element& argument : factor->arguments) add_bounds(argument, bounds);
      for (const Piece& piece : factor->pieces) {
        for (const Bound& bound : piece.bounds) bounds.insert(bound.name);
        add_bounds(piece.value, bounds);
      }
    }
  }
}

/// Calls `look` on every index and condition, those in functions too.
using Look = std::function<void(const te::Expr&)>;
void for_each_index(const Element& element, const Look& look);
void for_each_index(const FactorRef& factor, const Look& look) {
  for (const te::Expr& index : factor->index) look(index);
  for (const Element& argument : factor->arguments) for_each_index(argument, look);
  for (const Piece& piece : factor->pieces) {
    for (const te::Expr& condition : piece.conditions) look(condition);
    for_each_index(piece.value, look);
  }
}
void for_each_index(const Product& product, const Look& look) {
  for (const te::Expr& condition : product.conditions) look(condition);
  for (const FactorRef& factor : product.factors) for_each_index(factor, look);
}
void for_each_index(const Element& element, const Look& look) {
  for (const Product& product : element.products) for_each_index(product, look);
}

using Wanted = std::function<bool(const std::string& name, const te::Expr& by)>;

/// How large a size is where all names are 2.
int64_t size_of(const te::Expr& by) {
  const te::Expr of_twos =
      te::transform(by, [](const te::Expr& e) { return te::as<te::Symbol>(e) ? te::index(2) : te::Expr(); });
  return te::as_constant(te::simplify_index(of_twos)).value_or(0);
}

/// A name that a quotient or remainder in the expression divides, by the most: what divides a part of it then is a
/// quotient of that part.
std::optional<Division> division_in(const te::Expr& expr, const Wanted& is_wanted, std::optional<Division> found) {
  te::for_each_node(expr, [&](const te::Expr& e) {
    const auto* division = te::as<te::Binary>(e);
    if (!division || (division->op != te::BinaryOp::kFloorDiv && division->op != te::BinaryOp::kFloorMod)) return;
    const auto divisor = te::as_constant(division->right);
    const te::Polynomial sum = te::Simplifier({}).polynomial(division->left);
    for (const te::Term& term : sum.terms) {
      const auto* name = term.factors.size() == 1 ? te::as<te::Symbol>(term.factors[0]) : nullptr;
      if (!name || term.coefficient <= 0) continue;
      const bool is_whole =
          divisor ? *divisor > term.coefficient && *divisor % term.coefficient == 0 : term.coefficient == 1;
      const te::Expr by = divisor ? te::index(*divisor / term.coefficient) : division->right;
      if (is_whole && !mentions(by, {Bound{name->name, {}}}) && is_wanted(name->name, by) &&
          (!found || size_of(found->by) < size_of(by)))
        found = Division{name->name, by};
    }
  });
  return found;
}

std::optional<Division> division_in(const Element& element, const Wanted& is_wanted) {
  std::optional<Division> found;
  for_each_index(element, [&](const te::Expr& index) { found = division_in(index, is_wanted, std::move(found)); });
  return found;
}

bool is_small(const Bound& bound) { return te::as_constant(bound.extent).value_or(kMostValues + 1) <= kMostValues; }

}  // namespace

std::optional<Division> bound_to_cut(const Product& product, const ElementMaker& make) {
  return division_in({{product}}, [&](const std::string& name, const te::Expr& by) {
    return make.is_at_least_one(by) && std::any_of(product.bounds.begin(), product.bounds.end(), [&](const Bound& b) {
             return b.name == name && !(make.simplified(b.extent) == make.simplified(by));
           });
  });
}

std::optional<Division> index_to_cut(const Element& element, const ElementMaker& make) {
  std::set<std::string> bounds;
  add_bounds(element, bounds);
  return division_in(element, [&](const std::string& name, const te::Expr& by) {
    return te::as_constant(by).value_or(kMostValues + 1) <= kMostValues && make.is_bounded(name) &&
           !bounds.contains(name);
  });
}

std::optional<BoundPair> bounds_to_join(const Product& product, const ElementMaker& make) {
  const te::Expr one = te::symbol("joined");
  const auto are_one = [&](const Bound& quotient, const Bound& remainder) {
    bool is_used = false, are_apart = false;
    const Replacement names = {{quotient.name, te::floor_div(one, remainder.extent)},
                               {remainder.name, te::floor_mod(one, remainder.extent)}};
    for_each_index({{product}}, [&](const te::Expr& index) {
      is_used |= mentions(index, {quotient});
      te::for_each_node(make.simplified(with_names(index, names)), [&](const te::Expr& e) {
        const auto* division = te::as<te::Binary>(e);
        are_apart |= division && mentions(e, {Bound{"joined", {}}}) &&
                     (division->op == te::BinaryOp::kFloorDiv || division->op == te::BinaryOp::kFloorMod);
      });
    });
    return is_used && !are_apart;
  };
  for (const Bound& quotient : product.bounds)
    for (const Bound& remainder : product.bounds)
      if (quotient.name != remainder.name && are_one(quotient, remainder))
        return BoundPair{quotient.name, remainder.name};
  return std::nullopt;
}

std::set<std::string> sums_to_write_out(const Element& element) {
  std::set<std::string> result;
  size_t written = 0;
  for (const Product& product : element.products) {
    int64_t values = 1;
    for (const Bound& bound : product.bounds)
      if (is_small(bound)) {
        values *= *te::as_constant(bound.extent);
        result.insert(bound.name);
      }
    written += static_cast<size_t>(values);
    if (values > kMostOfAProduct || written > ElementMaker::kMostProducts) return {};
  }
  return result;
}

}  // namespace isomer::verify
