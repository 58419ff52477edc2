#include "verify/proof/equal_sides.h"

#include <fmt/format.h>

#include "verify/proof/element_of.h"
#include "verify/proof/equal_elements.h"
#include "verify/proof/substitute.h"

namespace isomer::verify {

std::optional<std::string> why_not_proved(const LawSizes& sizes, Oracle* oracle) {
  if (!sizes.is_general) return "sizes that are not free";
  // Sizes have names here that no index and no bound has, whatever files call them.
  const auto own = [](const std::string& name) { return te::symbol("size " + name); };
  Bindings names;
  for (const std::string& name : integer_names(sizes.law)) names.integers.emplace(name, Dim(own(name)));
  const Term one_side = substitute(sizes.law.left, names), other_side = substitute(sizes.law.right, names);
  VariableTypes types = sizes.types;
  for (auto& [name, type] : types) for_each_dim(type, [&](Dim& dim) { dim = with_symbols(dim, own); });
  Facts facts = sizes.facts;
  if (sizes.law.condition && te::as_constant(sizes.law.condition) != 1) facts.push_back(sizes.law.condition);
  for (te::Expr& fact : facts) fact = te::with_symbols(fact, own);
  ElementMaker make;
  IndexFacts index(oracle, make);
  ElementReader reader(types, make, sizes.computes_integers);
  const auto left = reader.type_of(one_side), right = reader.type_of(other_side);
  if (!left.ok() || !right.ok()) return (left.ok() ? right : left).error().message();
  if (left->shape->size() != right->shape->size()) return "other ranks";
  std::vector<te::Expr> position;
  for (size_t k = 0; k < left->shape->size(); ++k) {
    const te::Expr extent = (*left->shape)[k].expr(), other = (*right->shape)[k].expr();
    if (!index.are_equal(facts, extent, other))
      return fmt::format("dim {} is {} and {}", k, (*left->shape)[k].text(), (*right->shape)[k].text());
  }
  if (has_no_elements(*left)) return std::nullopt;
  for (const Dim& dim : *left->shape) {
    // Where it is 0 neither side has elements.
    if (const std::string* size = only_name(dim)) make.fill(*size);
    const Bound bound = make.fresh("i", dim.expr());
    // A dim of 1 has one index.
    position.push_back(dim.is(1) ? te::index(0) : te::symbol(bound.name));
    if (!dim.is(1)) add_range(bound, facts);
  }
  const auto one = reader.element(one_side, position), two = reader.element(other_side, position);
  if (!one.ok() || !two.ok()) return (one.ok() ? two : one).error().message();
  if (make.has_called() && !sizes.may_call) return "functions of data";
  if (ElementComparison(make, index).are_equal(*one, *two, facts)) return std::nullopt;
  return fmt::format("elements\n    {}\n    {}", text(*one), text(*two));
}

}  // namespace isomer::verify
