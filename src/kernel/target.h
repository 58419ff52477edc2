// What code is made for: a CPU, by LLVM (codegen_llvm.h), or a GPU, by CUDA (codegen_cuda.h).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernel/micro_tile.h"

namespace isomer::kernel {

/// A processor to make code for.
struct CpuTarget {
  std::string cpu;        ///< as LLVM names it: "haswell"
  std::string features;   ///< where they differ from the CPU's, as llc takes them: "+avx2,-avx512f"
  int vector_bits = 128;  ///< of the widest registers that code may use: 128, 256 or 512
  /// What code for this target may use beyond x86-64, by the names of LLVM and runtime/cpu_features.h: "avx2", "fma", …
  std::vector<std::string> extensions;

  bool has(std::string_view extension) const;
  VectorUnit vectors() const;
  /// Whether vectors of so many bits add up products of a word's bytes (vpdpbusd).
  bool has_vnni(int bits) const;
  /// Machine::word_parts
  int word_parts() const;
};

/// A GPU by NVIDIA's name of its architecture, "sm_90a"; "emulated": none, code that a CPU runs in its place
/// (tests/cuda).
struct CudaTarget {
  std::string arch;
  bool tf32 = false;  ///< factors of products of floats may be rounded to tf32: to 11 significant bits
};

using Target = std::variant<CpuTarget, CudaTarget>;

}  // namespace isomer::kernel
