#include "util/stop.h"

#include <atomic>

namespace isomer {
namespace {

std::atomic<bool> stop_requested = false;
std::atomic<int> in_order = 0;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "used by a signal handler");

}  // namespace

StopsInOrder::StopsInOrder() { ++in_order; }
StopsInOrder::~StopsInOrder() { --in_order; }

bool request_stop() { return !stop_requested.exchange(true, std::memory_order_relaxed) && in_order.load() > 0; }

void forget_stop() { stop_requested.store(false, std::memory_order_relaxed); }

Result<void> check_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) return Error{ErrorKind::kStopped, "", "stopped"};
  return {};
}

}  // namespace isomer
