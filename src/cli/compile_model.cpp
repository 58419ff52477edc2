#include "cli/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/program_tuner.h"
#include "graph/bind.h"
#include "search/targets.h"
#include "substitutions/derivation.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/stop.h"

namespace isomer::cli {

void CompileChoices::add_to(CLI::App& app) {
  app.add_option(
         "--target", target,
         "cpu, cpu=NAME as LLVM calls it, cuda (the GPU here) or cuda=sm_90a; of compile also several: cuda=sm_90a,cpu")
      ->capture_default_str();
  app.add_option(
         "--level", level,
         fmt::format("Of optimization; 3: searched over proved rules and measured (default: {}, with --schedule 2)",
                     usual_level))
      ->check(CLI::Range(0, 3));
  app.add_option("--without", without,
                 "Leave these out, to see what they give: fusion, attention, layouts, packing, micro-tiles, "
                 "alternatives (of fusion and layouts, which level 3 measures)")
      ->delimiter(',')
      ->check(CLI::IsMember({"fusion", "attention", "layouts", "packing", "micro-tiles", "alternatives"}))
      ->allow_extra_args(false);
  app.add_option("--choose", plan,
                 "VALUE=together, apart, channels-last or row-major: how the task that makes a value is cut and laid "
                 "out, as reports of level 3 say it; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--untuned", untuned, "Schedules as they are by default, whatever the records have");
  add_schedules_to(app);
  search.add_to(app);
}

Result<kernel::Target> CompileChoices::parsed_target() const {
  auto parsed = parse_target(target);
  if (parsed.ok()) return parsed;
  Error error = std::move(parsed).error().within("--target");
  error.kind = ErrorKind::kUsage;
  return error;
}

int CompileChoices::chosen_level() const {
  const bool is_at_most_2 = !schedules.empty() || target.starts_with("cuda");
  return level.value_or(is_at_most_2 ? std::min(usual_level, 2) : usual_level);
}

void CompileChoices::add_graphs_to(CLI::App& app) {
  app.add_option("--graphs", graphs,
                 "Programs of a region among which measured times decide, once their tasks are tuned together")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
}

void CompileChoices::add_schedules_to(CLI::App& app) {
  app.add_option("--schedule", schedules,
                 "TASK=FILE: the schedule of a task, by its number or name, is this trace ('inspect --trace' prints "
                 "them) or template, as it prefers or was tuned; repeatable")
      ->allow_extra_args(false);
}

namespace {

/// Of a command's time: other ways to cut a graph into tasks; tuning.
constexpr double kOfAlternatives = 0.1, kOfTuning = 0.5;

Result<void> expect_bound(const Graph& graph) {
  if (const auto unbound = free_dims(graph); !unbound.empty())
    return unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                       fmt::join(unbound, ", "), unbound.front());
  return {};
}

/// What is made of a model as it is optimized without a search.
template <class Make>
auto of_simplified(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                   const CompileChoices& choices, const Make& make)
    -> decltype(make(std::declval<const CodeMaker&>(), Graph())) {
  TRY(const CodeMaker maker, CodeMaker::create(options, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  substitutions::Theory theory;
  auto made = derived(model.graph, derivation, theory, {.threads = options.thread_count()});
  if (!made.ok()) return std::move(made).error().within(file);
  auto result = make(maker, std::move(made->graph));
  if (!result.ok()) return std::move(result).error().within(file);
  return result;
}

}  // namespace

std::string TunedTasks::text() const {
  std::string result = fmt::format("tuning: {} trials, {:.3f} -> {:.3f} ms by its tasks", state.trials,
                                   state.first_us(model) / 1e3, state.now_us(model) / 1e3);
  for (const auto& [what, saved] : cuts) result += fmt::format("; {}: {:.1f} us", what, saved);
  return result;
}

Result<CompiledModel> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                    const CompileChoices& choices, SearchSetting setting, const CheckCode& check) {
  TRY(const CodeMaker maker, CodeMaker::create(options, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  std::optional<CompiledCode> code;
  std::optional<TunedTasks> tuned;
  std::optional<double> seconds;  // of the command
  if (!choices.search.time.empty()) {
    TRY(seconds, parse_duration("--time", choices.search.time));
  }
  const auto tuning_now = [&] {
    Tuning tuning;
    if (seconds) tuning.seconds = std::min(kOfTuning * *seconds, *seconds - seconds_since(setting.begin));
    if (setting.progress) tuning.tell = [&](const TunedTasks& now) { setting.progress->tell(now.text()); };
    return tuning;
  };
  const auto choose_tasks_of = [&](const OptimizedModel& made) {
    if (setting.progress) setting.progress->tell("measuring other ways to cut it into tasks");
    ChooseTasksOptions choose;
    choose.seconds = std::clamp(made.seconds - seconds_since(setting.begin), 0.0, kOfAlternatives * made.seconds);
    if (options.verbosity > 0)
      choose.log = [&](std::string_view line) {
        setting.progress ? setting.progress->note(line) : note(options, "{}", printable(line));
      };
    return choose;
  };
  std::optional<ProgramTuner> programs;
  ProgramRecords recorded(maker);
  if (choices.graphs > 1 && choices.chosen_level() >= kSearchLevel) {
    if (choices.tunes) programs.emplace(maker, ProgramTuner::Options{choose_tasks_of, tuning_now});
    setting.judge = &recorded;
    if (programs) setting.judge = &*programs;
    setting.alternatives = choices.graphs - 1;
  }
  const auto make_code = [&](const OptimizedModel& made) -> Result<void> {
    if (programs) {
      TRY(code, programs->code_of(made));
      tuned = code->tuned;
      return {};
    }
    const std::vector<std::string>& without = made.derivation.without;
    // What is made again, without a step, takes what was found the first time from the records.
    const std::optional<Tuning> tuning = choices.tunes && !tuned ? std::optional(tuning_now()) : std::nullopt;
    if (maker.measures() && made.why_not_raced.empty()) {
      TRY(code, maker.chosen_code_of(made.derived.graph, without, choose_tasks_of(made), tuning));
    } else {
      if (setting.progress) setting.progress->tell("compiling the result");
      TRY(code, maker.code_of(made.derived.graph, without, tuning));
    }
    if (tuning) tuned = std::move(code->tuned);
    return {};
  };
  if (maker.measures()) setting.kept = kOfAlternatives;
  if (choices.tunes && seconds) setting.kept += kOfTuning;
  if (check)
    setting.check = [&](const OptimizedModel& made) -> Result<std::optional<std::string>> {
      TRY_VOID(make_code(made));
      if (setting.progress) setting.progress->tell("checking the code against the model");
      return check(code->code);
    };
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  TRY(OptimizedModel made, choices.search.optimize(model, file, std::move(derivation), options, setting));
  if (!check)
    if (auto done = make_code(made); !done.ok()) return std::move(done).error().within(file);
  code->tuned = std::move(tuned);
  return CompiledModel{*std::move(code), std::move(made)};
}

Result<Compilation> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                  const CompileChoices& choices) {
  if (choices.chosen_level() >= kSearchLevel) {
    TRY(CompiledModel compiled, compile_model(model, file, options, choices, {}, nullptr));
    return std::move(compiled.code);
  }
  return of_simplified(model, file, options, choices, [](const CodeMaker& maker, Graph graph) -> Result<Compilation> {
    TRY(CompiledCode made, maker.code_of(std::move(graph), {}));
    return std::move(made.code);
  });
}

Result<CompileOptions> add_problems(TuningProblems& all, const LoadedModel& model, const std::string& file,
                                    const CommonOptions& options, const CompileChoices& choices) {
  if (choices.graphs > 1) {
    TRY(const CodeMaker maker, CodeMaker::create(options, choices));
    if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
    ProgramTasks programs(maker, all);
    SearchSetting setting;
    setting.least_afterwards = 0;
    setting.judge = &programs;
    setting.alternatives = choices.graphs - 1;
    substitutions::Derivation derivation;
    derivation.level = choices.chosen_level();
    TRY_VOID(choices.search.optimize(model, file, std::move(derivation), options, setting));
    return programs.options();
  }
  return of_simplified(model, file, options, choices,
                       [&](const CodeMaker& maker, Graph graph) { return maker.add_problems(all, std::move(graph)); });
}

}  // namespace isomer::cli
