#include "util/stop.h"

namespace isomer {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<int> in_order = 0, forgotten = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used by a signal handler");
thread_local StopsBy* of_thread = nullptr;

}  // namespace

StopsInOrder::StopsInOrder() { ++in_order; }
StopsInOrder::~StopsInOrder() { --in_order; }

bool request_stop() { return !stop_requested.exchange(true, std::memory_order_relaxed) && in_order.load() > 0; }

void forget_stop() {
  if (stop_requested.exchange(false, std::memory_order_relaxed)) ++forgotten;
  if (of_thread && of_thread->is_asked()) of_thread->forgotten_.store(1, std::memory_order_relaxed);
}

int stops_forgotten() {
  return forgotten.load() + (of_thread ? of_thread->forgotten_.load(std::memory_order_relaxed) : 0);
}

Result<void> check_stop() {
  if ((of_thread && of_thread->is_asked()) || stop_requested.load(std::memory_order_relaxed))
    return Error{ErrorKind::kStopped, "", "stopped"};
  return {};
}

StopsBy::StopsBy(const std::atomic<int>& requests) : requests_(requests), forgotten_(0), before_(of_thread) {
  of_thread = this;
}
StopsBy::~StopsBy() { of_thread = before_; }

bool StopsBy::is_asked() const {
  return requests_.load(std::memory_order_relaxed) > forgotten_.load(std::memory_order_relaxed);
}

StopsBy* stops_of_thread() { return of_thread; }
WorksFor::WorksFor(StopsBy* stops) : before_(of_thread) { of_thread = stops; }
WorksFor::~WorksFor() { of_thread = before_; }

}  // namespace isomer
