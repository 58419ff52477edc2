// From a graph to code: prepared, cut into tasks, tuned where that is asked for, compiled.
// Tests: tests/cli/tune_test.cpp, tests/cli/schedule_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/code_of_model.h"

namespace isomer {

/// A file of a trace, a template or some decisions; for no task yet. Errors carry the file's name.
Result<search::GivenSchedule> read_schedule(const std::string& name);

/// How kernels are tuned before they are made.
struct Tuning {
  double seconds = 60;
  std::function<void(const TunedTasks&)> tell;  ///< after each round
};

class CodeMaker {
 public:
  /// Errors: kUsage, a target or a level that is none.
  static Result<CodeMaker> create(const Settings& settings, const CompileChoices& choices);

  /// Whether alternatives of tasks are measured.
  bool measures() const { return measures_; }
  /// Of all that it makes: what one part of it leaves there another finds, also where there is no file. They are opened
  /// when they are first needed. Errors, here and below: they can't be.
  Result<kernel::Records*> records() const;

  /// As tasks are made of it.
  Result<Graph> prepared(Graph graph, const std::vector<std::string>& without) const;
  /// What code of a prepared graph is made with, and `answers` ("relu1=together") to what is open when it becomes
  /// tasks; those for values that it does not have are for other graphs.
  Result<search::CompileOptions> options_for(const Graph& prepared, const std::vector<std::string>& answers = {}) const;
  /// The tasks that are fastest here, as far as they are found in the options' seconds.
  Result<search::ChosenTasks> choose(const Graph& prepared, const search::ChooseTasksOptions& options) const;
  /// With schedules that were tuned, unless they are not wanted. It outlives the options.
  Result<search::CompileOptions> with_tuned(const Graph& prepared, search::CompileOptions options) const;
  Result<search::Compilation> compiled(const Graph& prepared, const search::CompileOptions& options) const;
  /// Nothing where there is nothing to tune; left out where nothing can be measured.
  Result<std::optional<TunedTasks>> tuned(search::TuningProblems all, const search::CompileOptions& options,
                                          const Tuning& tuning) const;

  // All of it

  Result<CompiledCode> code_of(Graph graph, const std::vector<std::string>& without,
                               const std::optional<Tuning>& tuning = {}) const;
  Result<CompiledCode> chosen_code_of(Graph graph, const std::vector<std::string>& without,
                                      const search::ChooseTasksOptions& options,
                                      const std::optional<Tuning>& tuning) const;
  Result<search::CompileOptions> add_problems(search::TuningProblems& all, Graph graph) const;

 private:
  explicit CodeMaker(int level) : level_(level) {}
  Result<CompiledCode> code_of_prepared(const Graph& graph, const search::CompileOptions& options,
                                        const std::optional<Tuning>& tuning) const;

  int level_;
  search::CompileOptions options_;
  std::vector<std::string> plan_;
  bool measures_ = false;
  std::string records_file_;
  mutable std::unique_ptr<kernel::Records> records_;  ///< nothing: not needed yet
  bool is_untuned_ = false;
};

}  // namespace isomer
