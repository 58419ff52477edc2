#include "substitutions/mutate/by_elements.h"

#include <fmt/ranges.h>

#include "substitutions/library/draw_instances.h"
#include "verify/laws/prove_law.h"
#include "verify/prover/prove_elements.h"

namespace isomer::substitutions {

verify::Certificate proof_by_elements(const std::vector<Output>& outputs) {
  verify::Certificate result;
  for (const auto& [left, right] : outputs) result.uses.push_back(verify::use_by_elements(left, right));
  return result;
}

verify::Law law_by_elements(const verify::LawUse& use, const verify::VariableTypes& types) {
  std::vector<std::string> ranks;
  for (const auto& [name, type] : types) ranks.push_back(fmt::format("{}_rank == {}", name, type.shape->size()));
  const auto law = verify::parse_law(fmt::format("{} = {} if {}", use.bindings.tensors.at("left").text(),
                                                 use.bindings.tensors.at("right").text(), fmt::join(ranks, " && ")));
  CHECK(law.ok()) << law.error().message();
  return *law;
}

Result<std::string> open_elements(const Rule& rule, int trials, uint64_t seed, verify::ArithmeticSolver& solver) {
  for (const verify::LawUse& use : rule.proof.uses) {
    if (use.law != verify::kByElements) continue;
    TRY(const verify::LawProof proof, verify::prove_law(law_by_elements(use, rule.example.types),
                                                        family_by_elements(rule.example.types), trials, seed, solver));
    if (!proof.holds()) return proof.structures == 0 ? "an instance expected, none found" : proof.open;
  }
  return std::string();
}

}  // namespace isomer::substitutions
