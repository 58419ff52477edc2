// The functions of a library that is opened at run time, found by name. Tests: tests/backends/find_library_test.cpp,
// tests/cuda/nvrtc_test.cpp
#pragma once

#include <string>
#include <type_traits>

#include "util/result.h"

namespace isomer::backends {

class ForeignFunctions {
 public:
  /// What was loaded stays. `who`: what errors (kUnsupported) call it; `expected`: what they expected, beside what the
  /// loader says.
  static Result<ForeignFunctions> open(const std::string& library, const std::string& who,
                                       const std::string& expected = "its shared library");

  /// Sets a pointer to the function of this name; nullptr: it lacks it.
  template <class Function>
  void operator()(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(address(name));
  }
  /// The error names the first function that was asked for and is not there; `what` was expected to have it.
  Result<void> are_all_there(const std::string& what = "a library") const;

 private:
  ForeignFunctions(std::string library, std::string who, void* handle)
      : library_(std::move(library)), who_(std::move(who)), handle_(handle) {}
  void* address(const char* name);

  std::string library_, who_;
  void* handle_;
  std::string missing_;
};

}  // namespace isomer::backends
