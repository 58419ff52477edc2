
#include <algorithm>

#include "kernel/barriers.h"
#include "kernel/codegen_cuda/function.h"
#include "kernel/own_memory.h"
#include "kernel/tree.h"
#include "kernel/unsupported.h"

namespace isomer::kernel {
namespace {

/// Memory of a block of threads or of one thread is used in one function.
Result<void> check_owners(const Kernel& kernel, const std::vector<LaunchPlace>& places) {
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    const auto users = std::count_if(places.begin(), places.end(), [&](const LaunchPlace& place) {
      return touches(place.in(kernel), static_cast<int>(b));
    });
    if (users > 1)
      return unsupported(kernel.buffers[b].name, "memory of threads in one launch expected, it is used in {}", users);
  }
  return {};
}

}  // namespace

Result<CudaKernel> emit_cuda(const Kernel& scheduled, const std::string& prefix) {
  TRY(const Kernel waiting, with_barriers(scheduled));
  const Kernel kernel = with_own_memory(waiting);
  const std::vector<LaunchPlace> places = launches_of(kernel);
  TRY_VOID(check_owners(kernel, places));
  CudaKernel result;
  try {
    for (const LaunchPlace& place : places) {
      const Statement& statement = place.in(kernel);
      const Loop* const turns = place.turns(kernel);
      CudaLaunch launch;
      launch.function = prefix + std::to_string(result.launches.size());
      cuda::Function function = cuda::print_function(kernel, statement, turns, launch.function);
      result.text += (result.text.empty() ? "" : "\n") + function.text;
      launch.launch = launch_of(statement);
      launch.buffers = std::move(function.buffers);
      launch.takes_turn = turns != nullptr;
      launch.shared_bytes = function.shared_bytes;
      if (place.step == 0) {
        launch.turns = *te::as_constant(turns->extent);
        launch.followers = static_cast<int64_t>(turns->body.size()) - 1;
      }
      result.launches.push_back(std::move(launch));
    }
  } catch (Unsupported& failure) {
    return std::move(failure.error);
  }
  return result;
}

}  // namespace isomer::kernel
