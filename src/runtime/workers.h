// The threads of a session: pinned, and with denormals flushed to zero while kernels run.
#pragma once

#include <algorithm>
#include <cstdint>

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
  /// while there are enough, and flush denormals.
  explicit Workers(int threads);
  int threads() const { return pool_.threads(); }

  /// work(thread, begin, end) for contiguous ranges that make up [0, iterations), as even as can be: always the same ones
  /// for the same number of threads. One iteration runs in the caller. `work` is copied: it should capture little, and
  /// that by value, so that all that a thread needs lies on one line.
  template <class Work>
  void share(int64_t iterations, const Work& work) {
    const auto count = static_cast<int64_t>(threads());
    if (iterations <= 1 || count == 1) {
      if (iterations > 0) work(0, int64_t{0}, iterations);
      return;
    }
    const int64_t each = iterations / count, rest = iterations % count;
    pool_.run_on_all([each, rest, work](int thread) {
      const int64_t begin = each * thread + std::min<int64_t>(thread, rest);
      const int64_t end = begin + each + (thread < rest ? 1 : 0);
      if (begin < end) work(thread, begin, end);
    });
  }

 private:
  ThreadPool pool_;
};

}  // namespace isomer::runtime
