#include "verify/prove_law.h"

#include <algorithm>

#include "verify/proof/element_of.h"
#include "verify/proof/equal_elements.h"

namespace isomer::verify {

Result<std::optional<std::string>> why_not_proved(const LawSizes& sizes, ArithmeticSolver* solver) {
  using Reason = std::optional<std::string>;
  if (!sizes.is_general) return Reason("sizes that are not free");
  ElementMaker make;
  IndexFacts index(solver, make);
  ElementReader reader(sizes.types, make);
  const auto left = reader.type_of(sizes.law.left), right = reader.type_of(sizes.law.right);
  if (!left.ok() || !right.ok()) return Reason((left.ok() ? right : left).error().message());
  if (left->shape->size() != right->shape->size()) return Reason("other ranks");
  Facts facts = sizes.facts;
  if (sizes.law.condition && te::as_constant(sizes.law.condition) != 1) facts.push_back(sizes.law.condition);
  std::vector<te::Expr> position;
  for (size_t k = 0; k < left->shape->size(); ++k) {
    const te::Expr extent = (*left->shape)[k].expr(), other = (*right->shape)[k].expr();
    const bool is_equal = index.are_equal(facts, extent, other);
    if (index.error()) return *index.error();
    if (!is_equal)
      return Reason(fmt::format("dim {} is {} and {}", k, (*left->shape)[k].text(), (*right->shape)[k].text()));
  }
  for (const Dim& dim : *left->shape) {
    const Bound bound = make.fresh("i", dim.expr());
    // A dim of 1 has one index.
    position.push_back(dim.is(1) ? te::index(0) : te::symbol(bound.name));
    if (!dim.is(1)) add_range(bound, facts);
  }
  const auto one = reader.element(sizes.law.left, position), two = reader.element(sizes.law.right, position);
  if (!one.ok() || !two.ok()) return Reason((one.ok() ? two : one).error().message());
  const bool is_equal = ElementComparison(make, index).are_equal(*one, *two, facts);
  if (index.error()) return *index.error();
  return is_equal ? Reason() : Reason(fmt::format("elements\n    {}\n    {}", text(*one), text(*two)));
}

Result<LawProof> prove_law(const Law& law, std::string_view family, int trials, uint64_t seed,
                           ArithmeticSolver& solver) {
  TRY_VOID(solver.start_over());
  Random random(seed);
  LawProof result;
  for (int trial = 0; trial < trials; ++trial) {
    const auto instance = draw_instance(law, family, random);
    if (!instance) break;
    if (!is_typed(*instance)) continue;
    if (std::any_of(result.proved.begin(), result.proved.end(),
                    [&](const LawSizes& known) { return covers(known, *instance); }))
      continue;
    LawSizes sizes = with_sizes(law, family, *instance);
    ++result.structures;
    TRY(const auto reason, why_not_proved(sizes, &solver));
    if (reason) {
      result.open = fmt::format("{}: {}", sizes.text(), *reason);
      return result;
    }
    result.proved.push_back(std::move(sizes));
  }
  return result;
}

}  // namespace isomer::verify
