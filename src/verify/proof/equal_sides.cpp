#include "verify/proof/equal_sides.h"

#include <fmt/format.h>

#include "verify/proof/element_of.h"
#include "verify/proof/equal_elements.h"

namespace isomer::verify {

std::optional<std::string> why_not_proved(const LawSizes& sizes, Oracle* oracle) {
  if (!sizes.is_general) return "sizes that are not free";
  ElementMaker make;
  IndexFacts index(oracle, make);
  ElementReader reader(sizes.types, make, sizes.computes_integers);
  const auto left = reader.type_of(sizes.law.left), right = reader.type_of(sizes.law.right);
  if (!left.ok() || !right.ok()) return (left.ok() ? right : left).error().message();
  if (left->shape->size() != right->shape->size()) return "other ranks";
  Facts facts = sizes.facts;
  if (sizes.law.condition && te::as_constant(sizes.law.condition) != 1) facts.push_back(sizes.law.condition);
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
  const auto one = reader.element(sizes.law.left, position), two = reader.element(sizes.law.right, position);
  if (!one.ok() || !two.ok()) return (one.ok() ? two : one).error().message();
  if (make.has_called() && !sizes.may_call) return "functions of data";
  if (ElementComparison(make, index).are_equal(*one, *two, facts)) return std::nullopt;
  return fmt::format("elements\n    {}\n    {}", text(*one), text(*two));
}

}  // namespace isomer::verify
