// A pool of threads for short parallel loops: workers spin briefly for the next loop, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace isomer {

class ThreadPool {
 public:
  /// `threads` counts the caller of `run`: threads - 1 are started, each begins with prepare(its number from 1 on).
  explicit ThreadPool(int threads, std::function<void(int thread)> prepare = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

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
  bool fork_erased(Call call, void* context);
  void enter(int thread);
  void serve(int thread);

  std::vector<std::thread> workers_;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> closing_ = false;
  std::mutex error_mutex_;
  std::exception_ptr error_;
  // One line for what the caller tells the workers, one for what they answer: each line that moves between two cores
  // costs a fork about 0.1 us.
  alignas(64) std::atomic<uint32_t> round_ = 0;  ///< grows when a loop starts
  Call call_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<int> running_ = 0;  ///< workers that haven't left the current loop
};

}  // namespace isomer
