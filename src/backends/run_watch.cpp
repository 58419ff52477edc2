#include "backends/run_watch.h"

#include <chrono>
#include <utility>

namespace isomer::backends {

RunWatch::RunWatch(std::string name, double most_seconds, std::function<void()> end)
    : name_(std::move(name)), most_seconds_(most_seconds), end_(std::move(end)), thread_([this] { watch(); }) {}

RunWatch::~RunWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  thread_.join();
}

void RunWatch::begin() {
  const std::lock_guard lock(mutex_);
  is_running_ = true;
  since_ = Clock::now();
  stops_ = stops_of_thread();
}

Result<void> RunWatch::finish() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  return std::exchange(ended_, {});
}

Result<void> RunWatch::may_go_on() const {
  if (seconds_since(since_) > most_seconds_)
    return unsupported(name_, "runs of at most {} s expected, one that goes on found", most_seconds_);
  const WorksFor whoever_runs(stops_);
  return check_stop();
}

// It looks from time to time, and is not woken: short runs are measured.
void RunWatch::watch() {
  constexpr std::chrono::milliseconds kBetween(50);
  std::unique_lock lock(mutex_);
  while (!over_.wait_for(lock, kBetween, [this] { return is_over_; })) {
    if (!is_running_ || !ended_.ok()) continue;
    ended_ = may_go_on();
    if (!ended_.ok()) end_();
  }
}

}  // namespace isomer::backends
