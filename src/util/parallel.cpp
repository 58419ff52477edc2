#include "util/parallel.h"

#include <algorithm>
#include <utility>

namespace isomer {
namespace {

/// About 50 µs: longer than the gap between the loops of one model, much shorter than a scheduler's slice.
constexpr int kSpins = 2000;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  for (int thread = 1; thread < threads; ++thread) workers_.emplace_back([this, thread] { serve(thread); });
}

ThreadPool::~ThreadPool() {
  closing_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::drain(int thread) {
  for (int64_t task; (task = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
    try {
      call_(context_, task, thread);
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (!error_) error_ = std::current_exception();
    }
  }
}

void ThreadPool::serve(int thread) {
  uint32_t seen = 0;
  while (true) {
    for (int spin = 0; spin < kSpins && round_.load(std::memory_order_acquire) == seen; ++spin) pause();
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (closing_) return;
    drain(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ThreadPool::run_erased(int64_t tasks, Call call, void* context) {
  if (workers_.empty() || tasks < 2 || busy_.exchange(true)) {
    for (int64_t task = 0; task < tasks; ++task) call(context, task, 0);
    return;
  }
  tasks_ = tasks;
  call_ = call;
  context_ = context;
  next_.store(0, std::memory_order_relaxed);
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  drain(0);
  for (int spin = 0; spin < kSpins && running_.load(std::memory_order_acquire) != 0; ++spin) pause();
  for (int left; (left = running_.load(std::memory_order_acquire)) != 0;) running_.wait(left, std::memory_order_acquire);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  busy_ = false;
  if (error) std::rethrow_exception(error);
}

}  // namespace isomer
