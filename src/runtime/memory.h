// Memory as the runtime needs it: aligned to cache lines, and pages that hold code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "util/result.h"

namespace isomer::runtime {

/// Aligned to 64 bytes, to a large page from 2 MB on. Test: tests/runtime/memory_test.cpp
class Memory {
 public:
  Memory() = default;
  /// Zeros, from 2 MB on pages that take memory when they are first written; nothing where the machine has not so much.
  /// 0 bytes give a pointer too.
  static std::optional<Memory> allocate(int64_t bytes);
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Memory();

  std::byte* data() const { return data_; }
  /// At least what was asked for.
  int64_t bytes() const { return bytes_; }

 private:
  /// By its size, rounded up to what it is aligned to.
  bool is_mapped() const;

  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

/// A copy of machine code, readable and executable, not writable.
class ExecutableMemory {
 public:
  static Result<ExecutableMemory> copy_of(std::span<const std::byte> code);
  ExecutableMemory(ExecutableMemory&& other) noexcept : code_(std::exchange(other.code_, {})) {}
  ExecutableMemory& operator=(ExecutableMemory&&) = delete;
  ~ExecutableMemory();
  std::span<const std::byte> bytes() const { return code_; }

 private:
  ExecutableMemory() = default;
  std::span<const std::byte> code_;
};

}  // namespace isomer::runtime
