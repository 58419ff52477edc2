// A request to stop (Ctrl-C), which long work asks about between its steps.
#pragma once

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

/// May be called from a signal handler. False where one was requested before, or nobody stops in order: whoever asks
/// ends the process then.
bool request_stop();
/// An error of kind kStopped once a stop was requested.
Result<void> check_stop();
/// What was asked to stop has stopped; the rest goes on.
void forget_stop();

}  // namespace isomer
