// Options of searches and of compilation.
#pragma once

#include "cli/options.h"
#include "driver/code_of_model.h"

namespace isomer::cli {

void add_search_options(CLI::App& app, SearchChoices& choices);
/// --for: of models that others run.
void add_backend_options(CLI::App& app, SearchChoices& choices);
void add_records_option(CLI::App& app, std::string& file);
/// --duration in seconds, of what is measured.
CLI::Option* add_duration_option(CLI::App& app, double& seconds, const std::string& description);
/// --time of the whole command.
CLI::Option* add_time_option(CLI::App& app, std::optional<double>& seconds, const std::string& description);

/// --target, --tf32.
void add_target_options(CLI::App& app, CompileChoices& choices);
/// With those of the target and of the search.
void add_compile_options(CLI::App& app, CompileChoices& choices);
/// --graphs.
void add_graphs_option(CLI::App& app, CompileChoices& choices);
/// --schedule alone.
void add_schedules_option(CLI::App& app, CompileChoices& choices);

}  // namespace isomer::cli
