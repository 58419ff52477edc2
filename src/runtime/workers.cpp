#include "runtime/workers.h"

#include <sched.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "util/topology.h"

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

/// The CPUs that we may use, those near the caller's first, its own last.
std::vector<int> cpus_near_caller() {
  cpu_set_t mask;
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
  return near_first(std::move(cpus), sched_getcpu(), Topology::of_this_machine());
}

/// The CPUs that share the last one's cache, it among them: as many threads as a group of the pool's has.
int group_of(const std::vector<int>& cpus) {
  if (cpus.empty()) return ThreadPool::kGroup;
  const Topology& topology = Topology::of_this_machine();
  const auto near =
      std::ranges::count_if(cpus, [&](int cpu) { return topology.cluster(cpu) == topology.cluster(cpus.back()); });
  return near > 1 ? static_cast<int>(std::min<std::ptrdiff_t>(near, ThreadPool::kGroup)) : ThreadPool::kGroup;
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

Workers::Workers(int threads) : Workers(threads, threads > 1 ? cpus_near_caller() : std::vector<int>()) {}

Workers::Workers(int threads, const std::vector<int>& cpus)
    : seats_(seats_of(threads, cpus)),
      free_cpu_(cpus.empty() ? -1 : cpus.back()),
      pool_(
          threads,
          [this](int thread) {
            if (!seats_.empty()) sit_down(seats_[static_cast<size_t>(thread) - 1]);
            set_control(control() | kFlushToZeroAndDenormalsAreZeros);
          },
          group_of(cpus)) {}

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
  if (seats_.empty() || !pool_.has_started_here()) return;
  const int here = sched_getcpu();
  if (here == free_cpu_) return;
  auto seat = std::ranges::find(seats_, here, &Seat::cpu);
  if (const Topology& topology = Topology::of_this_machine();
      seat == seats_.end() && topology.core(free_cpu_) != topology.core(here))
    seat = std::ranges::find(seats_, topology.core(here), [&](const Seat& each) { return topology.core(each.cpu); });
  if (seat == seats_.end()) return;
  const int thread = seat->thread.load(std::memory_order_acquire);
  if (thread == 0) return;
  pin(thread, free_cpu_);
  seat->cpu = std::exchange(free_cpu_, here);
}

}  // namespace isomer::runtime
