// From a loaded model to code: optimized, fused into tasks, scheduled, tuned where that is asked for, compiled.
#pragma once

#include "driver/search_choices.h"
#include "search/code/compile.h"
#include "search/code/tuning.h"
#include "search/cost/choose_tasks.h"

namespace isomer {

struct CompileChoices {
  std::string target = "cpu";
  bool tf32 = false;                   ///< as if kRoundsToTf32 stood behind a GPU
  std::optional<int> level;            ///< nothing: as the command has it
  std::vector<std::string> without;    ///< parts to leave out
  std::vector<std::string> plan;       ///< VALUE=together, apart, channels-last or row-major
  std::vector<std::string> schedules;  ///< TASK=FILE
  SearchChoices search;                ///< from kSearchLevel on
  bool for_gpu = false;                ///< scheduled for a GPU, and compiled for the target as plain loops
  /// Of the command; 2 where schedules are given, which name tasks of that level, and for a GPU.
  int usual_level = 2;
  bool untuned = false;  ///< schedules as they are by default, whatever records have
  bool tunes = false;    ///< the kernels, before code is made
  int graphs = 1;        ///< programs of a region that are tuned, before one of them is taken

  /// What `target` says; errors are of kind kUsage.
  Result<kernel::Target> parsed_target() const;
  int chosen_level() const;
};

/// What tuning gave a model.
struct TunedTasks {
  tune::TuneState state;
  tune::ModelTasks model;
  bool is_interrupted = false;  ///< which has been dealt with
  /// Ways to cut it into tasks that are faster with tuned tasks, and by how many microseconds.
  std::vector<std::pair<std::string, double>> cuts = {};

  /// None of its tasks can be measured here.
  bool is_left_out() const;
  /// "tuning: 320 trials, 87.300 -> 81.600 ms by its tasks"
  std::string text() const;
};

struct CompiledCode {
  search::Compilation code;
  std::optional<search::ChosenTasks> chosen;  ///< where that was measured
  std::optional<TunedTasks> tuned;            ///< where that was asked for
};

struct CompiledModel : CompiledCode {
  search::OptimizedModel made;
};

/// What is wrong with code that was made, for people; nothing: it computes what the model does.
using CheckCode = std::function<Result<std::optional<std::string>>(const search::Compilation& code)>;

/// Optimized, searched where the level says so, checked and blamed as optimize_model does. Errors carry the file's
/// name; kUsage: the target.
Result<CompiledModel> code_of_model(const LoadedModel& model, const std::string& file, const Settings& settings,
                                    const CompileChoices& choices, SearchSetting setting, const CheckCode& check);

/// Its code alone, unchecked.
Result<search::Compilation> code_of_model(const LoadedModel& model, const std::string& file, const Settings& settings,
                                          const CompileChoices& choices);

/// Adds the tasks of a model, as its code is made of them without a search, or, of several programs a region, with one;
/// and says what the code is made with. Errors carry the file's name; kUsage: the target.
Result<search::CompileOptions> add_problems(search::TuningProblems& all, const LoadedModel& model,
                                            const std::string& file, const Settings& settings,
                                            const CompileChoices& choices);

}  // namespace isomer
