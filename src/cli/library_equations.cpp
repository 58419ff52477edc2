// isomer library check-equations | add: equations that users state: whether the library has them, or numbers that
// refute them.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "driver/add_rules.h"
#include "driver/standings.h"
#include "substitutions/library/rules_file.h"
#include "util/file.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using namespace substitutions;

struct EquationOptions : CommonOptions {
  std::string file;
  std::string output;
};

Result<std::string> read_text(const std::string& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).error().within(path);
  const std::span<const std::byte> bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

struct CheckOptions : EquationOptions {
  StandingsOptions standings;
  bool are_wrong = false, as_table = false;
};

json facts(const StatedEquation& equation, const Standing& standing) {
  return {{"line", equation.line},       {"label", equation.label},
          {"equation", equation.text()}, {"verdict", name(standing.verdict)},
          {"rules", standing.rules},     {"laws", standing.laws},
          {"why", standing.why()}};
}

/// A row of a table; of a counterexample its inputs.
std::string table_row(const StatedEquation& equation, const Standing& standing) {
  const std::string why =
      standing.counterexample ? fmt::format("{}", fmt::join(standing.counterexample->inputs, ", ")) : standing.why();
  return fmt::format("| {} | `{}` | {} | {} |", equation.label.empty() ? std::to_string(equation.line) : equation.label,
                     equation.text(), name(standing.verdict), why);
}

std::string paragraph(const StatedEquation& equation, const Standing& standing) {
  return fmt::format("{:7}  {}{}{}\n  {}", name(standing.verdict), equation.label, equation.label.empty() ? "" : ": ",
                     equation.text(), standing.why());
}

/// Those of a file that are equations with types and well typed; of the other lines what is wrong with each.
struct Checked {
  std::vector<StatedEquation> equations;
  std::vector<Standing> standings;
  std::map<int, Error> faults;  ///< by line
};

Result<Checked> checked(const CheckOptions& options) {
  TRY(const std::string text, read_text(options.file));
  ParsedEquations parsed = parse_lines(text);
  StandingsOptions how = options.standings;
  how.threads = options.thread_count();
  how.seed = options.seed;
  auto all = standings_of(parsed.equations, how);
  if (!all.ok()) return std::move(all).error().within(options.file);
  Checked result;
  result.faults = std::move(parsed.faults);
  for (size_t k = 0; k < all->size(); ++k) {
    if (!(*all)[k].ok()) {
      result.faults.emplace(parsed.equations[k].line, (*all)[k].error());
      continue;
    }
    result.equations.push_back(std::move(parsed.equations[k]));
    result.standings.push_back(*std::move((*all)[k]));
  }
  for (auto& [line, fault] : result.faults) fault = std::move(fault).within(options.file);
  return result;
}

int check_equations(const CheckOptions& options) {
  const auto found = checked(options);
  if (!found.ok()) return report(found.error());
  const auto& [equations, standings, faults] = *found;
  json list = json::array(), counts = json::object(), sentences = json::array();
  int exit = kDone;
  for (const auto& [line, fault] : faults) {
    sentences.push_back(fault.message());
    exit = report(fault);
  }
  if (standings.empty() && exit != kDone) return exit;
  std::vector<std::string> summary;
  for (int verdict = 0; verdict < Standing::kVerdicts; ++verdict) {
    const auto which = static_cast<Standing::Verdict>(verdict);
    const auto count = std::count_if(standings.begin(), standings.end(),
                                     [&](const Standing& standing) { return standing.verdict == which; });
    counts[std::string(name(which))] = count;
    if (count > 0) summary.push_back(fmt::format("{} {}", count, name(which)));
  }
  if (!faults.empty()) summary.push_back(fmt::format("{} faulty", faults.size()));
  if (options.as_table && !options.json) fmt::print("| | equation | verdict | from |\n|---|---|---|---|\n");
  for (size_t k = 0; k < standings.size(); ++k) {
    list.push_back(facts(equations[k], standings[k]));
    if (!options.json) fmt::print("{}\n", (options.as_table ? table_row : paragraph)(equations[k], standings[k]));
  }
  if (options.json)
    fmt::print("{}\n", json_text({{"equations", list}, {"counts", counts}, {"faults", sentences}}));
  else
    fmt::print("{}{} equations: {}\n", options.as_table ? "\n" : "", standings.size() + faults.size(),
               fmt::join(summary, ", "));
  const auto is_as_expected = [&](const Standing& standing) {
    return options.are_wrong ? standing.verdict == Standing::Verdict::kRefuted : standing.is_of_library();
  };
  if (exit != kDone) return exit;
  return std::all_of(standings.begin(), standings.end(), is_as_expected) ? kDone : kCheckFailed;
}

