// Memory of threads (scopes cache and registers) in launches: which of its elements a thread uses. In its order of time
// a nest has one copy, in which the iterations of loops over threads have their elements, be it in several such loops
// after each other (what a thread has computed of a row stays with it until it needs it again). As a launch, each
// thread has a copy of its own elements. Tests: tests/kernel/launch_test.cpp
#pragma once

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// Whether nobody uses what another thread has: along each axis of threads, all that uses a buffer stands in one loop;
/// or nothing that writes it stands in any, so that all threads have the same (a reduction between lanes gives all of
/// them its result); or each thread has elements apart, the same in every use.
Result<void> check_own_memory(const Kernel& kernel, const Statement& root);

/// The kernel with buffers that threads have elements apart in as large as a thread's part. Of one that
/// `check_launches` accepts; a launch alone means the same then, no loop nest does.
Kernel with_own_memory(const Kernel& kernel);

}  // namespace isomer::kernel
