#include "search/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "kernel/lower.h"
#include "kernel/tree.h"
#include "runtime/math_table.h"
#include "runtime/memory.h"
#include "runtime/memory_plan.h"
#include "search/constant_parts.h"
#include "search/layouts.h"
#include "verify/inputs.h"

namespace isomer {
namespace {

using kernel::Kernel;

int64_t bytes_of(DataType dtype, const Shape& shape) { return packed_bytes(dtype, element_count(shape).value()); }

/// A kernel that has been scheduled, with its constant operands brought into the form that it reads.
struct Scheduled {
  kernel::Trace trace;
  Kernel kernel;
  ConstantParts constants;
  int64_t flops = 0;
};

/// Floating-point operations of a kernel as it was lowered: twice the products of sums, once everything else.
int64_t count_flops(const Kernel& kernel) {
  double flops = 0;
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    double points = 1;
    for (const auto* list : {&block.axes, &block.reduce})
      for (const kernel::Iterator& iterator : *list) points *= static_cast<double>(te::as_constant(iterator.extent).value_or(0));
    int operations = block.is_reduction();
    for (const kernel::Expr& body : block.bodies)
      te::for_each_node(body, [&](const kernel::Expr& e) { operations += is_float(e.dtype()) && (te::as<te::Binary>(e) || te::as<te::Unary>(e)); });
    flops += points * operations;
  });
  return static_cast<int64_t>(std::min(flops, 0x1p62));
}

class Compiler {
 public:
  Compiler(const Graph& graph, const CompileOptions& options) : graph_(graph), options_(options) {}

  Result<Compilation> run() {
    TRY(std::vector<Task> tasks, fuse(graph_, options_.fuse));
    if (options_.assign_layouts) {
      TRY(tasks, assign_layouts(graph_, std::move(tasks)));
    }
    for (const GivenSchedule& given : options_.schedules) TRY_VOID(take_schedule(given, tasks));
    for (Task& task : tasks) TRY_VOID(schedule(std::move(task)));
    TRY_VOID(generate_code());
    plan_values();
    TRY_VOID(compute_constants());
    add_steps();
    plan_arena();
    runtime::Variant& variant = this->variant();
    variant.target.name = options_.target.cpu;
    variant.target.features = options_.target.extensions;
    result_.artifact.provenance.seed = options_.seed;
    return std::move(result_);
  }

 private:
  runtime::Artifact& artifact() { return result_.artifact; }
  runtime::Variant& variant() {
    if (artifact().variants.empty()) artifact().variants.emplace_back();
    return artifact().variants[0];
  }

  void log(std::string_view line) const {
    if (options_.log) options_.log(line);
  }

  /// A task before it is scheduled, or what it is a view of.
  struct Prepared {
    int view_of = -1;
    std::optional<Kernel> lowered;
    std::optional<kernel::Schedule> schedule;  ///< with the task's layouts
  };

  Result<Prepared> prepare(const Task& task) const {
    TRY(const std::vector<kernel::TaskType> types, input_types(graph_, task));
    Prepared prepared;
    prepared.view_of = task.is_laid_out() ? -1 : viewed_input(task.program, types);
    if (prepared.view_of >= 0) return prepared;
    auto lowered = kernel::lower(task.program, types);
    if (!lowered.ok()) return std::move(lowered).error().within(task.place(graph_));
    if (kernel::has_dynamic_sizes(*lowered)) return unsupported(task.place(graph_), "sizes that are known at compile time expected, data decide some");
    prepared.lowered = std::move(*lowered);
    prepared.schedule.emplace(*prepared.lowered);
    TRY_VOID(set_layouts(*prepared.schedule, task));
    if (task.is_laid_out()) prepared.view_of = viewed_input(prepared.schedule->kernel());
    return prepared;
  }

