#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "driver/check_code.h"
#include "driver/compile_file.h"
#include "driver/public_options.h"
#include "driver/told.h"
#include "driver/user_space.h"
#include "graph/bind.h"
#include "graph/edit.h"
#include "isomer/compile.h"
#include "kernel/micro_kernel.h"
#include "kernel/records.h"
#include "runtime/artifact_file.h"
#include "search/code/prepare.h"
#include "search/code/targets.h"
#include "search/code/tuning.h"
#include "substitutions/derivation/derivation.h"
#include "util/stop.h"
#include "util/threads.h"
#include "util/version.h"

namespace isomer {
namespace {

/// The schedule of a task of which some choices are made.
search::GivenSchedule half_open(const TaskDecisions& given) {
  search::GivenSchedule schedule{given.task, {}, given.task};
  for (const auto& [name, value] : given.decisions) schedule.schedule.decisions.push_back({name, value});
  return schedule;
}

Result<search::GivenSchedule> read_schedule(const TaskSchedule& given) {
  auto schedule = kernel::parse_template(given.text);
  if (!schedule.ok()) return std::move(schedule).error().within(given.task);
  return search::GivenSchedule{given.task, *std::move(schedule), given.task};
}

class ModelCompiler {
 public:
  explicit ModelCompiler(const CompileModelOptions& options) : options_(options) {}

  Result<CompileModelReport> run(const std::string& model, const std::string& artifact) {
    const auto begin = Clock::now();
    TRY_VOID(read_options());
    TRY(const Graph graph, read(model));
    TRY(const Graph prepared, prepared_for_code(graph));
    const auto records = records_of(options_.records);
    if (!records.ok()) return Error(records.error());
    if (*records) take_tuned(compile_, **records, weights_in_model(count_bytes(prepared)));
    auto made = compile(prepared, compile_);
    // What a module could not do comes first: the rest may follow from it.
    TRY_VOID(check_modules());
    if (!made.ok()) return std::move(made).error().within(model);
    CompileModelReport report = report_of(*made);
    if (options_.check && can_check(compile_.target)) {
      TRY(report.check, checked(graph, *made, begin));
    }
    made->artifact.provenance.producer = version_text();
    made->artifact.variants[0].bindings = options_.dims;
    TRY_VOID(check_stop());
    TRY_VOID(runtime::write_artifact(made->artifact, artifact));
    return report;
  }

  Result<std::vector<TunedTaskReport>> tune(const std::string& model, const TuneModelOptions& options) {
    TRY_VOID(read_options());
    const auto* cpu = std::get_if<kernel::CpuTarget>(&compile_.target);
    if (!cpu || !kernel::runs_here(*cpu))
      return Error{ErrorKind::kUsage, "target",
                   "a CPU that this machine has expected, '" + options_.target + "' found: kernels are measured here"};
    TRY(std::optional<kernel::Records> records, records_of(options_.records));
    if (!records) return Error{ErrorKind::kUsage, "records", "a file for what is found expected, none named"};
    TRY(const Graph graph, read(model));
    TRY(const Graph prepared, prepared_for_code(graph));
    search::TuningProblems all;
    auto added = add_problems(all, prepared, compile_);
    for (const tune::Problem& problem : all.problems) {
      kernel::Preferring preferring;
      static_cast<void>(kernel::scheduled(problem.start, compile_.space, machine_of(compile_), preferring));
    }
    TRY_VOID(check_modules());
    if (!added.ok()) return std::move(added).error().within(model);
    if (all.problems.empty()) return unsupported(model, "a task to tune expected, none found");
    failure_.end_nothing();
    tune::TuneOptions tuning = tuning_options(compile_);
    TRY(tuning.peaks, add_rooflines(all, *records, compile_));
    TRY_VOID(check_count("trials", options.trials, 0));
    tuning.trials = options.trials;
    TRY(tuning.seconds, parsed_seconds(options.seconds));
    tuning.continues = options.continues;
    TRY(const tune::TuneState state, tune::tune(all.problems, all.models, *records, tuning));
    std::vector<TunedTaskReport> report;
    for (const tune::TaskState& task : state.tasks)
      report.push_back({task.name, task.progress.first_us, task.progress.now_us(), task.progress.trials});
    return report;
  }

 private:
  Result<void> read_options() {
    TRY(compile_.target, search::parse_target(options_.target));
    TRY_VOID(parsed_level(options_.level, search::kSearchLevel - 1));
    compile_.threads = options_.threads > 0 ? options_.threads : available_threads();
    compile_.seed = options_.seed;
    compile_.memory = default_memory_limit();
    for (const MicroKernel& each : options_.micro_kernels)
      compile_.micro_kernels.push_back(std::make_shared<kernel::MicroKernel>(micro_kernel_of(each)));
    TRY_VOID(kernel::check_names(compile_.micro_kernels));
    for (const TaskDecisions& each : options_.decisions)
      if (!each.decisions.empty()) compile_.schedules.push_back(half_open(each));
    for (const TaskSchedule& each : options_.schedules) {
      TRY(search::GivenSchedule given, read_schedule(each));
      compile_.schedules.push_back(std::move(given));
    }
    compile_.space_name = name_of_space(options_.modules, options_.micro_kernels);
    if (const auto* cpu = std::get_if<kernel::CpuTarget>(&compile_.target)) {
      machine_ = machine_for_users(*cpu, machine_of(compile_));
      TRY(compile_.space, space_with(options_.modules, machine_, failure_));
    } else {
      if (!options_.modules.empty())
        return Error{ErrorKind::kUsage, "modules",
                     "a target of the CPU expected for them, '" + options_.target + "' found"};
      for_gpu(compile_);
    }
    return {};
  }

