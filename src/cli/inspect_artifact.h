// What `inspect` shows of an artifact.
#pragma once

#include "cli/options.h"

namespace isomer::cli {

/// `verify`: hash its weights too. Errors carry the file's name.
Result<void> inspect_artifact(const std::string& file, const CommonOptions& options, bool verify);

}  // namespace isomer::cli
