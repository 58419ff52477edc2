// isomer library: the substitution library, and the axioms that its proofs stand on.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/float_classes.h"
#include "util/clock.h"
#include "verify/laws/check_axioms.h"
#include "verify/laws/prove_axioms.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

constexpr int kTrialsPerStructure = 3;  ///< a proof says more than an instance, and takes longer

struct AxiomOptions : CommonOptions {
  int trials = 200;
};

std::string_view verdict(const verify::LawCheck& check) {
  return check.holds() ? "holds" : check.counterexample ? "refuted" : "unchecked";
}

/// A law that an instance refutes is not proved, whatever a proof says.
bool is_proved(const verify::CheckedAxiom& checked, const verify::LawProof& proof) {
  return proof.holds() && checked.check.holds();
}

std::vector<verify::LawProof> proofs_of(const std::vector<verify::CheckedAxiom>& all, const AxiomOptions& options) {
  std::vector<verify::StatedAxiom> stated;
  for (const verify::CheckedAxiom& each : all) stated.push_back(each.stated);
  return verify::prove_axioms(stated, std::max(options.trials / kTrialsPerStructure, 1), options.seed,
                              options.thread_count());
}

json facts(const verify::CheckedAxiom& checked, const verify::LawProof& proof) {
  const verify::LawCheck& check = checked.check;
  json result = {
      {"op", checked.stated.op->name},       {"law", checked.stated.axiom->law},       {"verdict", verdict(check)},
      {"instances", check.instances},        {"over_rationals", check.over_rationals}, {"in_doubles", check.in_doubles},
      {"proved", is_proved(checked, proof)}, {"structures", proof.structures}};
  if (!proof.holds()) result["not_proved"] = proof.open;
  if (check.counterexample) result["counterexample"] = check.counterexample->text();
  return result;
}

/// Every axiom of the rows for all sizes, and on instances at small ones.
int check_axioms(const AxiomOptions& options) {
  const auto start = Clock::now();
  const std::vector<verify::CheckedAxiom> all =
      verify::check_axioms(options.trials, options.seed, options.thread_count());
  const FloatClasses floats(all, options.trials, options.seed, options.thread_count());
  const std::vector<verify::LawProof> proofs = proofs_of(all, options);
  const double seconds = seconds_since(start);
  json list = json::array();
  int held = 0, refuted = 0, proved = 0;
  int64_t instances = 0;
  for (const verify::CheckedAxiom& checked : all) {
    const verify::LawProof& proof = proofs[list.size()];
    list.push_back(facts(checked, proof));
    proved += is_proved(checked, proof) ? 1 : 0;
    list.back().update(floats.facts(list.size() - 1));
    held += checked.check.holds() ? 1 : 0;
    refuted += checked.check.counterexample ? 1 : 0;
    instances += checked.check.instances;
  }
  if (options.json) {
    fmt::print("{}\n", json_text({{"axioms", list},
                                  {"total", all.size()},
                                  {"bounded", held},
                                  {"proved", proved},
                                  {"refuted", refuted},
                                  {"instances", instances},
                                  {"classes", floats.facts()},
                                  {"seconds", seconds}}));
  } else {
    for (size_t k = 0; k < all.size(); ++k) {
      const verify::LawCheck& check = all[k].check;
      fmt::print("{:9} {:5}  {}\n", is_proved(all[k], proofs[k]) ? "proved" : verdict(check), check.instances,
                 all[k].stated.axiom->law);
      if (check.counterexample) fmt::print("{}\n", check.counterexample->text());
      fmt::print("{}", floats.text(k, options.verbosity > 0));
    }
    fmt::print(
        "{} axioms: {} proved for all sizes (of ranks and attributes as drawn), {} more hold on all of their instances "
        "at small sizes ({} instances of all), {} refuted, {} without an instance; {:.1f} s\n",
        all.size(), proved, held - proved, instances, refuted, static_cast<int>(all.size()) - held - refuted, seconds);
    fmt::print("{}\n", floats.text());
  }
  if (held == static_cast<int>(all.size()) && floats.all_hold()) return kDone;
  const int without = static_cast<int>(all.size()) - held - refuted;
  const std::string what =
      refuted > 0 ? fmt::format("axioms that hold expected, {} refuted", refuted)
      : without > 0
          ? fmt::format("an instance of each axiom expected, none found of {}; --trials {} tries more", without,
                        2 * options.trials)
          : std::string("their classes of floating point expected on instances of each, others or none found");
  return report({ErrorKind::kMismatch, "check-axioms", what});
}

}  // namespace

void add_library(CLI::App& app, int& exit) {
  CLI::App* command = app.add_subcommand("library", "The substitution library");
  command->require_subcommand(1);
  auto options = std::make_shared<AxiomOptions>();
  CLI::App* axioms =
      command->add_subcommand("check-axioms",
                              "Check the axioms that proofs stand on: both sides proved equal over the reals for all "
                              "sizes where that can be, for the ranks, ones and attributes that are drawn; "
                              "over exact numbers and in floating point at small sizes");
  options->add_general_to(*axioms);
  axioms->add_option("--trials", options->trials, "Instances of each axiom")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  axioms->callback([options, &exit] { exit = check_axioms(*options); });
  add_rule_commands(*command, exit);
  add_equation_commands(*command, exit);
  add_match_command(*command, exit);
}

}  // namespace isomer::cli
