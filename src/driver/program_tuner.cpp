#include "driver/program_tuner.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/fingerprint.h"
#include "tune/tuned.h"
#include "util/stable_sort.h"

namespace isomer {
namespace {

/// Of a model's time, that another program has to save: less is noise.
constexpr double kLeastGain = 0.002;
/// Of the time to tune in, in which other programs are made tasks.
constexpr double kOfOthers = 0.2;
/// Times as long as before, by default schedules, is too long for another cut.
constexpr double kMostOfCut = 1.25;
constexpr size_t kMostCuts = 12;

/// Nothing is known of a task that had no trials.
Result<tune::TaskProgress> recorded_progress(const tune::Problem& problem, const search::CompileOptions& options,
                                             const kernel::Records& records) {
  const std::string own = problem.own ? problem.own->name : std::string();
  const std::string without = without_of(options), tuned = tune::maker_of("tuned", problem.weights, own, without);
  const kernel::RecordKey key = {problem.hash,
                                 kernel::fingerprint(std::get<kernel::CpuTarget>(options.target), options.threads),
                                 kernel::generator_version()};
  tune::TaskProgress result;
  result.is_done = true;
  TRY(const auto trials, records.trials({key.task, key.target, key.generator, tuned}, 1));
  TRY(const auto first, records.best(key, tune::maker_of("default", problem.weights, own, without)));
  TRY(const auto best, records.best(key, tuned));
  if (trials.empty() || !first || !first->microseconds) return result;
  result.first_us = *first->microseconds;
  if (best && best->microseconds) result.best_us = {std::min(*best->microseconds, result.first_us)};
  return result;
}

}  // namespace

Result<void> ProgramTasks::first(const search::OptimizedModel& made) {
  without_ = made.derivation.without;
  TRY(const Graph graph, maker_.prepared(made.derived.graph, without_));
  TRY(options_, maker_.options_for(graph, answers_));
  return add_problems(all_, graph, options_);
}

Result<bool> ProgramTasks::other(size_t region, const Graph& graph) {
  TRY(const Graph ready, maker_.prepared(graph, without_));
  TRY(const search::CompileOptions options, maker_.options_for(ready, answers_));
  TRY_VOID(add_alternative(all_, region, ready, options));
  return true;
}

std::vector<search::ProgramJudge::Choice> ProgramTasks::fastest(const tune::ModelTasks& model,
                                                                const std::vector<tune::TaskProgress>& tasks) const {
  const std::vector<size_t> programs = tune::fastest_programs(model, tasks);
  const double least = kLeastGain * tune::time_of(model, tasks);
  std::vector<Choice> result(programs.size());
  for (size_t part = 0; part < programs.size(); ++part)
    if (const double saved = tune::saved_us(model.parts[part], programs[part], tasks); saved > least)
      result[part] = {programs[part], saved};
  return result;
}

Result<std::unique_ptr<search::Runner>> ProgramTasks::runner(const Graph& graph, std::span<const Tensor> inputs) {
  TRY(search::Compilation code, compiled(graph, without_));
  return runner_of(std::move(code), inputs, options_.threads, options_.memory);
}

Result<search::Compilation> ProgramTasks::compiled(const Graph& graph, const std::vector<std::string>& without) const {
  TRY(const Graph ready, maker_.prepared(graph, without));
  TRY(const search::CompileOptions options, maker_.options_for(ready, answers_));
  return maker_.compiled(ready, options);
}

Result<std::vector<search::ProgramJudge::Choice>> ProgramRecords::choices() {
  TRY(const kernel::Records* const records, maker_.records());
  std::vector<tune::TaskProgress> tasks;
  for (const tune::Problem& problem : problems_.problems) {
    TRY(tasks.emplace_back(), recorded_progress(problem, options_, *records));
  }
  if (problems_.models.empty()) return std::vector<Choice>();
  return fastest(problems_.models[0], tasks);
}

Result<void> ProgramTuner::first(const search::OptimizedModel& made) {
  TRY(first_, maker_.prepared(made.derived.graph, made.derivation.without));
  if (maker_.measures() && made.why_not_raced.empty()) {
    TRY(chosen_, maker_.choose(first_, tuning_options_.choose(made)));
    for (const auto& [choice, is_so] : chosen_->plan)
      answers_.push_back(fmt::format("{}={}", first_.value(choice.value).name, answer(choice.kind, is_so)));
  }
  begin_ = Clock::now();
  tuning_ = tuning_options_.tuning();
  return ProgramTasks::first(made);
}

Result<bool> ProgramTuner::other(size_t region, const Graph& graph) {
  if (seconds_since(begin_) > kOfOthers * tuning_.seconds) return false;
  return ProgramTasks::other(region, graph);
}

std::vector<ProgramTuner::OtherCut> ProgramTuner::other_cuts() const {
  std::vector<const search::TaskAlternative*> near;
  for (size_t k = 0; chosen_ && k < chosen_->alternatives.size(); ++k)
    if (const search::TaskAlternative& each = chosen_->alternatives[k];
        each.why_not.empty() && !each.is_taken && each.after < kMostOfCut * each.before)
      near.push_back(&each);
  stable_sort(near, [](const search::TaskAlternative* a, const search::TaskAlternative* b) {
    return a->after - a->before < b->after - b->before;
  });
  if (near.size() > kMostCuts) near.resize(kMostCuts);
  std::vector<OtherCut> result;
  for (const search::TaskAlternative* each : near) result.push_back({each->what, each->answers});
  return result;
}

Result<std::vector<search::ProgramJudge::Choice>> ProgramTuner::choices() {
  const size_t regions = problems_.models[0].parts.size();
  std::vector<OtherCut> cuts;
  for (OtherCut& cut : other_cuts()) {
    std::vector<std::string> answers = answers_;
    answers.insert(answers.end(), cut.answers.begin(), cut.answers.end());
    TRY(const search::CompileOptions options, maker_.options_for(first_, answers));
    cut.part = regions + cuts.size();
    TRY_VOID(add_alternative(problems_, cut.part, first_, options));
    cuts.push_back(std::move(cut));
  }
  Tuning tuning = tuning_;
  tuning.seconds = std::max(tuning.seconds - seconds_since(begin_), 0.0);
  TRY(tuned_, maker_.tuned(problems_, options_, tuning));
  if (!tuned_) return std::vector<Choice>();
  std::vector<Choice> result = fastest(tuned_->model, tuned_->state.progress());
  for (OtherCut& cut : cuts) cut.saved = result[cut.part].saved;
  std::erase_if(cuts, [](const OtherCut& cut) { return cut.saved <= 0; });
  result.resize(regions);
  TRY_VOID(take_cuts(std::move(cuts)));
  return result;
}

Result<void> ProgramTuner::take_cuts(std::vector<OtherCut> cuts) {
  stable_sort(cuts, [](const OtherCut& a, const OtherCut& b) { return a.saved > b.saved; });
  for (; !cuts.empty(); cuts.resize(cuts.size() / 2)) {
    std::vector<std::string> answers = answers_;
    for (const OtherCut& cut : cuts) answers.insert(answers.end(), cut.answers.begin(), cut.answers.end());
    TRY(const search::CompileOptions options, maker_.options_for(first_, answers));
    const auto is_faster = [&]() -> Result<bool> {
      TRY(const search::CompileOptions before, maker_.with_tuned(first_, options_));
      TRY(const search::CompileOptions after, maker_.with_tuned(first_, options));
      TRY(const search::Raced raced, race_code(first_, before, after, {}));
      return raced.ratio > 1 && raced.is_told_apart();
    };
    bool is_won = true;
    for (int time = 0; time < 2 && is_won; ++time) {
      TRY(is_won, is_faster());
    }
    if (!is_won) continue;
    answers_ = std::move(answers);
    options_ = options;
    for (OtherCut& cut : cuts) tuned_->cuts.emplace_back(std::move(cut.what), cut.saved);
    break;
  }
  return {};
}

Result<CompiledCode> ProgramTuner::code_of(const search::OptimizedModel& made) const {
  CompiledCode result;
  TRY(result.code, compiled(made.derived.graph, made.derivation.without));
  result.chosen = chosen_;
  result.tuned = tuned_;
  return result;
}

}  // namespace isomer
