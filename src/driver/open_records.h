// Where measured times are kept (kernel/records.h).
#pragma once

#include <string>

#include "kernel/records.h"

namespace isomer {

/// In the file; none given: isomer/records.sqlite in the user's cache, or, where there can be none, in memory.
Result<kernel::Records> open_records(const std::string& file);

}  // namespace isomer
