// What this process may take from now on, where code runs in it that nobody trusts: beyond it the system refuses, or
// ends the process. Test: tests/util/worker_process_test.cpp
#pragma once

#include <cstdint>

namespace isomer {

/// So many bytes of addresses more than it has now. Does nothing in builds with sanitizers, which map more than they
/// use.
void limit_growth(int64_t bytes);

/// So many seconds of all its threads together, rounded up: SIGXCPU then. Unlike time on the wall they don't depend on
/// what else the machine does.
void limit_cpu(double more_seconds);

}  // namespace isomer
