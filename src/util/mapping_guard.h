// What keeps a mapped file that another process truncates from killing us: the pages that are gone become zeros.
#pragma once

#include <cstddef>

namespace isomer {

/// From now on a fault for want of file behind [start, start + size) is mended. The first call installs a handler of
/// SIGBUS; faults elsewhere go on to the handler that was there before.
void guard_mapping(void* start, size_t size);

/// Before the mapping is undone.
void release_mapping(void* start);

}  // namespace isomer
