// isomer tune: schedules of a model's tasks, measured on this machine; what is faster is in the records.
#include <sys/ioctl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/evaluate_models.h"
#include "cli/load_model.h"
#include "cli/progress.h"
#include "cli/report_file.h"
#include "cli/search_options.h"
#include "cli/settings.h"
#include "cli/tune_table.h"
#include "cli/tuning_ranks.h"
#include "driver/code_maker.h"
#include "driver/open_records.h"
#include "graph/bind.h"
#include "kernel/fingerprint.h"
#include "search/code/given_schedule.h"
#include "util/clock.h"
#include "util/stop.h"

namespace isomer::cli {
namespace {

struct TuneCommand : CommonOptions {
  std::vector<std::string> files;
  CompileChoices choices;
  int64_t trials = 1000;
  std::optional<double> seconds;  ///< nothing: until the trials are done
  std::string objective = "f1";
  std::vector<double> wanted;  ///< milliseconds, by model
  std::string scheduler = "gradient";
  std::string strategy = "evolution";
  std::optional<std::string> cost_model, features;
  std::optional<size_t> task;
  std::string schedule;  ///< file
  std::string report;    ///< file
  bool continues = false;
  bool evaluates = false;
  std::string held_out = "tasks";
  double labels = 1;
  bool other_targets = false;
};

/// Of a terminal; where the output is none, those of a line that is read well.
size_t columns_of(int output) {
  constexpr size_t kUsual = 120;
  winsize size = {};
  return ioctl(output, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

/// Draws the table where the last one was, on a terminal; elsewhere a line now and then.
class LiveTable {
 public:
  LiveTable(const TuneCommand& options, const TuneScene& scene)
      : options_(options), scene_(scene), is_terminal_(can_draw()) {}

  void show(const tune::TuneState& state) {
    if (options_.json) {
      fmt::print("{}\n", json_text(to_json(scene_, state)));
      std::fflush(stdout);
      return;
    }
    if (options_.quiet) return;
    if (is_terminal_) {
      clear();
      const std::vector<std::string> lines = table(scene_, state, kTasks, columns_of(STDERR_FILENO));
      for (const std::string& line : lines) print_error("{}\n", line);
      drawn_ = lines.size();
    } else if (!told_ || seconds_since(*told_) >= kSecondsOfALine) {
      print_error("{}\n", headline(scene_, state));
      told_ = Clock::now();
    }
  }

  void clear() {
    if (drawn_ > 0) print_error("\x1b[{}A\x1b[J", drawn_);
    drawn_ = 0;
  }

 private:
  static constexpr size_t kTasks = 12;
  static constexpr double kSecondsOfALine = 5;

  const TuneCommand& options_;
  const TuneScene& scene_;
  const bool is_terminal_;
  size_t drawn_ = 0;                       ///< lines
  std::optional<Clock::time_point> told_;  ///< the last line
};

/// Of several models each takes the bound dims that it has; one that none of them has is refused.
Result<std::vector<CommonOptions>> options_by_model(const TuneCommand& options) {
  std::vector<CommonOptions> result(options.files.size(), options);
  if (options.files.size() < 2) return result;
  TRY(const auto bound, options.bound_dims());
  std::set<std::string> known;
  for (size_t k = 0; k < result.size(); ++k) {
    result[k].dims.clear();
    TRY(const LoadedModel model, load_model(options.files[k], result[k]));
    for (const std::string& dim : free_dims(model.graph)) {
      known.insert(dim);
      if (const auto size = bound.find(dim); size != bound.end())
        result[k].dims.push_back(fmt::format("{}={}", dim, size->second));
    }
  }
  for (const auto& [dim, size] : bound)
    if (!known.contains(dim)) return unknown_dim({known.begin(), known.end()}, dim);
  return result;
}

/// Of its time, in which programs of models are searched for.
constexpr double kOfSearch = 0.2;

Result<search::TuningProblems> problems_of(const TuneCommand& options, search::CompileOptions& compile) {
  const std::optional<double>& seconds = options.seconds;
  search::TuningProblems all;
  CompileChoices choices = options.choices;
  if (choices.graphs > 1) {
    choices.level = search::kSearchLevel;
    if (seconds) choices.search.seconds = kOfSearch * *seconds / static_cast<double>(options.files.size());
  }
  TRY(const std::vector<CommonOptions> by_model, options_by_model(options));
  TRY(const Settings settings, settings_of(options));
  for (size_t k = 0; k < options.files.size(); ++k) {
    const std::string& file = options.files[k];
    TRY(LoadedModel model, load_model(file, by_model[k]));
    const std::vector<std::filesystem::path> written = {options.report, options.choices.search.records};
    TRY_VOID(check_apart(model, file, written));
    TRY_VOID(bind_free_dims(model.graph, file, options));
    TRY(compile, add_problems(all, model, file, settings, choices));
  }
  if (all.problems.empty())
    return unsupported(options.files.front(), "a task with a kernel to tune expected, none found");
  if (!options.task) return all;
  if (*options.task >= all.problems.size())
    return Error{ErrorKind::kUsage, "--task",
                 fmt::format("a number below {} expected, {} found", all.problems.size(), *options.task)};
  search::TuningProblems one;
  one.problems.push_back(all.problems[*options.task]);
  for (const tune::ModelTasks& model : all.models) one.models.push_back({{model.times[*options.task]}, 0});
  return one;
}

/// The decisions of a half-open schedule, or a template, for the one task that is left.
Result<void> fix_schedule(search::TuningProblems& all, const std::string& file, const search::CompileOptions& compile) {
  if (all.problems.size() != 1)
    return Error{ErrorKind::kUsage, "--schedule",
                 fmt::format("one task expected, {} found: choose one with --task", all.problems.size())};
  TRY(const search::GivenSchedule given, read_schedule(file));
  return leave_open(all.problems[0], given, compile);
}

Result<tune::SchedulerOptions> scheduler_of(const TuneCommand& options, search::TuningProblems& all) {
  tune::SchedulerOptions result;
  result.objective = *tune::objective_of(options.objective);
  result.round_robin = options.scheduler == "round-robin";
  if ((result.objective == tune::Objective::kWanted) != !options.wanted.empty())
    return Error{ErrorKind::kUsage, "--wanted",
                 "milliseconds for each model expected with --objective f2, and only there"};
  if (!options.wanted.empty() && options.wanted.size() != all.models.size())
    return Error{ErrorKind::kUsage, "--wanted",
                 fmt::format("{} times expected, one a model, {} found", all.models.size(), options.wanted.size())};
  for (size_t k = 0; k < options.wanted.size(); ++k) all.models[k].wanted_us = 1e3 * options.wanted[k];
  return result;
}

tune::CostModelOptions cost_model_of(const TuneCommand& options) {
  tune::CostModelOptions model;
  if (options.cost_model == "tlp") model.kind = tune::CostModelKind::kTraces;
  if (options.cost_model == "draft") model.kind = tune::CostModelKind::kDraft;
  if (options.features) model.features = *tune::feature_kind_of(*options.features);
  model.seed = options.seed;
  return model;
}

ModelEvaluation evaluation_of(const TuneCommand& options) {
  ModelEvaluation evaluation;
  evaluation.files = options.files;
  evaluation.records = options.choices.search.records;
  evaluation.models_held_out = options.held_out == "models";
  evaluation.labels = options.labels;
  evaluation.other_targets = options.other_targets;
  if (options.cost_model || options.features) evaluation.only = cost_model_of(options);
  return evaluation;
}

Result<ExitCode> run(const TuneCommand& options) {
  const StopsInOrder stops;
  const auto begin = Clock::now();
  std::vector<NamedFile> read = {{"--schedule", options.schedule}};
  for (const std::string& file : options.files) read.push_back({"IN", file});
  TRY_VOID(check_distinct(read, {{"--report", options.report}, {"--records", options.choices.search.records}}));
  if (options.choices.graphs > 1 && options.choices.level)
    return Error{ErrorKind::kUsage, "--level", "no level expected with --graphs, which searches"};
  TRY(const kernel::Target target, options.choices.parsed_target());
  const auto* cpu = std::get_if<kernel::CpuTarget>(&target);
  if (!cpu || !kernel::runs_here(*cpu))
    return Error{ErrorKind::kUsage, "--target", "a CPU that this machine has expected: kernels are measured here"};
  TRY(TuningRanks ranks, TuningRanks::join(options, *cpu));
  // What a search finds in its time is not the same twice.
  if (options.choices.graphs > 1 && (ranks.crew() || !ranks.is_first()))
    return Error{ErrorKind::kUsage, "--graphs", "one process expected: several would search for other programs each"};
  search::CompileOptions compile;
  TRY(search::TuningProblems all, problems_of(options, compile));
  if (options.evaluates && !ranks.is_first()) return kDone;
  if (options.evaluates && options.cost_model == "none")
    return Error{ErrorKind::kUsage, "--cost-model", "a model to evaluate expected, none found"};
  if (options.evaluates) return evaluate_models(evaluation_of(options), all, tuning_options(compile), options);
  if (!options.schedule.empty()) TRY_VOID(fix_schedule(all, options.schedule, compile));
  if (!ranks.is_first()) return ranks.serve(all.problems, tuning_options(compile));
  TRY(std::optional<OutputFile> report_file, file_for(options.report));
  TRY(kernel::Records records, open_records_to_keep(options.choices.search.records));
  tune::TuneOptions tuning = tuning_options(compile);
  TRY(tuning.scheduler, scheduler_of(options, all));
  tuning.trials = options.trials;
  tuning.seconds = options.seconds;
  if (tuning.seconds && options.choices.graphs > 1)
    tuning.seconds = std::max(0.0, *options.seconds - seconds_since(begin));
  tuning.strategy = options.strategy;
  tuning.continues = options.continues;
  tuning.learns = options.cost_model != "none" && options.cost_model != "draft";
  tuning.drafts = options.cost_model != "none";
  tuning.cost_model = cost_model_of(options);
  tuning.seed = options.seed;
  tuning.crew = ranks.crew();
  TRY(tuning.peaks, add_rooflines(all, records, compile));
  const TuneScene scene{options.files, all.models, tuning.threads, cpu->cpu, options.trials, options.seconds};
  LiveTable live(options, scene);
  tuning.tell = [&](const tune::TuneState& state) { live.show(state); };
  TRY(const tune::TuneState state, tune::tune(all.problems, all.models, records, tuning));
  live.clear();
  TRY_VOID(write_measured(options.report, options.files, to_json(scene, state), report_file));
  if (!state.no_model.empty())
    note(options, "isomer: no cost model, candidates were chosen by the draft alone: {}",
         printable(state.no_model, kMostOfLine));
  TRY_VOID(print_results([&] {
    if (!options.json && !options.quiet)
      for (const std::string& line : table(scene, state, state.tasks.size(), columns_of(STDOUT_FILENO)))
        fmt::print("{}\n", line);
  }));
  if (report_file) TRY_VOID(report_file->commit());
  if (check_stop().ok()) return kDone;
  note(options, "isomer: interrupted: what had been found until then is in the records");
  return kStopped;
}

/// What is measured, for how long, and in which order.
void add_trial_options(CLI::App& command, TuneCommand& options) {
  command.add_option("IN", options.files, "The models")->required();
  command.add_option("--trials", options.trials, "Schedules that are measured, of all tasks")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  add_time_option(command, options.seconds, "No round begins after it: 90, 60s, 10min, 1h");
  command
      .add_option("--objective", options.objective,
                  "Of several models: f1, the sum of their times; f2, the same, but no faster than --wanted; f3, "
                  "the mean of their speedups; f4, the sum, leaving alone what gains no more (Ansor)")
      ->check(CLI::IsMember({"f1", "f2", "f3", "f4"}))
      ->capture_default_str();
  command.add_option("--wanted", options.wanted, "Milliseconds that are fast enough, a model each")
      ->delimiter(',')
      ->check(is_within(0, 1e9))
      ->allow_extra_args(false);
  command.add_option("--scheduler", options.scheduler, "Whose turn it is: gradient, or round-robin")
      ->check(CLI::IsMember({"gradient", "round-robin"}))
      ->capture_default_str();
  command.add_option("--strategy", options.strategy, "What is tried next: evolution, random, annealing, exhaustive")
      ->check(CLI::IsMember({"evolution", "random", "annealing", "exhaustive"}))
      ->capture_default_str();
}

void add_cost_model_options(CLI::App& command, TuneCommand& options) {
  command
      .add_option(
          "--cost-model", options.cost_model,
          "What evolution asks before it measures: trees (XGBoost's, where its library is found), tlp (a network "
          "that reads schedules' traces), either once enough was measured; draft (counts of what a schedule does); or "
          "none (default: trees)")
      ->check(CLI::IsMember({"trees", "tlp", "draft", "none"}));
  std::vector<std::string> kinds;
  for (const tune::FeatureKind kind : tune::kFeatureKinds) kinds.emplace_back(name(kind));
  command
      .add_option("--features", options.features,
                  "What trees see of a schedule: nest (caches, tiles, vectors), or AutoTVM's knob, itervar, curve, "
                  "curve-all (default: nest)")
      ->check(CLI::IsMember(kinds));
}

void add_evaluation_options(CLI::App& command, TuneCommand& options) {
  command.add_flag("--evaluate-cost-model", options.evaluates,
                   "Measure nothing: how well cost models choose among the trials that the records have of these "
                   "models, each task judged by what was learned of others; all of them, or the one that is named");
  command
      .add_option("--hold-out", options.held_out,
                  "With --evaluate-cost-model: tasks (a fifth at a time), or models (one at a time)")
      ->needs("--evaluate-cost-model")
      ->check(CLI::IsMember({"tasks", "models"}))
      ->capture_default_str();
  command
      .add_option("--labels", options.labels,
                  "With --evaluate-cost-model: the share of this target's trials that is learned from")
      ->needs("--evaluate-cost-model")
      ->check(is_within(0, 1))
      ->capture_default_str();
  command
      .add_flag("--other-targets", options.other_targets,
                "With --evaluate-cost-model: learn from the trials of all targets that the records have")
      ->needs("--evaluate-cost-model");
}

}  // namespace

void add_tune(CLI::App& app, int& exit) {
  auto options = std::make_shared<TuneCommand>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure schedules of the tasks of models; compile, run and bench take the fastest from the records");
  add_trial_options(*command, *options);
  add_cost_model_options(*command, *options);
  command->add_flag("--continue", options->continues,
                    "Go on from the records: what was found before is tried first, what failed is not");
  add_evaluation_options(*command, *options);
  command->add_option("--report", options->report, kReportHelp)->excludes("--evaluate-cost-model");
  command->add_option("--task", options->task, "This one alone, by its number in the table")->check(is_whole());
  command->add_option("--schedule", options->schedule,
                      "FILE of decisions that are kept, a line each (s0.rows := 6), while the task's others are tuned; "
                      "or a template, whose knobs are tuned");
  command->add_option("--target", options->choices.target, "cpu, or cpu=NAME as LLVM calls it, which this machine runs")
      ->capture_default_str();
  command
      ->add_option("--level", options->choices.level,
                   "Of optimization before tasks are made, without a search (with --graphs: 3)")
      ->check(CLI::Range(0, 2));
  add_graphs_option(*command, options->choices);
  add_records_option(*command, options->choices.search.records);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? *done : report(done.error());
  });
}

}  // namespace isomer::cli
