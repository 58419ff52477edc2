// isomer library check-equations | add: equations that users state, proved or answered with numbers that refute them.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "substitutions/equations.h"
#include "substitutions/library.h"
#include "util/file.h"
#include "util/hash.h"
#include "util/parallel.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using namespace substitutions;

constexpr int kDraws = 24;         ///< of types from each family of shapes, where the user gives none
constexpr size_t kMostProved = 6;  ///< of them, the largest are tried to prove

struct EquationOptions : CommonOptions {
  std::string file;
  std::string output;
};

Result<std::vector<StatedEquation>> read_equations(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).error().within(path);
  const std::span<const std::byte> bytes = (*file)->bytes();
  auto equations = parse_equations({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!equations.ok()) return std::move(equations).error().within(path);
  return equations;
}

std::string place(const EquationOptions& options, const StatedEquation& equation) { return fmt::format("{}: line {}", options.file, equation.line); }

std::string laws_text(const Judgement& judgement, std::span<const verify::StatedAxiom> axioms) {
  std::set<std::string> names;
  for (const verify::LawUse& use : judgement.proof.uses) names.insert(law_name(use.law, axioms));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string why(const Judgement& judgement, std::span<const verify::StatedAxiom> axioms) {
  switch (judgement.verdict) {
    case Judgement::Verdict::kProved: return laws_text(judgement, axioms);
    case Judgement::Verdict::kRefuted: return judgement.counterexample->text();
    case Judgement::Verdict::kUnknown: return fmt::format("no proof ({}), no counterexample", verify::name(judgement.stop));
  }
  CHECK(false);
}

/// Each equation of the file by itself, from the laws of the rows.
int check_equations(const EquationOptions& options) {
  auto equations = read_equations(options.file);
  if (!equations.ok()) return report(equations.error());
  for (const StatedEquation& equation : *equations)
    if (!equation.types) return report(invalid(place(options, equation), "types of the variables expected, none found"));
  ThreadPool pool(options.thread_count());
  auto provers = verify::start_provers(pool.threads());
  if (!provers.ok()) return report(provers.error());
  std::vector<Result<Judgement>> judged(equations->size(), Judgement());
  pool.run(static_cast<int64_t>(equations->size()), [&](int64_t k, int thread) {
    judged[static_cast<size_t>(k)] = judge((*equations)[static_cast<size_t>(k)], (*provers)[static_cast<size_t>(thread)], options.seed);
  });
  const auto axioms = verify::all_axioms();
  std::map<std::string, int, std::less<>> counts;
  json list = json::array();
  for (size_t k = 0; k < judged.size(); ++k) {
    const StatedEquation& equation = (*equations)[k];
    if (!judged[k].ok()) return report(Error(judged[k].error()).within(place(options, equation)));
    const Judgement& judgement = *judged[k];
    ++counts[std::string(judgement.name())];
    list.push_back({{"line", equation.line}, {"label", equation.label}, {"equation", equation.text()}, {"verdict", judgement.name()}, {"why", why(judgement, axioms)}});
    if (!options.json) fmt::print("{:7}  {}{}{}\n  {}\n", judgement.name(), equation.label, equation.label.empty() ? "" : ": ", equation.text(), why(judgement, axioms));
  }
  if (options.json)
    fmt::print("{}\n", json_text({{"equations", list}, {"proved", counts["proved"]}, {"refuted", counts["refuted"]}, {"unknown", counts["unknown"]}}));
  else
    fmt::print("{} equations: {} proved, {} refuted, {} unknown\n", judged.size(), counts["proved"], counts["refuted"], counts["unknown"]);
  return counts["proved"] == static_cast<int>(judged.size()) ? kDone : kCheckFailed;
}

/// A rule from the equation, or the numbers that refute it.
Result<std::variant<Rule, verify::Counterexample>> rule_of(const StatedEquation& stated, verify::Prover& prover, uint64_t seed) {
  std::vector<StatedEquation> places = stated.types ? std::vector{stated} : with_drawn_types(stated, kDraws, seed);
  if (places.empty()) return invalid("", "types of the variables expected, none found, and none drawn fits the equation");
  // Refuted at one of them, or proved at the first that can be.
  std::optional<Error> last;
  std::optional<Rule> rule;
  for (size_t k = places.size(); k-- > 0;) {
    TRY(Judgement judgement, judge(places[k], prover, seed));
    if (judgement.counterexample) return std::variant<Rule, verify::Counterexample>(*std::move(judgement.counterexample));
  }
  for (size_t k = 0; k < std::min(places.size(), kMostProved) && !rule; ++k) {
    auto proved = prove_rule(equations_at(places[k], *places[k].types), *places[k].types, prover);
    if (proved.ok())
      rule = *std::move(proved);
    else
      last = std::move(proved).error();
  }
  if (!rule) return *std::move(last);
  return std::variant<Rule, verify::Counterexample>(*std::move(rule));
}

int add_rules(const EquationOptions& options) {
  auto equations = read_equations(options.file);
  if (!equations.ok()) return report(equations.error());
  auto prover = verify::Prover::start();
  if (!prover.ok()) return report(prover.error());
  const auto axioms = verify::all_axioms();
  const std::filesystem::path stem = rules_stem(options.output);
  RulesFile file{fmt::format("(added) {}", stem.filename().string()), {}};
  if (std::filesystem::exists(std::filesystem::path(stem) += ".rules")) {
    auto read = read_rules(stem, axioms);
    if (!read.ok()) return report(std::move(read).error().within(options.output));
    file = *std::move(read);
  }
  std::set<std::string> names, texts;
  for (const Rule& rule : file.rules) {
    names.insert(rule.name);
    texts.insert(rule.text());
  }
  for (const StatedEquation& equation : *equations) {
    auto made = rule_of(equation, *prover, options.seed);
    if (!made.ok()) return report(std::move(made).error().within(place(options, equation)));
    if (const auto* counterexample = std::get_if<verify::Counterexample>(&*made)) {
      fmt::print("refuted  {}\n  {}\n", equation.text(), counterexample->text());
      return kCheckFailed;
    }
    Rule rule = std::get<Rule>(*std::move(made));
    const std::string text = rule.text();
    if (!texts.insert(text).second) {
      note(options, "known: {}", text);
      continue;
    }
    rule.name = equation.label.empty() ? "added-" + Hasher().add(text).finish().hex().substr(0, 6) : equation.label;
    if (!names.insert(rule.name).second) return report(invalid(place(options, equation), "a name of its own expected, there is a rule '{}'", rule.name));
    fmt::print("{}  {}\n", rule.name, text);
    file.rules.push_back(std::move(rule));
  }
  if (auto done = write_rules(stem, file, axioms); !done.ok()) return report(done.error());
  return kDone;
}

}  // namespace

void add_equation_commands(CLI::App& library, int& exit) {
  auto checked = std::make_shared<EquationOptions>();
  CLI::App* check = library.add_subcommand("check-equations", "Prove or refute equations from a file of lines [LABEL |] TYPES | LEFT = RIGHT");
  checked->add_to(*check);
  check->add_option("file", checked->file, "Equations")->required();
  check->callback([checked, &exit] { exit = check_equations(*checked); });

  auto added = std::make_shared<EquationOptions>();
  CLI::App* add = library.add_subcommand("add", "Make rules of equations that can be proved: lines [NAME |] [TYPES |] LEFT ; … = RIGHT ; …");
  added->add_to(*add);
  add->add_option("file", added->file, "Equations")->required();
  add->add_option("-o,--output", added->output, "Rules that they are added to (STEM.rules, STEM.proofs)")->required();
  add->callback([added, &exit] { exit = add_rules(*added); });
}

}  // namespace isomer::cli
