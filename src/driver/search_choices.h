// What a search over proved rules is to do.
#pragma once

#include <memory>

#include "driver/load_model.h"
#include "search/optimize_model.h"

namespace isomer {

/// What a search is part of.
struct SearchSetting {
  Clock::time_point begin = Clock::now();  ///< of the whole work
  double least_afterwards = 1;             ///< SearchModelOptions::least_afterwards
  double kept = 0;                         ///< the same, ::kept
  search::CheckModel check = nullptr;
  substitutions::Differ differ = nullptr;
  search::ProgramJudge* judge = nullptr;
  int alternatives = 0;  ///< of a region, for the judge
};

struct SearchChoices {
  std::string strategy = "beam";   ///< or best-first, e-graph
  std::optional<double> seconds;   ///< of the whole work; nothing: as what the model takes to run suggests
  std::string records;             ///< file; empty: the user's
  std::vector<std::string> rules;  ///< files; none: those that come with the program
  bool mutate = false;             ///< what the rules don't reach of the model's own convolutions
  std::string backend = "isomer";  ///< what the model is for; or any, onnxruntime
  std::string onnxruntime;         ///< its shared library
  int width = search::SearchLimits().width;
  double alpha = search::SearchLimits().alpha;
  int steps = search::SearchLimits().steps;
  double min_speedup = search::SearchModelOptions().least_speedup;

  /// Of level, fp and what was bound: optimized, searched from kSearchLevel on. Rules come from files or with the
  /// program. Errors carry the model's name.
  Result<search::OptimizedModel> optimize(const LoadedModel& model, const std::string& file,
                                          substitutions::Derivation derivation, const Settings& settings,
                                          const SearchSetting& setting) const;

 private:
  Result<std::unique_ptr<search::Backend>> open_backend(const Graph& model, const std::string& file,
                                                        const Settings& settings, kernel::Records& records) const;
};

}  // namespace isomer
