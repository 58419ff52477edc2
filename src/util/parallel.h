// A pool of threads for short parallel loops: workers spin briefly for the next loop, then sleep.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace isomer {

class ThreadPool {
 public:
  /// `threads` counts the caller of `run`: threads - 1 are started.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// work(task, thread) for every task in [0, tasks), thread in [0, threads()); returns when all are done. The first
  /// exception is thrown again here. A call from inside a task runs in its caller, as thread 0.
  template <class Work>
  void run(int64_t tasks, Work&& work) {
    run_erased(tasks, [](void* context, int64_t task, int thread) {
      (*static_cast<std::remove_reference_t<Work>*>(context))(task, thread);
    }, const_cast<void*>(static_cast<const void*>(&work)));
  }

 private:
  using Call = void (*)(void* context, int64_t task, int thread);
  void run_erased(int64_t tasks, Call call, void* context);
  void drain(int thread);
  void serve(int thread);

  std::vector<std::thread> workers_;
  std::atomic<bool> busy_ = false;
  std::atomic<bool> closing_ = false;
  std::atomic<uint32_t> round_ = 0;   ///< grows when a loop starts
  std::atomic<int> running_ = 0;      ///< workers that haven't left the current loop
  std::atomic<int64_t> next_ = 0;
  int64_t tasks_ = 0;
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace isomer
