#include "search/code/gpu_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/codegen_cuda/module.h"
#include "util/parallel.h"
#include "util/stop.h"

namespace isomer::search {
namespace {

/// So many that starting a compiler costs little, so few that several compile at a time.
constexpr size_t kKernelsOfModule = 8;

runtime::Launch launch_of(const kernel::CudaLaunch& made) {
  runtime::Launch launch;
  launch.function = made.function;
  launch.blocks = made.launch.blocks;
  launch.threads = made.launch.threads;
  launch.buffers.assign(made.buffers.begin(), made.buffers.end());
  launch.takes_turn = made.takes_turn;
  launch.turns = made.turns;
  launch.followers = made.followers;
  launch.shared_bytes = made.asked_bytes();
  return launch;
}

struct Source {
  std::string text;
  std::vector<std::string> functions;
};

}  // namespace

Result<GpuCode> gpu_code(const std::vector<const kernel::Kernel*>& kernels, const std::string& arch, int threads) {
  GpuCode code;
  std::vector<Source> sources;
  for (size_t k = 0; k < kernels.size(); ++k) {
    TRY_VOID(check_stop());
    if (k % kKernelsOfModule == 0) sources.emplace_back();
    Source& source = sources.back();
    TRY(const kernel::CudaKernel made, kernel::emit_cuda(*kernels[k], fmt::format("k{}_", k)));
    source.text += made.text;
    runtime::Kernel& kernel = code.kernels.emplace_back();
    kernel.module = static_cast<int32_t>(sources.size()) - 1;
    for (const kernel::CudaLaunch& launch : made.launches) {
      source.functions.push_back(launch.function);
      kernel.launches.push_back(launch_of(launch));
    }
  }
  std::vector<Result<kernel::Cubin>> made(sources.size(), Result<kernel::Cubin>(kernel::Cubin()));
  ThreadPool pool(static_cast<int>(std::clamp<size_t>(sources.size(), 1, static_cast<size_t>(threads))));
  pool.run(static_cast<int64_t>(sources.size()), [&](int64_t k, int) {
    const Source& source = sources[static_cast<size_t>(k)];
    if (auto stopped = check_stop(); !stopped.ok()) {
      made[static_cast<size_t>(k)] = std::move(stopped).error();
      return;
    }
    made[static_cast<size_t>(k)] = kernel::compile_cuda(source.text, source.functions, arch);
  });
  for (Result<kernel::Cubin>& module : made) {
    if (!module.ok()) return std::move(module).error();
    code.modules.push_back({arch, std::move(module->image)});
  }
  return code;
}

}  // namespace isomer::search
