// A request to stop (Ctrl-C), which long work asks about between its steps.
#pragma once

#include "util/result.h"

namespace isomer {

/// May be called from a signal handler.
void request_stop();
/// An error of kind kStopped once a stop was requested.
Result<void> check_stop();

}  // namespace isomer
