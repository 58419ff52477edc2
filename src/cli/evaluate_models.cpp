#include "cli/evaluate_models.h"

#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "driver/open_records.h"
#include "kernel/fingerprint.h"

namespace isomer::cli {
namespace {

constexpr size_t kFolds = 5;

struct Judged {
  std::string name;
  tune::ModelQuality quality;
};

std::string name_of(const tune::CostModelOptions& model) {
  if (model.kind == tune::CostModelKind::kDraft) return "draft";
  return model.kind == tune::CostModelKind::kTraces ? "tlp" : fmt::format("trees, {}", name(model.features));
}

std::vector<tune::CostModelOptions> models_of(const ModelEvaluation& evaluation, uint64_t seed) {
  if (evaluation.only) return {*evaluation.only};
  std::vector<tune::CostModelOptions> models;
  for (const tune::FeatureKind kind : tune::kFeatureKinds) models.push_back({tune::CostModelKind::kTrees, kind, seed});
  for (const auto kind : {tune::CostModelKind::kTraces, tune::CostModelKind::kDraft})
    models.push_back({.kind = kind, .seed = seed});
  return models;
}

/// A task of several models is held out with the first.
tune::EvaluationOptions folds_of(const ModelEvaluation& evaluation, const search::TuningProblems& all) {
  tune::EvaluationOptions options;
  options.labels = evaluation.labels;
  for (size_t model = 0; model < all.models.size(); ++model)
    for (size_t k = 0; k < all.problems.size(); ++k)
      if (all.models[model].times[k] > 0)
        options.folds.try_emplace(all.problems[k].meaning,
                                  evaluation.models_held_out ? model : options.folds.size() % kFolds);
  return options;
}

nlohmann::json to_json(const Judged& judged) {
  const tune::ModelQuality& quality = judged.quality;
  return {{"model", judged.name},
          {"tasks", quality.tasks},
          {"trials", quality.trials},
          {"learned", quality.learned},
          {"learned_elsewhere", quality.learned_elsewhere},
          {"top_1", quality.first},
          {"top_5", quality.five},
          {"random_1", quality.any},
          {"random_5", quality.any_five},
          {"look_us", quality.look_us},
          {"seconds", quality.seconds}};
}

/// As each is judged: some take minutes.
void print_line(const Judged& judged, bool is_first) {
  const auto& [name, quality] = judged;
  if (is_first) {
    fmt::print(
        "{} tasks held out in turns, {} trials of theirs; learned from {} at a time, {} of them of other targets\n",
        quality.tasks, quality.trials, quality.learned, quality.learned_elsewhere);
    fmt::print("{:18} {:>12} {:>13} {:>15} {:>9}\n", "", "first choice", "best of five", "to see one, us", "seconds");
    fmt::print("{:18} {:12.3f} {:13.3f}\n", "at random", quality.any, quality.any_five);
  }
  fmt::print("{:18} {:12.3f} {:13.3f} {:15.1f} {:9.1f}\n", name, quality.first, quality.five, quality.look_us,
             quality.seconds);
  std::fflush(stdout);
}

}  // namespace

Result<ExitCode> evaluate_models(const ModelEvaluation& evaluation, const search::TuningProblems& all,
                                 const tune::TuneOptions& tuning, const CommonOptions& options) {
  if (evaluation.models_held_out && all.models.size() < 2)
    return Error{ErrorKind::kUsage, "--hold-out", "several models expected, one found"};
  tune::EvaluationOptions folds = folds_of(evaluation, all);
  folds.target = kernel::fingerprint(tuning.target, tuning.threads);
  folds.seed = options.seed;
  TRY(const kernel::Records records, open_known_records(evaluation.records));
  kernel::RecordFilter filter{.generator = kernel::generator_version()};
  if (!evaluation.other_targets) filter.target = folds.target;
  TRY(const auto trials, records.trials(filter, std::numeric_limits<int64_t>::max()));
  std::vector<Judged> judged;
  std::vector<std::string> left_out;
  Error last;
  for (const tune::CostModelOptions& model : models_of(evaluation, options.seed)) {
    auto quality = tune::evaluate(model, trials, tuning.space, folds);
    if (!quality.ok()) {
      last = quality.error();
      if (last.kind != ErrorKind::kUnsupported) return last;
      left_out.push_back(fmt::format("{}: not judged: {}", name_of(model), last.message()));
      continue;
    }
    judged.push_back({name_of(model), *quality});
    if (!options.json) print_line(judged.back(), judged.size() == 1);
  }
  if (judged.empty()) return last;
  for (const std::string& why : left_out) note(options, "isomer: {}", printable(why, kMostOfLine));
  if (options.json) {
    nlohmann::json models = nlohmann::json::array();
    for (const Judged& each : judged) models.push_back(to_json(each));
    fmt::print("{}\n", json_text({{"target", folds.target},
                                  {"held_out", evaluation.models_held_out ? "models" : "tasks"},
                                  {"models", models}}));
  }
  return kDone;
}

}  // namespace isomer::cli
