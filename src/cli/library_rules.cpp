// isomer library generate | replay | verify | refute | list | show | stats | add: rules and what holds them up.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/rule_statistics.h"
#include "cli/show_rule.h"
#include "driver/rules_of_files.h"
#include "graph/dot.h"
#include "search/refute_floats.h"
#include "substitutions/library/library.h"
#include "substitutions/library/refute.h"
#include "substitutions/mutate/by_elements.h"
#include "substitutions/mutate/mutants.h"
#include "util/clock.h"
#include "util/parallel.h"
#include "util/stop.h"
#include "verify/prover/prove.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using namespace substitutions;

struct GenerateOptions : CommonOptions {
  std::string set = "taso";
  int max_operators = 3;
  std::string folder = ".";
  std::string parts;  ///< folder of what an interrupted run and other processes share
};

struct FilesOptions : CommonOptions {
  std::vector<std::string> files;
  int trials = 1000;
  int float_trials = 1;
  std::string rule;
  bool dot = false;
};

/// For records, where --memory does not say.
constexpr int64_t kRecordBytes = 1'000'000'000;

/// The set that is no list of operators.
constexpr std::string_view kMutants = "mutants";

RulesFile file_of(const GenerateOptions& options, std::vector<Rule> rules) {
  return {fmt::format("--ops {} --max-ops {} --seed {}", options.set, options.max_operators, options.seed),
          std::move(rules)};
}

/// What was generated is printed before its files get their names.
int write_generated(const GenerateOptions& options, std::vector<Rule> rules,
                    const std::function<void(const std::string& stem)>& print) {
  const std::filesystem::path stem = std::filesystem::path(options.folder) / options.set;
  const auto done = write_rules(stem, file_of(options, std::move(rules)), verify::all_axioms(),
                                [&] { return print_results([&] { print(printable(stem.string(), PATH_MAX)); }); });
  return done.ok() ? kDone : report(done.error());
}

int generate_mutants(const GenerateOptions& options) {
  MutantOptions how;
  how.max_operators = options.max_operators;
  how.threads = options.thread_count();
  how.seed = options.seed;
  if (options.verbosity > 0)
    how.log = [&](const std::string& line) { note(options, "{}", printable(line, kMostOfLine)); };
  auto found = mutants(originals(), how);
  if (!found.ok()) return report(found.error());
  const size_t rules = found->rules.size();
  return write_generated(options, std::move(found->rules), [&](const std::string& stem) {
    const MutantStatistics& facts = found->statistics;
    if (options.json)
      fmt::print("{}\n", json_text({{"rules", rules},
                                    {"ops", options.set},
                                    {"max_ops", options.max_operators},
                                    {"graphs", facts.tried},
                                    {"typed", facts.typed},
                                    {"equal", facts.equal},
                                    {"partly", facts.partly},
                                    {"corrected", facts.corrected},
                                    {"seconds", facts.seconds}}));
    else if (!options.quiet)
      fmt::print(
          "{} programs, {} of the original's shape: {} equal, {} but at borders, {} of these corrected\n"
          "{} rules in {}.rules; {:.1f} s\n",
          facts.tried, facts.typed, facts.equal, facts.partly, facts.corrected, rules, stem, facts.seconds);
  });
}

/// Tells how far a generation is, every two seconds at most.
class GenerationNotes {
 public:
  explicit GenerationNotes(const GenerateOptions& options) : options_(options) {}

  void tell(const EnumerationProgress& progress) {
    if (!is_time()) return;
    note(options_, "{} operators: {} terms, {:.0f} a second, {:.0f} %, {:.0f} s left", progress.operators,
         progress.terms, static_cast<double>(progress.terms) / std::max(1e-3, progress.seconds), 100 * progress.share,
         progress.seconds / std::max(1e-3, progress.share) - progress.seconds);
  }

  void tell_of_proofs(int64_t done, int64_t candidates) {
    if (!proving_) proving_ = last_ = Clock::now();
    if (!is_time()) return;
    const double seconds = seconds_since(*proving_);
    note(options_, "{} of {} candidates, {:.0f} a second, {:.0f} s left", done, candidates,
         static_cast<double>(done) / seconds,
         seconds / static_cast<double>(done) * static_cast<double>(candidates - done));
  }

