// The door to NVRTC, NVIDIA's compiler as a library, which is opened where it is found: CUDA C++ to machine code of a
// GPU (CUBIN), on machines without one as well. Tests: tests/cuda/nvrtc_test.cpp
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "util/result.h"

namespace isomer::kernel {

/// What ptxas says that a function takes.
struct CudaUse {
  std::string function;
  int64_t registers = 0;    ///< of a thread
  int64_t spill_bytes = 0;  ///< of a thread: stored and loaded, as registers did not do
  int64_t shared_bytes = 0;
  bool operator==(const CudaUse&) const = default;
};

struct Cubin {
  std::vector<std::byte> image;
  std::vector<CudaUse> functions;
  std::string log = {};  ///< of ptxas
};

class Nvrtc {
 public:
  /// The library of this name or path. The error says what the loader says.
  static Result<Nvrtc> open(const std::string& library);

  const std::string& library() const { return library_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  /// What tells its builds apart: several have one version.
  const std::string& build() const { return build_; }
  /// That `compile` gives it.
  static std::vector<std::string> options(const std::string& arch);
  /// What it compiles for: "sm_80", and from 9.0 on "sm_90a" too. Empty where it does not say.
  std::vector<std::string> archs() const;

  /// `text` needs nothing in front of it. `arch`: "sm_80", "sm_90a". The error holds what the compiler says first.
  Result<Cubin> compile(const std::string& text, const std::string& arch) const;

 private:
  struct Functions;
  std::string library_, build_;
  std::shared_ptr<const Functions> functions_;
  int major_ = 0, minor_ = 0;
};

/// The first of its places (backends/find_library.h) that opens; the error names the last.
Result<Nvrtc> find_nvrtc();

/// The lines of ptxas's log (--ptxas-options=-v) about functions.
std::vector<CudaUse> parse_ptxas_log(std::string_view log);

}  // namespace isomer::kernel
