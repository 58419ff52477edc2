#include "util/clock.h"

#include <sys/resource.h>

namespace isomer {

int64_t interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

}  // namespace isomer
