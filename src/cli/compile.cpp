// isomer compile: a model into an artifact for a machine, checked against the interpreter.
#include "cli/commands.h"
#include "cli/compile_model.h"
#include "cli/load_artifact.h"
#include "cli/model_inputs.h"
#include "runtime/artifact_file.h"
#include "search/merge.h"
#include "search/run_artifact.h"
#include "util/clock.h"
#include "verify/equivalence.h"

namespace isomer::cli {
namespace {

struct CompileCommand : CommonOptions {
  std::string file;
  std::string output;
  CompileChoices choices;
  bool no_check = false;
};

/// The artifact against the interpreter on the model as it was read.
Result<Equivalence> check(const Graph& model, const runtime::Artifact& artifact, const CompileCommand& options) {
  TRY(const auto session, open_session(artifact, options));
  FillOptions fill;
  fill.seed = options.seed;
  TRY(const std::vector<Tensor> tensors, generate_inputs(model, fill));
  std::vector<te::Array> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(te::Array::from(tensor));
  const auto run = [&](std::span<const te::Array> given) { return run_artifact(*session, given); };
  return compare_with(model, run, {inputs}, options.thread_count());
}

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

/// One variant, checked; `check_seconds` grows by what that took.
Result<Compilation> compile_variant(const CompileCommand& options, double& check_seconds) {
  TRY(const LoadedModel model, load_model(options.file, options));
  TRY(Compilation compiled, compile_model(model, options.file, options, options.choices));
  TRY(compiled.artifact.variants[0].bindings, options.bound_dims());
  if (!options.no_check && kernel::runs_here(*kernel::parse_target(options.choices.target))) {
    const auto start = Clock::now();
    auto result = check(model.graph, compiled.artifact, options);
    if (!result.ok()) return std::move(result).error().within(options.file);
    if (!result->passed()) return Error{ErrorKind::kMismatch, options.file, result->difference->text()};
    const double seconds = seconds_since(start);
    check_seconds += seconds;
    note(options, "check: largest difference {:.3g}, {:.2g} of what rounding allows, {:.1f} s", result->max_abs_error,
         result->max_error_over_bound, seconds);
  }
  return compiled;
}

Result<void> run(const CompileCommand& options) {
  const auto start = Clock::now();
  runtime::Artifact artifact;
  size_t tasks = 0;
  double check_seconds = 0;
  for (const auto& dims : each_binding(options.dims)) {
    CompileCommand one = options;
    one.dims = dims;
    TRY(Compilation compiled, compile_variant(one, check_seconds));
    tasks += compiled.tasks.size();
    if (artifact.variants.empty()) {
      artifact = std::move(compiled.artifact);
    } else {
      merge(artifact, std::move(compiled.artifact));
    }
  }
  TRY_VOID(runtime::write_artifact(artifact, options.output));
  int64_t arena = 0;
  for (const runtime::Variant& variant : artifact.variants) arena = std::max(arena, variant.arena_bytes);
  note(options, "{}: {} tasks, {} kernels, arena {:.1f} MB, code {:.1f} KB, {:.1f} s without the check",
       printable(options.output), tasks, artifact.kernels.size(), static_cast<double>(arena) / 1e6,
       static_cast<double>(artifact.code.size()) / 1e3, seconds_since(start) - check_seconds);
  return {};
}

}  // namespace

void add_compile(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "Optimize a model and build the artifact that runs it");
  command->add_option("IN", options->file, "The model")->required();
  command->add_option("-o,--output", options->output, "The artifact to write")->required();
  command->add_flag("--no-check", options->no_check, "Write the artifact unchecked");
  options->choices.add_to(*command);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
