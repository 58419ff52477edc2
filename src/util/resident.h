// Memory that this process holds.
#pragma once

#include <cstdint>

namespace isomer {

/// Bytes, now.
int64_t resident_bytes();
/// At most so far.
int64_t peak_resident_bytes();
/// Bytes of addresses, now, whether there is memory behind them or not.
int64_t mapped_bytes();

}  // namespace isomer
