#include "cli/inspect_tasks.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/search_options.h"
#include "cli/settings.h"
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

/// `made`: nothing where the task has no kernel.
json row(const search::PlacedTask& placed, const kernel::ScheduledKernel* made, size_t number) {
  return {{"task", number},
          {"name", placed.task->name},
          {"view", placed.task->view_of >= 0},
          {"depth", placed.depth},
          {"inputs", made ? types(made->kernel, made->kernel.inputs) : std::vector<std::string>()},
          {"outputs", made ? types(made->kernel, made->kernel.outputs) : std::vector<std::string>()},
          {"kernel", made ? json(structural_hash(made->kernel).hex()) : json(nullptr)},
          {"gflop", made ? static_cast<double>(made->flops) / 1e9 : 0}};
}

/// The texts that are asked for, by what they are called in JSON, in the order in which they are printed.
Result<std::vector<std::pair<std::string, std::string>>> code_of(const kernel::ScheduledKernel& task, size_t number,
                                                                 const kernel::CpuTarget& target,
                                                                 const TaskView& view) {
  std::vector<std::pair<std::string, std::string>> texts;
  if (view.nest) texts.emplace_back("nest", print(task.kernel));
  if (view.llvm) {
    TRY(std::string text, kernel::emit_ir(task.kernel, target));
    texts.emplace_back("llvm", std::move(text));
  }
  if (view.assembly) {
    TRY(std::string text, kernel::emit_assembly(task.kernel, target));
    texts.emplace_back("assembly", std::move(text));
  }
  if (view.cuda) {
    TRY(kernel::CudaKernel code, kernel::emit_cuda(task.kernel, fmt::format("task{}_", number)));
    texts.emplace_back("cuda", std::move(code.text));
  }
  return texts;
}

Result<void> print_code(const kernel::ScheduledKernel& task, size_t number, const kernel::CpuTarget& target,
                        const TaskView& view) {
  if (view.trace) fmt::print("{}\n", print(task.trace));
  if (view.choices_of_trace)
    for (const kernel::Builder::Made& made : task.choices)
      fmt::print("{} := {}  # {}\n", made.choice.name, made.value, fmt::join(made.choice.candidates, ", "));
  TRY(const auto texts, code_of(task, number, target, view));
  for (const auto& [name, text] : texts) fmt::print("{}\n", text);
  return {};
}

}  // namespace

void TaskView::add_to(CLI::App& app) {
  views = {app.add_flag("--tasks", tasks, "The tasks that the model becomes"),
           app.add_option("--task", task, "Only this one, by its number or name"),
           app.add_flag("--trace", trace, "The schedule of each task: primitives and decisions"),
           app.add_flag("--choices", choices_of_trace, "What was decided for it, and the candidates that there were"),
           app.add_flag("--nest", nest, "Its loop nest"),
           app.add_flag("--llvm", llvm, "Its LLVM IR before optimization"),
           app.add_flag("--assembly", assembly, "Its machine code as text"),
           app.add_flag("--cuda", cuda, "Its CUDA C++, scheduled for a GPU")};
  const size_t before = app.get_options().size();
  add_compile_options(app, choices);
  const std::vector<CLI::Option*> all = app.get_options(nullptr);
  how.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
}

Result<void> inspect_tasks(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                           const TaskView& view) {
  CompileChoices choices = view.choices;
  choices.for_gpu = view.cuda;
  TRY(const Settings settings, settings_of(options));
  TRY(const search::Compilation compiled, code_of_model(model, file, settings, choices));
  std::vector<std::string> names;
  const std::vector<search::PlacedTask> all = all_tasks(compiled.whole);
  for (const search::PlacedTask& placed : all) names.push_back(placed.task->name);
  size_t first = 0, end = names.size();
  if (!view.task.empty()) {
    auto only = search::find_task(view.task, names);
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
    const search::GraphTask& task = *all[number].task;
    const kernel::ScheduledKernel* const made = task.kernel >= 0 ? &compiled.kernel_of(task) : nullptr;
    json facts = row(all[number], made, number);
    if (view.trace) facts["trace"] = made ? print(made->trace) : "";
    if (view.choices_of_trace && made)
      for (const auto& [choice, value] : made->choices)
        facts["choices"][choice.name] = {{"value", value}, {"candidates", choice.candidates}};
    if (options.json && made) {
      TRY(const auto texts, code_of(*made, number, cpu, view));
      for (const auto& [name, text] : texts) facts[name] = text;
    }
    rows.push_back(facts);
    if (options.json) continue;
    // A comment above code, so that what --trace prints is a trace.
    fmt::print("{}{:4}  {:{}}{}{}: {} -> {}\n",
               view.cuda     ? "// "
               : view.code() ? "# "
                             : "",
               number, "", 2 * all[number].depth, printable(task.name),
               task.view_of >= 0       ? " (a view)"
               : task.task.runs_bodies ? " (of those below)"
                                       : "",
               fmt::join(facts["inputs"].get<std::vector<std::string>>(), " "),
               fmt::join(facts["outputs"].get<std::vector<std::string>>(), " "));
    if (made) TRY_VOID(print_code(*made, number, cpu, view));
  }
  if (options.json) fmt::print("{}\n", json_text({{"tasks", rows}}));
  return {};
}

}  // namespace isomer::cli
