// The threads of a session: pinned, and with denormals flushed to zero while kernels run. Test:
// tests/runtime/workers_test.cpp
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "util/parallel.h"

namespace isomer::runtime {

/// As long as it lives, denormal floats are read and written as zeros in this thread; then as before.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  uint32_t before_ = 0;
};

class Workers {
 public:
  /// `threads` counts the caller, which stays where it is; the others are pinned to CPUs of the affinity mask, one each
  /// while there are enough, near ones first (near_first), and flush denormals.
  explicit Workers(int threads);
  int threads() const { return pool_.threads(); }
  /// No worker is pinned to it: where the caller was, or should be from then on to be apart from them. -1: they are
  /// pinned to none, since there is one thread or there are fewer CPUs.
  int free_cpu() const { return seats_.empty() ? -1 : free_cpu_; }

  /// To be called now and then: where the system has moved the caller onto the CPU of a worker, or onto another thread
  /// of its core while a core was left, that worker goes where the caller was. Side by side on one CPU they would take
  /// turns in waiting for each other, which takes ten times as long.
  void keep_apart();

  /// work(thread, begin, end) for contiguous ranges that make up [0, iterations), as even as can be: always the same
  /// ones for the same number of threads, which find in their caches what they left there. But of long ranges (grain >
  /// 0) a thread is sure of the first half only: `grain` iterations or more at a time, whoever is free takes the
  /// others. One iteration runs in the caller. `work` is copied: it should capture little, and that by value, so that
  /// all that a thread needs lies on one line.
  template <class Work>
  void share(int64_t iterations, int64_t grain, const Work& work) {
    const auto count = static_cast<int64_t>(threads());
    if (iterations <= 1 || count == 1) {
      if (iterations > 0) work(0, int64_t{0}, iterations);
      return;
    }
    const Shares shares{iterations / count, iterations % count};
    if (grain == 0 || shares.each < 4 * grain) {
      pool_.run_on_all([shares, work](int thread) {
        if (shares.begin(thread) < shares.begin(thread + 1))
          work(thread, shares.begin(thread), shares.begin(thread + 1));
      });
      return;
    }
    const int64_t kept = shares.each / 2, chunk = std::max(grain, shares.each / kMostChunks);
    const int64_t chunks = count * ((shares.each - kept) / chunk + 1);  // one more where the rest asks for it
    next_chunk_.store(0, std::memory_order_relaxed);
    pool_.run_on_all([shares, work, kept, chunk, chunks, count, next = &next_chunk_](int thread) {
      work(thread, shares.begin(thread), shares.begin(thread) + kept);
      for (int64_t c; (c = next->fetch_add(1, std::memory_order_relaxed)) < chunks;) {
        const int64_t owner = c % count, begin = shares.begin(owner) + kept + c / count * chunk;
        const int64_t end = std::min(begin + chunk, shares.begin(owner + 1));
        if (begin < end) work(thread, begin, end);
      }
    });
  }

 private:
  /// Of a worker.
  struct Seat {
    int cpu = -1;                 ///< that it is pinned to
    std::atomic<int> thread = 0;  ///< the system's number for it, once it runs
  };
  Workers(int threads, const std::vector<int>& cpus);
  static std::vector<Seat> seats_of(int threads, const std::vector<int>& cpus);
  static void sit_down(Seat& seat);

  static constexpr int64_t kMostChunks = 32;  ///< of a thread's share
  struct Shares {
    int64_t each, rest;
    int64_t begin(int64_t thread) const { return each * thread + std::min(thread, rest); }
  };

  std::vector<Seat> seats_;  ///< none where there are fewer CPUs than threads
  int free_cpu_ = -1;        ///< no worker's: where the caller was
  ThreadPool pool_;
  alignas(64) std::atomic<int64_t> next_chunk_ = 0;
};

}  // namespace isomer::runtime
