#include "search/code/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "kernel/codegen_cuda/module.h"
#include "kernel/codegen_llvm.h"
#include "runtime/cuda/gpu.h"

namespace isomer::search {
namespace {

constexpr std::string_view kCuda = "cuda";
/// Older ones lack what generated code uses (min and max that propagate NaN, cp.async).
constexpr int kOldestArch = 80;

/// "sm_80", "sm_90a".
bool is_arch(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return false;
  text.remove_prefix(kPrefix.size());
  if (!text.empty() && text.back() == 'a') text.remove_suffix(1);
  const bool is_number = text.size() >= 2 && text.size() <= 3 &&
                         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
  return is_number && std::stoi(std::string(text)) >= kOldestArch;
}

Result<std::string> arch_of(std::string_view text) {
  if (text == kCuda) {
    TRY(const std::vector<runtime::cuda::GpuFacts> gpus, runtime::cuda::gpus());
    if (gpus.empty())
      return unsupported("target", "a GPU expected, none found; 'cuda=sm_90a' names one that is elsewhere");
    return gpus[0].arch();
  }
  const std::string_view arch = text.substr(kCuda.size() + 1);
  if (arch == kernel::kEmulated || is_arch(arch)) return std::string(arch);
  return Error{
      ErrorKind::kUsage, "target",
      fmt::format("'cuda', or 'cuda=' and an architecture from sm_{} on (sm_80, sm_90a, …), '{}' behind it or not, "
                  "expected, '{}' found",
                  kOldestArch, kRoundsToTf32, text)};
}

}  // namespace

bool is_gpu_target(std::string_view text) {
  return text == kCuda || text.starts_with("cuda=") || text.starts_with("cuda+");
}

Result<kernel::Target> parse_target(std::string_view text) {
  if (!is_gpu_target(text)) {
    auto cpu = kernel::parse_cpu_target(text);
    if (!cpu.ok()) return std::move(cpu).error();
    return kernel::Target(*std::move(cpu));
  }
  const bool rounds = text.ends_with(kRoundsToTf32);
  if (rounds) text.remove_suffix(kRoundsToTf32.size());
  TRY(std::string arch, arch_of(text));
  TRY_VOID(kernel::find_cuda_compiler(arch));
  return kernel::Target(kernel::CudaTarget{std::move(arch), rounds});
}

bool runs_here(const kernel::Target& target) {
  if (const auto* cpu = std::get_if<kernel::CpuTarget>(&target)) return kernel::runs_here(*cpu);
  const auto gpus = runtime::cuda::gpus();
  return gpus.ok() && std::any_of(gpus->begin(), gpus->end(), [&](const runtime::cuda::GpuFacts& gpu) {
           return runtime::cuda::runs(std::get<kernel::CudaTarget>(target).arch, gpu);
         });
}

}  // namespace isomer::search
