// isomer library matches MODEL RULES…: where the rules of a library apply in a model.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/rewrite/apply.h"
#include "util/clock.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using namespace substitutions;

struct MatchOptions : CommonOptions {
  std::string model;
  std::vector<std::string> rules;
};

double milliseconds_since(Clock::time_point start) { return 1e3 * seconds_since(start); }

/// Refused matches by reason, and the median time of the others.
struct Applications {
  std::map<std::string, int> refused;
  int applied = 0;
  double median_microseconds = 0;
};

Applications apply_each(const Program& program, const std::vector<Match>& matches, const Substitutions& rules) {
  Applications result;
  std::vector<double> times;
  for (const Match& match : matches) {
    const auto start = Clock::now();
    const auto done = apply(program, match, rules);
    times.push_back(1e3 * milliseconds_since(start));
    if (const auto* refusal = std::get_if<Refusal>(&done))
      ++result.refused[std::string(name(*refusal))];
    else
      ++result.applied;
  }
  std::sort(times.begin(), times.end());
  if (!times.empty()) result.median_microseconds = times[times.size() / 2];
  return result;
}

/// Nodes that no rule can match, by operator.
std::map<std::string, int> opaque_nodes(const Program& program) {
  std::map<std::string, int> result;
  for (int id = 0; id < program.application_count(); ++id)
    if (program.application(id).operation == Program::kOpaque)
      ++result[program.origin().graph.node(program.application(id).node).op_type];
  return result;
}

/// Of the files, or else the laws.
Result<std::vector<Rule>> rules_of(const MatchOptions& options, const Theory& theory) {
  if (options.rules.empty()) return rules_of_laws(theory.axioms());
  std::vector<Rule> rules;
  for (const std::string& file : options.rules) {
    TRY(RulesFile read, read_rules(file, theory.axioms()));
    rules.insert(rules.end(), std::make_move_iterator(read.rules.begin()), std::make_move_iterator(read.rules.end()));
  }
  return rules;
}

/// All matches in a program, and what it took to find them.
struct FoundMatches {
  std::vector<Match> matches;
  double cold_ms = 0, warm_ms = 0;  ///< the first time, and again
  MatchStatistics statistics;       ///< of the first time
  Applications applications;
};

FoundMatches find_matches(const Program& program, Substitutions& substitutions) {
  FoundMatches found;
  auto start = Clock::now();
  found.matches = substitutions.matches(program);
  found.cold_ms = milliseconds_since(start);
  found.statistics = substitutions.statistics();
  start = Clock::now();
  found.matches = substitutions.matches(program);
  found.warm_ms = milliseconds_since(start);
  found.applications = apply_each(program, found.matches, substitutions);
  return found;
}

std::map<std::string, int> count_by_rule(const std::vector<Match>& matches, const Substitutions& substitutions) {
  std::map<std::string, int> result;
  for (const Match& match : matches)
    ++result[substitutions[match.substitution].rule->name +
             (substitutions[match.substitution].is_forward ? " ->" : " <-")];
  return result;
}

void print_json(const FoundMatches& found, const Plain& plain, const Substitutions& substitutions, size_t rules,
                double import_ms) {
  json unusable = json::object();
  for (const auto& [reason, count] : substitutions.unusable()) unusable[std::string(name(reason))] = count;
  fmt::print("{}\n", json_text({{"applications", plain.program.order()->size()},
                                {"opaque", opaque_nodes(plain.program)},
                                {"operands_taken_out", plain.steps.size()},
                                {"rules", rules},
                                {"substitutions", substitutions.size()},
                                {"unusable", unusable},
                                {"matches", found.matches.size()},
                                {"by_rule", count_by_rule(found.matches, substitutions)},
                                {"refused", found.applications.refused},
                                {"import_ms", import_ms},
                                {"cold_ms", found.cold_ms},
                                {"warm_ms", found.warm_ms},
                                {"guards", found.statistics.guards},
                                {"guards_held", found.statistics.held},
                                {"structures", found.statistics.structures},
                                {"apply_microseconds", found.applications.median_microseconds}}));
}

/// For people; each match, too, where `verbosity` is above 0.
void print_text(const FoundMatches& found, const Plain& plain, const Substitutions& substitutions, size_t rules,
                double import_ms, int verbosity) {
  std::vector<std::pair<int, std::string>> ranked;
  for (const auto& [rule, count] : count_by_rule(found.matches, substitutions)) ranked.emplace_back(-count, rule);
  std::sort(ranked.begin(), ranked.end());
  for (const auto& [count, rule] : ranked) fmt::print("{:6}  {}\n", -count, printable(rule));
  if (verbosity > 0)
    for (const Match& match : found.matches)
      fmt::print("{}\n", printable(step_of(match, substitutions).text(), kMostOfLine));
  fmt::print("{} applications, {} of them with operands taken out; {} rules as {} substitutions\n",
             plain.program.order()->size(), plain.steps.size(), rules, substitutions.size());
  for (const auto& [op, count] : opaque_nodes(plain.program))
    fmt::print("{:6}  {} that no rule can match\n", count, printable(op));
  for (const auto& [refusal, count] : found.applications.refused)
    fmt::print("{:6}  matches that would make {}\n", count, printable(refusal));
  fmt::print(
      "{} matches in {:.1f} ms, {:.1f} ms the first time ({} guards replayed, {} hold, of {} places); a rewrite takes "
      "{:.0f} us; the program was made in {:.1f} ms\n",
      found.matches.size(), found.warm_ms, found.cold_ms, found.statistics.guards, found.statistics.held,
      found.statistics.structures, found.applications.median_microseconds, import_ms);
}

int list_matches(const MatchOptions& options) {
  auto model = load_model(options.model, options);
  if (!model.ok()) return report(model.error());
  Theory theory;
  const auto rules = rules_of(options, theory);
  if (!rules.ok()) return report(rules.error());
  const auto start = Clock::now();
  // As a search begins.
  auto begun = start_of(model->graph, {}, theory);
  if (!begun.ok()) return report(begun.error());
  const double import_ms = milliseconds_since(start);
  const Plain plain = with_plain_operands(std::move(begun->program));
  Substitutions substitutions(*rules, theory);
  const FoundMatches found = find_matches(plain.program, substitutions);
  if (options.json)
    print_json(found, plain, substitutions, rules->size(), import_ms);
  else
    print_text(found, plain, substitutions, rules->size(), import_ms, options.verbosity);
  return kDone;
}

}  // namespace

void add_match_command(CLI::App& library, int& exit) {
  auto options = std::make_shared<MatchOptions>();
  CLI::App* command = library.add_subcommand("matches", "Where the rules of a library apply in a model");
  options->add_to(*command);
  command->add_option("model", options->model, "An ONNX file")->required();
  command->add_option(
      "rules", options->rules,
      "Rules, with their proofs beside them (STEM.rules, STEM.proofs); none: the laws of the rows themselves");
  command->callback([options, &exit] { exit = list_matches(*options); });
}

}  // namespace isomer::cli
