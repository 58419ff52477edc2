// What `inspect` shows of a model on its way to code: its tasks, and of a task the schedule, loop nest, IR and
// assembly.
#pragma once

#include "cli/options.h"
#include "driver/code_of_model.h"

namespace isomer::cli {

struct TaskView {
  bool tasks = false;
  std::string task;  ///< the number or name of one; empty: all
  bool trace = false, choices_of_trace = false, nest = false, llvm = false, assembly = false, cuda = false;
  CompileChoices choices;
  std::vector<CLI::Option*> views, how;  ///< what is shown, and how the code is made: which says nothing without

  void add_to(CLI::App& app);
  bool code() const { return trace || choices_of_trace || nest || llvm || assembly || cuda; }
  bool wanted() const { return tasks || !task.empty() || code(); }
};

/// Errors carry the file's name.
Result<void> inspect_tasks(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                           const TaskView& view);

}  // namespace isomer::cli
