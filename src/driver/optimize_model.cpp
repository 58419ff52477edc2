#include "isomer/optimize.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "driver/optimize.h"
#include "driver/public_options.h"
#include "driver/staging_folder.h"
#include "driver/told.h"
#include "isomer/verify.h"
#include "substitutions/proof/verify_files.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;

Result<std::string> one_of(const char* option, const std::string& text, const std::vector<std::string>& candidates) {
  if (std::ranges::find(candidates, text) != candidates.end()) return text;
  std::string expected;
  for (const std::string& each : candidates)
    expected += (expected.empty() ? "" : &each == &candidates.back() ? " or " : ", ") + each;
  return Error{ErrorKind::kUsage, option, fmt::format("{} expected, '{}' found", expected, text)};
}

Result<OptimizeChoices> choices_of(const OptimizeOptions& options) {
  OptimizeChoices choices;
  TRY(choices.level, parsed_level(options.level, search::kSearchLevel));
  TRY(choices.fp, parsed_mode(options.fp));
  choices.has_check = options.check;
  choices.runs = std::max(options.check_runs, 1);
  choices.has_proof = options.proof;
  SearchChoices& search = choices.search;
  TRY(search.strategy, one_of("strategy", options.strategy, {"beam", "best-first", "e-graph"}));
  TRY(search.backend, one_of("runtime", options.runtime, {"any", "onnxruntime", "isomer"}));
  TRY(search.seconds, parsed_seconds(options.seconds));
  search.records = options.records;
  search.rules = options.rules;
  search.mutate = options.mutate;
  search.onnxruntime = options.onnxruntime;
  return choices;
}

Optimized optimized_of(const nlohmann::json& report, const std::string& name, OptimizedFile outcome) {
  Optimized result;
  for (const auto& step : report["steps"]) {
    const auto& gain = step["gain_us"];
    result.steps.push_back(
        {step["rule"], step["where"], gain.is_null() ? std::nullopt : std::optional<double>(gain), step["fp_class"]});
  }
  result.nodes_before = report["nodes_before"];
  result.nodes_after = report["nodes_after"];
  if (outcome.made.raced) result.speedup = outcome.made.raced->ratio;
  result.is_interrupted = outcome.is_interrupted();
  result.proof = std::move(outcome.proof);
  result.report = report.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
  result.page = optimize_page(name, outcome, report);
  return result;
}

Result<Optimized> optimized(const std::string& model, const std::string& written, const OptimizeOptions& options) {
  TRY(const OptimizeChoices choices, choices_of(options));
  TRY(const Settings settings, settings_of(options, options.progress));
  TRY(StagingFolder staging, StagingFolder::beside(written));
  TRY(OptimizedFile outcome, optimize_file(model, staging, choices, settings));
  const nlohmann::json report = optimize_json(model, choices, settings, outcome);
  Optimized result = optimized_of(report, fs::path(model).filename().string(), std::move(outcome));
  TRY_VOID(staging.release());
  return result;
}

Result<VerifiedModel> verified(const substitutions::ModelFiles& files, const VerifyModelOptions& options) {
  TRY(const Settings settings, settings_of(options));
  substitutions::VerifyOptions verify;
  verify.dims = settings.dims;
  verify.shapes = settings.shapes;
  verify.operators = settings.operators;
  TRY(verify.fp, parsed_mode(options.fp));
  verify.check = {.seed = settings.seed,
                  .runs = std::max(options.check_runs, 0),
                  .threads = settings.threads,
                  .memory = settings.memory};
  TRY(const substitutions::Verified found, verify_files(files, verify));
  return VerifiedModel{static_cast<int64_t>(found.proof.steps.size()), static_cast<int64_t>(found.proof.rules.size()),
                       std::string(name(found.proof.fp)), std::string(name(found.float_class))};
}

}  // namespace

Expected<Optimized> optimize_model(const std::string& model, const std::string& optimized_file,
                                   const OptimizeOptions& options) {
  return told<Optimized>(options.stop, [&] { return optimized(model, optimized_file, options); });
}

Expected<VerifiedModel> verify_model(const std::string& model, const std::string& optimized_file,
                                     const std::string& proof, const VerifyModelOptions& options) {
  return told<VerifiedModel>(options.stop, [&] { return verified({model, optimized_file, proof}, options); });
}

}  // namespace isomer
