// Kernels as x86-64 machine code, one part each.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "measure/clock_job.h"
#include "measure/fault.h"
#include "measure/system_calls.h"
#include "util/child_process.h"

namespace isomer::test {

using Bytes = std::vector<int>;

inline Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
inline Bytes word(int64_t value) {
  Bytes bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<int>(value >> shift & 0xff));
  return bytes;
}
inline std::vector<std::byte> image(const Bytes& code) {
  std::vector<std::byte> bytes;
  for (const int byte : code) bytes.push_back(static_cast<std::byte>(byte));
  return bytes;
}

/// Without buffers.
inline ClockJob job_with(const Bytes& code) {
  ClockJob job;
  job.parts = {runtime::Part()};
  job.code = image(code);
  return job;
}

inline const Bytes kReturn = {0x31, 0xC0, 0xC3};  // xor eax, eax; ret

/// mov ecx, count; dec ecx; jnz -4
inline ClockJob counts_down(int count) {
  return job_with(Bytes{0xB9} + word(count) + Bytes{0xFF, 0xC9, 0x75, 0xFC} + kReturn);
}

/// Copies all elements of one buffer to another but the last `left` bytes; at the end rsi and rdi stand behind the last
/// bytes that were copied.
inline Bytes copy_code(int input, int output, int64_t bytes, int64_t left = 0) {
  return Bytes{0x48, 0x8B, 0x07,              // mov rax, [rdi]: the frame's buffers
               0x48, 0x8B, 0x70, 8 * input,   // mov rsi, [rax + 8*input]
               0x48, 0x8B, 0x78, 8 * output,  // mov rdi, [rax + 8*output]
               0xB9} +
         word(bytes - left) + Bytes{0xF3, 0xA4};  // mov ecx, count; rep movsb
}

inline Bytes store_at_input(int64_t offset) { return Bytes{0xC7, 0x86} + word(offset) + word(0x40404040); }
inline Bytes store_at_output(int64_t offset) { return Bytes{0xC7, 0x87} + word(offset) + word(0x40404040); }
inline Bytes load_from_input(int64_t offset) { return Bytes{0x8B, 0x86} + word(offset); }  // to eax
inline Bytes store_loaded(int64_t offset) { return Bytes{0x89, 0x87} + word(offset); }     // eax, at the output
inline Bytes system_call(int number, int argument) {                                       // of one argument
  return Bytes{0xB8} + word(number) + Bytes{0xBF} + word(argument) + Bytes{0x0F, 0x05};
}

/// Something wrong with a kernel that copies floats, in number a multiple of 16.
struct Plant {
  std::string name;
  Fault fault;
  Bytes code;                     ///< behind the copy
  int64_t left = 0;               ///< bytes that are not copied
  bool needs_forbidding = false;  ///< it is found where the system forbids kernels to ask it for anything
};

/// Some containers and emulators don't let it.
inline bool system_forbids() {
  auto process = ChildProcess::fork([] { _exit(forbid_system_calls_of_new_code() ? 0 : 1); });
  CHECK(process.ok()) << process.error().message();
  for (;;) {
    if (const auto status = process->status()) return *status == 0;
    poll(nullptr, 0, 1);
  }
}

/// Of a copy of so many bytes.
inline std::vector<Plant> plants(int64_t bytes) {
  const Bytes again_and_again = {0x50, 0xEB, 0xFD};  // push rax
  // mmap(0, 1 GB, read and write, private and anonymous), a million times
  const Bytes take_all =
      Bytes{0xBB} + word(1'000'000) + Bytes{0x31, 0xFF, 0xBE} + word(int64_t{1} << 30) +
      Bytes{0xBA, 3,    0,    0,    0,    0x41, 0xBA, 0x22, 0, 0, 0,    0x49, 0xC7, 0xC0, 0xFF, 0xFF,
            0xFF, 0xFF, 0x45, 0x31, 0xC9, 0xB8, 9,    0,    0, 0, 0x0F, 0x05, 0xFF, 0xCB, 0x75, 0xD9};
  // write(0, rsp, 64): what lies on the stack in place of an answer
  const Bytes rubbish = {0xB8, 1, 0, 0, 0, 0x31, 0xFF, 0x48, 0x89, 0xE6, 0xBA, 64, 0, 0, 0, 0x0F, 0x05};
  return {
      {"hang", Fault::kLate, {0xEB, 0xFE}},
      {"reads nowhere", Fault::kCrash, {0x31, 0xC0, 0x8B, 0x00}},
      {"illegal instruction", Fault::kCrash, {0x0F, 0x0B}},
      {"division by zero", Fault::kCrash, {0x31, 0xC9, 0x31, 0xC0, 0x99, 0xF7, 0xF1}},
      {"breakpoint", Fault::kCrash, {0xCC}},
      {"overflows its stack", Fault::kCrash, again_and_again},
      {"exits", Fault::kCrash, system_call(231, 0)},
      {"forks", Fault::kCrash, system_call(57, 0), 0, true},
      {"closes its pipe", Fault::kCrash, system_call(3, 0)},
      {"takes all memory", Fault::kCrash, take_all, 0, true},
      {"rubbish into the pipe", Fault::kCrash, rubbish},
      {"reads behind its input", Fault::kBounds, load_from_input(0)},
      {"reads in front of its input", Fault::kBounds, load_from_input(-bytes - 4)},
      {"writes behind its output", Fault::kBounds, store_at_output(0)},
      {"writes in front of its output", Fault::kBounds, store_at_output(-bytes - 4)},
      {"writes far behind its output", Fault::kBounds, store_at_output(300'000)},
      {"writes its input", Fault::kBounds, store_at_input(-4)},
      {"one wrong element", Fault::kValue, store_at_output(-8)},
      {"another element each time", Fault::kValue, Bytes{0x0F, 0x31} + store_loaded(-4)},  // rdtsc
      {"leaves one element", Fault::kValue, {}, 4},
  };
}

/// float32 of a value to one that is written.
inline ClockJob copies(int64_t bytes, const Bytes& more = {}, int64_t left = 0) {
  ClockJob job = job_with(copy_code(0, 1, bytes, left) + more + kReturn);
  const auto buffer = [&](ClockJob::Use use) { return ClockJob::Buffer{use, DataType::kFloat32, bytes, {}, 1}; };
  job.buffers = {buffer(ClockJob::Use::kValue), buffer(ClockJob::Use::kWritten)};
  job.outputs = {1};
  return job;
}

}  // namespace isomer::test
