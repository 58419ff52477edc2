// Runs of a foreign runtime that do not end by themselves: a thread beside them says when they must. Test:
// tests/backends/onnxruntime_backend_test.cpp
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "util/clock.h"
#include "util/result.h"
#include "util/stop.h"

namespace isomer::backends {

class RunWatch {
 public:
  /// `end` asks the runtime, which has this name, to end the run that it does; it is called from another thread.
  RunWatch(std::string name, double most_seconds, std::function<void()> end);
  ~RunWatch();
  RunWatch(const RunWatch&) = delete;
  RunWatch& operator=(const RunWatch&) = delete;

  void begin();
  /// Errors: kStopped, or kUnsupported where the run took too long; what it gave is nothing then.
  Result<void> finish();

 private:
  void watch();
  /// Why the run must end now.
  Result<void> may_go_on() const;

  const std::string name_;
  const double most_seconds_;
  const std::function<void()> end_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false, is_running_ = false;
  Clock::time_point since_;
  StopsBy* stops_ = nullptr;  ///< of the thread that runs
  Result<void> ended_;        ///< why the run was
  std::thread thread_;
};

}  // namespace isomer::backends
