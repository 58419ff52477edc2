#include "runtime/workers.h"

#include <sched.h>
#include <unistd.h>

#include <utility>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace isomer::runtime {
namespace {

#if defined(__x86_64__)
constexpr uint32_t kFlushToZeroAndDenormalsAreZeros = 0x8040;
uint32_t control() { return _mm_getcsr(); }
void set_control(uint32_t bits) { _mm_setcsr(bits); }
#else
constexpr uint32_t kFlushToZeroAndDenormalsAreZeros = 0;
uint32_t control() { return 0; }
void set_control(uint32_t) {}
#endif

/// The CPUs that we may use, beginning behind the one that the caller is on, which is the last.
std::vector<int> cpus_behind_caller() {
  cpu_set_t mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  const auto behind = std::ranges::upper_bound(cpus, sched_getcpu());
  std::ranges::rotate(cpus, behind);
  return cpus;
}

/// A refusal costs time only.
void pin(int thread, int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  sched_setaffinity(thread, sizeof mask, &mask);
}

}  // namespace

FlushDenormals::FlushDenormals() : before_(control()) { set_control(before_ | kFlushToZeroAndDenormalsAreZeros); }
FlushDenormals::~FlushDenormals() { set_control(before_); }

Workers::Workers(int threads) : Workers(threads, cpus_behind_caller()) {}

Workers::Workers(int threads, const std::vector<int>& cpus)
    : seats_(seats_of(threads, cpus)), free_cpu_(cpus.empty() ? -1 : cpus.back()), pool_(threads, [this](int thread) {
        if (!seats_.empty()) sit_down(seats_[static_cast<size_t>(thread) - 1]);
        set_control(control() | kFlushToZeroAndDenormalsAreZeros);
      }) {}

std::vector<Workers::Seat> Workers::seats_of(int threads, const std::vector<int>& cpus) {
  // Two threads pinned to one CPU would wait for each other.
  if (static_cast<size_t>(threads) > cpus.size()) return {};
  std::vector<Seat> seats(static_cast<size_t>(threads) - 1);
  for (size_t k = 0; k < seats.size(); ++k) seats[k].cpu = cpus[k];
  return seats;
}

void Workers::sit_down(Seat& seat) {
  const int thread = gettid();
  pin(thread, seat.cpu);
  seat.thread.store(thread, std::memory_order_release);
}

void Workers::keep_apart() {
  if (seats_.empty()) return;
  const int here = sched_getcpu();
  const auto seat = std::ranges::find(seats_, here, &Seat::cpu);
  if (seat == seats_.end()) return;
  const int thread = seat->thread.load(std::memory_order_acquire);
  if (thread == 0) return;
  pin(thread, free_cpu_);
  seat->cpu = std::exchange(free_cpu_, here);
}

}  // namespace isomer::runtime
