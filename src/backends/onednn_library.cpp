#include "backends/onednn_library.h"

namespace isomer::backends::dnnl {

Result<Library> Library::open(const std::string& file) {
  struct Version {
    int major, minor, patch;
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
  library.execute = reinterpret_cast<Execute>(dlsym(library.handle_, "dnnl_primitive_execute"));
  library.wait = reinterpret_cast<Wait>(dlsym(library.handle_, "dnnl_stream_wait"));
  return library;
}

Result<void> Library::set_threads(int threads) const {
  // A library's handle finds what it depends on as well: OpenMP's, of whichever compiler.
  auto* const set = reinterpret_cast<void (*)(int)>(dlsym(handle_, "omp_set_num_threads"));
  if (!set && threads != 1) return unsupported("onednn", "a build over OpenMP expected, its threads can't be counted");
  if (set) set(threads);
  return {};
}

}  // namespace isomer::backends::dnnl
