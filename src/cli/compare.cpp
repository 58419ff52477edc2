// isomer compare: are two models the same function, as far as seeded inputs show?
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/check_notes.h"
#include "cli/commands.h"
#include "cli/load_artifact.h"
#include "cli/load_model.h"
#include "cli/model_inputs.h"
#include "cli/settings.h"
#include "driver/check_code.h"
#include "search/code/run_artifact.h"
#include "verify/check/check_json.h"
#include "verify/check/equivalence.h"
#include "verify/check/pairs.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct CompareOptions : CommonOptions {
  InputOptions inputs;
  std::string reference, candidate;
  int runs = 2;
};

template <class T>
Result<T> in_file(Result<T> result, const std::string& file) {
  if (!result.ok()) return std::move(result).error().within(file);
  return result;
}

using InputSets = std::vector<std::vector<te::Array>>;

/// Inputs more than asked for, where of some output nothing could be compared: other ones, among which may be masks.
constexpr int kMoreForUncompared = 4;

ComparisonEffort effort_of(const CompareOptions& options) {
  const bool has_more = options.inputs.files.empty() && options.inputs.fill == "random";
  return {.threads = options.thread_count(),
          .memory = options.memory_limit(),
          .more_for_uncompared = has_more ? kMoreForUncompared : 0};
}

Result<InputSets> input_sets(Graph& graph, const std::string& file, const CompareOptions& options,
                             const std::map<std::string, Demand>& demands = {}) {
  InputSets sets;
  const int runs = options.inputs.files.empty() ? options.runs : 1;
  // An artifact's interface has no nodes: its session has been asked already.
  if (options.inputs.files.empty() && graph.node_count() > 0) {
    TRY_VOID(bind_free_dims(graph, file, options));
    TRY_VOID(in_file(check_memory(graph, runs, options.memory_limit()), file));
  }
  CommonOptions seeded = options;
  InputOptions given = options.inputs;
  given.bytes = true;
  for (int run = 0; run < runs; ++run, ++seeded.seed) {
    TRY(std::vector<te::Array> inputs, model_inputs(graph, file, given, seeded, demands));
    sets.push_back(std::move(inputs));
  }
  return sets;
}

/// A model in the interpreter is what an artifact is held against, also where the artifact was named first.
bool is_exchanged(const CompareOptions& options) {
  return is_artifact(options.reference) && !is_artifact(options.candidate);
}

/// Puts the candidate in order. Both interfaces must agree in numbers and types; there is a line where names don't say
/// what belongs together.
Result<Pairs> pair_up(Graph& candidate, const Graph& reference, const CompareOptions& options) {
  Pairs pairs = put_in_order(candidate, reference);
  TRY_VOID(
      in_file(is_exchanged(options) ? check_interfaces(candidate, reference) : check_interfaces(reference, candidate),
              fmt::format("{}, {}", options.reference, options.candidate)));
  if (const std::string sides = paired_by_position(candidate, reference); !sides.empty())
    note(options, "isomer: {}, {}: {} are paired by position: their names differ", printable(options.reference),
         printable(options.candidate), sides);
  return pairs;
}

/// An artifact's variant takes the inputs that are given in the order of the reference's.
Result<LoadedArtifact> load_like(const std::string& file, const Graph& reference, const CompareOptions& options) {
  TRY(const Settings settings, settings_of(options));
  const BindShapes bind = [&](Graph& interface) {
    put_in_order(interface, reference);
    return bind_loaded(interface, file, options.inputs, settings.memory);
  };
  return isomer::load_artifact(file, settings, {}, {}, options.inputs.files.empty() ? nullptr : bind);
}

/// Runs an artifact on inputs in the order of the reference's. Why it doesn't run on them (kInvalid) says nothing of
/// the file.
Result<std::vector<te::Array>> run_paired(const LoadedArtifact& artifact, const std::string& file, const Pairs& pairs,
                                          std::span<const te::Array> inputs) {
  std::vector<te::Array> own(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) own[pairs.inputs[i]] = inputs[i];
  auto outputs = search::run_artifact(*artifact.session, own);
  if (!outputs.ok() && outputs.error().kind == ErrorKind::kInvalid) return outputs;
  TRY(const std::vector<te::Array> found, in_file(std::move(outputs), file));
  return in_order(found, pairs.outputs);
}

/// The same, made as they are asked for: those that the model doesn't run on are left out. The first ones bind the
/// graph's dims.
Result<Equivalence> on_inputs(Graph& graph, const std::string& file, const CompareOptions& options,
                              const std::function<Result<void>()>& when_bound,
                              const std::function<Result<Equivalence>(const InputsOf&, int runs)>& compare) {
  TRY(InputSets first, input_sets(graph, file, options));
  TRY_VOID(when_bound());
  const bool are_given = !options.inputs.files.empty();
  const auto inputs = [&](int set) -> Result<std::vector<te::Array>> {
    if (are_given || set < static_cast<int>(first.size())) return first[are_given ? 0 : set];
    CommonOptions seeded = options;
    seeded.seed += static_cast<uint64_t>(set);
    InputOptions others = options.inputs;
    others.masks = others.bytes = true;
    return model_inputs(graph, file, others, seeded);
  };
  return compare(inputs, static_cast<int>(first.size()));
}

/// What is expected is the artifact's.
void exchange(Difference& difference) {
  std::swap(difference.expected, difference.found);
  std::swap(difference.expected_integer, difference.found_integer);
  std::swap(difference.expected_type, difference.found_type);
}

