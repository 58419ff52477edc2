// isomer compile: a model into an artifact for a machine, checked against the interpreter.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/check_notes.h"
#include "cli/commands.h"
#include "cli/search_options.h"
#include "cli/search_report.h"
#include "cli/settings.h"
#include "driver/check_code.h"
#include "driver/code_of_model.h"
#include "driver/coverage_json.h"
#include "driver/search_json.h"
#include "runtime/artifact_file.h"
#include "search/merge.h"
#include "util/clock.h"
#include "util/resident.h"
#include "util/stop.h"
#include "util/version.h"
#include "verify/check/check.h"
#include "verify/check/check_json.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct CompileCommand : CommonOptions {
  std::string file;
  std::string output;
  CompileChoices choices;
  bool no_check = false;
};

/// --dim seq=64,128 --dim batch=1: [seq=64, batch=1], [seq=128, batch=1].
std::vector<std::vector<std::string>> each_binding(const std::vector<std::string>& dims) {
  std::vector<std::vector<std::string>> all = {{}};
  for (const std::string& text : dims) {
    const std::string name = text.substr(0, text.rfind('=') + 1);
    std::vector<std::vector<std::string>> longer;
    for (const auto& chosen : all)
      for (size_t from = name.size(); from <= text.size();) {
        const size_t comma = std::min(text.find(',', from), text.size());
        longer.push_back(chosen);
        longer.back().push_back(name + text.substr(from, comma - from));
        from = comma + 1;
      }
    all = std::move(longer);
  }
  return all;
}

/// --target cuda=sm_90a,cpu: a variant for each, the preferred one first.
std::vector<std::string> each_target(const std::string& targets) {
  std::vector<std::string> all;
  std::istringstream parts(targets);
  for (std::string target; std::getline(parts, target, ',');) all.push_back(target);
  if (all.empty()) all.push_back(targets);  // which is refused in its own words
  return all;
}

/// What is told in the end.
struct Report {
  std::vector<OptimizedModel> made;                ///< by variant
  std::vector<std::optional<ChosenTasks>> chosen;  ///< the same
  std::vector<std::optional<TunedTasks>> tunings;  ///< the same
  std::optional<Equivalence> check;                ///< of the last one that was checked
  Coverage coverage;                               ///< of all that were checked
  bool is_of_plain_loops = false;                  ///< the check
  std::map<std::string, double> seconds;
  size_t tasks = 0;
  int tuned = 0;  ///< kernels
};

/// One variant, checked.
Result<Compilation> compile_variant(const CompileCommand& options, ProgressLine& progress, Clock::time_point begin,
                                    Report& report) {
  TRY(const kernel::Target target, options.choices.parsed_target());
  TRY(const Settings settings, settings_of(options, progress));
  progress.tell("reading");
  TRY(LoadedModel model, isomer::load_model(options.file, settings));
  TRY(auto bindings, isomer::bind_free_dims(model.graph, options.file, settings));
  SearchSetting setting;
  setting.begin = begin;
  CheckCode check;
  Coverage coverage;
  if (!options.no_check && can_check(target)) {
    check = [&](const Compilation& code) -> Result<std::optional<std::string>> {
      const auto start = Clock::now();
      // As long as the rest took, and a second in any case.
      const auto until = start + std::max<Clock::duration>(std::chrono::seconds(1), start - begin);
      TRY(CodeCheck checked, check_code(model.graph, code, {settings.seed, settings.threads, settings.memory, until}));
      report.check = std::move(checked.equivalence);
      report.is_of_plain_loops |= checked.is_of_plain_loops;
      coverage = std::move(checked.coverage);
      report.seconds["check"] += seconds_since(start);
      return report.check->difference ? std::optional(report.check->difference->text()) : std::nullopt;
    };
    setting.differ = [&](const Graph& one, const Graph& other) -> Result<bool> {
      TRY(const CheckReport found,
          check_same(one, other, {.seed = settings.seed, .threads = settings.threads, .memory = settings.memory}));
      return found.equivalence.difference.has_value();
    };
  } else {
    setting.least_afterwards = 0;
  }
  TRY(CompiledModel compiled, code_of_model(model, options.file, settings, options.choices, setting, check));
  bindings.insert(settings.dims.begin(), settings.dims.end());
  compiled.code.artifact.variants[0].bindings = std::move(bindings);
  report.tasks += all_tasks(compiled.code.whole).size();
  report.tuned += compiled.code.tuned;
  report.coverage += coverage;
  report.made.push_back(std::move(compiled.made));
  report.chosen.push_back(std::move(compiled.chosen));
  report.tunings.push_back(std::move(compiled.tuned));
  return std::move(compiled.code);
}

json tuning_json(const TunedTasks& tuned) {
  json cuts = json::array();
  for (const auto& [what, saved] : tuned.cuts) cuts.push_back({{"what", what}, {"saved_us", saved}});
  const std::vector<double> times = tune::fastest_times(tuned.model, tuned.state.progress());
  int64_t elsewhere = 0;
  for (size_t k = 0; k < times.size(); ++k) elsewhere += times[k] > 0 ? 0 : tuned.state.tasks[k].progress.trials;
  return {{"trials", tuned.state.trials},
          {"trials_of_other_programs", elsewhere},
          {"start_us", tuned.state.first_us(tuned.model)},
          {"best_us", tuned.state.now_us(tuned.model)},
          {"cuts", cuts},
          {"seconds", tuned.state.seconds}};
}

