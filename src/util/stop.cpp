#include "util/stop.h"

#include <atomic>

namespace isomer {
namespace {

std::atomic<bool> stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "set by a signal handler");

}  // namespace

bool request_stop() { return !stop_requested.exchange(true, std::memory_order_relaxed); }

void forget_stop() { stop_requested.store(false, std::memory_order_relaxed); }

Result<void> check_stop() {
  if (stop_requested.load(std::memory_order_relaxed)) return Error{ErrorKind::kStopped, "", "stopped"};
  return {};
}

}  // namespace isomer
