// What the machine code of kernels can't do: it makes no system calls. Test: tests/measure/worker_test.cpp
#pragma once

namespace isomer {

/// From now on a system call of this process is a crash (SIGSYS) where its instruction is in none of the program and
/// the libraries that are loaded now: no kernel takes memory, writes to a file or starts a process. False: the system
/// can't forbid it.
bool forbid_system_calls_of_new_code();

}  // namespace isomer
