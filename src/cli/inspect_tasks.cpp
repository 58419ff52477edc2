#include "cli/inspect_tasks.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "kernel/codegen_cuda.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

std::string describe(const kernel::Buffer& buffer) {
  std::vector<std::string> dims;
  for (const Dim& dim : buffer.shape) dims.push_back(dim.text());
  return fmt::format("{}[{}]", isomer::name(buffer.dtype), fmt::join(dims, ","));
}

/// Types of the buffers that the kernel gets or gives: inputs in their layouts, then outputs.
std::vector<std::string> types(const kernel::Kernel& kernel, const std::vector<int>& buffers) {
  std::vector<std::string> list;
  for (const int buffer : buffers)
    if (buffer >= 0) list.push_back(describe(kernel.buffers[buffer]));
  return list;
}

json row(const CompiledTask& task, size_t number) {
  const bool is_view = task.view_of >= 0;
  const bool has_kernel = !is_view && !task.task.runs_bodies;
  return {{"task", number},
          {"name", task.name},
          {"view", is_view},
          {"depth", task.depth},
          {"inputs", has_kernel ? types(task.kernel, task.kernel.inputs) : std::vector<std::string>()},
          {"outputs", has_kernel ? types(task.kernel, task.kernel.outputs) : std::vector<std::string>()},
          {"kernel", has_kernel ? json(structural_hash(task.kernel).hex()) : json(nullptr)},
          {"gflop", static_cast<double>(task.flops) / 1e9}};
}

Result<void> print_code(const CompiledTask& task, size_t number, const kernel::CpuTarget& target,
                        const TaskView& view) {
  if (view.trace) fmt::print("{}\n", print(task.trace));
  if (view.choices_of_trace)
    for (const kernel::Builder::Made& made : task.choices)
      fmt::print("{} := {}  # {}\n", made.choice.name, made.value, fmt::join(made.choice.candidates, ", "));
  if (view.nest) fmt::print("{}\n", print(task.kernel));
  if (view.llvm) {
    TRY(const std::string text, kernel::emit_ir(task.kernel, target));
    fmt::print("{}\n", text);
  }
  if (view.assembly) {
    TRY(const std::string text, kernel::emit_assembly(task.kernel, target));
    fmt::print("{}\n", text);
  }
  if (view.cuda) {
    TRY(const kernel::CudaKernel code, kernel::emit_cuda(task.kernel, fmt::format("task{}_", number)));
    fmt::print("{}\n", code.text);
  }
  return {};
}

}  // namespace

void TaskView::add_to(CLI::App& app) {
  app.add_flag("--tasks", tasks, "The tasks that the model becomes");
  app.add_option("--task", task, "Only this one, by its number or name");
  app.add_flag("--trace", trace, "The schedule of each task: primitives and decisions");
  app.add_flag("--choices", choices_of_trace, "What was decided for it, and the candidates that there were");
  app.add_flag("--nest", nest, "Its loop nest");
  app.add_flag("--llvm", llvm, "Its LLVM IR before optimization");
  app.add_flag("--assembly", assembly, "Its machine code as text");
  app.add_flag("--cuda", cuda, "Its CUDA C++, scheduled for a GPU");
  choices.add_to(app);
}

Result<void> inspect_tasks(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                           const TaskView& view) {
  CompileChoices choices = view.choices;
  choices.for_gpu = view.cuda;
  TRY(const Compilation compiled, compile_model(model, file, options, choices));
  std::vector<std::string> names;
  for (const CompiledTask& task : compiled.tasks) names.push_back(task.name);
  size_t first = 0, end = names.size();
  if (!view.task.empty()) {
    auto only = find_task(view.task, names);
    if (!only.ok()) return std::move(only).error().within("--task");
    first = *only;
    end = first + 1;
  }
  TRY(const kernel::Target target, view.choices.parsed_target());
  // Nests for a GPU are plain loops to LLVM.
  const auto* const named = std::get_if<kernel::CpuTarget>(&target);
  const kernel::CpuTarget cpu = named ? *named : kernel::host_target();
  json rows = json::array();
  if (view.cuda && !options.json) fmt::print("{}\n", kernel::cuda_prelude());
  for (size_t number = first; number < end; ++number) {
    const CompiledTask& task = compiled.tasks[number];
    json facts = row(task, number);
    if (view.trace) facts["trace"] = print(task.trace);
    if (view.choices_of_trace)
      for (const kernel::Builder::Made& made : task.choices)
        facts["choices"][made.choice.name] = {{"value", made.value}, {"candidates", made.choice.candidates}};
    rows.push_back(facts);
    if (options.json) continue;
    // A comment above code, so that what --trace prints is a trace.
    fmt::print("{}{:4}  {:{}}{}{}: {} -> {}\n",
               view.cuda     ? "// "
               : view.code() ? "# "
                             : "",
               number, "", 2 * task.depth, printable(task.name),
               task.view_of >= 0       ? " (a view)"
               : task.task.runs_bodies ? " (of those below)"
                                       : "",
               fmt::join(facts["inputs"].get<std::vector<std::string>>(), " "),
               fmt::join(facts["outputs"].get<std::vector<std::string>>(), " "));
    if (task.view_of < 0 && !task.task.runs_bodies) TRY_VOID(print_code(task, number, cpu, view));
  }
  if (options.json) fmt::print("{}\n", json_text({{"tasks", rows}}));
  return {};
}

}  // namespace isomer::cli
