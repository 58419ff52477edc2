// A library with what Isomer looks for in oneDNN when it opens it: a build over the runtime $ISOMER_FAKE_RUNTIME.
#include <cstdlib>

namespace {

struct Version {
  int major, minor, patch;
  const char* hash;
  unsigned cpu_runtime, gpu_runtime;
};

}  // namespace

extern "C" const Version* dnnl_version() {
  static Version version;
  version = {2, 6, 3, "", static_cast<unsigned>(std::atoi(std::getenv("ISOMER_FAKE_RUNTIME"))), 0};
  return &version;
}
