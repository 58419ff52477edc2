#include "backends/onednn_library.h"

namespace isomer::backends::dnnl {
namespace {

/// By dnnl_config.h.
std::string name_of(unsigned runtime) {
  switch (runtime) {
    case 0: return "nothing";
    case kSequential: return "one thread";
    case kOpenMp: return "OpenMP";
    case 4: return "TBB";
    case 8: return "a pool of the caller's";
    case 512: return "SYCL";
    default: return fmt::format("runtime {}", runtime);
  }
}

}  // namespace

Result<Library> Library::open(const std::string& file) {
  struct Version {
    int major, minor, patch;
    const char* hash;
    unsigned cpu_runtime, gpu_runtime;
  };
  Library library;
  library.handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library.handle_) return unsupported("onednn", "its shared library expected, {}", dlerror());
  if (!dlsym(library.handle_, "dnnl_version"))
    return unsupported("onednn", "a library with dnnl_version expected, {} lacks it", file);
  const Version& version = *library.function<const Version*>("dnnl_version")();
  library.version_ = fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  // Descriptors of operations are gone in 3; what reductions and pooling are called here came with 2.5.
  if (version.major != 2 || version.minor < 5)
    return unsupported("onednn", "version 2.5 to 2.7 expected, {} found", library.version_);
  library.runtime_ = version.cpu_runtime;
  library.execute = reinterpret_cast<Execute>(dlsym(library.handle_, "dnnl_primitive_execute"));
  library.wait = reinterpret_cast<Wait>(dlsym(library.handle_, "dnnl_stream_wait"));
  return library;
}

Result<void> Library::set_threads(int threads) const {
  if (runtime_ == kSequential && threads == 1) return {};
  // A library's handle finds what it depends on as well: OpenMP's, of whichever compiler.
  auto* const set = reinterpret_cast<void (*)(int)>(dlsym(handle_, "omp_set_num_threads"));
  if (runtime_ != kOpenMp || !set)
    return unsupported("onednn", "a build over OpenMP, whose threads can be counted, expected, one over {} found",
                       name_of(runtime_));
  set(threads);
  return {};
}

}  // namespace isomer::backends::dnnl
