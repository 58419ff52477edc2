// Memory that this process holds.
#pragma once

#include <cstdint>

namespace isomer {

/// Bytes, now.
int64_t resident_bytes();
/// At most so far.
int64_t peak_resident_bytes();

}  // namespace isomer
