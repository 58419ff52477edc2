// Where the threads of a block have to wait for each other: derived from what statements read and write, never
// scheduled, so that no trace can forget it. Tests: tests/kernel/launch_test.cpp
#pragma once

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

/// The kernel as code generators take it, `Schedule::finish`ed, with barriers: between statements of a launch that use
/// one buffer that several threads see, of which one writes it, on every way from one to the other, those around loops
/// included. They stand where all threads come; the error says where that can't be. Of `check_launches` as well.
Result<Kernel> with_barriers(const Kernel& kernel);

}  // namespace isomer::kernel
