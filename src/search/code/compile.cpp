#include "search/code/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "graph/op_def.h"
#include "graph/passes/specialize_bodies.h"
#include "kernel/space/gpu_modules.h"
#include "kernel/space/open_loops.h"
#include "kernel/tree.h"
#include "runtime/call.h"
#include "runtime/kernel_runner.h"
#include "runtime/math_table.h"
#include "runtime/memory.h"
#include "search/code/add_variant.h"
#include "search/code/gpu_code.h"
#include "util/stop.h"

namespace isomer::search {
namespace {

using kernel::Kernel;

int64_t bytes_of(DataType dtype, const Shape& shape) { return byte_size(dtype, element_count(shape).value()); }

/// Bodies are cut as preferred.
Result<TaskGraph> region_of(const Graph& graph, const TaskPlan& plan, const CompileOptions& options, TaskTable& table);

Result<std::vector<TaskGraph>> bodies_of(const Graph& graph, const Task& task, const CompileOptions& options,
                                         TaskTable& table) {
  const Node& node = graph.node(task.nodes[0]);
  std::vector<std::string_view> names;
  if (const auto* branch = std::get_if<BranchForm>(&node.op->form)) names = {branch->then_body, branch->else_body};
  if (const auto* loop = std::get_if<LoopForm>(&node.op->form)) names = {loop->body};
  std::vector<TaskGraph> bodies;
  for (const std::string_view name : names) {
    auto body = region_of(*std::get<GraphPtr>(node.attributes.find(name)->second), {}, options, table);
    if (!body.ok()) return std::move(body).error().within(task.place(graph));
    bodies.push_back(std::move(*body));
  }
  return bodies;
}

Result<TaskGraph> region_of(const Graph& graph, const TaskPlan& plan, const CompileOptions& options, TaskTable& table) {
  TaskDecider decider(plan);
  TRY(std::vector<Task> tasks, tasks_of(graph, options, Surroundings::kWhole, decider, table));
  TaskGraph region{&graph, {}};
  for (Task& task : tasks) {
    GraphTask made;
    made.name = task.name(graph);
    if (task.runs_bodies) {
      TRY(made.bodies, bodies_of(graph, task, options, table));
    }
    made.task = std::move(task);
    region.tasks.push_back(std::move(made));
  }
  return region;
}

class Compiler {
 public:
  explicit Compiler(const CompileOptions& options) : options_(options), table_(options.micro_kernels) {}

  Result<Compilation> run(const Graph& graph) {
    auto specialized = std::make_shared<Graph>(graph);
    TRY_VOID(specialize_bodies(*specialized));
    result_.graph = specialized;
    TRY(result_.whole, cut_into_tasks(*specialized, options_, table_));
    const std::vector<PlacedTask> all = all_tasks(result_.whole);
    for (const GivenSchedule& given : options_.schedules) TRY_VOID(take_schedule(given, all));
    TRY_VOID(schedule(result_.whole));
    TRY_VOID(generate_code());
    TRY_VOID(compute_constants(result_.whole));
    TRY_VOID(add_variant(result_.whole, result_.kernels, artifact()));
    runtime::Target& target = artifact().variants[0].target;
    if (const auto* cpu = std::get_if<kernel::CpuTarget>(&options_.target)) {
      target = {cpu->cpu, cpu->extensions};
    } else {
      target = {gpu_arch(), {}, runtime::DeviceKind::kCuda};
      if (std::get<kernel::CudaTarget>(options_.target).tf32) target.features = {runtime::kTf32};
      TRY_VOID(add_plain());
    }
    artifact().provenance.seed = options_.seed;
    return std::move(result_);
  }

 private:
  runtime::Artifact& artifact() { return result_.artifact; }
  const std::string& gpu_arch() const { return std::get<kernel::CudaTarget>(options_.target).arch; }
  std::vector<const Kernel*> kernels() const {
    std::vector<const Kernel*> kernels;
    for (const kernel::ScheduledKernel& entry : result_.kernels) kernels.push_back(&entry.kernel);
    return kernels;
  }

