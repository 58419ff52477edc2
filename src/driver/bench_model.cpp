// include/isomer/backend.h
#include <nlohmann/json.hpp>

#include "backends/find_library.h"
#include "driver/bench.h"
#include "driver/public_options.h"
#include "driver/told.h"
#include "isomer/backend.h"
#include "util/quantile.h"
#include "verify/check/inputs.h"

namespace isomer {
namespace {

const std::vector<std::pair<std::string, backends::ForeignLibrary (*)()>>& known_backends() {
  static const std::vector<std::pair<std::string, backends::ForeignLibrary (*)()>> all{
      {"onnxruntime", backends::onnxruntime_library},
      {"onednn", backends::onednn_library},
      {"cudnn", backends::cudnn_library},
      {"cublaslt", backends::cublaslt_library}};
  return all;
}

ModelTimes times_of(const nlohmann::json& report) {
  ModelTimes times{static_cast<int64_t>(report["times_ms"].size()),
                   report["min_ms"],
                   report["median_ms"],
                   report["p90_ms"],
                   report["p99_ms"],
                   {},
                   report.dump(2, ' ', true, nlohmann::json::error_handler_t::replace)};
  for (const auto& [name, peer] : report["against"].items())
    times.against.push_back({name, peer["version"], quantile(peer["times_ms"].get<std::vector<double>>(), 0.5),
                             peer["ratio"], peer["ratio_p25"], peer["ratio_p75"]});
  return times;
}

Result<ModelTimes> benched(const std::string& file, const BenchModelOptions& options) {
  TRY(const Settings settings, settings_of(options, options.progress));
  Settings silent = settings;
  silent.messages = {};
  TRY(const auto seconds, parsed_seconds(options.seconds));
  const BenchChoices choices{*seconds, options.against, options.model.empty() ? file : options.model,
                             options.libraries};
  CompileChoices code;
  code.target = options.target;
  const auto open = [&](bool timed) -> Result<BenchSession> {
    // What there is to say was said when it was opened first.
    TRY(LoadedArtifact artifact, load_artifact(file, timed ? silent : settings, timed_session(timed), code));
    TRY(std::vector<Tensor> inputs,
        generate_inputs(artifact.interface,
                        {.seed = settings.seed, .demands = artifact.demands, .memory = settings.memory}));
    return BenchSession::make(std::move(artifact), std::move(inputs));
  };
  TRY(const nlohmann::json report, measured(open, choices, settings));
  return times_of(report);
}

}  // namespace

std::vector<FoundBackend> found_backends() {
  std::vector<FoundBackend> found;
  for (const auto& [name, library] : known_backends())
    if (std::string place = backends::find(library()); !place.empty()) found.push_back({name, std::move(place)});
  return found;
}

Expected<ModelTimes> bench_model(const std::string& file, const BenchModelOptions& options) {
  return told<ModelTimes>(options.stop, [&] { return benched(file, options); });
}

}  // namespace isomer
