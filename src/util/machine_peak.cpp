#include "util/machine_peak.h"

#include <immintrin.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "util/threads.h"

namespace isomer {
namespace {

/// Keeps a result that nothing else reads.
template <class T>
void use(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

/// `count` rounds of multiply-adds, enough independent ones to hide their latency; the operations done.
__attribute__((target("avx512f"))) double multiply_add_512(int64_t count) {
  constexpr int kChains = 24;
  __m512 sums[kChains];
  for (__m512& sum : sums) sum = _mm512_set1_ps(1);
  const __m512 a = _mm512_set1_ps(0.5F), b = _mm512_set1_ps(0.25F);
  for (int64_t i = 0; i < count; ++i)
#pragma GCC unroll 24
    for (int k = 0; k < kChains; ++k) sums[k] = _mm512_fmadd_ps(sums[k], a, b);
  use(sums);
  return static_cast<double>(count) * kChains * 32;
}

__attribute__((target("avx2,fma"))) double multiply_add_256(int64_t count) {
  constexpr int kChains = 12;
  __m256 sums[kChains];
  for (__m256& sum : sums) sum = _mm256_set1_ps(1);
  const __m256 a = _mm256_set1_ps(0.5F), b = _mm256_set1_ps(0.25F);
  for (int64_t i = 0; i < count; ++i)
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = _mm256_fmadd_ps(sums[k], a, b);
  use(sums);
  return static_cast<double>(count) * kChains * 16;
}

double multiply_add_128(int64_t count) {
  constexpr int kChains = 12;
  __m128 sums[kChains];
  for (__m128& sum : sums) sum = _mm_set1_ps(1);
  const __m128 a = _mm_set1_ps(0.5F), b = _mm_set1_ps(0.25F);
  for (int64_t i = 0; i < count; ++i)
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) sums[k] = _mm_add_ps(_mm_mul_ps(sums[k], a), b);
  use(sums);
  return static_cast<double>(count) * kChains * 8;
}

/// Parts of memory that are read in turns, a vector of each: more of them come at once than of one that is read from
/// its begin to its end.
constexpr int kStreams = 8;

__attribute__((target("avx512f"))) void read_512(const float* data, int64_t part) {
  __m512i sums[kStreams] = {};
  for (int64_t i = 0; i < part; i += 16)
#pragma GCC unroll 8
    for (int k = 0; k < kStreams; ++k) sums[k] = _mm512_or_si512(sums[k], _mm512_load_si512(data + k * part + i));
  use(sums);
}

__attribute__((target("avx"))) void read_256(const float* data, int64_t part) {
  __m256 sums[kStreams] = {};
  for (int64_t i = 0; i < part; i += 8)
#pragma GCC unroll 8
    for (int k = 0; k < kStreams; ++k) sums[k] = _mm256_or_ps(sums[k], _mm256_load_ps(data + k * part + i));
  use(sums);
}

void read_128(const float* data, int64_t part) {
  __m128 sums[kStreams] = {};
  for (int64_t i = 0; i < part; i += 4)
#pragma GCC unroll 8
    for (int k = 0; k < kStreams; ++k) sums[k] = _mm_or_ps(sums[k], _mm_load_ps(data + k * part + i));
  use(sums);
}

/// That this thread had a core: what others take of it on a busy machine is left out.
double seconds_on_core() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// The best of some rounds of `work` per second, all threads together: each starts a round when all are there. More
/// threads than there are CPUs take turns: no more rates than those of the CPUs are summed.
double best_rate(int threads, const std::function<double(int thread)>& work) {
  constexpr int kRounds = 15;
  const auto cpus = static_cast<size_t>(available_threads());
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::atomic<int> waiting = threads;
    std::vector<double> done(threads), seconds(threads);
    std::vector<std::thread> team;
    team.reserve(static_cast<size_t>(threads));
    try {
      for (int t = 0; t < threads; ++t)
        team.emplace_back([&, t] {
          --waiting;
          while (waiting > 0) {
          }
          const double start = seconds_on_core();
          done[t] = work(t);
          seconds[t] = seconds_on_core() - start;
        });
    } catch (const std::system_error&) {
      waiting = 0;  // those that are there begin
    }
    for (std::thread& thread : team) thread.join();
    double rate = 0;
    for (size_t t = 0; t < team.size(); ++t) rate += done[t] / seconds[t];
    if (team.size() > cpus) rate *= static_cast<double>(cpus) / static_cast<double>(team.size());
    best = std::max(best, rate);
  }
  return best;
}

constexpr int64_t kLeastBytes = 64'000'000;  ///< in a round
constexpr int64_t kBlock = 256 * kStreams;   ///< elements that are read at a time

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float[], Free>;

Floats ones(int64_t count) {
  constexpr size_t kLargePage = size_t{2} << 20;
  const size_t bytes = (static_cast<size_t>(count) * 4 + kLargePage - 1) / kLargePage * kLargePage;
  Floats memory(static_cast<float*>(std::aligned_alloc(kLargePage, bytes)));
  if (!memory) throw std::bad_alloc();
  madvise(memory.get(), bytes, MADV_HUGEPAGE);  // as the runtime's memory; a refusal costs time only
  std::fill_n(memory.get(), count, 1.0F);
  return memory;
}

}  // namespace

double measure_fma_peak(int threads) {
  constexpr int64_t kCount = 1'000'000;
  const auto kernel = __builtin_cpu_supports("avx512f")                                 ? multiply_add_512
                      : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? multiply_add_256
                                                                                        : multiply_add_128;
  return best_rate(threads, [&](int) { return kernel(kCount); }) / 1e9;
}

double measure_read_bandwidth(int64_t bytes, int threads) {
  const auto read = __builtin_cpu_supports("avx512f") ? read_512 : __builtin_cpu_supports("avx") ? read_256 : read_128;
  const int64_t count = std::max(bytes / 4, kBlock), repeats = std::max<int64_t>(1, kLeastBytes / (count * 4));
  std::vector<Floats> memory;
  for (int t = 0; t < threads; ++t) memory.push_back(ones(count));
  // At a time all that is there, or some of it: what lies a power of two apart shares sets of a cache.
  const auto rate = [&](int64_t at_once) {
    return best_rate(threads, [&](int t) {
      for (int64_t k = 0; k < repeats; ++k)
        for (int64_t first = 0; first + at_once <= count; first += at_once)
          read(memory[t].get() + first, at_once / kStreams);
      return static_cast<double>(repeats * (count / at_once * at_once) * 4);
    });
  };
  return std::max(rate(count / kBlock * kBlock), rate(kBlock)) / 1e9;
}

double measure_copy_bandwidth(int64_t bytes, int threads) {
  const int64_t count = bytes / 4, repeats = std::max<int64_t>(1, kLeastBytes / bytes);
  std::vector<Floats> from, to;
  for (int t = 0; t < threads; ++t) from.push_back(ones(count)), to.push_back(ones(count));
  const auto work = [&](int t) {
    for (int64_t k = 0; k < repeats; ++k) std::memcpy(to[t].get(), from[t].get(), static_cast<size_t>(count) * 4);
    return static_cast<double>(2 * repeats * count * 4);
  };
  return best_rate(threads, work) / 1e9;
}

}  // namespace isomer
