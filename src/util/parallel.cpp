#include "util/parallel.h"

#include <chrono>
#include <optional>
#include <utility>

namespace isomer {
namespace {

/// Longer than the gap between the loops of one model, much shorter than a scheduler's slice.
constexpr std::chrono::microseconds kSpinTime(50);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Returns early when `done()`. By the clock, for a pause takes 10 cycles on some processors and 140 on others; it is
/// read after a first batch, which is enough for most forks and joins.
template <class Done>
void spin_until(Done done) {
  std::optional<std::chrono::steady_clock::time_point> deadline;
  while (true) {
    for (int i = 0; i < 32; ++i) {
      if (done()) return;
      pause();
    }
    const auto now = std::chrono::steady_clock::now();
    if (!deadline) deadline = now + kSpinTime;
    if (now >= *deadline) return;
  }
}

}  // namespace

ThreadPool::ThreadPool(int threads, std::function<void(int thread)> prepare) {
  for (int thread = 1; thread < threads; ++thread)
    workers_.emplace_back([this, thread, prepare] {
      if (prepare) prepare(thread);
      serve(thread);
    });
}

ThreadPool::~ThreadPool() {
  closing_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::enter(int thread) {
  try {
    call_(context_, thread);
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadPool::serve(int thread) {
  uint32_t seen = 0;
  while (true) {
    spin_until([&] { return round_.load(std::memory_order_acquire) != seen; });
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (closing_) return;
    enter(thread);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

bool ThreadPool::fork_erased(Call call, void* context) {
  if (workers_.empty() || busy_.exchange(true, std::memory_order_acquire)) return false;
  call_ = call;
  context_ = context;
  running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  enter(0);
  spin_until([&] { return running_.load(std::memory_order_acquire) == 0; });
  for (int left; (left = running_.load(std::memory_order_acquire)) != 0;)
    running_.wait(left, std::memory_order_acquire);
  const std::exception_ptr error = std::exchange(error_, nullptr);
  busy_.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
  return true;
}

}  // namespace isomer