 private:
  bool is_time() {
    if (seconds_since(last_) < 2) return false;
    last_ = Clock::now();
    return true;
  }

  const GenerateOptions& options_;
  Clock::time_point last_ = Clock::now();
  std::optional<Clock::time_point> proving_;  ///< since when
};

/// With a folder for parts where processes share the work, or go on with what was interrupted.
EnumerationOptions enumeration_of(const GenerateOptions& options, const Cluster& cluster) {
  EnumerationOptions how;
  how.memory = static_cast<uint64_t>(parse_size(options.memory).value_or(kRecordBytes));
  how.max_operators = options.max_operators;
  how.threads = options.thread_count();
  how.seed = options.seed;
  if (!options.parts.empty() || cluster.size() > 1)
    how.folder = options.parts.empty() ? std::filesystem::path(options.folder) / "generate.parts"
                                       : std::filesystem::path(options.parts);
  return how;
}

void print_generated(const GenerateOptions& options, const LibraryStatistics& facts, const std::string& stem) {
  if (options.verbosity > 0)
    for (const std::string& text : facts.unproved_texts) note(options, "{}", printable(text, kMostOfLine));
  int64_t terms = 0, classes = 0;
  for (const LevelStatistics& level : facts.enumeration.levels) {
    terms += level.terms;
    classes += level.classes;
  }
  const double seconds = facts.seconds_enumerating + facts.seconds_proving;
  if (options.json) {
    fmt::print("{}\n", json_text({{"rules", facts.kept},
                                  {"ops", options.set},
                                  {"max_ops", options.max_operators},
                                  {"graphs", terms},
                                  {"fingerprints", classes},
                                  {"candidates", facts.candidates},
                                  {"proved", facts.proved},
                                  {"unproved", facts.unproved},
                                  {"seconds", seconds},
                                  {"seconds_enumerating", facts.seconds_enumerating},
                                  {"peak_memory_mb", static_cast<double>(facts.enumeration.peak_memory) / 1e6}}));
  } else if (!options.quiet) {
    fmt::print("{}{} candidates: {} proved, {} not; {} rules in {}.rules\n{:.1f} s enumerating, {:.1f} s proving\n",
               facts.enumeration.text(), facts.candidates, facts.proved, facts.unproved, facts.kept, stem,
               facts.seconds_enumerating, facts.seconds_proving);
  }
}

int generate_rules(const GenerateOptions& options) {
  const StopsInOrder stops;
  if (options.set != kMutants && options.max_operators > kMostEnumerated)
    return report({ErrorKind::kUsage, "--max-ops",
                   fmt::format("at most {} operators expected where terms are enumerated, {} found", kMostEnumerated,
                               options.max_operators)});
  std::error_code no_folder;
  std::filesystem::create_directories(options.folder, no_folder);
  if (no_folder)
    return report(unsupported("--output", "a folder, or a place for one, expected at {}: {}", options.folder,
                              no_folder.message()));
  if (options.set == kMutants) return generate_mutants(options);
  auto set = operator_set(options.set);
  if (!set.ok()) return report(set.error());
  auto cluster = Cluster::join();
  if (!cluster.ok()) return report(cluster.error());
  LibraryOptions how;
  how.enumeration = enumeration_of(options, *cluster);
  GenerationNotes notes(options);
  how.enumeration.progress = [&](const EnumerationProgress& progress) { notes.tell(progress); };
  how.proving = [&](int64_t done, int64_t candidates) { notes.tell_of_proofs(done, candidates); };
  auto library = generate(*set, how, *cluster);
  if (!library.ok()) return cluster->is_first() ? report(library.error()) : exit_code(library.error().kind);
  if (!cluster->is_first()) return kDone;
  if (std::error_code ignored; options.parts.empty() && !how.enumeration.folder.empty())
    std::filesystem::remove(how.enumeration.folder, ignored);
  return write_generated(options, std::move(library->rules),
                         [&](const std::string& stem) { print_generated(options, library->statistics, stem); });
}

