// Judges of the programs that a search leaves open: their tasks are tuned together, and measured times say which
// programs are the fastest. Tests: tests/cli/tune_test.cpp
#pragma once

#include "driver/code_maker.h"
#include "search/optimize_model.h"

namespace isomer {

/// The tasks of a model's programs, for whoever tunes several models.
class ProgramTasks : public search::ProgramJudge {
 public:
  /// Both outlive it.
  ProgramTasks(const CodeMaker& maker, search::TuningProblems& all) : maker_(maker), all_(all) {}

  Result<void> first(const search::OptimizedModel& made) override;
  Result<bool> other(size_t region, const Graph& graph) override;
  Result<std::vector<Choice>> choices() override { return std::vector<Choice>(); }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& graph, std::span<const Tensor> inputs) override;

  /// What code of the first model is made with.
  const search::CompileOptions& options() const { return options_; }

 protected:
  /// By part of the model, the fastest program, where that saves what is more than noise.
  std::vector<Choice> fastest(const tune::ModelTasks& model, const std::vector<tune::TaskProgress>& tasks) const;
  /// With schedules that were tuned.
  Result<search::Compilation> compiled(const Graph& graph, const std::vector<std::string>& without) const;

  const CodeMaker& maker_;
  search::TuningProblems& all_;
  search::CompileOptions options_;
  std::vector<std::string> answers_;  ///< to what is open when graphs become tasks

 private:
  std::vector<std::string> without_;  ///< passes
};

/// Chooses by the times that records have, and measures none: of programs all of whose tasks had trials.
class ProgramRecords final : public ProgramTasks {
 public:
  explicit ProgramRecords(const CodeMaker& maker) : ProgramTasks(maker, problems_) {}
  Result<std::vector<Choice>> choices() override;

 private:
  search::TuningProblems problems_;
};

/// Tunes them itself, those of one model; and other ways to cut its first graph into tasks beside them.
class ProgramTuner final : public ProgramTasks {
 public:
  struct Options {
    std::function<search::ChooseTasksOptions(const search::OptimizedModel&)>
        choose;                      ///< how the first model becomes tasks
    std::function<Tuning()> tuning;  ///< asked when it begins
  };
  ProgramTuner(const CodeMaker& maker, Options options)
      : ProgramTasks(maker, problems_), tuning_options_(std::move(options)) {}

  Result<void> first(const search::OptimizedModel& made) override;
  Result<bool> other(size_t region, const Graph& graph) override;
  Result<std::vector<Choice>> choices() override;

  /// Of a model that is made of what it was asked about, whatever the choice was.
  Result<CompiledCode> code_of(const search::OptimizedModel& made) const;

 private:
  /// Another way to cut the first graph into tasks.
  struct OtherCut {
    std::string what;
    std::vector<std::string> answers;
    size_t part = 0;  ///< of the tuned model
    double saved = 0;
  };
  /// Those that were measured by default schedules and may be faster with tuned ones.
  std::vector<OtherCut> other_cuts() const;
  /// Of those that tuned tasks say are faster: all that win twice, or the larger half of them, and again.
  Result<void> take_cuts(std::vector<OtherCut> cuts);

  search::TuningProblems problems_;
  Graph first_;  ///< prepared
  Options tuning_options_;
  Tuning tuning_;
  Clock::time_point begin_;
  std::optional<search::ChosenTasks> chosen_;
  std::optional<TunedTasks> tuned_;
};

}  // namespace isomer
