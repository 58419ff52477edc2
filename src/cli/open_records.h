// The file of tuning records that commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "kernel/records.h"

namespace isomer::cli {

/// Adds --records FILE.
void add_records_option(CLI::App& app, std::string& file);

/// The file, or where none is given the user's, which no command fails for. Errors as Records::open.
Result<kernel::Records> open_records(const std::string& file);

}  // namespace isomer::cli
