// What `--help` shows of how each command is called. Tests run every line: tests/cli/examples_test.cpp
#pragma once

#include <CLI/CLI.hpp>

namespace isomer::cli {

/// Gives every command that there is its examples, and orders the commands by what people come for. After all have been
/// added.
void add_examples(CLI::App& app);

}  // namespace isomer::cli
