#include "util/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace isomer {
namespace {

/// Longer than the gap between the loops of one model, much shorter than a scheduler's slice.
constexpr std::chrono::microseconds kSpinTime(50);

/// 1, and one more in each process that is forked from here.
std::atomic<uint64_t>& this_process() {
  static std::atomic<uint64_t> number = 1;
  return number;
}

void count_forks() {
  static const int failed = pthread_atfork(nullptr, nullptr, [] { ++this_process(); });
  static_cast<void>(failed);
}

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

void ThreadPool::Group::begin(Call new_call, void* new_context) {
  if (followers == 0) return;
  call = new_call;
  context = new_context;
  running.store(followers, std::memory_order_relaxed);
  round.fetch_add(1, std::memory_order_release);
  round.notify_all();
}

void ThreadPool::Group::wait_for_followers() {
  spin_until([&] { return running.load(std::memory_order_acquire) == 0; });
  for (int left; (left = running.load(std::memory_order_acquire)) != 0;) running.wait(left, std::memory_order_acquire);
}

ThreadPool::ThreadPool(int threads, std::function<void(int thread)> prepare, int group)
    : prepare_(std::move(prepare)), group_(std::max(group, 1)) {
  count_forks();
  start(std::max(threads, 1));
  threads_ = static_cast<int>(workers_.size()) + 1;
}

void ThreadPool::start(int threads) {
  groups_ = std::vector<Group>(static_cast<size_t>((threads + group_ - 1) / group_));
  workers_.reserve(static_cast<size_t>(threads) - 1);
  try {
    for (int thread = 1; thread < threads; ++thread)
      workers_.emplace_back([this, thread] {
        if (prepare_) prepare_(thread);
        serve(thread);
      });
  } catch (const std::system_error&) {  // limits of processes or of memory
  } catch (const std::bad_alloc&) {
  }
  for (int thread = 1; thread <= static_cast<int>(workers_.size()); ++thread)
    ++groups_[static_cast<size_t>(leads(thread) ? 0 : thread / group_)].followers;
  process_ = this_process().load();
}

bool ThreadPool::has_started_here() const { return process_.load(std::memory_order_relaxed) == this_process(); }

/// What the parent's threads have left is not touched: they are none of this process, and may have held the mutex.
void ThreadPool::start_again() {
  std::make_unique<std::vector<std::thread>>(std::exchange(workers_, {})).release();
  std::construct_at(&error_mutex_);
  std::construct_at(&error_);
  start(threads_);
}

ThreadPool::~ThreadPool() {
  if (!has_started_here()) {
    std::make_unique<std::vector<std::thread>>(std::move(workers_)).release();
    return;
  }
  closing_ = true;
  for (Group& group : groups_) group.begin(nullptr, nullptr);
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::enter(Call call, void* context, int thread) {
  const WorksFor caller(stops_);
  try {
    call(context, thread);
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void ThreadPool::serve(int thread) {
  Group& own = groups_[static_cast<size_t>(thread / group_)];
  Group& from = leads(thread) ? groups_[0] : own;
  uint32_t seen = 0;
  while (true) {
    spin_until([&] { return from.round.load(std::memory_order_acquire) != seen; });
    from.round.wait(seen, std::memory_order_acquire);
    seen = from.round.load(std::memory_order_acquire);
    if (closing_) return;
    const Call call = from.call;
    void* const context = from.context;
    if (leads(thread)) own.begin(call, context);
    enter(call, context, thread);
    if (leads(thread)) own.wait_for_followers();
    if (from.running.fetch_sub(1, std::memory_order_acq_rel) == 1) from.running.notify_one();
  }
}

bool ThreadPool::fork_erased(Call call, void* context) {
  const uint64_t here = this_process().load(std::memory_order_relaxed);
  uint64_t busy = busy_.load(std::memory_order_relaxed);
  if (threads_ == 1 || busy == here || !busy_.compare_exchange_strong(busy, here, std::memory_order_acquire))
    return false;
  if (!has_started_here()) start_again();
  if (static_cast<int>(workers_.size()) + 1 < threads_) {  // not as many as before
    busy_.store(0, std::memory_order_release);
    return false;
  }
  stops_ = stops_of_thread();
  groups_[0].begin(call, context);
  enter(call, context, 0);
  groups_[0].wait_for_followers();
  const std::exception_ptr error = std::exchange(error_, nullptr);
  busy_.store(0, std::memory_order_release);
  if (error) std::rethrow_exception(error);
  return true;
}

}  // namespace isomer
