#include "substitutions/library/draw_instances.h"

#include <algorithm>

#include "verify/proof/law_family.h"
#include "verify/proof/refute/law_instances.h"
#include "verify/prover/bind.h"

namespace isomer::substitutions {

std::string_view family_by_elements(const verify::VariableTypes& example) {
  std::vector<ValueType> types;
  for (const auto& [name, type] : example) types.push_back(type);
  return verify::is_of_family("images", types) ? "images of floats" : "broadcast of floats";
}

std::vector<RuleInstance> draw_instances(const Rule& rule, int draws, int attempts,
                                         std::span<const verify::StatedAxiom> axioms, verify::Signatures& signatures,
                                         Random& random) {
  // The families of the laws that the proof stands on: others give types that it does not hold for.
  std::vector<std::string_view> families;
  for (const verify::LawUse& use : rule.proof.uses)
    if (const std::string_view family = use.law == verify::kByElements
                                            ? family_by_elements(rule.example.types)
                                            : axioms[static_cast<size_t>(use.law)].axiom->shapes;
        std::find(families.begin(), families.end(), family) == families.end())
      families.push_back(family);
  std::vector<RuleInstance> result;
  const Output& first = rule.outputs.front();
  for (int draw = 0; draw < draws && !families.empty(); ++draw) {
    const auto drawn = verify::draw_instance({first.left, first.right, {}},
                                             families[static_cast<size_t>(draw) % families.size()], random, attempts);
    if (!drawn) continue;
    RuleInstance instance{drawn->types, {}};
    if (!bind(first.left, drawn->law.left, instance.names) || !bind(first.right, drawn->law.right, instance.names))
      continue;
    instance.names.tensors.clear();
    if (holds_at(rule, instance, axioms, signatures).ok()) result.push_back(std::move(instance));
  }
  return result;
}

}  // namespace isomer::substitutions