json report_json(const CompileCommand& options, const runtime::Artifact& artifact, const Report& report) {
  json searches = json::array();
  for (const OptimizedModel& made : report.made) searches.push_back(search_json(made));
  json chosen = json::array();
  for (const auto& tasks : report.chosen) chosen.push_back(tasks ? tasks_json(*tasks) : json());
  json tunings = json::array();
  for (const auto& tuned : report.tunings) tunings.push_back(tuned ? tuning_json(*tuned) : json());
  json check = nullptr;
  if (report.check) {
    check = equivalence_json(*report.check);
    check["exercised"] = coverage_json(report.coverage);
    check["plain_loops"] = report.is_of_plain_loops;
  }
  int64_t arena = 0;
  for (const runtime::Variant& variant : artifact.variants) arena = std::max(arena, variant.arena_bytes);
  size_t code = artifact.code.size();
  for (const runtime::Module& module : artifact.modules) code += module.image.size();
  return {{"model", options.file},
          {"variants", artifact.variants.size()},
          {"tasks", report.tasks},
          {"kernels", artifact.kernels.size()},
          {"kernels_tuned", report.tuned},
          {"arena_mb", static_cast<double>(arena) / 1e6},
          {"code_kb", static_cast<double>(code) / 1e3},
          {"search", searches},
          {"tasks_chosen", chosen},
          {"tuning", tunings},
          {"check", check},
          {"seconds", report.seconds},
          {"peak_memory_mb", static_cast<double>(peak_resident_bytes()) / 1e6},
          {"seed", options.seed},
          {"version", version_text()}};
}

void print_report(const CompileCommand& options, const json& facts, const Report& report) {
  const std::string tuned = report.tuned > 0 ? fmt::format(" ({} tuned)", report.tuned) : "";
  fmt::print("{}: {} tasks, {} kernels{}, arena {:.1f} MB, code {:.1f} KB\n", printable(options.output), report.tasks,
             facts["kernels"].get<size_t>(), tuned, facts["arena_mb"].get<double>(), facts["code_kb"].get<double>());
  for (size_t k = 0; k < report.made.size(); ++k) {
    for (const std::string& line : search_lines(report.made[k])) fmt::print("{}\n", line);
    if (report.chosen[k])
      for (const std::string& line : task_lines(*report.chosen[k])) fmt::print("{}\n", line);
    if (report.tunings[k]) fmt::print("{}\n", report.tunings[k]->text());
  }
  if (report.check) {
    fmt::print("check: {}\n", report.check->text());
    for (const std::string& line : report.coverage.lines()) fmt::print("{}\n", line);
    if (report.is_of_plain_loops)
      fmt::print("check: of its kernels as plain loops on this CPU: a GPU that runs them is not here\n");
  } else {
    fmt::print("check: not checked\n");
  }
  fmt::print("took: {:.1f} s (check {:.1f}), at most {:.0f} MB\n", facts["seconds"]["all"].get<double>(),
             facts["seconds"].value("check", 0.0), facts["peak_memory_mb"].get<double>());
}

Result<ExitCode> run(const CompileCommand& options) {
  const StopsInOrder stops;
  if (options.choices.graphs > 1 && options.choices.chosen_level() < kSearchLevel)
    return Error{ErrorKind::kUsage, "--graphs",
                 fmt::format("--level {} expected, whose search finds them", kSearchLevel)};
  const auto begin = Clock::now();
  std::optional<ProgressLine> progress(std::in_place, options);
  runtime::Artifact artifact;
  Report report;
  for (const std::string& target : each_target(options.choices.target))
    for (const auto& dims : each_binding(options.dims)) {
      CompileCommand one = options;
      one.choices.target = target;
      one.dims = dims;
      TRY(Compilation compiled, compile_variant(one, *progress, begin, report));
      if (artifact.variants.empty()) {
        artifact = std::move(compiled.artifact);
      } else {
        merge(artifact, std::move(compiled.artifact));
      }
    }
  progress->tell("writing");
  TRY_VOID(runtime::write_artifact(artifact, options.output));
  progress.reset();
  report.seconds["all"] = seconds_since(begin);
  const json facts = report_json(options, artifact, report);
  if (report.check) warn_of_what_was_set_aside(options, *report.check);
  if (options.json)
    fmt::print("{}\n", json_text(facts));
  else if (!options.quiet)
    print_report(options, facts, report);
  const auto is_interrupted = [](const OptimizedModel& made) {
    return made.found && made.found->stop == StopReason::kInterrupted;
  };
  const auto is_left = [](const std::optional<ChosenTasks>& chosen) { return chosen && chosen->is_interrupted; };
  const auto is_cut_off = [](const std::optional<TunedTasks>& tuned) { return tuned && tuned->is_interrupted; };
  if (std::none_of(report.made.begin(), report.made.end(), is_interrupted) &&
      std::none_of(report.chosen.begin(), report.chosen.end(), is_left) &&
      std::none_of(report.tunings.begin(), report.tunings.end(), is_cut_off))
    return kDone;
  note(options, "isomer: interrupted: what had been found until then is written");
  return kStopped;
}

}  // namespace

void add_compile(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompileCommand>();
  options->choices.usual_level = kSearchLevel;
  CLI::App* command = app.add_subcommand("compile", "Optimize a model and build the artifact that runs it");
  command->add_option("IN", options->file, "The model")->required();
  command->add_option("-o,--output", options->output, "The artifact to write")->required();
  command->add_flag("--no-check", options->no_check, "Write the artifact unchecked");
  add_compile_options(*command, options->choices);
  command
      ->add_flag("--tune", options->choices.tunes,
                 "Tune its kernels: in half of --time, or a minute more where none is given; what is found is in the "
                 "records too")
      ->excludes("--untuned");
  add_graphs_option(*command, options->choices);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? *done : report(done.error());
  });
}

}  // namespace isomer::cli
