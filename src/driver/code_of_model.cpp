#include "driver/code_of_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "driver/program_tuner.h"
#include "graph/bind.h"
#include "graph/interface.h"
#include "search/code/targets.h"
#include "substitutions/derivation/derivation.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/stop.h"
#include "util/utf8.h"

namespace isomer {

Result<kernel::Target> CompileChoices::parsed_target() const {
  const bool adds = tf32 && search::is_gpu_target(target) && !target.ends_with(search::kRoundsToTf32);
  auto parsed = search::parse_target(adds ? target + std::string(search::kRoundsToTf32) : target);
  if (parsed.ok()) return parsed;
  Error error = std::move(parsed).error().within("--target");
  error.kind = ErrorKind::kUsage;
  return error;
}

int CompileChoices::chosen_level() const {
  const bool is_at_most_2 = !schedules.empty() || target.starts_with("cuda");
  return level.value_or(is_at_most_2 ? std::min(usual_level, 2) : usual_level);
}

namespace {

/// Of a command's time: other ways to cut a graph into tasks; tuning.
constexpr double kOfAlternatives = 0.1, kOfTuning = 0.5;

/// Tensors of known sizes, at least as inputs.
Result<void> expect_bound(const Graph& graph) {
  TRY_VOID(expect_tensors(graph));
  if (const auto unbound = free_dims(graph); !unbound.empty())
    return unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                       fmt::join(unbound, ", "), unbound.front());
  return {};
}

/// What is made of a model as it is optimized without a search.
template <class Make>
auto of_simplified(const LoadedModel& model, const std::string& file, const Settings& settings,
                   const CompileChoices& choices, const Make& make)
    -> decltype(make(std::declval<const CodeMaker&>(), Graph())) {
  TRY(const CodeMaker maker, CodeMaker::create(settings, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  substitutions::Theory theory;
  auto made = derived(model.graph, derivation, theory, {.threads = settings.threads});
  if (!made.ok()) return std::move(made).error().within(file);
  auto result = make(maker, std::move(made->graph));
  if (!result.ok()) return std::move(result).error().within(file);
  return result;
}

/// In what is left of the seconds that a command has, or as long as it usually takes.
Tuning tuning_in(const std::optional<double>& seconds, Clock::time_point begin, const Messages& messages) {
  Tuning tuning;
  if (seconds) tuning.seconds = std::min(kOfTuning * *seconds, *seconds - seconds_since(begin));
  tuning.tell = [&messages](const TunedTasks& now) { messages.tell(now.text()); };
  return tuning;
}

/// Nothing else is tried once what was found is to be finished. What is chosen is compiled twice to be raced, and once
/// more as what it is in the end.
search::ChooseTasksOptions choosing_in(const search::OptimizedModel& made, Clock::time_point begin,
                                       const Messages& messages) {
  search::ChooseTasksOptions choose;
  const double left = made.seconds - seconds_since(begin) - 3 * made.open_seconds;
  choose.seconds = made.is_interrupted ? 0 : std::clamp(left, 0.0, kOfAlternatives * made.seconds);
  choose.log = messages.detail;
  return choose;
}

}  // namespace

bool TunedTasks::is_left_out() const {
  const auto is_unknown = [](const tune::TaskState& task) {
    return !task.why_not.empty() && task.progress.first_us <= 0;
  };
  return !state.tasks.empty() && std::ranges::all_of(state.tasks, is_unknown);
}

std::string TunedTasks::text() const {
  if (is_left_out()) return fmt::format("tuning: left out: {}: {}", state.tasks[0].name, state.tasks[0].why_not);
  std::string result = fmt::format("tuning: {} trials, {:.3f} -> {:.3f} ms by its tasks", state.trials,
                                   state.first_us(model) / 1e3, state.now_us(model) / 1e3);
  for (const auto& [what, saved] : cuts) result += fmt::format("; {}: {:.1f} us", what, saved);
  return result;
}

Result<CompiledModel> code_of_model(const LoadedModel& model, const std::string& file, const Settings& settings,
                                    const CompileChoices& choices, SearchSetting setting, const CheckCode& check) {
  TRY(const CodeMaker maker, CodeMaker::create(settings, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  std::optional<CompiledCode> code;
  std::optional<TunedTasks> tuned;
  bool has_tuned = false;
  const std::optional<double> seconds = choices.search.seconds;
  const Messages& messages = settings.messages;
  const auto tuning_now = [&] { return tuning_in(seconds, setting.begin, messages); };
  const auto choose_tasks_of = [&](const search::OptimizedModel& made) {
    messages.tell("measuring other ways to cut it into tasks");
    return choosing_in(made, setting.begin, messages);
  };
  std::optional<ProgramTuner> programs;
  ProgramRecords recorded(maker);
  if (choices.graphs > 1 && choices.chosen_level() >= search::kSearchLevel) {
    if (choices.tunes) programs.emplace(maker, ProgramTuner::Options{choose_tasks_of, tuning_now});
    setting.judge = &recorded;
    if (programs) setting.judge = &*programs;
    setting.alternatives = choices.graphs - 1;
  }
  const auto make_code = [&](const search::OptimizedModel& made) -> Result<void> {
    if (programs) {
      TRY(code, programs->code_of(made));
      tuned = code->tuned;
      return {};
    }
    const std::vector<std::string>& without = made.derivation.without;
    // What is made again, without a step or after a stop, takes what was found the first time from the records.
    const bool tunes = choices.tunes && !has_tuned && !made.is_interrupted;
    const std::optional<Tuning> tuning = tunes ? std::optional(tuning_now()) : std::nullopt;
    has_tuned = true;
    if (maker.measures() && made.why_not_raced.empty()) {
      TRY(code, maker.chosen_code_of(made.derived.graph, without, choose_tasks_of(made), tuning));
    } else {
      messages.tell("compiling the result");
      TRY(code, maker.code_of(made.derived.graph, without, tuning));
    }
    if (tuning) tuned = std::move(code->tuned);
    return {};
  };
  if (maker.measures()) setting.kept = kOfAlternatives;
  if (choices.tunes && seconds) setting.kept += kOfTuning;
  if (check)
    setting.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
      TRY_VOID(make_code(made));
      messages.tell("checking the code against the model");
      return check(code->code);
    };
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  TRY(search::OptimizedModel made, choices.search.optimize(model, file, std::move(derivation), settings, setting));
  if (!check) {
    const int stops_before = stops_forgotten();
    auto done = make_code(made);
    // The first stop behind a search does not throw away what it found. One that this work has dealt with was the
    // first.
    if (!done.ok() && done.error().kind == ErrorKind::kStopped && !made.is_interrupted && !check_stop().ok() &&
        stops_forgotten() == stops_before && choices.chosen_level() >= search::kSearchLevel) {
      made.is_interrupted = true;
      forget_stop();
      done = make_code(made);
    }
    if (!done.ok()) return std::move(done).error().within(file);
  }
  if (tuned && tuned->is_left_out()) messages.say("isomer: " + printable(tuned->text()));
  code->tuned = std::move(tuned);
  if (choices.tunes) {
    TRY(const kernel::Records* const records, maker.records());
    if (const std::string problem = records->problem(); !problem.empty())
      messages.say("isomer: what was tuned is in the artifact, and in no records: " + problem);
  }
  return CompiledModel{*std::move(code), std::move(made)};
}

Result<search::Compilation> code_of_model(const LoadedModel& model, const std::string& file, const Settings& settings,
                                          const CompileChoices& choices) {
  if (choices.chosen_level() >= search::kSearchLevel) {
    TRY(CompiledModel compiled, code_of_model(model, file, settings, choices, {}, nullptr));
    return std::move(compiled.code);
  }
  return of_simplified(model, file, settings, choices,
                       [](const CodeMaker& maker, Graph graph) -> Result<search::Compilation> {
                         TRY(CompiledCode made, maker.code_of(std::move(graph), {}));
                         return std::move(made.code);
                       });
}

Result<search::CompileOptions> add_problems(search::TuningProblems& all, const LoadedModel& model,
                                            const std::string& file, const Settings& settings,
                                            const CompileChoices& choices) {
  if (choices.graphs > 1) {
    TRY(const CodeMaker maker, CodeMaker::create(settings, choices));
    if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
    ProgramTasks programs(maker, all);
    SearchSetting setting;
    setting.least_afterwards = 0;
    setting.judge = &programs;
    setting.alternatives = choices.graphs - 1;
    substitutions::Derivation derivation;
    derivation.level = choices.chosen_level();
    TRY(const search::OptimizedModel made,
        choices.search.optimize(model, file, std::move(derivation), settings, setting));
    // The judge has not heard of all its tasks.
    if (made.is_interrupted) return Error{ErrorKind::kStopped, file, "stopped"};
    return programs.options();
  }
  return of_simplified(model, file, settings, choices,
                       [&](const CodeMaker& maker, Graph graph) { return maker.add_problems(all, std::move(graph)); });
}

}  // namespace isomer