/// What else was counted: a member for JSON, words for the closing line.
struct Counted {
  json facts = json::object();
  std::string text;
};

/// Runs what each rule is asked, on several threads; prints what fails, and what `ask` has counted.
template <class Ask>
int ask_all(const FilesOptions& options, std::string_view verb, const Ask& ask, const Counted& counted = {}) {
  const auto axioms = verify::all_axioms();
  const auto start = Clock::now();
  auto files = read_rules_files(options.files, axioms);
  if (!files.ok()) return report(files.error());
  std::vector<const Rule*> rules;
  for (const RulesFile& file : *files)
    for (const Rule& rule : file.rules) rules.push_back(&rule);
  std::vector<std::string> problems(rules.size());
  ThreadPool pool(options.thread_count());
  auto failed = ask(pool, rules, problems);
  if (failed) return report(*failed);
  int bad = 0;
  json list = json::array();
  for (size_t k = 0; k < rules.size(); ++k) {
    if (problems[k].empty()) continue;
    ++bad;
    list.push_back({{"rule", rules[k]->name}, {"problem", problems[k]}});
    if (!options.json) fmt::print("{}: {}\n", printable(rules[k]->name), problems[k]);
  }
  const double seconds = seconds_since(start);
  if (options.json) {
    json facts = {{"rules", rules.size()}, {"failed", bad}, {"problems", list}, {"seconds", seconds}};
    facts.update(counted.facts);
    fmt::print("{}\n", json_text(facts));
  } else {
    fmt::print("{} rules {}, {} not{}; {:.2f} s\n", static_cast<int>(rules.size()) - bad, verb, bad, counted.text,
               seconds);
  }
  return bad == 0 ? kDone : kCheckFailed;
}

using Rules = std::vector<const Rule*>;
using Problems = std::vector<std::string>;

int replay_rules(const FilesOptions& options) {
  return ask_all(
      options, "replayed", [&](ThreadPool& pool, const Rules& rules, Problems& problems) -> std::optional<Error> {
        const auto axioms = verify::all_axioms();
        std::vector<verify::Signatures> signatures(static_cast<size_t>(pool.threads()));
        pool.run(static_cast<int64_t>(rules.size()), [&](int64_t k, int thread) {
          const auto done = replayed(*rules[static_cast<size_t>(k)], axioms, signatures[static_cast<size_t>(thread)]);
          if (!done.ok()) problems[static_cast<size_t>(k)] = printable(done.error().message(), kMostOfLine);
        });
        return std::nullopt;
      });
}

/// Draws of sizes and parameters that a proof by elements must cover.
constexpr int kProofDraws = 40;

/// What of a rule is not proved, if anything: from the laws at its example, what speaks of elements for all sizes.
Result<std::string> unproved(const Rule& rule, uint64_t seed, std::span<const verify::StatedAxiom> axioms,
                             verify::Prover& prover, verify::ArithmeticSolver& solver) {
  const auto is_of_elements = [](const verify::LawUse& use) { return use.law == verify::kByElements; };
  if (std::ranges::any_of(rule.proof.uses, is_of_elements)) {
    if (const auto done = replayed(rule, axioms, prover.laws.signatures()); !done.ok()) return done.error().message();
    return open_elements(rule, kProofDraws, seed, solver);
  }
  for (const Output& output : equations_at(rule, rule.example)) {
    TRY(const verify::Proof proof, verify::prove({output.left, output.right, {}}, rule.example.types, prover));
    if (!proof.certificate) return std::string("a proof expected, none found");
  }
  return std::string();
}

