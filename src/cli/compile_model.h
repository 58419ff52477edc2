// From a loaded model to code, for commands: optimized, fused into tasks, scheduled, compiled.
#pragma once

#include "cli/search_choices.h"
#include "search/compile.h"

namespace isomer::cli {

struct CompileChoices {
  std::string target = "cpu";
  int level = 2;
  std::vector<std::string> without;    ///< parts to leave out
  std::vector<std::string> schedules;  ///< TASK=FILE
  SearchChoices search;                ///< from level 3 on

  void add_to(CLI::App& app);
  /// --schedule alone.
  void add_schedules_to(CLI::App& app);
};

/// Errors carry the file's name; kUsage: the target.
Result<Compilation> compile_model(const LoadedModel& model, const std::string& file, const CommonOptions& options,
                                  const CompileChoices& choices);

}  // namespace isomer::cli
