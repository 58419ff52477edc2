#include "substitutions/library/equation_standing.h"

#include <fmt/ranges.h>

#include <array>
#include <set>

#include "substitutions/library/rules_file.h"

namespace isomer::substitutions {
namespace {

std::vector<std::string> names(const std::vector<const Rule*>& rules) {
  std::vector<std::string> result;
  for (const Rule* rule : rules) result.push_back(rule->name);
  return result;
}

std::vector<std::string> laws_of(const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms) {
  std::set<std::string> result;
  for (const verify::LawUse& use : proof.uses) result.insert(law_name(use.law, axioms));
  return {result.begin(), result.end()};
}

Standing::Verdict verdict_of(const Consequence& found) {
  const bool is_instance = found.how == Consequence::How::kInstance;
  if (found.laws.empty()) return is_instance ? Standing::Verdict::kRule : Standing::Verdict::kFollows;
  return is_instance ? Standing::Verdict::kLaw : Standing::Verdict::kFollowsWithLaws;
}

}  // namespace

std::string_view name(Standing::Verdict verdict) {
  constexpr std::array<std::string_view, Standing::kVerdicts> kNames = {
      "is rule", "follows", "is law", "follows with laws", "proved", "refuted", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

std::string Standing::why() const {
  if (verdict == Verdict::kRefuted) return counterexample->text();
  if (verdict == Verdict::kUnknown)
    return fmt::format("not derived from rules ({}), no proof ({}), no counterexample", verify::name(from_rules),
                       verify::name(from_laws));
  if (verdict == Verdict::kRule || verdict == Verdict::kLaw)
    return verdict == Verdict::kRule ? rules.front() : laws.front();
  std::vector<std::string> used = rules;
  for (const std::string& law : laws) used.push_back("law " + law);
  if (by_elements) used.push_back("the elements of both sides");
  return fmt::format("from {}", fmt::join(used, ", "));
}

Result<Standing> standing_of(const StatedEquation& equation, Consequences& library, verify::Prover& prover,
                             uint64_t seed, const verify::SaturationLimits& limits) {
  Standing result;
  const auto refuted = [&](verify::Counterexample by) {
    result.verdict = Standing::Verdict::kRefuted;
    result.counterexample = std::move(by);
    return result;
  };
  Random random(seed);
  if (auto by = counterexample_of(equation, FloatClass::kUnsafe, random)) return refuted(*std::move(by));
  TRY(const Consequence found, library.of(equations_at(equation, *equation.types), *equation.types, limits));
  result.from_rules = found.stop;
  if (found.how != Consequence::How::kNot) {
    result.verdict = verdict_of(found);
    result.rules = names(found.rules);
    result.laws = names(found.laws);
    return result;
  }
  TRY(Judgement judgement, judge_unrefuted(equation, prover, random));
  result.from_laws = judgement.stop;
  if (judgement.counterexample) return refuted(*std::move(judgement.counterexample));
  if (judgement.verdict == Judgement::Verdict::kProved) {
    result.verdict = Standing::Verdict::kProved;
    verify::Certificate laws = judgement.proof;
    const auto count =
        std::erase_if(laws.uses, [](const verify::LawUse& use) { return use.law == verify::kByElements; });
    result.by_elements = judgement.by_elements || count > 0;
    result.laws = laws_of(laws, prover.laws.axioms());
  }
  return result;
}

}  // namespace isomer::substitutions