  /// A schedule written by hand becomes that of all tasks equal to the one it is for.
  Result<void> take_schedule(const GivenSchedule& given, const std::vector<Task>& tasks) {
    std::vector<std::string> names;
    for (const Task& task : tasks) names.push_back(task.name(graph_));
    auto number = find_task(given.task, names);
    if (!number.ok()) return std::move(number).error().within(given.source);
    const Task& task = tasks[*number];
    TRY(Prepared prepared, prepare(task));
    if (prepared.view_of >= 0) return Error{ErrorKind::kUsage, given.source, fmt::format("a task with a kernel expected, {} ({}) is a view", *number, names[*number])};
    TRY(kernel::Schedule made, replay_given(given, *std::move(prepared.lowered), prepared.schedule->trace()));
    const auto [known, is_new] = given_.try_emplace(key(*prepared.schedule, constant_inputs(task)), std::move(made));
    if (!is_new) return Error{ErrorKind::kUsage, given.source, fmt::format("one schedule for equal tasks expected, task {} has one already", *number)};
    return {};
  }

  /// Lowers and schedules a task, or finds it to be a view. Equal tasks are scheduled once.
  Result<void> schedule(Task task) {
    TRY(Prepared prepared, prepare(task));
    CompiledTask compiled;
    compiled.name = task.name(graph_);
    compiled.view_of = prepared.view_of;
    kernel_of_.push_back(compiled.view_of >= 0 ? -1 : scheduled(*std::move(prepared.schedule), task));
    if (compiled.view_of < 0) {
      compiled.trace = scheduled_[kernel_of_.back()].trace;
      compiled.kernel = scheduled_[kernel_of_.back()].kernel;
      compiled.flops = scheduled_[kernel_of_.back()].flops;
    }
    compiled.task = std::move(task);
    result_.tasks.push_back(std::move(compiled));
    return {};
  }

  bool is_finite(ValueId id) {
    const auto [known, is_new] = finite_.try_emplace(id, true);
    const Tensor& tensor = *graph_.value(id).constant;
    if (is_new && is_float(tensor.dtype()))
      for (int64_t i = 0; i < tensor.count() && known->second; ++i) known->second = std::isfinite(tensor.real(i));
    return known->second;
  }

  std::set<int> constant_inputs(const Task& task) {
    std::set<int> constants;
    for (size_t k = 0; k < task.inputs.size(); ++k)
      if (task.inputs[k].valid() && graph_.is_constant(task.inputs[k]) && is_finite(task.inputs[k])) constants.insert(static_cast<int>(k));
    return constants;
  }

  /// Equal for tasks that share a kernel.
  static Hash128 key(const kernel::Schedule& schedule, const std::set<int>& constants) {
    Hasher hasher;
    hasher.add(kernel::structural_hash(schedule.kernel()));
    for (const int constant : constants) hasher.add(static_cast<uint64_t>(constant));
    return hasher.finish();
  }

  /// The number of the task's kernel.
  int scheduled(kernel::Schedule schedule, const Task& task) {
    const std::set<int> constants = constant_inputs(task);
    const Hash128 key = Compiler::key(schedule, constants);
    const auto [known, is_new] = numbers_.try_emplace(key, scheduled_.size());
    if (is_new) {
      const int64_t flops = count_flops(schedule.kernel());
      const auto given = given_.find(key);
      const kernel::Schedule made =
          given != given_.end() ? given->second : kernel::default_schedule(std::move(schedule), machine_of(options_.target, options_.threads), constants);
      Scheduled entry{made.trace(), made.finish(), {}, flops};
      entry.constants = take_constant_parts(entry.kernel, constants);
      scheduled_.push_back(std::move(entry));
    }
    return static_cast<int>(known->second);
  }

  static Result<void> set_layouts(kernel::Schedule& schedule, const Task& task) {
    const auto set = [&](int buffer, const std::string& layout) -> Result<void> {
      if (buffer < 0 || layout.empty()) return {};
      return schedule.set_layout(schedule.kernel().buffers[buffer].name, layout);
    };
    for (size_t k = 0; k < task.inputs.size(); ++k) TRY_VOID(set(schedule.kernel().inputs[k], task.input_layout(k)));
    for (size_t k = 0; k < task.outputs.size(); ++k) TRY_VOID(set(schedule.kernel().outputs[k], task.output_layout(k)));
    return {};
  }

