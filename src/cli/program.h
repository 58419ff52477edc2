// What every program of ours does around its commands: Ctrl-C, memory that there is not, errors in a sentence.
#pragma once

#include <functional>

#include "cli/options.h"

namespace isomer::cli {

/// Parses the arguments, the program's name first, and runs the command that they name. The exit code. `add_commands`
/// adds the commands there are; their callbacks set what it is given.
int run_program(int argc, const char* const* argv, const std::function<void(CLI::App& app, int& exit)>& add_commands);

}  // namespace isomer::cli
