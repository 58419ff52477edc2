// What rules of mutants give layers: each layer as it is against each program that one rewrite makes of it, in turns.
// mutant_layers.py writes layers.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "graph/onnx/import.h"
#include "search/cost/race.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewrite/apply.h"
#include "verify/check/inputs.h"

namespace isomer {
namespace {

using namespace substitutions;

struct Options {
  std::vector<std::string> layers;
  int threads = 1;
  double seconds = 1;
};

std::vector<Rule> mutants(const Theory& theory) {
  std::vector<Rule> result;
  for (RulesFile& file : shipped_rules(theory.axioms()))
    if (file.made_by.find("--ops mutants") != std::string::npos)
      std::ranges::move(file.rules, std::back_inserter(result));
  return result;
}

Result<std::unique_ptr<search::Runner>> runner(const Graph& graph, const Options& options) {
  search::CompileOptions compile;
  compile.target = kernel::host_target();
  compile.threads = options.threads;
  TRY(const std::vector<Tensor> inputs, generate_inputs(graph, {}));
  return compiled_runner(graph, inputs, 2, compile);
}

Result<void> tell(const std::string& file, const Options& options) {
  TRY(const Graph layer, import_model(file));
  Theory theory;
  const std::vector<Rule> rules = mutants(theory);
  Derivation derivation;
  TRY(const Start start, start_of(layer, derivation, theory));
  TRY(const Derived plain, derived(start, derivation));
  TRY(const auto original, runner(plain.graph, options));
  Substitutions substitutions(rules, theory);
  for (const Match& match : substitutions.matches(start.program)) {
    derivation.steps = {step_of(match, substitutions)};
    derivation.rules = rules_of(derivation.steps, rules, theory.axioms());
    const Substitution& taken = substitutions[match.substitution];
    const std::string name = fmt::format("{} {}", taken.rule->name, taken.is_forward ? "->" : "<-");
    const auto race_it = [&]() -> Result<search::Raced> {
      TRY(const Derived made, derived(start, derivation));
      TRY(const auto mutant, runner(made.graph, options));
      return race(*original, *mutant, {.seconds = options.seconds, .threads = options.threads});
    };
    const auto raced = race_it();
    if (raced.ok())
      fmt::print("| {} | {} | {:.1f} | {:.1f} | {:.3f} | {:.3f} to {:.3f} |\n",
                 std::filesystem::path(file).stem().string(), name, raced->first, raced->second, raced->ratio,
                 raced->low, raced->high);
    else
      fmt::print("| {} | {} | | | | {} |\n", std::filesystem::path(file).stem().string(), name,
                 raced.error().message());
    std::fflush(stdout);
  }
  return {};
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("Mutants of layers, measured");
  isomer::Options options;
  app.add_option("LAYER", options.layers)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--seconds", options.seconds, "Of a race");
  CLI11_PARSE(app, argc, argv);
  fmt::print("| layer | rule | original, us | mutant, us | ratio | quartiles |\n|---|---|---|---|---|---|\n");
  for (const std::string& layer : options.layers)
    if (const auto told = isomer::tell(layer, options); !told.ok())
      std::cerr << layer << ": " << told.error().message() << "\n";
}
