// Times that are too short to be true: of a clock that was wrong, or of code that left out its work where nobody
// looked. Test: tests/tune/possible_test.cpp
#pragma once

#include <string>

#include "kernel/loop_nest.h"
#include "kernel/records.h"
#include "tune/roofline.h"

namespace isomer::tune {

/// Each of the peaks as the greatest that was ever measured for a target, kept in the records: other load on the
/// machine makes them too low, and nothing makes them too high. Errors: those of the records.
Result<Peaks> greatest_peaks(kernel::Records& records, const std::string& target, const Peaks& now);
/// The same, measured here and now unless that was done often enough, which the records know.
Result<Peaks> peaks_of_target(kernel::Records& records, const std::string& target, int threads);

/// Times as fast as peaks allow.
inline constexpr double kImpossiblyFast = 4;

/// Microseconds that a kernel, as it was lowered, can't take less than: a fourth of what the peaks allow the work that
/// no schedule leaves out. That is: results are written; elements are read, and terms summed up, that some result needs
/// whatever the data are. What is read or summed under a condition does not count, nor do sums of types that have
/// instructions of their own (less than 32 bits). What the last level of cache may hold comes as fast as from the
/// second, and weights in memory as fast as they are read there.
double possible_us(const kernel::Kernel& kernel, const Peaks& peaks, Weights where);

}  // namespace isomer::tune
