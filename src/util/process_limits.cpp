#include "util/process_limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "util/resident.h"
#include "util/sanitized.h"

namespace isomer {
namespace {

/// Where there is a lower one for ever, that one stays.
template <class Resource>
void limit(Resource resource, double most) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, static_cast<rlim_t>(most));
  setrlimit(resource, &now);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

}  // namespace

void limit_growth(int64_t bytes) {
  if (!kSanitized) limit(RLIMIT_AS, static_cast<double>(mapped_bytes()) + static_cast<double>(bytes));
}

void limit_cpu(double more_seconds) {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  limit(RLIMIT_CPU, std::ceil(seconds(used.ru_utime) + seconds(used.ru_stime) + more_seconds));
}

}  // namespace isomer
