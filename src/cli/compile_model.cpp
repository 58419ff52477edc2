#include "cli/compile_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "cli/version.h"
#include "graph/bind.h"
#include "search/prepare.h"
#include "substitutions/derivation.h"
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
  app.add_option(
         "--level", level,
         fmt::format("Of optimization; 3: searched over proved rules and measured (default: {}, with --schedule 2)",
                     usual_level))
      ->check(CLI::Range(0, 3));
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

namespace {

/// From a graph to code.
class CodeMaker {
 public:
  static Result<CodeMaker> create(const CommonOptions& options, const CompileChoices& choices) {
    CodeMaker maker(choices.chosen_level());
    auto target = kernel::parse_target(choices.target);
    if (!target.ok()) {
      Error error = std::move(target).error().within("--target");
      error.kind = ErrorKind::kUsage;
      return error;
    }
    CompileOptions& compile = maker.options_;
    for (const std::string& text : choices.schedules) {
      TRY(GivenSchedule given, read_schedule(text));
      compile.schedules.push_back(std::move(given));
    }
    compile.target = *target;
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
    return maker;
  }

  Result<Compilation> code_of(Graph graph, const std::vector<std::string>& without) const {
    TRY_VOID(prepare_for_code(graph, {level_, without, options_.threads, options_.target}));
    TRY(Compilation compiled, compile(graph, options_));
    compiled.artifact.provenance.producer = version_text();
    return compiled;
  }

 private:
  explicit CodeMaker(int level) : level_(level) {}

  int level_;
  CompileOptions options_;
};

Result<void> expect_bound(const Graph& graph) {
  if (const auto unbound = free_dims(graph); !unbound.empty())
    return unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE",
                       fmt::join(unbound, ", "), unbound.front());
  return {};
}

}  // namespace

Result<CompiledModel> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                    const CompileChoices& choices, SearchSetting setting, const CheckCode& check) {
  TRY(const CodeMaker maker, CodeMaker::create(options, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  std::optional<Compilation> code;
  const auto make_code = [&](const OptimizedModel& made) -> Result<void> {
    if (setting.progress) setting.progress->tell("compiling the result");
    TRY(code, maker.code_of(made.derived.graph, made.derivation.without));
    return {};
  };
  if (check)
    setting.check = [&](const OptimizedModel& made) -> Result<std::optional<std::string>> {
      TRY_VOID(make_code(made));
      if (setting.progress) setting.progress->tell("checking the code against the model");
      return check(*code);
    };
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  TRY(OptimizedModel made, choices.search.optimize(model, file, std::move(derivation), options, setting));
  if (!check)
    if (auto done = make_code(made); !done.ok()) return std::move(done).error().within(file);
  return CompiledModel{std::move(made), *std::move(code)};
}

Result<Compilation> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                  const CompileChoices& choices) {
  if (choices.chosen_level() >= kSearchLevel) {
    TRY(CompiledModel compiled, compile_model(model, file, options, choices, {}, nullptr));
    return std::move(compiled.code);
  }
  TRY(const CodeMaker maker, CodeMaker::create(options, choices));
  if (auto bound = expect_bound(model.graph); !bound.ok()) return std::move(bound).error().within(file);
  substitutions::Derivation derivation;
  derivation.level = choices.chosen_level();
  substitutions::Theory theory;
  auto made = derived(model.graph, derivation, theory, {.threads = options.thread_count()});
  if (!made.ok()) return std::move(made).error().within(file);
  auto code = maker.code_of(std::move(made->graph), {});
  if (!code.ok()) return std::move(code).error().within(file);
  return code;
}

}  // namespace isomer::cli
