#include "substitutions/proof/rule.h"

#include <algorithm>

#include "verify/proof/law_family.h"

namespace isomer::substitutions {

std::vector<verify::Term> sides(const std::vector<Output>& outputs) {
  std::vector<verify::Term> result;
  for (const Output& output : outputs) result.insert(result.end(), {output.left, output.right});
  return result;
}

verify::Bindings with_dims(const RuleInstance& instance) {
  verify::Bindings result = instance.names;
  for (const auto& [name, type] : instance.types) {
    const auto rank = static_cast<int>(type.shape->size());
    for (int axis = -rank; axis < rank; ++axis)
      result.integers.insert_or_assign(verify::text(verify::DimName{name, axis}),
                                       verify::dim_or_none(*type.shape, axis));
    result.integers.insert_or_assign(verify::text(verify::DimName{name, std::nullopt}), Dim(rank));
  }
  return result;
}

std::vector<Output> equations_at(const Rule& rule, const RuleInstance& instance) {
  const verify::Bindings names = with_dims(instance);
  std::vector<Output> result;
  for (const Output& output : rule.outputs)
    result.push_back({substitute(output.left, names), substitute(output.right, names)});
  return result;
}

Result<void> holds_at(const Rule& rule, const RuleInstance& instance, std::span<const verify::StatedAxiom> axioms,
                      verify::Signatures& signatures) {
  const verify::Bindings names = with_dims(instance);
  for (const verify::Term& side : sides(rule.outputs))
    for (const std::string& name : verify::integer_names(side))
      if (!names.integers.contains(name)) return invalid(rule.name, "a number for {} expected, none found", name);
  verify::Certificate proof;
  for (const verify::LawUse& use : rule.proof.uses) proof.uses.push_back({use.law, composed(use.bindings, names)});
  for (const Output& output : equations_at(rule, instance))
    TRY_VOID(verify::replay(proof, axioms, {output.left, output.right, {}}, instance.types, signatures));
  return {};
}

FloatClass float_class_of(const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms) {
  FloatClass result = FloatClass::kExact;
  for (const verify::LawUse& use : proof.uses)
    result = std::max(result, use.law == verify::kByElements ? FloatClass::kReassociated
                                                             : axioms[static_cast<size_t>(use.law)].axiom->float_class);
  return result;
}

}  // namespace isomer::substitutions
