// A request to stop (Ctrl-C, or a caller's), which long work asks about between its steps.
#pragma once

#include <atomic>

#include "util/result.h"

namespace isomer {

/// While one lives, a stop ends what is being done in good order, where it may end.
class StopsInOrder {
 public:
  StopsInOrder();
  ~StopsInOrder();
  StopsInOrder(const StopsInOrder&) = delete;
  StopsInOrder& operator=(const StopsInOrder&) = delete;
};

/// Of the process. May be called from a signal handler. False where one was requested before, or nobody stops in order:
/// whoever asks ends the process then.
bool request_stop();
/// An error of kind kStopped once a stop was requested: of the process, or of this thread's work.
Result<void> check_stop();
/// What was asked to stop has stopped; the rest goes on.
void forget_stop();
/// How many stops have been forgotten: of the process, and of this thread's work.
int stops_forgotten();

/// While one lives, what this thread does, and pools that it asks (util/parallel.h), may be asked to stop, too: once
/// `requests` is 1; what goes on after that has been forgotten stops for good once it is 2.
class StopsBy {
 public:
  explicit StopsBy(const std::atomic<int>& requests);
  ~StopsBy();
  StopsBy(const StopsBy&) = delete;
  StopsBy& operator=(const StopsBy&) = delete;

 private:
  friend Result<void> check_stop();
  friend void forget_stop();
  friend int stops_forgotten();
  bool is_asked() const;

  const std::atomic<int>& requests_;
  std::atomic<int> forgotten_;
  StopsBy* const before_;
};

/// What stops the work of this thread; nullptr: the process alone.
StopsBy* stops_of_thread();
/// While one lives, this thread works for another one, which outlives it.
class WorksFor {
 public:
  explicit WorksFor(StopsBy* stops);
  ~WorksFor();
  WorksFor(const WorksFor&) = delete;
  WorksFor& operator=(const WorksFor&) = delete;

 private:
  StopsBy* const before_;
};

}  // namespace isomer
