#include "search/tasks/task_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/te/program_text.h"
#include "kernel/access.h"
#include "kernel/task_text.h"
#include "kernel/tree.h"
#include "search/tasks/form.h"
#include "search/tasks/fuse.h"

namespace isomer::search {
namespace {

/// Equal tasks have equal ones. Texts, not hashes of them: what is equal here runs the same code.
std::string text_of(const Graph& graph, const Task& task, const std::set<int>& constants) {
  std::string text = te::print(task.program);
  for (size_t k = 0; k < task.inputs.size(); ++k) {
    const ValueId input = task.inputs[k];
    text += fmt::format("{}{} {}\n", constants.contains(static_cast<int>(k)) ? "const " : "",
                        input.valid() ? graph.value(input).type.text() : "none", task.input_layout(k));
  }
  for (const kernel::SizeNames& names : size_names(graph, task))
    text += fmt::format("sizes {}\n", fmt::join(names, " "));
  for (size_t k = 0; k < task.outputs.size(); ++k) text += task.output_layout(k) + "\n";
  return text;
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

}  // namespace

Result<const LoweredTask*> TaskTable::lowered(const Graph& graph, const Task& task) {
  const std::set<int> constants = finite_constants(graph, task);
  std::string text = text_of(graph, task, constants);
  if (const auto known = by_program_.find(text); known != by_program_.end()) return known->second;
  const LoweredTask* made = nullptr;
  if (task.is_laid_out()) {
    TRY(const LoweredTask* const row_major, lowered(graph, task.row_major()));
    TRY(made, lay_out(*row_major, task));
  } else {
    TRY(made, lower(graph, task, constants));
  }
  by_program_.emplace(std::move(text), made);
  return made;
}

Result<const LoweredTask*> TaskTable::lower(const Graph& graph, const Task& task, const std::set<int>& constants) {
  TRY(const std::vector<kernel::TaskType> types, input_types(graph, task));
  auto kernel = kernel::lower(task.program, types, size_names(graph, task));
  if (!kernel.ok()) return std::move(kernel).error().within(task.place(graph));
  for (const int input : constants)
    if (const int buffer = kernel->inputs[static_cast<size_t>(input)]; buffer >= 0)
      kernel->buffers[static_cast<size_t>(buffer)].is_constant = true;
  kernel->micro_kernels = micro_kernels_;
  return add({viewed_input(task.program, types), kernel::Schedule(std::move(*kernel)),
              kernel::meaning_text(task.program, types, constants)});
}

Result<const LoweredTask*> TaskTable::lay_out(const LoweredTask& row_major, const Task& task) {
  kernel::Schedule start = row_major.start;
  const auto set = [&](int buffer, const std::string& layout) -> Result<void> {
    if (buffer < 0 || layout.empty()) return {};
    return start.set_layout(start.kernel().buffers[buffer].name, layout);
  };
  for (size_t k = 0; k < task.inputs.size(); ++k) TRY_VOID(set(start.kernel().inputs[k], task.input_layout(k)));
  for (size_t k = 0; k < task.outputs.size(); ++k) TRY_VOID(set(start.kernel().outputs[k], task.output_layout(k)));
  const int view_of = viewed_input(start.kernel());
  return add({view_of, std::move(start), row_major.meaning});
}

const LoweredTask* TaskTable::add(LoweredTask task) {
  const kernel::Kernel& kernel = task.start.kernel();
  std::string text = print(kernel);
  const auto [known, is_new] = by_kernel_.try_emplace(std::move(text));
  if (!is_new) return known->second.get();
  task.hash = Hasher().add(std::string_view(known->first)).finish();
  task.flops = count_flops(kernel);
  task.bytes = count_bytes(kernel);
  task.is_open = kernel::has_dynamic_sizes(kernel);
  known->second = std::make_unique<const LoweredTask>(std::move(task));
  return known->second.get();
}

std::set<int> TaskTable::finite_constants(const Graph& graph, const Task& task) {
  std::set<int> constants;
  for (size_t k = 0; k < task.inputs.size(); ++k)
    if (task.inputs[k].valid() && graph.is_constant(task.inputs[k]) && is_finite(*graph.value(task.inputs[k]).constant))
      constants.insert(static_cast<int>(k));
  return constants;
}

namespace {

/// Whether no element has all bits of the exponent; weights are large, and many.
template <class Bits>
bool are_finite(std::span<const std::byte> bytes, Bits exponent) {
  bool result = true;
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof(Bits));
    result &= (bits & exponent) != exponent;
  }
  return result;
}

bool are_finite(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DataType::kFloat32: return are_finite<uint32_t>(tensor.bytes(), 0x7f80'0000);
    case DataType::kFloat16: return are_finite<uint16_t>(tensor.bytes(), 0x7c00);
    case DataType::kBFloat16: return are_finite<uint16_t>(tensor.bytes(), 0x7f80);
    default: break;
  }
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(tensor.real(i))) return false;
  return true;
}

}  // namespace

bool TaskTable::is_finite(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return true;
  const auto [known, is_new] = are_finite_.try_emplace({tensor.bytes().data(), tensor.bytes().size()}, tensor, true);
  if (is_new) known->second.second = are_finite(tensor);
  return known->second.second;
}

}  // namespace isomer::search
