#include "cli/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/version.h"
#include "graph/bind.h"
#include "search/prepare.h"
#include "util/file.h"

namespace isomer::cli {
namespace {

/// "3=mine.trace", read.
Result<GivenSchedule> read_schedule(const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    return Error{ErrorKind::kUsage, "--schedule", "TASK=FILE expected, '" + text + "' found"};
  GivenSchedule given{text.substr(0, equals), {}, text.substr(equals + 1)};
  const auto file = MappedFile::open(given.source);
  if (!file.ok()) return Error(file.error()).within(given.source);
  const auto bytes = (*file)->bytes();
  auto trace = kernel::parse_trace({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!trace.ok()) return std::move(trace).error().within(given.source);
  given.trace = std::move(*trace);
  return given;
}

}  // namespace

void CompileChoices::add_to(CLI::App& app) {
  app.add_option("--target", target, "cpu, or cpu=NAME as LLVM calls it")->capture_default_str();
  app.add_option("--level", level, "Of optimization; 3: searched over proved rules")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  app.add_option("--without", without,
                 "Leave these out, to see what they give: fusion, attention, layouts, packing, micro-tiles")
      ->delimiter(',')
      ->check(CLI::IsMember({"fusion", "attention", "layouts", "packing", "micro-tiles"}))
      ->allow_extra_args(false);
  add_schedules_to(app);
  search.add_to(app);
}

void CompileChoices::add_schedules_to(CLI::App& app) {
  app.add_option("--schedule", schedules,
                 "TASK=FILE: the schedule of a task, by its number or name, is this trace ('inspect --trace' prints "
                 "them); repeatable")
      ->allow_extra_args(false);
}

Result<Compilation> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                  const CompileChoices& choices) {
  auto target = kernel::parse_target(choices.target);
  if (!target.ok()) {
    Error error = std::move(target).error().within("--target");
    error.kind = ErrorKind::kUsage;
    return error;
  }
  const auto in_file = [&](Error error) { return std::move(error).within(file); };
  if (const auto unbound = free_dims(model.graph); !unbound.empty())
    return in_file(unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                               fmt::join(unbound, ", "), unbound.front()));

  Graph graph = model.graph;
  if (choices.level >= kSearchLevel) {
    substitutions::Derivation derivation;
    derivation.level = choices.level;
    TRY(OptimizedModel searched, choices.search.optimize(model, file, std::move(derivation), options));
    graph = std::move(searched.derived.graph);
  }
  if (auto done = prepare_for_code(graph, {choices.level, options.thread_count(), *target}); !done.ok())
    return in_file(std::move(done).error());

  CompileOptions compile_options;
  for (const std::string& text : choices.schedules) {
    TRY(GivenSchedule given, read_schedule(text));
    compile_options.schedules.push_back(std::move(given));
  }

  compile_options.target = *target;
  compile_options.threads = options.thread_count();
  compile_options.seed = options.seed;
  const auto keeps = [&](const char* part) {
    return std::find(choices.without.begin(), choices.without.end(), part) == choices.without.end();
  };
  compile_options.fuse.enabled = keeps("fusion");
  compile_options.fuse.attention = keeps("attention");
  compile_options.assign_layouts = keeps("layouts");
  compile_options.packing = keeps("packing");
  compile_options.micro_tiles = keeps("micro-tiles");
  auto compiled = compile(graph, compile_options);
  if (!compiled.ok()) return in_file(std::move(compiled).error());
  compiled->artifact.provenance.producer = version_text();
  return std::move(*compiled);
}

}  // namespace isomer::cli
