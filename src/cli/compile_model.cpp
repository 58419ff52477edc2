#include "cli/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "cli/open_records.h"
#include "cli/version.h"
#include "graph/bind.h"
#include "graph/edit.h"
#include "search/prepare.h"
#include "search/targets.h"
#include "substitutions/derivation.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/stop.h"

namespace isomer::cli {
namespace {

/// "3=mine.trace", read.
Result<GivenSchedule> schedule_of_task(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Error{ErrorKind::kUsage, "--schedule", "TASK=FILE expected, '" + text + "' found"};
  TRY(GivenSchedule given, read_schedule(text.substr(equals + 1)));
  given.task = text.substr(0, equals);
  return given;
}

}  // namespace

Result<GivenSchedule> read_schedule(const std::string& name) {
  const auto file = MappedFile::open(name);
  if (!file.ok()) return Error(file.error()).within(name);
  const auto bytes = (*file)->bytes();
  auto schedule = kernel::parse_template({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!schedule.ok()) return std::move(schedule).error().within(name);
  return GivenSchedule{"", std::move(*schedule), name};
}

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

void CompileChoices::add_schedules_to(CLI::App& app) {
  app.add_option("--schedule", schedules,
                 "TASK=FILE: the schedule of a task, by its number or name, is this trace ('inspect --trace' prints "
                 "them) or template, as it prefers or was tuned; repeatable")
      ->allow_extra_args(false);
}

namespace {

/// Of a command's time: other ways to cut a graph into tasks; tuning; seconds of that where no time is given.
constexpr double kOfAlternatives = 0.1, kOfTuning = 0.5, kTuningSeconds = 60;

/// "conv1=together": of the graph's value of that name.
Result<std::pair<TaskChoice, bool>> choice_of(const std::string& text, const Graph& graph) {
  const auto refuse = [&](const char* expected) {
    return Error{ErrorKind::kUsage, "--choose", fmt::format("{} expected, '{}' found", expected, text)};
  };
  const size_t equals = std::min(text.rfind('='), text.size());
  const std::string_view name = std::string_view(text).substr(0, equals);
  const std::vector<ValueId> values = graph.values();
  const auto value = std::find_if(values.begin(), values.end(), [&](ValueId v) { return graph.value(v).name == name; });
  for (const auto kind : {TaskChoice::Kind::kTogether, TaskChoice::Kind::kChannelsLast})
    for (const bool is_so : {false, true}) {
      if (std::string_view(text).substr(equals) != fmt::format("={}", answer(kind, is_so))) continue;
      if (value == values.end()) return refuse("a value of the model as tasks are made of it");
      return std::pair(TaskChoice{kind, *value}, is_so);
    }
  return refuse("VALUE=together, apart, channels-last or row-major");
}

Result<TaskPlan> plan_of(const std::vector<std::string>& texts, const Graph& graph) {
  TaskPlan plan;
  for (const std::string& text : texts) {
    TRY(const auto choice, choice_of(text, graph));
    plan.insert_or_assign(choice.first, choice.second);
  }
  return plan;
}

/// How kernels are tuned before they are made.
struct Tuning {
  double seconds = kTuningSeconds;
  std::function<void(const TunedTasks&)> tell;  ///< after each round
};

/// From a graph to code.
class CodeMaker {
 public:
  static Result<CodeMaker> create(const CommonOptions& options, const CompileChoices& choices) {
    CodeMaker maker(choices.chosen_level());
    TRY(kernel::Target target, choices.parsed_target());
    const bool is_gpu = std::holds_alternative<kernel::CudaTarget>(target);
    if (is_gpu && maker.level_ >= kSearchLevel)
      return Error{ErrorKind::kUsage, "--level", "at most 2 expected for a GPU, whose kernels are not measured yet"};
    const auto* cpu = std::get_if<kernel::CpuTarget>(&target);
    if (choices.tunes && !(cpu && kernel::runs_here(*cpu)))
      return Error{ErrorKind::kUsage, "--tune",
                   "a CPU that this machine has expected as the target: kernels are measured here"};
    CompileOptions& compile = maker.options_;
    for (const std::string& text : choices.schedules) {
      TRY(GivenSchedule given, schedule_of_task(text));
      compile.schedules.push_back(std::move(given));
    }
    compile.target = std::move(target);
    compile.threads = options.thread_count();
    compile.seed = options.seed;
    compile.memory = options.memory_limit();
    const auto keeps = [&](const char* part) {
      return std::find(choices.without.begin(), choices.without.end(), part) == choices.without.end();
    };
    compile.fuse.enabled = keeps("fusion");
    compile.fuse.attention = keeps("attention");
    compile.assign_layouts = keeps("layouts");
    compile.packing = keeps("packing");
    compile.micro_tiles = keeps("micro-tiles");
    if (choices.for_gpu || is_gpu) for_gpu(compile);
    maker.plan_ = choices.plan;
    maker.measures_ =
        choices.plan.empty() && keeps("alternatives") && maker.level_ >= kSearchLevel && runs_here(compile.target);
    maker.records_ = choices.search.records;
    maker.is_untuned_ = choices.untuned;
    return maker;
  }

  /// Whether alternatives of tasks are measured.
  bool measures() const { return measures_; }

  Result<CompiledCode> code_of(Graph graph, const std::vector<std::string>& without,
                               const std::optional<Tuning>& tuning = {}) const {
    TRY_VOID(prepare_for_code(graph, {level_, without, options_.threads}));
    CompileOptions compile = options_;
    TRY(compile.plan, plan_of(plan_, graph));
    TRY(kernel::Records records, open_records(records_));
    return code_of_prepared(graph, compile, records, tuning);
  }

  Result<CompileOptions> add_problems(TuningProblems& all, Graph graph) const {
    TRY_VOID(prepare_for_code(graph, {level_, {}, options_.threads}));
    CompileOptions compile = options_;
    TRY(compile.plan, plan_of(plan_, graph));
    TRY_VOID(isomer::add_problems(all, graph, compile));
    return compile;
  }

  /// With the tasks that are fastest here, as far as they are found in so many seconds.
  Result<CompiledCode> chosen_code_of(Graph graph, const std::vector<std::string>& without,
                                      const ChooseTasksOptions& options, const std::optional<Tuning>& tuning) const {
    TRY_VOID(prepare_for_code(graph, {level_, without, options_.threads}));
    TRY(kernel::Records records, open_records(records_));
    TaskTimer timer(options_, records, weights_in_model(count_bytes(graph)));
    TRY(ChosenTasks chosen, choose_tasks(graph, options_, timer, options));
    CompileOptions compile = options_;
    compile.plan = chosen.plan;
    TRY(CompiledCode result, code_of_prepared(graph, compile, records, tuning));
    result.chosen = std::move(chosen);
    return result;
  }

 private:
  explicit CodeMaker(int level) : level_(level) {}

  Result<CompiledCode> code_of_prepared(const Graph& graph, CompileOptions& options, kernel::Records& records,
                                        const std::optional<Tuning>& tuning) const {
    CompiledCode result;
    if (tuning) {
      TRY(result.tuned, tuned(graph, options, records, *tuning));
    }
    if (!is_untuned_) take_tuned(options, records, weights_in_model(count_bytes(graph)));
    TRY(result.code, compile(graph, options));
    result.code.artifact.provenance.producer = version_text();
    return result;
  }

  /// Nothing where there is nothing to tune.
  Result<std::optional<TunedTasks>> tuned(const Graph& graph, const CompileOptions& options, kernel::Records& records,
                                          const Tuning& tuning) const {
    const auto begin = Clock::now();
    TuningProblems all;
    TRY_VOID(isomer::add_problems(all, graph, options));
    if (all.problems.empty()) return std::optional<TunedTasks>();
    tune::TuneOptions tune = tuning_options(options);
    tune.peaks = add_rooflines(all, options.threads);
    tune.trials = std::numeric_limits<int64_t>::max();
    tune.seconds = std::max(tuning.seconds - seconds_since(begin), 0.0);
    tune.continues = true;
    TunedTasks result{{}, all.models[0]};
    tune.tell = [&](const tune::TuneState& state) {
      result.state = state;
      if (tuning.tell) tuning.tell(result);
    };
    TRY(result.state, tune::tune(all.problems, all.models, records, tune));
    result.is_interrupted = !check_stop().ok();
    if (result.is_interrupted) forget_stop();
    return std::optional(std::move(result));
  }

  int level_;
  CompileOptions options_;
  std::vector<std::string> plan_;
  bool measures_ = false;
  std::string records_;  ///< file
  bool is_untuned_ = false;
};

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
  return fmt::format("tuning: {} trials, {:.3f} -> {:.3f} ms by its tasks", state.trials, state.first_us(model) / 1e3,
                     state.now_us(model) / 1e3);
}

Result<CompiledModel> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                    const CompileChoices& choices, SearchSetting setting, const CheckCode& check) {
  TRY(const CodeMaker maker, CodeMaker::create(options, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  std::optional<CompiledCode> code;
  std::optional<TunedTasks> tuned;
  const bool has_time = !choices.search.time.empty();
  const auto make_code = [&](const OptimizedModel& made) -> Result<void> {
    std::optional<Tuning> tuning;
    // What is made again, without a step, takes what was found the first time from the records.
    if (choices.tunes && !tuned) {
      tuning.emplace();
      if (has_time) {
        TRY(const double all, parse_duration("--time", choices.search.time));
        tuning->seconds = std::min(kOfTuning * all, all - seconds_since(setting.begin));
      }
      if (setting.progress) tuning->tell = [&](const TunedTasks& now) { setting.progress->tell(now.text()); };
    }
    if (maker.measures() && made.why_not_raced.empty()) {
      if (setting.progress) setting.progress->tell("measuring other ways to cut it into tasks");
      ChooseTasksOptions choose;
      choose.seconds = std::clamp(made.seconds - seconds_since(setting.begin), 0.0, kOfAlternatives * made.seconds);
      if (options.verbosity > 0)
        choose.log = [&](std::string_view line) {
          setting.progress ? setting.progress->note(line) : note(options, "{}", printable(line));
        };
      TRY(code, maker.chosen_code_of(made.derived.graph, made.derivation.without, choose, tuning));
    } else {
      if (setting.progress) setting.progress->tell("compiling the result");
      TRY(code, maker.code_of(made.derived.graph, made.derivation.without, tuning));
    }
    if (tuning) tuned = std::move(code->tuned);
    return {};
  };
  if (maker.measures()) setting.kept = kOfAlternatives;
  if (choices.tunes && has_time) setting.kept += kOfTuning;
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
  return of_simplified(model, file, options, choices,
                       [&](const CodeMaker& maker, Graph graph) { return maker.add_problems(all, std::move(graph)); });
}

}  // namespace isomer::cli
