#include "measure/guarded_memory.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "runtime/artifact.h"
#include "util/check.h"

namespace isomer {
namespace {

int64_t rounded_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Whole pages of a buffer of so many bytes, with something left for poison.
int64_t page_bytes(int64_t bytes) { return rounded_up(bytes + 1, sysconf(_SC_PAGESIZE)); }

/// Read by the signal handler.
const GuardedMemory* watched = nullptr;
GuardWatch::Tell tell_of_touch = nullptr;
struct sigaction previous;

void find_out(int signal, siginfo_t* info, void*) {
  if (const auto trespass = watched->touched(info->si_addr)) {
    static std::atomic_flag is_told;
    while (is_told.test_and_set()) pause();  // another thread of the kernel's did the same
    tell_of_touch(*trespass);
  }
  sigaction(signal, &previous, nullptr);  // the crash happens again, now without us
}

}  // namespace

std::optional<GuardedMemory> GuardedMemory::allocate(std::span<const int64_t> bytes, Flush flush, std::byte poison) {
  GuardedMemory memory;
  memory.poison_ = poison;
  memory.total_ = kGuard;
  for (const int64_t each : bytes) memory.total_ += page_bytes(each) + kGuard;
  void* const start =
      mmap(nullptr, static_cast<size_t>(memory.total_), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return std::nullopt;
  memory.start_ = static_cast<std::byte*>(start);
  std::byte* at = memory.start_ + kGuard;
  for (const int64_t each : bytes) {
    const auto size = static_cast<size_t>(page_bytes(each));
    if (mprotect(at, size, PROT_READ | PROT_WRITE) != 0) return std::nullopt;
    std::memset(at, static_cast<int>(poison), size);
    std::byte* const end = at + size;
    memory.places_.push_back(
        {{at, end},
         {flush == Flush::kInFront ? at : end - rounded_up(each, runtime::kAlignment), static_cast<size_t>(each)}});
    at = end + kGuard;
  }
  return memory;
}

GuardedMemory::GuardedMemory(GuardedMemory&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      total_(other.total_),
      poison_(other.poison_),
      places_(std::move(other.places_)) {}

GuardedMemory::~GuardedMemory() {
  if (start_ != nullptr) munmap(start_, static_cast<size_t>(total_));
}

std::optional<Trespass> GuardedMemory::written() const {
  const auto is_poison = [&](const std::byte* begin, const std::byte* end) {
    return std::all_of(begin, end, [&](std::byte byte) { return byte == poison_; });
  };
  for (size_t number = 0; number < places_.size(); ++number) {
    const auto& [all, inside] = places_[number];
    if (!is_poison(all.data(), inside.data())) return Trespass{number, false};
    if (!is_poison(inside.data() + inside.size(), all.data() + all.size())) return Trespass{number, true};
  }
  return std::nullopt;
}

std::optional<Trespass> GuardedMemory::touched(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  if (at < start_ || at >= start_ + total_) return std::nullopt;
  // Of the pages between two buffers each has the half that is next to it.
  for (size_t number = 0; number < places_.size(); ++number) {
    const std::span<std::byte> all = places_[number].pages;
    if (at < all.data()) return Trespass{number, false};
    if (at < all.data() + all.size() + (number + 1 < places_.size() ? kGuard / 2 : kGuard))
      return Trespass{number, true};
  }
  return std::nullopt;
}

GuardWatch::GuardWatch(const GuardedMemory& memory, Tell tell) {
  CHECK(watched == nullptr);
  watched = &memory;
  tell_of_touch = tell;
  struct sigaction action = {};
  action.sa_sigaction = find_out;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous);
}

GuardWatch::~GuardWatch() {
  sigaction(SIGSEGV, &previous, nullptr);
  watched = nullptr;
}

}  // namespace isomer
