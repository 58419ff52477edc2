// How many threads this process may use.
#pragma once

namespace isomer {

/// The CPUs that affinity leaves to this process, reduced to its cgroup's quota (rounded up); at least 1.
int available_threads();

}  // namespace isomer
