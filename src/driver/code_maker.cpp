#include "driver/code_maker.h"

#include <algorithm>
#include <limits>

#include "driver/open_records.h"
#include "graph/edit.h"
#include "search/code/prepare.h"
#include "search/code/targets.h"
#include "util/clock.h"
#include "util/stop.h"
#include "util/version.h"

namespace isomer {
namespace {

/// "3=mine.trace", read.
Result<search::GivenSchedule> schedule_of_task(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Error{ErrorKind::kUsage, "--schedule", "TASK=FILE expected, '" + text + "' found"};
  TRY(search::GivenSchedule given, read_schedule(text.substr(equals + 1)));
  given.task = text.substr(0, equals);
  return given;
}

/// "conv1=together": an answer, without the value's name.
struct Answer {
  std::string_view value;
  search::TaskChoice::Kind kind = search::TaskChoice::Kind::kTogether;
  bool is_so = true;
};

std::optional<Answer> parse_answer(std::string_view text) {
  const size_t equals = std::min(text.rfind('='), text.size());
  for (const auto kind : {search::TaskChoice::Kind::kTogether, search::TaskChoice::Kind::kChannelsLast})
    for (const bool is_so : {false, true})
      if (text.substr(equals) == fmt::format("={}", answer(kind, is_so)))
        return Answer{text.substr(0, equals), kind, is_so};
  return std::nullopt;
}

std::optional<ValueId> value_named(const Graph& graph, std::string_view name) {
  for (const ValueId value : graph.values())
    if (graph.value(value).name == name) return value;
  return std::nullopt;
}

/// What the user said: of this graph.
Result<search::TaskPlan> plan_of(const std::vector<std::string>& texts, const Graph& graph) {
  search::TaskPlan plan;
  for (const std::string& text : texts) {
    const auto refuse = [&](const char* expected) {
      return Error{ErrorKind::kUsage, "--choose", fmt::format("{} expected, '{}' found", expected, text)};
    };
    const auto parsed = parse_answer(text);
    if (!parsed) return refuse("VALUE=together, apart, channels-last or row-major");
    const auto value = value_named(graph, parsed->value);
    if (!value) return refuse("a value of the model as tasks are made of it");
    plan.insert_or_assign({parsed->kind, *value}, parsed->is_so);
  }
  return plan;
}

}  // namespace

Result<search::GivenSchedule> read_schedule(const std::string& name) {
  const auto file = MappedFile::open(name);
  if (!file.ok()) return Error(file.error()).within(name);
  const auto bytes = (*file)->bytes();
  auto schedule = kernel::parse_template({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!schedule.ok()) return std::move(schedule).error().within(name);
  return search::GivenSchedule{"", std::move(*schedule), name};
}

Result<CodeMaker> CodeMaker::create(const Settings& settings, const CompileChoices& choices) {
  CodeMaker maker(choices.chosen_level());
  TRY(kernel::Target target, choices.parsed_target());
  const bool is_gpu = std::holds_alternative<kernel::CudaTarget>(target);
  if (is_gpu && maker.level_ >= search::kSearchLevel)
    return Error{ErrorKind::kUsage, "--level", "at most 2 expected for a GPU, whose kernels are not measured yet"};
  const auto* cpu = std::get_if<kernel::CpuTarget>(&target);
  if (choices.tunes && !(cpu && kernel::runs_here(*cpu)))
    return Error{ErrorKind::kUsage, "--tune",
                 "a CPU that this machine has expected as the target: kernels are measured here"};
  if (choices.graphs > 1 && !choices.plan.empty())
    return Error{ErrorKind::kUsage, "--choose", "--graphs 1 expected: it names tasks of one graph"};
  search::CompileOptions& compile = maker.options_;
  for (const std::string& text : choices.schedules) {
    TRY(search::GivenSchedule given, schedule_of_task(text));
    compile.schedules.push_back(std::move(given));
  }
  compile.target = std::move(target);
  compile.threads = settings.threads;
  compile.seed = settings.seed;
  compile.memory = settings.memory;
  const auto keeps = [&](const char* part) {
    return std::find(choices.without.begin(), choices.without.end(), part) == choices.without.end();
  };
  compile.fuse.enabled = keeps("fusion");
  compile.fuse.attention = keeps("attention");
  compile.fuse.rows = keeps("rows");
  compile.assign_layouts = keeps("layouts");
  compile.packing = keeps("packing");
  compile.micro_tiles = keeps("micro-tiles");
  compile.words = keeps("words");
  if (choices.for_gpu || is_gpu) for_gpu(compile);
  maker.plan_ = choices.plan;
  maker.measures_ = choices.plan.empty() && keeps("alternatives") && maker.level_ >= search::kSearchLevel &&
                    search::runs_here(compile.target);
  maker.records_file_ = choices.search.records;
  maker.is_untuned_ = choices.untuned;
  return maker;
}

Result<kernel::Records*> CodeMaker::records() const {
  if (!records_) {
    TRY(kernel::Records opened, open_records(records_file_));
    records_ = std::make_unique<kernel::Records>(std::move(opened));
  }
  return records_.get();
}

Result<Graph> CodeMaker::prepared(Graph graph, const std::vector<std::string>& without) const {
  TRY_VOID(search::prepare_for_code(graph, prepare_options(options_, level_, without)));
  return graph;
}

Result<search::CompileOptions> CodeMaker::options_for(const Graph& prepared,
                                                      const std::vector<std::string>& answers) const {
  search::CompileOptions result = options_;
  TRY(result.plan, plan_of(plan_, prepared));
  for (const std::string& text : answers)
    if (const auto parsed = parse_answer(text))
      if (const auto value = value_named(prepared, parsed->value))
        result.plan.insert_or_assign({parsed->kind, *value}, parsed->is_so);
  return result;
}

Result<search::ChosenTasks> CodeMaker::choose(const Graph& prepared, const search::ChooseTasksOptions& options) const {
  TRY(kernel::Records* const known, records());
  search::TaskTimer timer(options_, *known, weights_in_model(count_bytes(prepared)));
  return choose_tasks(prepared, options_, timer, options);
}

Result<search::CompileOptions> CodeMaker::with_tuned(const Graph& prepared, search::CompileOptions options) const {
  if (is_untuned_) return options;
  TRY(const kernel::Records* const known, records());
  take_tuned(options, *known, weights_in_model(count_bytes(prepared)));
  return options;
}

Result<search::Compilation> CodeMaker::compiled(const Graph& prepared, const search::CompileOptions& options) const {
  TRY(const search::CompileOptions tuned, with_tuned(prepared, options));
  TRY(search::Compilation code, compile(prepared, tuned));
  code.artifact.provenance.producer = version_text();
  return code;
}

Result<std::optional<TunedTasks>> CodeMaker::tuned(search::TuningProblems all, const search::CompileOptions& options,
                                                   const Tuning& tuning) const {
  const auto begin = Clock::now();
  if (all.problems.empty()) return std::optional<TunedTasks>();
  tune::TuneOptions tune = tuning_options(options);
  TRY(kernel::Records* const known, records());
  TRY(tune.peaks, add_rooflines(all, *known, options));
  tune.trials = std::numeric_limits<int64_t>::max();
  tune.seconds = std::max(tuning.seconds - seconds_since(begin), 0.0);
  tune.continues = true;
  TunedTasks result{{}, all.models[0]};
  tune.tell = [&](const tune::TuneState& state) {
    result.state = state;
    if (tuning.tell) tuning.tell(result);
  };
  auto state = tune::tune(all.problems, all.models, *known, tune);
  if (state.ok())
    result.state = *std::move(state);
  else if (state.error().kind != ErrorKind::kUnsupported || !result.is_left_out())
    return std::move(state).error();
  result.is_interrupted = !check_stop().ok();
  if (result.is_interrupted) forget_stop();
  return std::optional(std::move(result));
}

Result<CompiledCode> CodeMaker::code_of(Graph graph, const std::vector<std::string>& without,
                                        const std::optional<Tuning>& tuning) const {
  TRY(const Graph ready, prepared(std::move(graph), without));
  TRY(const search::CompileOptions options, options_for(ready));
  return code_of_prepared(ready, options, tuning);
}

Result<CompiledCode> CodeMaker::chosen_code_of(Graph graph, const std::vector<std::string>& without,
                                               const search::ChooseTasksOptions& choose_options,
                                               const std::optional<Tuning>& tuning) const {
  TRY(const Graph ready, prepared(std::move(graph), without));
  TRY(search::ChosenTasks chosen, choose(ready, choose_options));
  search::CompileOptions options = options_;
  options.plan = chosen.plan;
  TRY(CompiledCode result, code_of_prepared(ready, options, tuning));
  result.chosen = std::move(chosen);
  return result;
}

Result<search::CompileOptions> CodeMaker::add_problems(search::TuningProblems& all, Graph graph) const {
  TRY(const Graph ready, prepared(std::move(graph), {}));
  TRY(search::CompileOptions options, options_for(ready));
  TRY_VOID(search::add_problems(all, ready, options));
  return options;
}

Result<CompiledCode> CodeMaker::code_of_prepared(const Graph& graph, const search::CompileOptions& options,
                                                 const std::optional<Tuning>& tuning) const {
  CompiledCode result;
  if (tuning) {
    search::TuningProblems all;
    TRY_VOID(search::add_problems(all, graph, options));
    TRY(result.tuned, tuned(std::move(all), options, *tuning));
  }
  TRY(result.code, compiled(graph, options));
  return result;
}

}  // namespace isomer