  /// A schedule written by hand becomes that of all tasks equal to the one it is for.
  Result<void> take_schedule(const GivenSchedule& given, const std::vector<PlacedTask>& all) {
    std::vector<std::string> names;
    for (const PlacedTask& placed : all) names.push_back(placed.task->name);
    auto number = find_task(given.task, names);
    if (!number.ok()) return std::move(number).error().within(given.source);
    const Graph& graph = *all[*number].graph;
    const Task& task = all[*number].task->task;
    const LoweredTask* lowered = nullptr;
    if (!task.runs_bodies) {
      TRY(lowered, table_.lowered(graph, task));
    }
    if (!lowered || lowered->view_of >= 0)
      return Error{ErrorKind::kUsage, given.source,
                   fmt::format("a task with a kernel expected, {} ({}) has none", *number, names[*number])};
    TRY(kernel::Scheduled made, make_given(given, lowered->start, options_.space, machine_of(options_)));
    const bool may_be_tuned = given.schedule.is_open() && !is_half_open(given.schedule, lowered->start);
    if (auto tuned = options_.tuned && may_be_tuned ? options_.tuned(*lowered, &given.schedule) : std::nullopt) {
      ++result_.tuned;
      made = *std::move(tuned);
    }
    if (!given_.try_emplace(lowered, std::move(made)).second)
      return Error{ErrorKind::kUsage, given.source,
                   fmt::format("one schedule for equal tasks expected, task {} has one already", *number)};
    return {};
  }

  Result<void> schedule(TaskGraph& region) {
    for (GraphTask& made : region.tasks) {
      TRY_VOID(check_stop());
      if (!made.task.runs_bodies) TRY_VOID(schedule(*region.graph, made));
      for (TaskGraph& body : made.bodies)
        if (auto done = schedule(body); !done.ok())
          return std::move(done).error().within(made.task.place(*region.graph));
    }
    return {};
  }

  /// Finds a task to be a view, or schedules it. Equal tasks are scheduled once.
  Result<void> schedule(const Graph& graph, GraphTask& made) {
    TRY(const LoweredTask* const lowered, table_.lowered(graph, made.task));
    if (lowered->is_open && !std::holds_alternative<kernel::CpuTarget>(options_.target))
      return unsupported(made.task.place(graph),
                         "sizes that are known at compile time expected of code for a GPU, data decide some");
    made.view_of = lowered->view_of;
    if (made.view_of < 0) made.kernel = scheduled(*lowered);
    return {};
  }

  /// The number of the task's kernel.
  int scheduled(const LoweredTask& task) {
    const auto [known, is_new] = numbers_.try_emplace(&task, result_.kernels.size());
    if (is_new) {
      const kernel::Scheduled chosen = schedule_of(task);
      result_.kernels.push_back(kernel::finish(chosen.schedule, task.flops));
      result_.kernels.back().choices = chosen.choices;
    }
    return static_cast<int>(known->second);
  }

  kernel::Scheduled schedule_of(const LoweredTask& task) {
    if (const auto given = given_.find(&task); given != given_.end()) return given->second;
    if (auto tuned = options_.tuned ? options_.tuned(task, nullptr) : std::nullopt) {
      ++result_.tuned;
      return *std::move(tuned);
    }
    const bool is_for_cpu = std::holds_alternative<kernel::CpuTarget>(options_.target);
    if (task.is_open && is_for_cpu) return {kernel::with_open_loops(task.start, machine_of(options_)), {}};
    kernel::Preferring preferring;
    return kernel::scheduled(task.start, task.is_open ? kernel::sums_space() : options_.space, machine_of(options_),
                             preferring);
  }

  Result<void> generate_code() {
    if (const auto* cpu = std::get_if<kernel::CpuTarget>(&options_.target)) return add_code(*cpu, artifact());
    TRY(GpuCode code, gpu_code(kernels(), gpu_arch(), options_.threads));
    artifact().modules = std::move(code.modules);
    artifact().kernels = std::move(code.kernels);
    return {};
  }

