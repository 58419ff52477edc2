#include "runtime/workers.h"

#include <pthread.h>
#include <sched.h>

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

/// The CPUs that we may use, beginning behind the one that the caller is on.
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

void pin_to(int cpu) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);  // a refusal costs time only
}

}  // namespace

FlushDenormals::FlushDenormals() : before_(control()) { set_control(before_ | kFlushToZeroAndDenormalsAreZeros); }
FlushDenormals::~FlushDenormals() { set_control(before_); }

Workers::Workers(int threads)
    : pool_(threads, [cpus = cpus_behind_caller(), threads](int thread) {
        // Two threads pinned to one CPU would wait for each other.
        if (static_cast<size_t>(threads) <= cpus.size()) pin_to(cpus[thread - 1]);
        set_control(control() | kFlushToZeroAndDenormalsAreZeros);
      }) {}

}  // namespace isomer::runtime
