// What `inspect` shows of records: a database of theirs, or lines as `records export` writes them.
#pragma once

#include "cli/options.h"

namespace isomer::cli {

/// Errors carry the file's name.
Result<void> inspect_records(const std::string& file, const CommonOptions& options);
Result<void> inspect_record_lines(const std::string& file, const CommonOptions& options);

}  // namespace isomer::cli