int verify_rules(const FilesOptions& options) {
  return ask_all(options, "proved again",
                 [&](ThreadPool& pool, const Rules& rules, Problems& problems) -> std::optional<Error> {
                   auto provers = verify::start_provers(pool.threads());
                   if (!provers.ok()) return provers.error();
                   const auto axioms = verify::all_axioms();
                   std::vector<verify::ArithmeticSolver> solvers;
                   for (int k = 0; k < pool.threads(); ++k) {
                     auto solver = verify::ArithmeticSolver::start();
                     if (!solver.ok()) return solver.error();
                     solvers.push_back(*std::move(solver));
                   }
                   std::vector<std::optional<Error>> ended(provers->size());
                   pool.run(static_cast<int64_t>(rules.size()), [&](int64_t k, int thread) {
                     const auto at = static_cast<size_t>(thread);
                     if (ended[at]) return;
                     const auto problem =
                         unproved(*rules[static_cast<size_t>(k)], options.seed, axioms, (*provers)[at], solvers[at]);
                     // Nobody was asked of what is left.
                     if (!problem.ok() && !(*provers)[at].solver.is_running()) ended[at] = problem.error();
                     problems[static_cast<size_t>(k)] =
                         problem.ok() ? *problem : printable(problem.error().message(), kMostOfLine);
                   });
                   for (std::optional<Error>& end : ended)
                     if (end) return std::move(end);
                   return std::nullopt;
                 });
}

/// Inputs that compiled code ran on; rules for which there were none (code is not made of every operator).
struct FloatTrials {
  std::atomic<int64_t> trials = 0, rules_without = 0;
};

/// In exact arithmetic, then by compiled code: what is wrong with the rule, or nothing.
std::string problem_of(const Rule& rule, const FilesOptions& options, std::span<const verify::StatedAxiom> axioms,
                       verify::Signatures& signatures, FloatTrials& floats) {
  const Refutation tried = refute(rule, options.trials, options.seed, axioms, signatures);
  if (tried.counterexample) return tried.counterexample->text();
  if (tried.trials < options.trials) return "an evaluation of both sides expected, none found";
  if (options.float_trials == 0) return "";
  search::CompileOptions compiling;
  compiling.target = kernel::host_target();
  const search::FloatRefutation in_floats =
      refute_in_floats(rule, options.float_trials, options.seed, compiling, axioms, signatures);
  floats.trials += in_floats.trials;
  floats.rules_without += in_floats.trials == 0 ? 1 : 0;
  if (options.verbosity > 0 && in_floats.trials == 0)
    note(options, "{}: no float trial: {}", printable(rule.name), printable(in_floats.unsupported, kMostOfLine));
  return in_floats.difference;
}

int refute_rules(const FilesOptions& options) {
  Counted counted;
  const auto ask = [&](ThreadPool& pool, const Rules& rules, Problems& problems) -> std::optional<Error> {
    const auto axioms = verify::all_axioms();
    std::vector<verify::Signatures> signatures(static_cast<size_t>(pool.threads()));
    FloatTrials floats;
    pool.run(static_cast<int64_t>(rules.size()), [&](int64_t k, int thread) {
      problems[static_cast<size_t>(k)] =
          problem_of(*rules[static_cast<size_t>(k)], options, axioms, signatures[static_cast<size_t>(thread)], floats);
    });
    const int64_t trials = floats.trials, without = floats.rules_without;
    counted.facts = {{"float_trials", trials}, {"without_float_trials", without}};
    counted.text = fmt::format(", {} float trials ({} rules without any)", trials, without);
    return std::nullopt;
  };
  return ask_all(options, "not refuted", ask, counted);
}

int list_rules(const FilesOptions& options) {
  auto files = read_rules_files(options.files, verify::all_axioms());
  if (!files.ok()) return report(files.error());
  json list = json::array();
  for (const RulesFile& file : *files)
    for (const Rule& rule : file.rules) {
      list.push_back({{"name", rule.name},
                      {"class", name(rule.float_class)},
                      {"rule", rule.text()},
                      {"laws", rule.proof.uses.size()}});
      if (!options.json) fmt::print("{}  {}\n", printable(rule.name), rule.text());
    }
  if (options.json) fmt::print("{}\n", json_text({{"rules", list}}));
  return kDone;
}

