// What a command's options say to the work that it asks for.
#pragma once

#include "cli/options.h"
#include "cli/progress.h"
#include "driver/settings.h"

namespace isomer::cli {

/// With notes on standard error.
Result<Settings> settings_of(const CommonOptions& options);
/// With a line that tells what is being done, and outlives them.
Result<Settings> settings_of(const CommonOptions& options, ProgressLine& progress);

}  // namespace isomer::cli
