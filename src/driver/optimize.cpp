#include "driver/optimize.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/search_json.h"
#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/onnx/kept_names.h"
#include "graph/passes/pipeline.h"
#include "report/page.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/library/print_proof.h"
#include "util/output_file.h"
#include "util/resident.h"
#include "util/utf8.h"
#include "util/version.h"
#include "verify/check/check_json.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr double kLeastCheckSeconds = 1;

bool has_bodies(const Graph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Attributes& attributes = graph.node(id).attributes;
    return std::any_of(attributes.begin(), attributes.end(),
                       [](const auto& attribute) { return !bodies_of(attribute.second).empty(); });
  });
}

class Run {
 public:
  Run(const std::string& model, StagingFolder& written, const OptimizeChoices& choices, const Settings& settings)
      : model_(model), written_(written), choices_(choices), settings_(settings) {}

  Result<OptimizedFile> optimized() {
    settings_.messages.tell("reading");
    OptimizedFile outcome;
    TRY(outcome.before, load_model(model_, settings_));
    TRY_VOID(keep_weights_of(outcome.before));
    outcome.seconds["import"] = seconds_since(begin_);
    substitutions::Derivation derivation = first_derivation();
    SearchSetting setting;
    setting.begin = begin_;
    if (!choices_.has_check) {
      setting.least_afterwards = 0;
    } else {
      setting.check = [&](const search::OptimizedModel& made) { return difference(made, outcome); };
      setting.differ = [&](const Graph& one, const Graph& other) -> Result<bool> {
        TRY(const CheckReport report, check_same(one, other, check_options({})));
        return report.equivalence.difference.has_value();
      };
    }
    std::vector<std::string> unproved;
    SearchChoices search = choices_.search;
    for (bool is_done = false, is_interrupted = false; !is_done;) {
      const auto start = Clock::now();
      const auto checking = [&] { return outcome.seconds["export"] + outcome.seconds["check"]; };
      const double checked = checking();
      TRY(outcome.made, search.optimize(outcome.before, model_, derivation, settings_, setting));
      is_interrupted |= outcome.made.is_interrupted;
      outcome.made.is_interrupted = is_interrupted;
      if (is_interrupted) search.seconds = 0;  // it is not begun again
      outcome.seconds["optimize"] += seconds_since(start) - (checking() - checked);
      if (!choices_.has_check)
        if (auto done = write(outcome.made, outcome); !done.ok()) return std::move(done).error().within(model_);
      TRY(is_done, prove(outcome, derivation, unproved));
    }
    if (outcome.lost_training && settings_.messages.note)
      settings_.messages.note(
          fmt::format("isomer: {}: training_info is left out: weights or values that it names are folded into others; "
                      "--level 0 keeps it",
                      printable(model_)));
    outcome.made.left_out.insert(outcome.made.left_out.end(), unproved.begin(), unproved.end());
    return outcome;
  }

 private:
  Result<void> keep_weights_of(const LoadedModel& model) {
    TRY_VOID(check_apart(model, model_, written_.places()));
    if (!is_same_file(model_, written_.places().front()))
      for (const std::string& file : model.file.external_files) written_.keep(fs::path(model_).parent_path() / file);
    return {};
  }

  substitutions::Derivation first_derivation() const {
    substitutions::Derivation derivation;
    derivation.dims = settings_.dims;
    derivation.shapes = settings_.shapes;
    derivation.level = choices_.level;
    derivation.fp = choices_.fp;
    derivation.keep_composites = choices_.search.backend != "isomer";
    return derivation;
  }

  /// The check may take as long as the rest did where the command's time allows it, and a second in any case.
  CheckOptions check_options(const search::OptimizedModel& made) const {
    const double passed = seconds_since(begin_);
    const double left = made.seconds > 0 ? std::min(passed, made.seconds - passed) : passed;
    return {.seed = settings_.seed,
            .runs = choices_.runs,
            .threads = settings_.threads,
            .seconds = std::max(kLeastCheckSeconds, left),
            .memory = settings_.memory};
  }

