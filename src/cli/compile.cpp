// isomer compile: a model into an artifact for a machine, checked against the interpreter.
#include <fmt/ranges.h>

#include <chrono>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "cli/model_inputs.h"
#include "cli/version.h"
#include "graph/bind.h"
#include "graph/onnx/versions.h"
#include "graph/passes/pipeline.h"
#include "runtime/artifact_file.h"
#include "runtime/session.h"
#include "search/compile.h"
#include "search/run_artifact.h"
#include "verify/equivalence.h"

namespace isomer::cli {
namespace {

struct CompileCommand : CommonOptions {
  std::string file;
  std::string output;
  std::string target = "cpu";
  int level = 2;
  bool no_check = false;
  bool no_fusion = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The artifact against the interpreter on the model as it was read.
Result<Equivalence> check(const Graph& model, const runtime::Artifact& artifact, const CompileCommand& options) {
  TRY(auto loaded, runtime::Model::load(artifact));
  runtime::SessionOptions session_options;
  session_options.threads = options.thread_count();
  TRY(const auto session, runtime::Session::create(loaded, session_options));
  FillOptions fill;
  fill.seed = options.seed;
  TRY(const std::vector<Tensor> tensors, generate_inputs(model, fill));
  std::vector<te::Array> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(te::Array::from(tensor));
  const auto run = [&](std::span<const te::Array> given) { return run_artifact(*session, given); };
  return compare_with(model, run, {inputs}, options.thread_count());
}

Result<void> compile_model(const CompileCommand& options) {
  auto start = std::chrono::steady_clock::now();
  TRY(const LoadedModel model, load_model(options.file, options));
  auto target = kernel::parse_target(options.target);
  if (!target.ok()) {
    Error error = std::move(target).error().within("--target");
    error.kind = ErrorKind::kUsage;
    return error;
  }
  const auto in_file = [&](Error error) { return std::move(error).within(options.file); };

  if (const auto unbound = free_dims(model.graph); !unbound.empty())
    return in_file(unsupported("inputs", "concrete dims expected, {} found; bind them with --dim {}=SIZE", fmt::join(unbound, ", "), unbound.front()));

  Graph graph = model.graph;
  // Composites of every opset have their row: what the file's opset would not let a file say, a kernel may be.
  graph.edit_info().opsets[""] = kNewestRowOpset;
  auto report = optimize(graph, {.level = options.level, .threads = options.thread_count()});
  if (!report.ok()) return in_file(std::move(report).error());

  CompileOptions compile_options;
  compile_options.target = *target;
  compile_options.threads = options.thread_count();
  compile_options.seed = options.seed;
  compile_options.fuse.enabled = !options.no_fusion;
  auto compiled = compile(graph, compile_options);
  if (!compiled.ok()) return in_file(std::move(compiled).error());
  compiled->artifact.provenance.producer = version_text();
  const double seconds = seconds_since(start);

  if (!options.no_check && kernel::runs_here(*target)) {
    start = std::chrono::steady_clock::now();
    auto result = check(model.graph, compiled->artifact, options);
    if (!result.ok()) return in_file(std::move(result).error());
    if (!result->passed()) return Error{ErrorKind::kMismatch, options.file, result->difference->text()};
    note(options, "check: largest difference {:.3g}, {:.2g} of what rounding allows, {:.1f} s", result->max_abs_error, result->max_error_over_bound,
         seconds_since(start));
  }
  TRY_VOID(runtime::write_artifact(compiled->artifact, options.output));
  note(options, "{}: {} tasks, {} kernels, arena {:.1f} MB, code {:.1f} KB, {:.1f} s without the check", printable(options.output), compiled->tasks.size(),
       compiled->artifact.kernels.size(), static_cast<double>(compiled->artifact.variants[0].arena_bytes) / 1e6,
       static_cast<double>(compiled->artifact.code.size()) / 1e3, seconds);
  return {};
}

}  // namespace

void add_compile(CLI::App& app, int& exit) {
  auto options = std::make_shared<CompileCommand>();
  CLI::App* command = app.add_subcommand("compile", "Optimize a model and build the artifact that runs it");
  command->add_option("IN", options->file, "The model")->required();
  command->add_option("-o,--output", options->output, "The artifact to write")->required();
  command->add_option("--target", options->target, "cpu, or cpu=NAME as LLVM calls it")->capture_default_str();
  command->add_option("--level", options->level, "Of optimization")->check(CLI::Range(0, 3))->capture_default_str();
  command->add_flag("--no-check", options->no_check, "Write the artifact unchecked");
  command->add_flag("--no-fusion", options->no_fusion, "Every node a task of its own, to see what fusion gives");
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = compile_model(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
