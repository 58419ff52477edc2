// A pool of threads for short parallel loops: workers spin briefly for the next loop, then sleep. A loop begins and
// ends along a tree: threads in groups with a leader each, who all follow the caller. A process that was forked has
// none of its parent's threads: its first loop there starts others.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "util/stop.h"

namespace isomer {

class ThreadPool {
 public:
  static constexpr int kGroup = 8;
  /// `threads` counts the caller of `run`: threads - 1 are started, each begins with prepare(its number from 1 on).
  /// Where the system refuses one, there are fewer.
  /// Threads whose numbers follow each other are a group of at most `group`: those that share a cache, say.
  explicit ThreadPool(int threads, std::function<void(int thread)> prepare = {}, int group = kGroup);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }
  /// False in a process that was forked, until the first loop there.
  bool has_started_here() const;

  /// work(task, thread) for every task in [0, tasks), thread in [0, threads()), whoever is free takes the next one;
  /// returns when all are done. The first exception is thrown again here, the tasks left then may stay undone. A call
  /// from inside a task runs in its caller, as thread 0.
  template <class Work>
  void run(int64_t tasks, Work&& work) {
    std::atomic<int64_t> next = 0;
    auto drain = [&](int thread) {
      for (int64_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;) work(task, thread);
    };
    if (tasks < 2 || !fork(drain)) drain(0);
  }

  /// work(thread) once for every thread in [0, threads()), each in its own thread; returns when all are done. A call
  /// from inside another runs in its caller, one thread's number after the other. Exceptions as in `run`.
  template <class Work>
  void run_on_all(Work&& work) {
    if (fork(work)) return;
    for (int thread = 0; thread < threads(); ++thread) work(thread);
  }

 private:
  using Call = void (*)(void* context, int thread);
  /// False, and nothing was done: there are no workers, or they are busy.
  template <class Work>
  bool fork(Work& work) {
    return fork_erased(
        [](void* context, int thread) { (*static_cast<std::remove_reference_t<Work>*>(context))(thread); },
        const_cast<void*>(static_cast<const void*>(&work)));
  }
  /// Of the leader of a group (thread 0: and of the other leaders) and those that follow. One line for what it tells
  /// them, one for what they answer: each line that moves between two cores costs a fork about 0.1 us.
  struct Group {
    int followers = 0;
    alignas(64) std::atomic<uint32_t> round = 0;  ///< grows when a loop starts
    Call call = nullptr;
    void* context = nullptr;
    alignas(64) std::atomic<int> running = 0;  ///< followers that haven't left the current loop

    void begin(Call new_call, void* new_context);
    void wait_for_followers();
  };

  bool fork_erased(Call call, void* context);
  void start(int threads);
  void start_again();
  void enter(Call call, void* context, int thread);
  void serve(int thread);
  bool leads(int thread) const { return thread % group_ == 0; }

  std::function<void(int thread)> prepare_;
  int group_;
  std::vector<Group> groups_;

  std::vector<std::thread> workers_;
  int threads_ = 1;
  StopsBy* stops_ = nullptr;           ///< of the caller
  std::atomic<uint64_t> process_ = 0;  ///< whose the workers are
  std::atomic<uint64_t> busy_ = 0;     ///< the process whose loop runs; one of the parent's is none
  std::atomic<bool> closing_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace isomer