  /// Writes the proof, where one is asked for. False where a change is made of which it finds none: the derivation is
  /// without that pass then, or without constants that were rounded for bodies, or else of the level below.
  Result<bool> prove(OptimizedFile& outcome, substitutions::Derivation& derivation,
                     std::vector<std::string>& unproved) const {
    if (!choices_.has_proof) return true;
    settings_.messages.tell("writing the proof");
    const auto begin = Clock::now();
    substitutions::Theory theory;
    auto proof = proof_of(outcome.before.graph, outcome.made.derivation, outcome.after.graph, theory);
    if (!proof.ok()) {
      const Error error = std::move(proof).error();
      std::vector<std::string>& without = derivation.without;
      // What the checker can't say is no more proved than what it refuses.
      if (error.kind != ErrorKind::kMismatch && error.kind != ErrorKind::kUnsupported) return error;
      if (!is_pass(error.where) && derivation.rounds_in_bodies && has_bodies(outcome.made.derived.graph)) {
        derivation.rounds_in_bodies = false;
        unproved.push_back(fmt::format("constants that bodies read and folding would round: {}", error.message()));
        return false;
      }
      // What is only found in the end is most likely what reorders sums.
      const std::string pass = is_pass(error.where) ? error.where : "normalize";
      const bool is_new = std::find(without.begin(), without.end(), pass) == without.end();
      if (is_new) {
        without.push_back(pass);
        unproved.push_back(pass == error.where ? error.message() : fmt::format("{}: {}", pass, error.message()));
      } else if (derivation.level > 0) {
        unproved.push_back(fmt::format("what level {} adds: {}", derivation.level--, error.message()));
      } else {
        return error;
      }
      return false;
    }
    TRY(outcome.proof, print_proof(*proof, theory.axioms()));
    outcome.seconds["proof"] += seconds_since(begin);
    return true;
  }

  /// To a file that is read again.
  Result<void> write(const search::OptimizedModel& made, OptimizedFile& outcome) const {
    settings_.messages.tell("writing");
    const auto start = Clock::now();
    Graph graph = made.derived.graph;
    outcome.lost_training = !keep_named(graph, outcome.before.graph);
    TRY_VOID(written_.write_model(graph));
    Settings as_written = settings_;
    as_written.dims.clear();
    as_written.shapes.clear();
    TRY(outcome.after, load_model(written_.file().string(), as_written));
    outcome.seconds["export"] += seconds_since(start);
    return {};
  }

  /// What is checked is what was written, read again.
  Result<std::optional<std::string>> difference(const search::OptimizedModel& made, OptimizedFile& outcome) const {
    TRY_VOID(write(made, outcome));
    settings_.messages.tell("checking the result against the model");
    const auto start = Clock::now();
    TRY(outcome.check, check_same(outcome.before.graph, outcome.after.graph, check_options(made)));
    outcome.seconds["check"] += seconds_since(start);
    const auto& found = outcome.check->equivalence.difference;
    return found ? std::optional(found->text()) : std::nullopt;
  }

  const std::string& model_;
  StagingFolder& written_;
  const OptimizeChoices& choices_;
  const Settings& settings_;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace

Result<OptimizedFile> optimize_file(const std::string& model, StagingFolder& written, const OptimizeChoices& choices,
                                    const Settings& settings) {
  return Run(model, written, choices, settings).optimized();
}

json optimize_json(const std::string& model, const OptimizeChoices& choices, const Settings& settings,
                   const OptimizedFile& outcome) {
  const auto& raced = outcome.made.raced;
  json steps = json::array();
  const auto add = [&](const OptimizeStep& step, json gain) {
    steps.push_back(
        {{"rule", step.rule}, {"where", step.where}, {"gain_us", std::move(gain)}, {"fp_class", name(step.fp_class)}});
  };
  const substitutions::Derived& derived = outcome.made.derived;
  for (const OptimizeStep& step : derived.before.steps) add(step, nullptr);
  for (size_t k = 0; k < derived.steps.size(); ++k) add(derived.steps[k], outcome.made.gains[k]);
  for (const OptimizeStep& step : derived.after.steps) add(step, nullptr);
  return {{"model", model},
          {"for", choices.search.backend},
          {"nodes_before", outcome.before.file.nodes},
          {"nodes_after", outcome.after.file.nodes},
          {"ops_before", outcome.before.file.operators},
          {"ops_after", outcome.after.file.operators},
          {"weights_mb_before", static_cast<double>(count_bytes(outcome.before.graph)) / 1e6},
          {"weights_mb_after", static_cast<double>(count_bytes(outcome.after.graph)) / 1e6},
          {"cost_before_us", raced ? json(raced->first) : json(nullptr)},
          {"cost_after_us", raced ? json(raced->second) : json(nullptr)},
          {"steps", steps},
          {"search", search_json(outcome.made)},
          {"check", outcome.check ? check_json(*outcome.check) : json(nullptr)},
          {"seconds", outcome.seconds},
          {"peak_memory_mb", static_cast<double>(peak_resident_bytes()) / 1e6},
          {"stop_reason", outcome.made.found ? json(name(outcome.made.found->stop)) : json(derived.before.stop_reason)},
          {"seed", settings.seed},
          {"version", version_text()}};
}

std::string optimize_page(const std::string& name, const OptimizedFile& outcome, const json& report) {
  report::PageInput input{name, &outcome.before.graph, &outcome.after.graph, {}};
  for (const substitutions::Rule& rule : outcome.made.derivation.rules)
    input.rules.push_back({rule.name, rule.text(), std::string(isomer::name(rule.float_class))});
  return report::page(input, report);
}

}  // namespace isomer