int show_rule(const FilesOptions& options) {
  const auto axioms = verify::all_axioms();
  auto files = read_rules_files(options.files, axioms);
  if (!files.ok()) return report(files.error());
  for (const RulesFile& file : *files)
    for (const Rule& rule : file.rules) {
      if (rule.name != options.rule) continue;
      if (options.dot) {
        std::vector<std::string> sides;
        for (const bool is_left : {true, false}) {
          std::vector<verify::Term> terms;
          for (const Output& output : equations_at(rule, rule.example))
            terms.push_back(is_left ? output.left : output.right);
          const auto graph = verify::graph_of(terms, rule.example.types);
          if (!graph.ok()) return report(graph.error());
          sides.push_back(to_dot(*graph));
        }
        if (options.json)
          fmt::print("{}\n", json_text({{"name", rule.name}, {"left", sides[0]}, {"right", sides[1]}}));
        else
          fmt::print("{}{}", sides[0], sides[1]);
        return kDone;
      }
      if (options.json) {
        fmt::print("{}\n", json_text(rule_json(rule, axioms)));
      } else {
        for (const std::string& line : rule_lines(rule, axioms)) fmt::print("{}\n", line);
      }
      return kDone;
    }
  return report({ErrorKind::kUsage, options.rule,
                 "the name of a rule expected, there is none of this name; 'isomer library list' has them"});
}

int print_statistics(const FilesOptions& options) {
  const auto done = print_rule_statistics(options.files, options);
  return done.ok() ? kDone : report(done.error());
}

void add_files(CLI::App& command, FilesOptions& options) {
  options.add_general_to(command);
  command.add_option("rules", options.files,
                     "Rules, with their proofs beside them (STEM.rules, STEM.proofs); those that come with the program "
                     "where none are given");
}

}  // namespace

void add_rule_commands(CLI::App& library, int& exit) {
  auto generation = std::make_shared<GenerateOptions>();
  std::vector<std::string> sets = operator_set_names();
  sets.emplace_back(kMutants);
  CLI::App* command = library.add_subcommand("generate", "Enumerate terms, prove which are equal, write the rules");
  generation->add_general_to(*command);
  command->add_option("--ops", generation->set, "The set of operators")
      ->check(CLI::IsMember(sets))
      ->capture_default_str();
  command
      ->add_option("--max-ops", generation->max_operators,
                   fmt::format("Operators on one side; at most {} where --ops is not {}", kMostEnumerated, kMutants))
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  command
      ->add_option("-o,--output", generation->folder, "Folder for SET.rules and SET.proofs, made where there is none")
      ->capture_default_str();
  command->get_option("--memory")
      ->description("For records of the largest terms, such as 4GB (default: 1GB); the rest goes to files");
  command->parse_complete_callback({});  // what else it needs is not limited
  command->add_option("--parts", generation->parts,
                      "Folder for what an interrupted run is taken up from, and what processes under mpirun share "
                      "(default with mpirun: generate.parts in the output folder)");
  command->callback([generation, &exit] { exit = generate_rules(*generation); });

  const auto over_files = [&](const char* name, const char* what, int (*run)(const FilesOptions&)) {
    auto options = std::make_shared<FilesOptions>();
    CLI::App* made = library.add_subcommand(name, what);
    if (run == show_rule) made->add_option("rule", options->rule, "Its name")->required();
    add_files(*made, *options);
    if (run == refute_rules)
      made->add_option("--trials", options->trials, "Inputs for each rule, in exact arithmetic")
          ->check(CLI::Range(0, 1'000'000))
          ->capture_default_str();
    if (run == refute_rules)
      made->add_option("--float-trials", options->float_trials,
                       "Inputs on which both sides are compiled, run and compared; the first at the rule's example")
          ->check(CLI::Range(0, 10'000))
          ->capture_default_str();
    if (run == show_rule) made->add_flag("--dot", options->dot, "Both sides for Graphviz");
    made->callback([options, run, &exit] { exit = run(*options); });
  };
  over_files("replay", "Check every proof, without Z3", replay_rules);
  over_files("verify", "Prove every rule again, with Z3", verify_rules);
  over_files("refute", "Try every rule on numbers: exactly, and in floats by compiled code", refute_rules);
  over_files("list", "A line a rule", list_rules);
  over_files("show", "A rule with its proof", show_rule);
  over_files("stats", "What the rules are", print_statistics);
}

}  // namespace isomer::cli
