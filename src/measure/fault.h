// What was wrong with a kernel that was measured: a result, not an error. Test: tests/measure/worker_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace isomer {

enum class Fault : uint8_t {
  kNone,
  kCode,        ///< no code is generated for it, or not in time
  kCrash,       ///< it does not come to its end
  kLate,        ///< it takes too long
  kValue,       ///< it computes something else, or not the same twice, or leaves something out
  kBounds,      ///< it reads or writes beyond the ends of its buffers, or writes what it may only read
  kImpossible,  ///< it takes less time than the machine can
};
inline constexpr size_t kFaults = 7;
std::string_view name(Fault fault);

/// A kernel's time, or what was wrong with it.
struct Measured {
  Fault fault = Fault::kNone;
  std::string why;  ///< of a fault: what was expected, what was found
  double microseconds =
      0;  ///< where there is none: of one of the faster runs, the others suffered from what else the machine does
  int64_t runs = 0;
};

}  // namespace isomer
