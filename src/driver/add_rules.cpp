// include/isomer/rule.h, and what stands behind it
#include "driver/add_rules.h"

#include <algorithm>
#include <regex>
#include <set>
#include <variant>

#include "driver/rules_of_files.h"
#include "driver/told.h"
#include "isomer/rule.h"
#include "substitutions/library/library.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/mutate/by_elements.h"
#include "util/folder_lock.h"
#include "util/hash.h"
#include "util/output_file.h"
#include "verify/prover/prove.h"

namespace isomer {
namespace {

using namespace substitutions;

constexpr int kDraws = 24;         ///< of types from each family of shapes, where the user gives none
constexpr size_t kMostProved = 6;  ///< of them, the largest are tried to prove

/// A rule that is as general as it is stated: wherever it is used, its elements are compared. Nothing where they are
/// not seen to be the same here.
std::optional<Rule> rule_by_elements(const StatedEquation& stated, verify::Prover& prover) {
  Rule rule;
  rule.outputs = stated.outputs;
  rule.proof = proof_by_elements(rule.outputs);
  rule.example = {*stated.types, {}};
  rule.float_class = float_class_of(rule.proof, prover.laws.axioms());
  if (!replayed(rule, prover.laws.axioms(), prover.laws.signatures()).ok()) return std::nullopt;
  return rule;
}

/// A rule from the equation, or the numbers that refute it.
Result<std::variant<Rule, verify::Counterexample>> rule_of(const StatedEquation& stated, verify::Prover& prover,
                                                           uint64_t seed) {
  std::vector<StatedEquation> places = stated.types ? std::vector{stated} : with_drawn_types(stated, kDraws, seed);
  if (places.empty())
    return invalid("", "types of the variables expected, none found, and none drawn fits the equation");
  using Made = std::variant<Rule, verify::Counterexample>;
  Random random(seed);
  const auto counterexample = [&](FloatClass float_class) {
    std::optional<verify::Counterexample> found;
    for (size_t k = places.size(); k-- > 0 && !found;) found = counterexample_of(places[k], float_class, random);
    return found;
  };
  // Refuted at one of them, or proved at the first that can be; what has a proof is tried as what it claims to be, too,
  // and what has none as exact.
  if (auto found = counterexample(FloatClass::kUnsafe)) return Made(*std::move(found));
  std::optional<Error> last;
  std::optional<Rule> rule;
  for (size_t k = 0; k < std::min(places.size(), kMostProved) && !rule; ++k) {
    auto proved = prove_rule(equations_at(places[k], *places[k].types), *places[k].types, prover);
    if (proved.ok())
      rule = *std::move(proved);
    else if (!prover.solver.is_running())
      return std::move(proved).error();
    else
      last = std::move(proved).error();
  }
  for (size_t k = 0; k < std::min(places.size(), kMostProved) && !rule; ++k) rule = rule_by_elements(places[k], prover);
  if (!rule) {
    if (auto found = counterexample(FloatClass::kExact)) return Made(*std::move(found));
    TRY(const Judgement judged, judge(places.front(), prover, seed));
    if (judged.counterexample) return Made(*judged.counterexample);
    if (judged.verdict == Judgement::Verdict::kProved)
      return invalid(stated.text(),
                     "a proof that each use of a rule can repeat expected, found that its elements are equal at these "
                     "sizes, for reasons that no proof says");
    return *std::move(last);
  }
  if (rule->float_class < FloatClass::kFinite)
    if (auto found = counterexample(rule->float_class)) return Made(*std::move(found));
  return Made(*std::move(rule));
}

std::string place_of(const StatedEquation& equation, const std::string& source) {
  return fmt::format("{}line {}", source.empty() ? "" : source + ": ", equation.line);
}

Result<RulesFile> rules_there(const std::filesystem::path& stem, const std::vector<verify::StatedAxiom>& axioms) {
  const std::filesystem::path file = std::filesystem::path(stem) += ".rules";
  std::error_code failed;
  if (std::filesystem::exists(file, failed)) return read_rules(stem, axioms);
  if (failed)
    return unsupported(file.string(), "a file of rules, or a place for one expected, found: {}", failed.message());
  return RulesFile{fmt::format("(added) {}", stem.filename().string()), {}};
}

/// Adds rules, one of each equation, to those that are there now, whoever else adds some; the new ones get their names.
Result<void> write_with(std::vector<Rule> rules, const std::vector<StatedEquation>& equations,
                        const std::string& source, const std::filesystem::path& stem, AddedRules& added,
                        const std::function<Result<void>(const AddedRules&)>& tell) {
  const auto axioms = verify::all_axioms();
  TRY(const std::filesystem::path place, output_place(std::filesystem::path(stem) += ".rules"));
  TRY(const FolderLock lock, FolderLock::take(place.parent_path()));
  TRY(RulesFile file, rules_there(stem, axioms));
  std::set<std::string> names, texts;
  for (const Rule& rule : file.rules) {
    names.insert(rule.name);
    texts.insert(rule.text());
  }
  for (size_t k = 0; k < rules.size(); ++k) {
    Rule& rule = rules[k];
    if (!texts.insert(rule.text()).second) continue;
    rule.name = equations[k].label.empty() ? "added-" + Hasher().add(rule.text()).finish().hex().substr(0, 6)
                                           : equations[k].label;
    if (!names.insert(rule.name).second)
      return invalid(place_of(equations[k], source), "a name of its own expected, there is a rule '{}'", rule.name);
    added.rules[k].name = rule.name;
    file.rules.push_back(std::move(rule));
  }
  return write_rules(stem, file, axioms, [&] { return tell ? tell(added) : Result<void>(); });
}

}  // namespace

Result<AddedRules> add_rules(const std::vector<StatedEquation>& equations, const std::string& source,
                             const std::filesystem::path& stem, uint64_t seed,
                             const std::function<Result<void>(const AddedRules&)>& tell) {
  TRY(verify::Prover prover, verify::Prover::start());
  TRY_VOID(rules_there(stem, verify::all_axioms()));  // what can't be read is told before anything is proved
  AddedRules added;
  std::vector<Rule> rules;
  for (const StatedEquation& equation : equations) {
    auto made = rule_of(equation, prover, seed);
    if (!made.ok()) return std::move(made).error().within(place_of(equation, source));
    if (const auto* counterexample = std::get_if<verify::Counterexample>(&*made))
      return AddedRules{{}, AddedRules::Refuted{rules.size(), counterexample->text()}};
    rules.push_back(std::get<Rule>(*std::move(made)));
    if (std::ranges::all_of(rules.back().outputs, [](const Output& output) { return output.left == output.right; }))
      return invalid(place_of(equation, source),
                     "an equation that says something expected, both sides of '{}' are {} to a rule", equation.text(),
                     rules.back().outputs.front().left.text());
    added.rules.push_back({"", rules.back().text()});
  }
  TRY_VOID(write_with(std::move(rules), equations, source, stem, added, tell));
  return added;
}

Expected<std::vector<RuleOfEquation>> rules_of_equations(const std::string& equations, const std::string& rules,
                                                         const RulesOfEquationsOptions& options) {
  return told<std::vector<RuleOfEquation>>(options.stop, [&]() -> Result<std::vector<RuleOfEquation>> {
    TRY(const auto stated, parse_equations(equations));
    TRY(const AddedRules added, add_rules(stated, "", rules_stem(rules), options.seed));
    if (const auto& refuted = added.refuted) {
      const std::string numbers = std::regex_replace(refuted->counterexample, std::regex("\\n *"), "; ");
      return Error{ErrorKind::kMismatch, fmt::format("line {}", stated[refuted->equation].line),
                   "an equation that holds expected, one that numbers refute found: " + numbers};
    }
    std::vector<RuleOfEquation> made;
    for (const AddedRule& rule : added.rules) made.push_back({rule.name, rule.text});
    return made;
  });
}

}  // namespace isomer
