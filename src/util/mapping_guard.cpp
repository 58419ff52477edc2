#include "util/mapping_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace isomer {
namespace {

/// Read by the signal handler, so no locks and no allocation. A mapping beyond the last slot goes unguarded.
struct Slot {
  std::atomic<uintptr_t> start{0};
  std::atomic<uintptr_t> size{0};
};
std::array<Slot, 4096> slots;
struct sigaction previous;

bool is_guarded(uintptr_t address) {
  for (const Slot& slot : slots) {
    const uintptr_t start = slot.start.load(std::memory_order_acquire);
    if (start != 0 && address - start < slot.size.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

void mend(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  if (info->si_code == BUS_ADRERR && is_guarded(address)) {
    void* start = reinterpret_cast<void*>(address & ~(page - 1));
    if (mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start) return;
  }
  if (previous.sa_flags & SA_SIGINFO) return previous.sa_sigaction(signal, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal);
  sigaction(SIGBUS, &previous, nullptr);  // the fault happens again, now without us
}

void install() {
  struct sigaction action = {};
  action.sa_sigaction = mend;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &previous);
}

}  // namespace

void guard_mapping(void* start, size_t size) {
  static std::once_flag installed;
  std::call_once(installed, install);
  for (Slot& slot : slots) {
    uintptr_t empty = 0;
    if (slot.start.load(std::memory_order_relaxed) != 0) continue;
    if (!slot.start.compare_exchange_strong(empty, reinterpret_cast<uintptr_t>(start))) continue;
    slot.size.store(size, std::memory_order_release);
    return;
  }
}

void release_mapping(void* start) {
  for (Slot& slot : slots) {
    if (slot.start.load(std::memory_order_relaxed) != reinterpret_cast<uintptr_t>(start)) continue;
    slot.size.store(0, std::memory_order_relaxed);
    slot.start.store(0, std::memory_order_release);
    return;
  }
}

}  // namespace isomer
