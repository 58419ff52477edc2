// Options of a search over proved rules, and what they choose.
#pragma once

#include <memory>

#include "cli/load_model.h"
#include "cli/progress.h"
#include "search/optimize_model.h"

namespace isomer::cli {

/// What a search is part of.
struct SearchSetting {
  Clock::time_point begin = Clock::now();  ///< of the command
  double least_afterwards = 1;             ///< OptimizeModelOptions::least_afterwards
  double kept = 0;                         ///< the same, ::kept
  CheckModel check = nullptr;
  substitutions::Differ differ = nullptr;
  ProgramJudge* judge = nullptr;
  int alternatives = 0;  ///< of a region, for the judge
  ProgressLine* progress = nullptr;
};

struct SearchChoices {
  std::string strategy = "beam";
  std::string time;                ///< of the whole command; empty: as what the model takes to run suggests
  std::string records;             ///< file; empty: the user's
  std::vector<std::string> rules;  ///< files; none: those that come with the program
  bool mutate = false;             ///< what the rules don't reach of the model's own convolutions
  std::string backend = "isomer";  ///< what the model is for
  std::string onnxruntime;         ///< its shared library
  int width = SearchLimits().width;
  double alpha = SearchLimits().alpha;
  int steps = SearchLimits().steps;
  double min_speedup = OptimizeModelOptions().least_speedup;

  void add_to(CLI::App& app);
  /// --for: of models that others run.
  void add_backend_to(CLI::App& app);
  /// Of level, fp and what was bound: optimized, searched from kSearchLevel on. Rules come from files or with the
  /// program. Errors carry the model's name.
  Result<OptimizedModel> optimize(const LoadedModel& model, const std::string& file,
                                  substitutions::Derivation derivation, const CommonOptions& options,
                                  const SearchSetting& setting) const;

 private:
  Result<std::unique_ptr<Backend>> open_backend(const Graph& model, const std::string& file,
                                                const CommonOptions& options, kernel::Records& records) const;
};

/// "90", "60s", "10min", "1h": seconds. kUsage otherwise.
Result<double> parse_duration(const std::string& flag, const std::string& text);

}  // namespace isomer::cli
