// Memory that this process holds.
#pragma once

#include <cstdint>

namespace isomer {

/// Bytes, at most so far.
int64_t peak_resident_bytes();

}  // namespace isomer
