// The C API of oneDNN 2, opened at run time: nothing of it is needed to build. Descriptors are memory that only the
// library reads and writes, larger than those of any of its versions.
#pragma once

#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "util/result.h"

namespace isomer::backends::dnnl {

// Numbers of dnnl_types.h that never changed.
enum Constant : int {
  kFloat32 = 3,
  kCpu = 1,
  kInOrder = 1,
  kForwardInference = 96,
  kImplementation = 8,  ///< query
  kOfArgument = 255,    ///< query: the memory descriptor of an argument
  kGlobalStatistics = 1,
  kUseScale = 8,
  kUseShift = 16,
};
/// What a build runs its work on, on a CPU.
enum Runtime : unsigned { kSequential = 1, kOpenMp = 2 };
enum Argument : int {
  kSource = 1,
  kSecondSource = 2,
  kDestination = 17,
  kWeights = 33,
  kBias = 41,
  kMean = 49,
  kVariance = 50,
  kScale = 51,
  kShift = 52
};

inline constexpr size_t kMostDims = 12;
using DimArray = std::array<int64_t, kMostDims>;

struct MemoryDescriptor {
  alignas(8) std::array<std::byte, 2048> bytes = {};
};
struct Descriptor {
  alignas(8) std::array<std::byte, 32768> bytes = {};
};
struct ExecutionArgument {
  int argument = 0;
  void* memory = nullptr;
};

class Library {
 public:
  /// Errors (kUnsupported): no such library, or another version of its interface.
  static Result<Library> open(const std::string& file);

  const std::string& version() const { return version_; }
  /// Of the calling thread: its OpenMP teams have so many threads. Errors (kUnsupported): the build has threads of
  /// another kind, whose number is not ours to say, or none where more than one is wanted.
  Result<void> set_threads(int threads) const;

  template <class R, class... Arguments>
  auto function(const char* name) const {
    auto* const found = reinterpret_cast<R (*)(Arguments...)>(dlsym(handle_, name));
    CHECK(found) << name;
    return found;
  }
  using Execute = int (*)(void* primitive, void* stream, int count, const ExecutionArgument* arguments);
  using Wait = int (*)(void* stream);
  Execute execute = nullptr;
  Wait wait = nullptr;

  /// A call that gives a status; 0: it worked.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    return function<int, Arguments...>(name)(arguments...);
  }

 private:
  void* handle_ = nullptr;
  std::string version_;
  unsigned runtime_ = 0;
};

/// An object of the library with the function that releases it.
class Handle {
 public:
  Handle() = default;
  Handle(const Library& library, const char* release) : release_(library.function<int, void*>(release)) {}
  Handle(Handle&& other) noexcept : object(std::exchange(other.object, nullptr)), release_(other.release_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(object, other.object);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Handle() {
    if (object) release_(object);
  }
  void* object = nullptr;

 private:
  int (*release_)(void*) = nullptr;
};

}  // namespace isomer::backends::dnnl
