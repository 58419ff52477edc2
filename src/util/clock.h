// Time that has passed.
#pragma once

#include <chrono>
#include <cstdint>

namespace isomer {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// How often threads of this process had to give way to others so far: a time in which that happened says little.
int64_t interruptions();

}  // namespace isomer
