#include "search/task_kernel.h"

#include <cmath>

#include <algorithm>
#include <limits>
#include <map>

#include "kernel/access.h"
#include "kernel/tree.h"
#include "search/fuse.h"

namespace isomer {
namespace {

Result<void> set_layouts(kernel::Schedule& schedule, const Task& task) {
  const auto set = [&](int buffer, const std::string& layout) -> Result<void> {
    if (buffer < 0 || layout.empty()) return {};
    return schedule.set_layout(schedule.kernel().buffers[buffer].name, layout);
  };
  for (size_t k = 0; k < task.inputs.size(); ++k) TRY_VOID(set(schedule.kernel().inputs[k], task.input_layout(k)));
  for (size_t k = 0; k < task.outputs.size(); ++k) TRY_VOID(set(schedule.kernel().outputs[k], task.output_layout(k)));
  return {};
}

}  // namespace

Result<PreparedTask> prepare(const Graph& graph, const Task& task, const std::set<int>& constants,
                             const kernel::MicroKernels& micro_kernels) {
  TRY(const std::vector<kernel::TaskType> types, input_types(graph, task));
  PreparedTask prepared;
  prepared.view_of = task.is_laid_out() ? -1 : viewed_input(task.program, types);
  if (prepared.view_of >= 0) return prepared;
  auto lowered = kernel::lower(task.program, types);
  if (!lowered.ok()) return std::move(lowered).error().within(task.place(graph));
  if (kernel::has_dynamic_sizes(*lowered))
    return unsupported(task.place(graph), "sizes that are known at compile time expected, data decide some");
  for (const int input : constants)
    if (const int buffer = lowered->inputs[static_cast<size_t>(input)]; buffer >= 0)
      lowered->buffers[static_cast<size_t>(buffer)].is_constant = true;
  lowered->micro_kernels = micro_kernels;
  prepared.lowered = std::move(*lowered);
  prepared.schedule.emplace(*prepared.lowered);
  TRY_VOID(set_layouts(*prepared.schedule, task));
  if (task.is_laid_out()) prepared.view_of = viewed_input(prepared.schedule->kernel());
  return prepared;
}

std::set<int> ConstantInputs::of(const Graph& graph, const Task& task) {
  std::set<int> constants;
  for (size_t k = 0; k < task.inputs.size(); ++k)
    if (task.inputs[k].valid() && graph.is_constant(task.inputs[k]) && is_finite(*graph.value(task.inputs[k]).constant))
      constants.insert(static_cast<int>(k));
  return constants;
}

bool ConstantInputs::is_finite(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return true;
  const auto [known, is_new] = known_.try_emplace({tensor.bytes().data(), tensor.bytes().size()}, tensor, true);
  bool& is_so = known->second.second;
  for (int64_t i = 0; is_new && i < tensor.count() && is_so; ++i) is_so = std::isfinite(tensor.real(i));
  return is_so;
}

int64_t count_flops(const kernel::Kernel& kernel) {
  double flops = 0;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    double points = 1;
    for (const auto* list : {&block.axes, &block.reduce})
      for (const kernel::Iterator& iterator : *list)
        points *= static_cast<double>(te::as_constant(iterator.extent).value_or(0));
    int operations = block.is_reduction();
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) {
        operations += is_float(e.dtype()) && (te::as<te::Binary>(e) || te::as<te::Unary>(e));
      });
    flops += points * operations;
  });
  return static_cast<int64_t>(std::min(flops, 0x1p62));
}

double count_bytes(const kernel::Kernel& kernel) {
  std::map<int, double> elements;  // that are touched, by buffer; more than once perhaps
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    const auto times = static_cast<double>(kernel::points(block).value_or(std::numeric_limits<int64_t>::max()));
    for (const int buffer : kernel::loads(block)) elements[buffer] += times;
    for (const int buffer : kernel::stores(block)) elements[buffer] += times;
  });
  double bytes = 0;
  for (const auto& [buffer, touched] : elements) {
    const kernel::Buffer& there = kernel.buffers[buffer];
    if (!kernel::is_argument(kernel, buffer)) continue;
    const auto count = static_cast<double>(element_count(there.shape).constant().value_or(0));
    bytes += std::min(count, touched) * bit_width(there.dtype) / 8;
  }
  return bytes;
}

ScheduledTask finish(const kernel::Schedule& schedule, int64_t flops) {
  ScheduledTask made{schedule.trace(), schedule.finish(), {}, flops, {}};
  made.constants = take_constant_parts(made.kernel);
  return made;
}

}  // namespace isomer
