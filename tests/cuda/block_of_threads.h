// The threads of a block, each on a stack of its own: they run one after the other, from barrier to barrier.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace isomer::kernel::test {

/// threadIdx and blockIdx, as emulated code (emulation.h) reads them.
struct EmulatedIndex {
  unsigned x, y, z;
};

/// Order of the threads between two barriers.
enum class ThreadOrder { kForward, kBackward };

class BlockOfThreads {
 public:
  BlockOfThreads();
  ~BlockOfThreads();

  /// Runs `body` in all threads. `enter` is called whenever one goes on, `leave` when it stops or waits. The sentence
  /// says what was wrong with its barriers; empty: nothing.
  std::string run(
      const std::array<int64_t, 3>& threads, ThreadOrder order, const std::function<void()>& body,
      const std::function<void(int number, EmulatedIndex index)>& enter, const std::function<void()>& leave = [] {});
  /// Called by the thread that runs: it goes on when all others wait at the same barrier, that of a line.
  void wait(int line);
  /// Called by the thread that runs, of number `number`: gives what each thread of its warp (32 that follow each other)
  /// has brought, when all threads have, and the thread's place among them. That orders nothing else.
  int exchange(int line, int number, const void* own, void* all, int bytes);
  /// Copies that thread `number` has begun are done when it waits for them: `commit` makes a group of those begun
  /// since, `complete` does all groups but the last `left`, and tells of each copy before.
  void copy_later(int number, void* to, const void* from, int bytes);
  void commit(int number);
  void complete(int number, int left, const std::function<void(void* to, int bytes)>& before);
  /// Barriers that all threads have passed.
  int interval() const;
  bool is_running() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace isomer::kernel::test
