// Where the libraries of others are that Isomer opens at run time: compilers and drivers that it uses, peers that it is
// compared with. One search for all. Tests: tests/backends/find_library_test.cpp
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isomer::backends {

struct ForeignLibrary {
  const char* variable;            ///< of the environment: the file; alone where it is set
  std::vector<std::string> names;  ///< as the loader knows it, the preferred one first: "libdnnl.so.2"
  /// Folders of Python packages in which it comes: "nvidia/cu13/lib". There its names may go on: "libx.so.1.20".
  std::vector<std::string> packages = {};
  std::vector<std::filesystem::path> folders = {};  ///< others where it may be
};

ForeignLibrary onnxruntime_library();
ForeignLibrary onednn_library();
ForeignLibrary nvrtc_library();
ForeignLibrary cudnn_library();
ForeignLibrary cublaslt_library();
ForeignLibrary cuda_driver_library();
ForeignLibrary xgboost_library();

/// Files or names to try, in this order: `given` alone, where it is not empty; that of the variable alone; what the
/// loader knows; the library's folders; packages of the python3 that is first on $PATH, of $VIRTUAL_ENV, of the user's
/// and the system's.
std::vector<std::string> places_of(const ForeignLibrary& library, const std::string& given = {});

/// The first that can be opened; empty: none. What was given is not tried: whoever opens it says what is wrong with it.
std::string find(const ForeignLibrary& library, const std::string& given = {});

}  // namespace isomer::backends
