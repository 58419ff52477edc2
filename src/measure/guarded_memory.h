// Memory for what a kernel is given, each buffer between pages that nobody may touch: what a kernel does beyond the
// ends of its buffers is found. Test: tests/measure/guards_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace isomer {

/// Which end of the buffers lies at a page that can't be touched. The kernels' alignment may leave some bytes behind
/// the other end, or this one: they hold poison, which nobody writes.
enum class Flush : uint8_t { kBehind, kInFront };

/// Beyond an end of a buffer.
struct Trespass {
  size_t buffer = 0;
  bool is_behind = false;
};

class GuardedMemory {
 public:
  /// Of pages around each buffer: as far beyond its end the buffer is still told.
  static constexpr int64_t kGuard = int64_t{1} << 20;

  /// Buffers of these sizes, aligned as the runtime aligns them, with poison in and around them. Nothing where the
  /// machine has not so much memory.
  static std::optional<GuardedMemory> allocate(std::span<const int64_t> bytes, Flush flush, std::byte poison);
  GuardedMemory(GuardedMemory&& other) noexcept;
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory();

  std::span<std::byte> buffer(size_t number) const { return places_[number].buffer; }
  /// Where bytes around a buffer are no longer poison.
  std::optional<Trespass> written() const;
  /// Whose page that can't be touched this is; nothing of other addresses.
  std::optional<Trespass> touched(const void* address) const;

 private:
  struct Place {
    std::span<std::byte> pages;  ///< all that can be touched, the buffer and the poison
    std::span<std::byte> buffer;
  };
  GuardedMemory() = default;

  std::byte* start_ = nullptr;
  int64_t total_ = 0;
  std::byte poison_ = {};
  std::vector<Place> places_;
};

/// While it lives, a touch of a page between this memory's buffers calls `tell` in the thread that touched it, in place
/// of a crash; it does not return. Other crashes are crashes. One at a time in a process.
class GuardWatch {
 public:
  using Tell = void (*)(const Trespass&);
  GuardWatch(const GuardedMemory& memory, Tell tell);
  ~GuardWatch();
  GuardWatch(const GuardWatch&) = delete;
  GuardWatch& operator=(const GuardWatch&) = delete;
};

}  // namespace isomer
