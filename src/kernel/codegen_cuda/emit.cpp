#include <fmt/format.h>

#include <algorithm>

#include "kernel/barriers.h"
#include "kernel/codegen_cuda/function.h"
#include "kernel/tree.h"
#include "kernel/unsupported.h"

namespace isomer::kernel {
namespace {

/// Its statements are launched in turns.
bool takes_turns(const Loop& loop) {
  return loop.ordered && te::as_constant(loop.extent) &&
         std::any_of(loop.body.begin(), loop.body.end(),
                     [](const Statement& statement) { return launch_of(statement) != Launch(); });
}

/// Memory of a block of threads or of one thread is used in one function.
Result<void> check_owners(const Kernel& kernel, const std::vector<std::pair<const Statement*, const Loop*>>& parts) {
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    const auto users = std::count_if(parts.begin(), parts.end(),
                                     [&](const auto& part) { return touches(*part.first, static_cast<int>(b)); });
    if (users > 1)
      return unsupported(kernel.buffers[b].name, "memory of threads in one launch expected, it is used in {}", users);
  }
  return {};
}

}  // namespace

Result<CudaKernel> emit_cuda(const Kernel& scheduled, const std::string& prefix) {
  TRY(const Kernel kernel, with_barriers(scheduled));
  CudaKernel result;
  std::vector<std::pair<const Statement*, const Loop*>> parts;
  const auto add = [&](const Statement& statement, const Loop* turns) {
    const std::string name = prefix + std::to_string(parts.size());
    parts.emplace_back(&statement, turns);
    cuda::Function function = cuda::print_function(kernel, statement, turns, name);
    result.text += (result.text.empty() ? "" : "\n") + function.text;
    CudaLaunch launch;
    launch.function = name;
    launch.launch = launch_of(statement);
    launch.buffers = std::move(function.buffers);
    launch.takes_turn = turns != nullptr;
    launch.shared_bytes = function.shared_bytes;
    result.launches.push_back(std::move(launch));
  };
  try {
    for (const Statement& root : kernel.body) {
      const auto* turns = std::get_if<Loop>(&root.node);
      if (!turns || !takes_turns(*turns)) {
        add(root, nullptr);
        continue;
      }
      const size_t first = parts.size();
      for (const Statement& statement : turns->body) add(statement, turns);
      result.launches[first].turns = *te::as_constant(turns->extent);
      result.launches[first].followers = static_cast<int64_t>(turns->body.size()) - 1;
    }
  } catch (Unsupported& failure) {
    return std::move(failure.error);
  }
  TRY_VOID(check_owners(kernel, parts));
  return result;
}

}  // namespace isomer::kernel
