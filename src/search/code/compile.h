// Graphs into artifacts: tasks, kernels with their schedules, machine code, packed weights, memory plan.
// Tests: tests/search/compile_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernel/codegen_llvm.h"
#include "kernel/scheduled_kernel.h"
#include "kernel/space/module.h"
#include "runtime/artifact.h"
#include "search/code/given_schedule.h"
#include "search/code/task_graph.h"
#include "search/tasks/fuse.h"
#include "search/tasks/layouts.h"
#include "util/memory_limit.h"

namespace isomer::search {

struct CompileOptions {
  kernel::Target target;
  int threads = 1;  ///< that the artifact is scheduled for
  uint64_t seed = 0;
  MemoryLimit memory = {};  ///< for constants that are computed, and for measuring
  FuseOptions fuse;
  TaskPlan plan = {};                             ///< of the graph itself; its bodies are cut as preferred
  std::vector<GivenSchedule> schedules;           ///< instead of those that the space makes
  kernel::Space space = kernel::default_space();  ///< what makes schedules, every choice as it is preferred
  std::string space_name = {};                    ///< that records tell a space by which is not the default one
  kernel::MicroKernels micro_kernels = {};        ///< that schedules may use; check_names holds of them
  /// A schedule that was tuned for a task, as the given one leaves it open where there is one; where there is any.
  std::function<std::optional<kernel::Scheduled>(const LoweredTask&, const kernel::Template* given)> tuned = nullptr;
  // False, to measure what they give:
  bool assign_layouts = true;  ///< else everything is row-major
  bool packing = true;         ///< as in kernel::Machine
  bool micro_tiles = true;
  bool words = true;  ///< integers of words are added up at once, and products are of integers where they can be
  std::function<void(std::string_view)> log = nullptr;
};

struct Compilation {
  std::shared_ptr<const Graph> graph;  ///< what `whole` is of
  TaskGraph whole;
  std::vector<kernel::ScheduledKernel> kernels;  ///< by their number in the artifact; equal tasks share one
  int tuned = 0;                                 ///< kernels whose schedules were
  runtime::Artifact artifact;
  /// For a GPU: the same nests as code of this machine's CPU, as plain loops, which is what they mean. What a check
  /// runs where the GPU is not here.
  std::optional<runtime::Artifact> plain;

  /// Of a task that has one.
  const kernel::ScheduledKernel& kernel_of(const GraphTask& task) const {
    return kernels[static_cast<size_t>(task.kernel)];
  }
};

/// Fused, with layouts. Answers come from the decider, not from the options' plan. Errors: those of `fuse`.
Result<std::vector<Task>> tasks_of(const Graph& graph, const CompileOptions& options, Surroundings surroundings,
                                   TaskDecider& decider, TaskTable& table);

/// The tasks of a graph whose bodies are specialized, and of those bodies; no kernels yet. Errors: those of `fuse`.
Result<TaskGraph> cut_into_tasks(const Graph& graph, const CompileOptions& options, TaskTable& table);

/// The artifact of one variant of a graph whose dims are bound. Errors (kUnsupported): what cannot be compiled yet, by
/// name.
Result<Compilation> compile(const Graph& graph, const CompileOptions& options);

/// Sets what code for a GPU is made with: its space, tasks without what it has no schedules for yet.
void for_gpu(CompileOptions& options);

/// Registers and vectors of a target, for schedules.
kernel::Machine machine_of(const kernel::CpuTarget& target, int threads);
/// With what the options leave out.
kernel::Machine machine_of(const CompileOptions& options);
/// What that is, as records tell schedules apart (tune::maker_of): ", without packing".
std::string without_of(const CompileOptions& options);

}  // namespace isomer::search
