#include "cuda/clang.h"

#include "kernel/codegen_cuda.h"
#include "support/files.h"
#include "support/process.h"

namespace isomer::kernel::test {

std::string clang_to_ptx(const std::string& text, const std::string& arch) {
  const isomer::test::ScratchFolder folder;
  const auto file = folder.path() / "kernels.cu";
  isomer::test::write_file(file, std::string(cuda_prelude()) + text);
  const auto outcome = isomer::test::run_program(
      {"clang++-19", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
       "--cuda-gpu-arch=" + arch, "-std=c++17", "-O1", "-include",
       isomer::test::source_path("tests/cuda/clang_cuda.h").string(), "-S", "-o", "/dev/null", file.string()});
  if (outcome.exit_code == 0) return {};
  return outcome.err.empty() ? "it ended with " + std::to_string(outcome.exit_code) : outcome.err;
}

}  // namespace isomer::kernel::test
