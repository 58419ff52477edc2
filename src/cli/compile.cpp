// isomer compile: a model into an artifact for a machine, checked against the interpreter.
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/search_options.h"
#include "cli/search_report.h"
#include "cli/settings.h"
#include "driver/compile_file.h"
#include "driver/staging_folder.h"
#include "runtime/artifact_file.h"
#include "util/append.h"
#include "util/stop.h"

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

void print_report(const CompileCommand& options, const json& facts, const CompiledFile& report) {
  const std::string tuned = report.tuned > 0 ? fmt::format(" ({} tuned)", report.tuned) : "";
  fmt::print("{}: {}, {}{}, arena {:.1f} MB, code {:.1f} KB\n", printable(options.output),
             counted(static_cast<int64_t>(report.tasks), "task"), counted(facts["kernels"].get<int64_t>(), "kernel"),
             tuned, facts["arena_mb"].get<double>(), facts["code_kb"].get<double>());
  for (size_t k = 0; k < report.made.size(); ++k) {
    print_lines(search_lines(report.made[k]));
    if (report.chosen[k]) print_lines(task_lines(*report.chosen[k]));
    if (report.tunings[k]) print_lines({printable(report.tunings[k]->text(), kMostOfLine)});
  }
  for (const std::string& line : report.check_lines()) fmt::print("check: {}\n", printable(line, kMostOfLine));
  if (report.check()) print_lines(report.coverage.lines());
  if (report.is_of_plain_loops)
    fmt::print("check: of its kernels as plain loops on this CPU: a GPU that runs them is not here\n");
  fmt::print("took: {:.1f} s (check {:.1f}), at most {:.0f} MB\n", facts["seconds"]["all"].get<double>(),
             facts["seconds"].value("check", 0.0), facts["peak_memory_mb"].get<double>());
}

Result<ExitCode> run(const CompileCommand& options) {
  const StopsInOrder stops;
  std::vector<NamedFile> read = {{"IN", options.file}};
  append(read, files_of_rules(options.choices.search.rules));
  append(read, files_of_schedules(options.choices.schedules));
  TRY_VOID(check_distinct(read, {{"--output", options.output}, {"--records", options.choices.search.records}}));
  TRY(const StagingFolder staging, StagingFolder::beside(options.output));
  const auto begin = Clock::now();
  std::optional<ProgressLine> progress(std::in_place, options);
  CompileFileChoices choices{options.choices, {}, !options.no_check, staging.places()};
  CommonOptions one = options;
  for (const auto& dims : each_binding(options.dims)) {
    one.dims = dims;
    TRY(choices.bindings.emplace_back(), one.bound_dims());
  }
  one.dims.clear();
  TRY(const Settings settings, settings_of(one, *progress));
  TRY(CompiledFile compiled, compile_file(options.file, choices, settings));
  progress->tell("writing");
  if (auto done = runtime::write_artifact(compiled.artifact, staging.file()); !done.ok())
    return staging.at_place(std::move(done).error());
  progress.reset();
  compiled.seconds["all"] = seconds_since(begin);
  const json facts = compile_json(options.file, settings, compiled);
  for (const std::string& warning : compiled.warnings()) note(options, "isomer: {}", printable(warning));
  TRY_VOID(print_results([&] {
    if (options.json)
      fmt::print("{}\n", json_text(facts));
    else if (!options.quiet)
      print_report(options, facts, compiled);
  }));
  TRY_VOID(staging.release());
  if (!compiled.is_interrupted()) return kDone;
  note(options, "isomer: interrupted: what had been found until then is written");
  return kStopped;
}

}  // namespace

void add_compile(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompileCommand>();
  options->choices.usual_level = search::kSearchLevel;
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
  command->get_option("--dim")->description(
      "Bind a symbolic dim: batch=8; of several, batch=1,8,32, the artifact has a variant each");
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? *done : report_failed(*options, done.error());
  });
}

}  // namespace isomer::cli