void print_added(const AddedRules& added, const std::vector<StatedEquation>& equations,
                 const EquationOptions& options) {
  json list = json::array(), refuted = nullptr;
  for (const AddedRule& rule : added.rules) {
    const bool is_known = rule.name.empty();
    list.push_back({{"name", is_known ? json() : json(rule.name)}, {"rule", rule.text}, {"known", is_known}});
    if (options.json) continue;
    if (is_known)
      note(options, "known: {}", printable(rule.text, kMostOfLine));
    else
      fmt::print("{}  {}\n", rule.name, rule.text);
  }
  if (added.refuted) {
    const std::string equation = equations[added.refuted->equation].text();
    refuted = {{"equation", equation}, {"counterexample", added.refuted->counterexample}};
    if (!options.json) fmt::print("refuted  {}\n  {}\n", equation, added.refuted->counterexample);
  }
  if (options.json) fmt::print("{}\n", json_text({{"rules", list}, {"refuted", refuted}}));
}

Result<ExitCode> add_rules(const EquationOptions& options) {
  std::vector<NamedFile> written;
  for (const NamedFile& file : files_of_rules({options.output})) written.push_back({"--output", file.path});
  TRY_VOID(check_distinct({{"file", options.file}}, written));
  TRY(const std::string text, read_text(options.file));
  auto equations = parse_equations(text);
  if (!equations.ok()) return std::move(equations).error().within(options.file);
  const auto tell = [&](const AddedRules& added) {
    return print_results([&] { print_added(added, *equations, options); });
  };
  TRY(const AddedRules added,
      isomer::add_rules(*equations, options.file, rules_stem(options.output), options.seed, tell));
  if (!added.refuted) return kDone;
  print_added(added, *equations, options);
  return kCheckFailed;
}

}  // namespace

void add_equation_commands(CLI::App& library, int& exit) {
  auto checked = std::make_shared<CheckOptions>();
  CLI::App* check = library.add_subcommand("check-equations",
                                           "Which rules equations follow from; else prove or refute them: a file of "
                                           "lines [LABEL |] TYPES | LEFT ; … = RIGHT ; …");
  checked->add_general_to(*check);
  check->add_option("file", checked->file, "Equations")->required();
  check->add_option("--rules", checked->standings.rules,
                    "Rules (STEM.rules, STEM.proofs); those that come with the program where none are given");
  check->add_option("--rounds", checked->standings.limits.rounds, "Of uses of rules, for each equation")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  check->add_option("--nodes", checked->standings.limits.nodes, "Of the e-graph of each equation")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  check->add_flag("--wrong", checked->are_wrong, "Exit code 0 where all are refuted, not where all follow from rules");
  check->add_flag("--table", checked->as_table, "A row an equation, for Markdown");
  check->callback([checked, &exit] { exit = check_equations(*checked); });

  auto added = std::make_shared<EquationOptions>();
  CLI::App* add = library.add_subcommand(
      "add", "Make rules of equations that can be proved: lines [NAME |] [TYPES |] LEFT ; … = RIGHT ; …");
  added->add_general_to(*add);
  add->add_option("file", added->file, "Equations")->required();
  add->add_option("-o,--output", added->output, "Rules that they are added to (STEM.rules, STEM.proofs)")->required();
  add->callback([added, &exit] {
    const auto done = add_rules(*added);
    exit = done.ok() ? *done : report(done.error());
  });
}

}  // namespace isomer::cli