  Result<void> generate_code() {
    std::vector<const Kernel*> kernels;
    for (const Scheduled& entry : scheduled_) kernels.push_back(&entry.kernel);
    TRY(kernel::MachineCode code, kernel::compile(kernels, options_.target));
    artifact().code = std::move(code.image);
    for (const auto& parts : code.kernels) {
      runtime::Kernel made;
      for (const kernel::Part& part : parts) made.parts.push_back({static_cast<uint64_t>(part.entry), part.iterations, part.scratch_bytes});
      artifact().kernels.push_back(std::move(made));
    }
    return {};
  }

  int add_value(std::string name, DataType dtype, const Shape& shape, runtime::Place place) {
    runtime::Value value;
    value.name = std::move(name);
    value.type = static_cast<runtime::ElementType>(dtype);
    value.dims = *constants(shape);
    value.bytes = bytes_of(dtype, shape);
    value.place = place;
    variant().values.push_back(std::move(value));
    return static_cast<int>(variant().values.size()) - 1;
  }

  int add_value(ValueId id, const std::string& layout, runtime::Place place) {
    const Value& value = graph_.value(id);
    return values_[{id, layout}] = add_value(value.name, value.type.dtype, *value.type.shape, place);
  }

  int add_weight(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    artifact().weights.push_back(bytes);
    artifact().owners.push_back(std::move(owner));
    return static_cast<int>(artifact().weights.size()) - 1;
  }

  /// A value for every input, output and result; constants get theirs where they are used.
  void plan_values() {
    for (size_t k = 0; k < graph_.inputs().size(); ++k) {
      const ValueId id = graph_.inputs()[k];
      const int value = add_value(id, "", runtime::InInput{static_cast<int32_t>(k)});
      variant().inputs.push_back({graph_.value(id).name, value, index_bound(graph_, id).value_or(0)});
    }
    std::set<ValueId> written;  // row-major, by a kernel
    for (const CompiledTask& compiled : result_.tasks)
      for (size_t k = 0; k < compiled.task.outputs.size(); ++k)
        if (compiled.view_of < 0 && compiled.task.output_layout(k).empty()) written.insert(compiled.task.outputs[k]);
    for (size_t k = 0; k < graph_.outputs().size(); ++k) {
      const ValueId id = graph_.outputs()[k];
      const auto number = static_cast<int32_t>(k);
      const bool in_place = written.contains(id) && !values_.contains({id, ""});
      const Value& value = graph_.value(id);
      const int made = in_place ? add_value(id, "", runtime::InOutput{number}) : add_value(value.name, value.type.dtype, *value.type.shape, runtime::InOutput{number});
      if (!in_place) copies_.emplace_back(id, made);
      variant().outputs.push_back({value.name, made, 0});
    }
    for (const CompiledTask& compiled : result_.tasks)
      for (size_t k = 0; k < compiled.task.outputs.size(); ++k) {
        const ValueId output = compiled.task.outputs[k];
        const std::string layout = compiled.task.output_layout(k);
        if (compiled.view_of >= 0) {
          // A view of a view is one of what that views.
          const int source = value_of(compiled.task.inputs[compiled.view_of], compiled.task.input_layout(compiled.view_of));
          const auto* through = std::get_if<runtime::ViewOf>(&variant().values[source].place);
          add_value(output, layout, runtime::ViewOf{through ? through->value : source, 0});
        } else if (!values_.contains({output, layout})) {
          add_value(output, layout, runtime::InArena{});
        }
      }
  }

  /// The value of a graph's value; a constant becomes a weight.
  int value_of(ValueId id, const std::string& layout) {
    if (const auto found = values_.find({id, layout}); found != values_.end()) return found->second;
    const Tensor& tensor = *graph_.value(id).constant;
    const int weight = add_weight(tensor.bytes(), std::make_shared<const Tensor>(tensor));
    return add_value(id, "", runtime::InWeights{weight});
  }

