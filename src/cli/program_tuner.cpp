#include "cli/program_tuner.h"

#include <fmt/format.h>

#include <algorithm>

namespace isomer::cli {
namespace {

/// Of a model's time, that another program has to save: less is noise.
constexpr double kLeastGain = 0.002;
/// Of the time to tune in, in which other programs are made tasks.
constexpr double kOfOthers = 0.2;

}  // namespace

Result<void> ProgramTasks::first(const OptimizedModel& made) {
  without_ = made.derivation.without;
  TRY(const Graph graph, maker_.prepared(made.derived.graph, without_));
  TRY(options_, maker_.options_for(graph, answers_));
  return add_problems(all_, graph, options_);
}

Result<bool> ProgramTasks::other(size_t region, const Graph& graph) {
  TRY(const Graph ready, maker_.prepared(graph, without_));
  TRY(const CompileOptions options, maker_.options_for(ready, answers_));
  TRY_VOID(add_alternative(all_, region, ready, options));
  return true;
}

Result<std::unique_ptr<Runner>> ProgramTasks::runner(const Graph& graph, std::span<const Tensor> inputs) {
  TRY(Compilation code, compiled(graph, without_));
  return runner_of(std::move(code), inputs, options_.threads, options_.memory);
}

Result<Compilation> ProgramTasks::compiled(const Graph& graph, const std::vector<std::string>& without) const {
  TRY(const Graph ready, maker_.prepared(graph, without));
  TRY(const CompileOptions options, maker_.options_for(ready, answers_));
  TRY(kernel::Records records, maker_.open_records());
  return maker_.compiled(ready, options, records);
}

Result<void> ProgramTuner::first(const OptimizedModel& made) {
  if (maker_.measures() && made.why_not_raced.empty()) {
    TRY(const Graph graph, maker_.prepared(made.derived.graph, made.derivation.without));
    TRY(kernel::Records records, maker_.open_records());
    TRY(chosen_, maker_.choose(graph, records, tuning_options_.choose(made)));
    for (const auto& [choice, is_so] : chosen_->plan)
      answers_.push_back(fmt::format("{}={}", graph.value(choice.value).name, answer(choice.kind, is_so)));
  }
  begin_ = Clock::now();
  tuning_ = tuning_options_.tuning();
  return ProgramTasks::first(made);
}

Result<bool> ProgramTuner::other(size_t region, const Graph& graph) {
  if (seconds_since(begin_) > kOfOthers * tuning_.seconds) return false;
  return ProgramTasks::other(region, graph);
}

Result<std::vector<ProgramJudge::Choice>> ProgramTuner::choices() {
  TRY(kernel::Records records, maker_.open_records());
  Tuning tuning = tuning_;
  tuning.seconds = std::max(tuning.seconds - seconds_since(begin_), 0.0);
  TRY(tuned_, maker_.tuned(problems_, options_, records, tuning));
  std::vector<Choice> result;
  if (!tuned_) return result;
  const std::vector<tune::TaskProgress> tasks = tuned_->state.progress();
  const std::vector<size_t> fastest = tune::fastest_programs(tuned_->model, tasks);
  for (size_t part = 0; part < fastest.size(); ++part) {
    Choice& choice = result.emplace_back();
    const double saved = tune::saved_us(tuned_->model.parts[part], fastest[part], tasks);
    if (saved > kLeastGain * tune::time_of(tuned_->model, tasks)) choice = {fastest[part], saved};
  }
  return result;
}

Result<CompiledCode> ProgramTuner::code_of(const OptimizedModel& made) const {
  CompiledCode result;
  TRY(result.code, compiled(made.derived.graph, made.derivation.without));
  result.chosen = chosen_;
  result.tuned = tuned_;
  return result;
}

}  // namespace isomer::cli
