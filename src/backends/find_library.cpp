#include "backends/find_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "util/folder.h"

namespace isomer::backends {
namespace {

namespace fs = std::filesystem;

/// More than that a system does not follow either.
constexpr int kMostLinks = 40;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// Folders that hold a Python with its packages, the preferred one first.
std::vector<fs::path> python_prefixes() {
  std::vector<fs::path> prefixes;
  std::istringstream folders(variable("PATH"));
  std::error_code error;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const fs::path python = fs::path(folder) / "python3"; fs::exists(python, error)) {
      // A link may name that of a virtual environment.
      fs::path file = python;
      for (int links = 0; !file.empty() && links < kMostLinks; ++links) {
        if (file.is_absolute()) prefixes.push_back(file.parent_path().parent_path());
        const fs::path target = fs::read_symlink(file, error);
        file = target.empty() ? target : file.parent_path() / target;
      }
      break;
    }
  if (const std::string environment = variable("VIRTUAL_ENV"); !environment.empty()) prefixes.emplace_back(environment);
  if (const std::string home = variable("HOME"); !home.empty()) prefixes.push_back(fs::path(home) / ".local");
  prefixes.insert(prefixes.end(), {"/usr/local", "/usr"});
  return prefixes;
}

std::vector<fs::path> package_folders(const ForeignLibrary& library) {
  std::vector<fs::path> folders;
  if (library.packages.empty()) return folders;
  for (const fs::path& prefix : python_prefixes())
    for (const fs::path& python : entries_with_prefix(prefix / "lib", "python3"))
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const std::string& package : library.packages) folders.push_back(python / packages / package);
  return folders;
}

}  // namespace

ForeignLibrary onnxruntime_library() {
  return {"ISOMER_ONNXRUNTIME", {"libonnxruntime.so.1", "libonnxruntime.so"}, {"onnxruntime/capi"}};
}
ForeignLibrary onednn_library() { return {"ISOMER_ONEDNN", {"libdnnl.so.2"}}; }
ForeignLibrary nvrtc_library() {
  ForeignLibrary library{"ISOMER_NVRTC",
                         {"libnvrtc.so.13", "libnvrtc.so.12"},
                         {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"},
                         {"/usr/local/cuda/lib64"}};
  if (const std::string home = variable("CUDA_HOME"); !home.empty())
    library.folders.insert(library.folders.begin(), fs::path(home) / "lib64");
  return library;
}
ForeignLibrary cudnn_library() { return {"ISOMER_CUDNN", {"libcudnn.so.9"}, {"nvidia/cudnn/lib"}}; }
ForeignLibrary cublaslt_library() {
  return {"ISOMER_CUBLASLT",
          {"libcublasLt.so.13", "libcublasLt.so.12"},
          {"nvidia/cu13/lib", "nvidia/cublas/lib"},
          {"/usr/local/cuda/lib64"}};
}
ForeignLibrary cuda_driver_library() { return {"ISOMER_CUDA_DRIVER", {"libcuda.so.1"}}; }
ForeignLibrary xgboost_library() { return {"ISOMER_XGBOOST", {"libxgboost.so.0", "libxgboost.so"}, {"xgboost/lib"}}; }

std::vector<std::string> places_of(const ForeignLibrary& library, const std::string& given) {
  if (!given.empty()) return {given};
  if (const std::string file = variable(library.variable); !file.empty()) return {file};
  std::vector<std::string> places = library.names;
  const auto add_from = [&](const fs::path& folder) {
    for (const std::string& name : library.names)
      for (const fs::path& file : entries_with_prefix(folder, name))
        if (std::find(places.begin(), places.end(), file.string()) == places.end()) places.push_back(file.string());
  };
  for (const fs::path& folder : library.folders) add_from(folder);
  for (const fs::path& folder : package_folders(library)) add_from(folder);
  return places;
}

std::string find(const ForeignLibrary& library, const std::string& given) {
  if (!given.empty()) return given;
  for (const std::string& place : places_of(library)) {
    // What was loaded stays: some libraries lose what they allocated when they are unloaded.
    void* const handle = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle) continue;
    dlclose(handle);
    return place;
  }
  return {};
}

}  // namespace isomer::backends