  Result<void> add_code(const kernel::CpuTarget& target, runtime::Artifact& artifact) const {
    TRY(kernel::MachineCode code, kernel::compile(kernels(), target));
    artifact.code = std::move(code.image);
    for (auto& parts : code.kernels) artifact.kernels.push_back({std::move(parts)});
    return {};
  }

  Result<void> add_plain() {
    runtime::Artifact& plain = result_.plain.emplace(artifact());
    plain.modules.clear();
    plain.kernels.clear();
    const kernel::CpuTarget host = kernel::host_target();
    TRY_VOID(add_code(host, plain));
    plain.variants[0].target = {host.cpu, host.extensions};
    return {};
  }

  /// Runs what depends on constants alone, here and now: in code for this machine, whatever the target is.
  Result<void> compute_constants(TaskGraph& whole) {
    std::vector<const Kernel*> kernels;
    for (const kernel::ScheduledKernel& entry : result_.kernels) kernels.push_back(&entry.constants.kernel);
    TRY(const kernel::MachineCode code, kernel::compile(kernels, kernel::host_target()));
    TRY(const runtime::ExecutableMemory image, runtime::ExecutableMemory::copy_of(code.image));
    return compute_constants(whole, code, image);
  }

  Result<void> compute_constants(TaskGraph& region, const kernel::MachineCode& code,
                                 const runtime::ExecutableMemory& image) {
    for (GraphTask& made : region.tasks) {
      TRY_VOID(check_stop());
      for (TaskGraph& body : made.bodies) TRY_VOID(compute_constants(body, code, image));
      if (made.kernel < 0 || result_.kernel_of(made).constants.buffers.empty()) continue;
      const kernel::ConstantParts& parts = result_.kernel_of(made).constants;
      std::vector<const std::byte*> sources;
      for (size_t k = 0; k < made.task.inputs.size(); ++k) {
        const bool is_constant = parts.kernel.inputs[k] >= 0 && region.graph->is_constant(made.task.inputs[k]);
        sources.push_back(is_constant ? region.graph->value(made.task.inputs[k]).constant->bytes().data() : nullptr);
      }
      // The same kernel may have the same constants in several bodies.
      const auto [known, is_new] = packed_.try_emplace({made.kernel, sources});
      if (is_new)
        TRY_VOID(compute_constants(*region.graph, made.task, parts, code.kernels[made.kernel], image, known->second));
      made.packed = known->second;
    }
    return {};
  }

  Result<void> compute_constants(const Graph& graph, const Task& task, const kernel::ConstantParts& parts,
                                 const std::vector<kernel::Part>& code, const runtime::ExecutableMemory& image,
                                 std::map<int, int>& packed) {
    const Kernel& kernel = parts.kernel;
    const size_t count = kernel.buffers.size();
    std::vector<void*> buffers(count, nullptr);
    auto memory = std::make_shared<std::vector<runtime::Memory>>();
    const auto allocate = [&](int64_t bytes) -> Result<void*> {
      if (auto fits = options_.memory.check(bytes, "constants"); !fits.ok())
        return std::move(fits).error().within(task.place(graph));
      auto made = runtime::Memory::allocate(bytes);
      if (!made) return unsupported(task.place(graph), "{} bytes of memory for packed constants expected", bytes);
      memory->push_back(std::move(*made));
      return static_cast<void*>(memory->back().data());
    };
    for (size_t k = 0; k < task.inputs.size(); ++k) {
      if (kernel.inputs[k] < 0 || !graph.is_constant(task.inputs[k])) continue;
      const auto bytes = graph.value(task.inputs[k]).constant->bytes();
      TRY(void* const place, allocate(static_cast<int64_t>(bytes.size())));
      std::copy(bytes.begin(), bytes.end(), static_cast<std::byte*>(place));
      buffers[kernel.inputs[k]] = place;
    }
    for (size_t b = 0; b < count; ++b) {
      if (buffers[b] || kernel.buffers[b].scope != kernel::Scope::kArgument ||
          kernel::writers(kernel, static_cast<int>(b)).empty())
        continue;
      TRY(buffers[b], allocate(bytes_of(kernel.buffers[b].dtype, kernel.buffers[b].shape)));
    }
    std::vector<int64_t*> extents(count, nullptr);
    int64_t scratch_bytes = 0;
    for (const kernel::Part& part : code) scratch_bytes = std::max(scratch_bytes, part.scratch_bytes);
    TRY(void* const scratch, allocate(scratch_bytes));
    const runtime::Outcome outcome = runtime::run_parts(code, [&](const kernel::Part& part, int64_t turn) {
      runtime::Frame frame{buffers.data(), extents.data(), scratch, nullptr, runtime::math_table(), turn};
      return runtime::call(image, part, frame, 0, part.iterations);
    });
    if (outcome != runtime::Outcome::kDone) return runtime::failure(outcome).within(task.place(graph));
    for (const int b : parts.buffers) {
      const kernel::Buffer& buffer = kernel.buffers[b];
      const auto size = static_cast<size_t>(bytes_of(buffer.dtype, buffer.shape));
      packed.emplace(b, add_weight({static_cast<const std::byte*>(buffers[b]), size}, memory));
    }
    return {};
  }

