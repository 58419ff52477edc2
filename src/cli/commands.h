// The sub-commands. Each adds itself to the application; its callback sets the exit code.
#pragma once

#include "cli/options.h"

namespace isomer::cli {

void add_optimize(CLI::App& app, int& exit);
void add_compile(CLI::App& app, int& exit);
void add_tune(CLI::App& app, int& exit);
void add_run(CLI::App& app, int& exit);
void add_bench(CLI::App& app, int& exit);
void add_compare(CLI::App& app, int& exit);
void add_diff(CLI::App& app, int& exit);
void add_inspect(CLI::App& app, int& exit);
void add_library(CLI::App& app, int& exit);
/// The commands under `library` that are about rules.
void add_rule_commands(CLI::App& library, int& exit);
/// Those about equations that users state.
void add_equation_commands(CLI::App& library, int& exit);
void add_match_command(CLI::App& library, int& exit);
void add_verify(CLI::App& app, int& exit);
void add_records(CLI::App& app, int& exit);
void add_env(CLI::App& app, int& exit);
/// Of all commands that are there.
void add_completion(CLI::App& app);

}  // namespace isomer::cli
