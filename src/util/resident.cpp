#include "util/resident.h"

#include <sys/resource.h>

namespace isomer {

int64_t peak_resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace isomer
