#include "backends/foreign_functions.h"

#include <dlfcn.h>

namespace isomer::backends {

Result<ForeignFunctions> ForeignFunctions::open(const std::string& library, const std::string& who,
                                                const std::string& expected) {
  void* const handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) return unsupported(who, "{} expected, {}", expected, dlerror());
  return ForeignFunctions(library, who, handle);
}

void* ForeignFunctions::address(const char* name) {
  void* const found = dlsym(handle_, name);
  if (!found && missing_.empty()) missing_ = name;
  return found;
}

Result<void> ForeignFunctions::are_all_there(const std::string& what) const {
  if (missing_.empty()) return {};
  return unsupported(who_, "{} with {} expected, {} lacks it", what, missing_, library_);
}

}  // namespace isomer::backends