  /// The number of a packed weight; equal ones of several kernels are one.
  int add_weight(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
    std::vector<int>& others = by_size_[bytes.size()];
    const auto equal = std::find_if(others.begin(), others.end(),
                                    [&](int weight) { return std::ranges::equal(artifact().weights[weight], bytes); });
    if (equal != others.end()) return *equal;
    others.push_back(static_cast<int>(artifact().weights.size()));
    artifact().weights.push_back(bytes);
    artifact().owners.push_back(std::move(owner));
    return others.back();
  }

  const CompileOptions& options_;
  Compilation result_;
  TaskTable table_;
  std::map<const LoweredTask*, size_t> numbers_;                                        ///< of kernels
  std::map<const LoweredTask*, kernel::Scheduled> given_;                               ///< written by hand
  std::map<std::pair<int, std::vector<const std::byte*>>, std::map<int, int>> packed_;  ///< by kernel and constants
  std::map<size_t, std::vector<int>> by_size_;                                          ///< packed weights
};

}  // namespace

void for_gpu(CompileOptions& options) {
  options.space = kernel::gpu_space();
  options.fuse.attention = options.assign_layouts = options.words = false;
}

kernel::Machine machine_of(const kernel::CpuTarget& target, int threads) {
  kernel::Machine machine;
  machine.vectors = target.vectors();
  machine.caches = kernel::caches_of(target.cpu);
  machine.wide_multiply_adds = kernel::wide_multiply_adds_of(target.cpu);
  machine.word_parts = target.word_parts();
  machine.threads = threads;
  return machine;
}

kernel::Machine machine_of(const CompileOptions& options) {
  const auto* cpu = std::get_if<kernel::CpuTarget>(&options.target);
  kernel::Machine machine = cpu ? machine_of(*cpu, options.threads) : kernel::Machine();
  if (const auto* gpu = std::get_if<kernel::CudaTarget>(&options.target)) machine.tf32 = gpu->tf32;
  machine.packing = options.packing;
  machine.micro_tiles = options.micro_tiles;
  if (!options.words) machine.word_parts = 0;
  return machine;
}

std::string without_of(const CompileOptions& options) {
  return std::string(options.packing ? "" : ", without packing") +
         (options.micro_tiles ? "" : ", without micro-tiles") + (options.words ? "" : ", without words");
}

Result<std::vector<Task>> tasks_of(const Graph& graph, const CompileOptions& options, Surroundings surroundings,
                                   TaskDecider& decider, TaskTable& table) {
  TRY(std::vector<Task> tasks, fuse(graph, options.fuse, decider));
  if (!options.assign_layouts) return tasks;
  return assign_layouts(graph, std::move(tasks), surroundings, decider, table);
}

Result<TaskGraph> cut_into_tasks(const Graph& graph, const CompileOptions& options, TaskTable& table) {
  return region_of(graph, options.plan, options, table);
}

Result<Compilation> compile(const Graph& graph, const CompileOptions& options) { return Compiler(options).run(graph); }

}  // namespace isomer::search
