// Kernels as x86-64 machine code, one part each, without buffers.
#pragma once

#include <initializer_list>

#include "measure/clock_job.h"

namespace isomer::test {

inline ClockJob job_with(std::initializer_list<int> code) {
  ClockJob job;
  job.parts = {runtime::Part()};
  for (const int byte : code) job.code.push_back(static_cast<std::byte>(byte));
  return job;
}

/// mov ecx, count; dec ecx; jnz -4; xor eax, eax; ret
inline ClockJob counts_down(int count) {
  return job_with(
      {0xB9, count & 0xff, count >> 8 & 0xff, count >> 16 & 0xff, 0, 0xFF, 0xC9, 0x75, 0xFC, 0x31, 0xC0, 0xC3});
}

}  // namespace isomer::test