  Result<Graph> read(const std::string& model) const {
    TRY(const Settings settings, settings_of(options_));
    TRY(LoadedModel loaded, load_model(model, settings));
    TRY_VOID(keep_defaults(loaded.graph, model, settings));
    if (const auto unbound = free_dims(loaded.graph); !unbound.empty())
      return unsupported(model, "concrete dims expected, {} found; bind them with CompileModelOptions::dims",
                         fmt::join(unbound, ", "));
    return std::move(loaded.graph);
  }

  Result<Graph> prepared_for_code(const Graph& model) const {
    substitutions::Derivation derivation;
    derivation.level = options_.level;
    substitutions::Theory theory;
    TRY(substitutions::Derived made, derived(model, derivation, theory, {.threads = compile_.threads}));
    TRY_VOID(search::prepare_for_code(made.graph, prepare_options(compile_, derivation.level)));
    return std::move(made.graph);
  }

  /// Nothing where no file is named.
  static Result<std::optional<kernel::Records>> records_of(const std::string& file) {
    if (file.empty()) return std::optional<kernel::Records>();
    TRY(kernel::Records records, kernel::Records::open(file));
    return std::optional(std::move(records));
  }

  Result<void> check_modules() const {
    if (!failure_.has_any()) return {};
    return Error{ErrorKind::kUsage, "", failure_.sentence()};
  }

  Result<std::string> checked(const Graph& model, const search::Compilation& code, Clock::time_point begin) const {
    const auto now = Clock::now();
    // As long as the rest took, and a second in any case.
    const auto until = now + std::max<Clock::duration>(std::chrono::seconds(1), now - begin);
    TRY(const CodeCheck check, check_code(model, code, {options_.seed, compile_.threads, compile_.memory, until}));
    if (check.equivalence.difference) return Error{ErrorKind::kMismatch, "check", check.equivalence.difference->text()};
    return check.equivalence.text();
  }

  static CompileModelReport report_of(const search::Compilation& code) {
    CompileModelReport report;
    for (const search::PlacedTask& placed : all_tasks(code.whole)) {
      CompiledTaskReport& told = report.tasks.emplace_back();
      told.name = placed.task->name;
      if (placed.task->kernel < 0) continue;
      const kernel::ScheduledKernel& made = code.kernel_of(*placed.task);
      told.trace = print(made.trace);
      for (const auto& [choice, value] : made.choices)
        told.choices.push_back({choice.name, choice.candidates, choice.preferred, value});
    }
    return report;
  }

  const CompileModelOptions& options_;
  search::CompileOptions compile_;
  Machine machine_;
  ModuleFailure failure_;
};

/// What compile_file does, and the schedules of users can't be part of yet.
bool is_whole(const CompileModelOptions& options) {
  return options.level >= search::kSearchLevel || options.tune || !options.variants.empty();
}

Result<CompileModelReport> compile_whole(const std::string& model, const std::string& artifact,
                                         const CompileModelOptions& options) {
  if (!options.modules.empty() || !options.micro_kernels.empty() || !options.decisions.empty() ||
      !options.schedules.empty())
    return Error{ErrorKind::kUsage, "level",
                 "at most 2, one variant and no tuning expected with modules, micro-kernels, decisions or schedules"};
  CompileFileChoices choices;
  choices.code.target = options.target;
  TRY(choices.code.level, parsed_level(options.level, search::kSearchLevel));
  choices.code.tunes = options.tune;
  TRY(choices.code.search.seconds, parsed_seconds(options.seconds));
  choices.code.search.records = options.records;
  choices.has_check = options.check;
  if (!options.variants.empty()) choices.bindings = options.variants;
  TRY(const Settings settings, settings_of(options, options.progress));
  TRY(CompiledFile compiled, compile_file(model, choices, settings));
  bool is_interrupted = compiled.is_interrupted();
  if (auto stopped = check_stop(); !stopped.ok()) {
    // The first one behind a search finds its best ready to be written.
    if (is_interrupted || options.level < search::kSearchLevel) return stopped.error();
    is_interrupted = true;
  }
  TRY_VOID(runtime::write_artifact(compiled.artifact, artifact));
  CompileModelReport report;
  if (compiled.check()) report.check = fmt::format("{}", fmt::join(compiled.check_lines(), "; "));
  report.report = compile_json(model, settings, compiled).dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
  report.is_interrupted = is_interrupted;
  return report;
}

}  // namespace

Expected<CompileModelReport> compile_model(const std::string& model, const std::string& artifact,
                                           const CompileModelOptions& options) {
  if (is_whole(options))
    return told<CompileModelReport>(options.stop, [&] { return compile_whole(model, artifact, options); });
  return told<CompileModelReport>(options.stop, [&] { return ModelCompiler(options).run(model, artifact); });
}

Expected<std::vector<TunedTaskReport>> tune_model(const std::string& model, const CompileModelOptions& how,
                                                  const TuneModelOptions& options) {
  return told<std::vector<TunedTaskReport>>(how.stop, [&] { return ModelCompiler(how).tune(model, options); });
}

}  // namespace isomer