Result<Equivalence> compare_with_artifact(const std::string& model_file, const std::string& artifact_file,
                                          const CompareOptions& options) {
  TRY(LoadedModel model, load_model(model_file, options));
  TRY_VOID(keep_defaults(model.graph, model_file, options));
  TRY(LoadedArtifact artifact, load_like(artifact_file, model.graph, options));
  TRY(const Pairs pairs, pair_up(artifact.interface, model.graph, options));
  TRY_VOID(bind_like(model.graph, model_file, artifact.interface));
  const auto run = [&](std::span<const te::Array> inputs) {
    return run_paired(artifact, artifact_file, pairs, inputs);
  };
  const auto nothing = []() -> Result<void> { return {}; };
  ComparisonEffort effort = effort_of(options);
  effort.strictness.reach = reach_of(artifact.session->variant());
  TRY(Equivalence result, on_inputs(model.graph, model_file, options, nothing, [&](const InputsOf& inputs, int runs) {
        return compare_with(model.graph, run, inputs, runs, effort);
      }));
  if (result.difference && is_exchanged(options)) exchange(*result.difference);
  return result;
}

/// Of two artifacts neither is exact: both may be off by what long sums are, of each element or of what is usual.
Result<Equivalence> compare_artifacts(const CompareOptions& options) {
  constexpr double kUnits = 1024;
  TRY(LoadedArtifact reference, load_artifact(options.reference, options, {}, {}, options.inputs));
  TRY(LoadedArtifact candidate, load_like(options.candidate, reference.interface, options));
  TRY(const Pairs pairs, pair_up(candidate.interface, reference.interface, options));
  TRY_VOID(bind_like(candidate.interface, options.candidate, reference.interface));
  TRY(const InputSets sets, input_sets(reference.interface, options.reference, options, reference.demands));
  const double units =
      kUnits * std::max(reach_of(reference.session->variant()), reach_of(candidate.session->variant()));
  Equivalence result;
  for (const auto& inputs : sets) {
    TRY(const auto expected, in_file(search::run_artifact(*reference.session, inputs), options.reference));
    const auto found = run_paired(candidate, options.candidate, pairs, inputs);
    ++result.runs;
    if (!found.ok()) {
      if (found.error().kind != ErrorKind::kInvalid) return found.error();
      result.difference = Difference{.refusal = found.error().message()};
      break;
    }
    for (size_t i = 0; i < expected.size(); ++i)
      compare_in_units(reference.interface.value(reference.interface.outputs()[i]), expected[i], (*found)[i], units,
                       result);
    if (result.difference) break;
  }
  return result;
}

Result<Equivalence> compare(const CompareOptions& options) {
  if (is_artifact(options.reference))
    return is_artifact(options.candidate) ? compare_artifacts(options)
                                          : compare_with_artifact(options.candidate, options.reference, options);
  if (is_artifact(options.candidate)) return compare_with_artifact(options.reference, options.candidate, options);
  TRY(LoadedModel reference, load_model(options.reference, options));
  TRY(LoadedModel candidate, load_model(options.candidate, options));
  TRY_VOID(pair_up(candidate.graph, reference.graph, options));
  const auto bind = [&] { return bind_like(candidate.graph, options.candidate, reference.graph); };
  return on_inputs(reference.graph, options.reference, options, bind, [&](const InputsOf& inputs, int runs) {
    // One runs like the other: which of them it was is not known where one fails.
    return in_file(compare_models_on(reference.graph, candidate.graph, inputs, runs, effort_of(options)),
                   fmt::format("{}, {}", options.reference, options.candidate));
  });
}

/// Outputs of other types or shapes have no values to compare, nor has a model that didn't run.
json difference_json(const Difference& difference) {
  const bool has_values = difference.expected_type.empty() && difference.refusal.empty();
  const auto number = [&](double x, const std::string& integer = {}) {
    if (!integer.empty()) return json::parse(integer);
    return has_values && std::isfinite(x) ? json(x) : json(nullptr);
  };
  const auto text = [&](const std::string& text) { return text.empty() ? json(nullptr) : json(text); };
  return {{"output", text(difference.output)},
          {"index", difference.index},
          {"expected", number(difference.expected, difference.expected_integer)},
          {"found", number(difference.found, difference.found_integer)},
          {"bound", number(difference.bound)},
          {"expected_type", text(difference.expected_type)},
          {"found_type", text(difference.found_type)},
          {"refusal", text(difference.refusal)}};
}

json comparison_json(const Equivalence& result) {
  json report = equivalence_json(result);
  report["passed"] = result.is_equal();
  report["difference"] = nullptr;
  if (const auto& d = result.difference) report["difference"] = difference_json(*d);
  return report;
}

}  // namespace

void add_compare(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand("compare", "Run two models on the same inputs and compare their outputs");
  command->add_option("A", options->reference, "The reference")->required();
  command->add_option("B", options->candidate, "The model compared with it")->required();
  command->add_option("--runs", options->runs, "Input sets to compare on")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  options->add_to(*command);
  options->inputs.add_to(*command);
  command->callback([options, &exit] {
    const auto result = compare(*options);
    if (!result.ok()) {
      exit = report_failed(*options, result.error());
      return;
    }
    if (options->json) fmt::print("{}\n", json_text(comparison_json(*result)));
    if (!result->passed()) {
      // The artifact is the one that gave no outputs where a model gave some.
      const bool is_of_reference = is_exchanged(*options) && !result->difference->refusal.empty();
      exit = report({ErrorKind::kMismatch, is_of_reference ? options->reference : options->candidate,
                     result->difference->text()});
      return;
    }
    if (!result->is_equal()) {
      exit = report({ErrorKind::kMismatch, options->candidate, result->uncompared()});
      return;
    }
    if (!options->json) print_lines({fmt::format("equal on {} input sets: {}", result->runs, result->text())});
    warn_of_what_was_set_aside(*options, *result);
    exit = kDone;
  });
}

}  // namespace isomer::cli