  /// Runs what depends on constants alone, here and now: in code for this machine, whatever the target is.
  Result<void> compute_constants() {
    packed_.resize(result_.tasks.size());
    std::vector<const Kernel*> kernels;
    for (const Scheduled& entry : scheduled_) kernels.push_back(&entry.constants.kernel);
    TRY(const kernel::MachineCode code, kernel::compile(kernels, kernel::host_target()));
    TRY(const runtime::ExecutableMemory image, runtime::ExecutableMemory::copy_of(code.image));
    for (size_t t = 0; t < result_.tasks.size(); ++t) {
      const int number = kernel_of_[t];
      if (number < 0 || scheduled_[number].constants.buffers.empty()) continue;
      TRY_VOID(compute_constants(result_.tasks[t].task, scheduled_[number].constants, code.kernels[number], image, packed_[t]));
    }
    return {};
  }

  Result<void> compute_constants(const Task& task, const ConstantParts& parts, const std::vector<kernel::Part>& code,
                                 const runtime::ExecutableMemory& image, std::map<int, int>& packed) {
    const Kernel& kernel = parts.kernel;
    const size_t count = kernel.buffers.size();
    std::vector<void*> buffers(count, nullptr);
    auto memory = std::make_shared<std::vector<runtime::Memory>>();
    const auto allocate = [&](int64_t bytes) -> Result<void*> {
      auto made = runtime::Memory::allocate(bytes);
      if (!made) return unsupported(task.place(graph_), "{} bytes of memory for packed constants expected", bytes);
      memory->push_back(std::move(*made));
      return static_cast<void*>(memory->back().data());
    };
    for (size_t k = 0; k < task.inputs.size(); ++k) {
      if (kernel.inputs[k] < 0 || !graph_.is_constant(task.inputs[k])) continue;
      const auto bytes = graph_.value(task.inputs[k]).constant->bytes();
      TRY(void* const place, allocate(static_cast<int64_t>(bytes.size())));
      std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(place));
      buffers[kernel.inputs[k]] = place;
    }
    for (size_t b = 0; b < count; ++b) {
      if (buffers[b] || kernel.buffers[b].scope != kernel::Scope::kArgument || kernel::writers(kernel, static_cast<int>(b)).empty()) continue;
      TRY(buffers[b], allocate(bytes_of(kernel.buffers[b].dtype, kernel.buffers[b].shape)));
    }
    std::vector<int64_t*> extents(count, nullptr);
    for (const kernel::Part& part : code) {
      TRY(void* const scratch, allocate(part.scratch_bytes));
      runtime::Frame frame{buffers.data(), extents.data(), scratch, nullptr, runtime::math_table()};
      const auto outcome = static_cast<runtime::Outcome>(kernel::function_of(image, part)(&frame, 0, part.iterations));
      if (outcome != runtime::Outcome::kDone) return invalid(task.place(graph_), "constants that can be packed expected");
    }
    for (const int b : parts.buffers) {
      const kernel::Buffer& buffer = kernel.buffers[b];
      const auto size = static_cast<size_t>(bytes_of(buffer.dtype, buffer.shape));
      const int weight = add_weight({static_cast<const std::byte*>(buffers[b]), size}, memory);
      packed.emplace(b, add_value(buffer.name, buffer.dtype, buffer.shape, runtime::InWeights{weight}));
    }
    return {};
  }

  void add_steps() {
    for (size_t t = 0; t < result_.tasks.size(); ++t) {
      const CompiledTask& compiled = result_.tasks[t];
      if (compiled.view_of >= 0) continue;
      runtime::Step step;
      step.name = compiled.name;
      for (const NodeId id : compiled.task.nodes) step.operators.push_back(graph_.node(id).op_type);
      step.flops = compiled.flops;
      step.action = runtime::KernelStep{kernel_of_[t], arguments_of(t)};
      variant().steps.push_back(std::move(step));
    }
    for (const auto& [id, to] : copies_) {
      runtime::Step step;
      step.name = "copy of " + graph_.value(id).name;
      step.action = runtime::CopyStep{{value_of(id, ""), to}};
      variant().steps.push_back(std::move(step));
    }
  }

  std::vector<int32_t> arguments_of(size_t t) {
    const CompiledTask& compiled = result_.tasks[t];
    const Kernel& kernel = compiled.kernel;
    std::set<int> used;
    kernel::for_each_expression(kernel.body, [&](const kernel::Expr& e) { used.merge(kernel::loads(e)); });
    kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) { used.merge(kernel::stores(block)); });
    std::vector<int32_t> arguments(kernel.buffers.size(), -1);
    for (size_t k = 0; k < kernel.inputs.size(); ++k)
      if (const int b = kernel.inputs[k]; b >= 0 && used.contains(b)) arguments[b] = value_of(compiled.task.inputs[k], compiled.task.input_layout(k));
    for (size_t k = 0; k < kernel.outputs.size(); ++k)
      if (const int b = kernel.outputs[k]; b >= 0) arguments[b] = values_.at({compiled.task.outputs[k], compiled.task.output_layout(k)});
    for (const auto& [b, value] : packed_[t]) arguments[b] = value;
    for (const int b : used) {
      const kernel::Buffer& buffer = kernel.buffers[b];
      if (arguments[b] < 0 && buffer.scope == kernel::Scope::kArgument) arguments[b] = add_value(buffer.name, buffer.dtype, buffer.shape, runtime::InArena{});
    }
    return arguments;
  }

  /// Offsets in the arena, by when values are written first and read last (through views as well).
  void plan_arena() {
    runtime::Variant& variant = this->variant();
    std::map<int, runtime::Lifetime> lifetimes;
    const auto use = [&](int value, int64_t step) {
      if (value < 0) return;
      if (const auto* view = std::get_if<runtime::ViewOf>(&variant.values[value].place)) value = view->value;
      if (!std::holds_alternative<runtime::InArena>(variant.values[value].place)) return;
      const auto [entry, first] = lifetimes.try_emplace(value, runtime::Lifetime{variant.values[value].bytes, step, step});
      if (!first) entry->second.last_step = step;
    };
    for (size_t s = 0; s < variant.steps.size(); ++s) {
      const auto& action = variant.steps[s].action;
      if (const auto* run = std::get_if<runtime::KernelStep>(&action))
        for (const int32_t argument : run->arguments) use(argument, static_cast<int64_t>(s));
      if (const auto* copy = std::get_if<runtime::CopyStep>(&action)) use(copy->move.from, static_cast<int64_t>(s));
    }
    std::vector<runtime::Lifetime> list;
    for (const auto& [value, lifetime] : lifetimes) list.push_back(lifetime);
    const runtime::MemoryPlan plan = runtime::plan_memory(list);
    size_t next = 0;
    for (const auto& [value, lifetime] : lifetimes) variant.values[value].place = runtime::InArena{plan.offsets[next++]};
    variant.arena_bytes = plan.arena_bytes;
  }

  const Graph& graph_;
  const CompileOptions& options_;
  Compilation result_;
  std::vector<Scheduled> scheduled_;
  std::map<Hash128, size_t> numbers_;
  std::map<Hash128, kernel::Schedule> given_;  ///< written by hand, by the key of their tasks
  std::map<ValueId, bool> finite_;           ///< constants without infinities and NaN
  std::vector<int> kernel_of_;               ///< by task; -1 for a view
  std::map<std::pair<ValueId, std::string>, int> values_;  ///< of the variant, by the graph's and their layouts
  std::vector<std::map<int, int>> packed_;   ///< by task: the value of a buffer that was computed already
  std::vector<std::pair<ValueId, int>> copies_;  ///< to outputs that no kernel writes
};

}  // namespace

kernel::Machine machine_of(const kernel::Target& target, int threads) {
  kernel::Machine machine;
  machine.vector_bits = target.vector_bits;
  machine.vector_registers = target.has("avx512f") ? 32 : 16;
  machine.broadcast_operands = target.has("avx512f");
  machine.threads = threads;
  return machine;
}

Result<Compilation> compile(const Graph& graph, const CompileOptions& options) { return Compiler(graph, options).run(); }

}  // namespace isomer
