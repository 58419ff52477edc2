// A request to stop (Ctrl-C), which long work asks about between its steps.
#pragma once

#include "util/result.h"

namespace isomer {

/// May be called from a signal handler. False where one was requested before.
bool request_stop();
/// An error of kind kStopped once a stop was requested.
Result<void> check_stop();
/// What was asked to stop has stopped; the rest goes on.
void forget_stop();

}  // namespace isomer
