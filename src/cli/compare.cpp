// isomer compare: are two models the same function, as far as seeded inputs show?
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/model_inputs.h"
#include "verify/equivalence.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct CompareOptions : CommonOptions {
  InputOptions inputs;
  std::string reference, candidate;
  int runs = 2;
};

Result<Equivalence> compare(const CompareOptions& options) {
  TRY(LoadedModel reference, load_model(options.reference, options));
  TRY(const LoadedModel candidate, load_model(options.candidate, options));
  std::vector<std::vector<te::Array>> sets;
  const int runs = options.inputs.files.empty() ? options.runs : 1;
  for (int run = 0; run < runs; ++run) {
    TRY(const std::vector<Tensor> tensors, model_inputs(reference.graph, options.inputs, options.seed + run));
    auto& inputs = sets.emplace_back();
    for (const Tensor& tensor : tensors) inputs.push_back(te::Array::from(tensor));
  }
  return compare_models_on(reference.graph, candidate.graph, sets, options.thread_count());
}

json to_json(const Equivalence& result) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  json report = {{"runs", result.runs}, {"max_abs_error", number(result.max_abs_error)},
                 {"max_error_over_bound", number(result.max_error_over_bound)}, {"passed", result.passed()}, {"difference", nullptr}};
  if (const auto& d = result.difference)
    report["difference"] = {{"output", d->output}, {"index", d->index}, {"expected", number(d->expected)},
                            {"found", number(d->found)}, {"bound", number(d->bound)}};
  return report;
}

}  // namespace

void add_compare(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Run two models on the same inputs and compare their outputs");
  command->add_option("A", options->reference, "The reference")->required();
  command->add_option("B", options->candidate, "The model compared with it")->required();
  command->add_option("--runs", options->runs, "Input sets to compare on")->check(CLI::Range(1, 1000))->capture_default_str();
  options->add_to(*command);
  options->inputs.add_to(*command);
  command->callback([options, &exit] {
    const auto result = compare(*options);
    if (!result.ok()) {
      exit = report(result.error());
      return;
    }
    if (options->json) fmt::print("{}\n", json_text(to_json(*result)));
    if (!result->passed()) {
      exit = report({ErrorKind::kMismatch, options->candidate, result->difference->text()});
      return;
    }
    if (!options->json)
      fmt::print("equal on {} input sets: largest difference {:.3g}, {:.2g} of what rounding allows\n", result->runs,
                 result->max_abs_error, result->max_error_over_bound);
    exit = kDone;
  });
}

}  // namespace isomer::cli
