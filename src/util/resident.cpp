#include "util/resident.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace isomer {

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int64_t mapped_bytes() {
  int64_t total = 0;
  std::ifstream("/proc/self/statm") >> total;
  return total * sysconf(_SC_PAGESIZE);
}

int64_t peak_resident_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace isomer
