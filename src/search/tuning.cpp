#include "search/tuning.h"

#include <algorithm>

#include "graph/edit.h"
#include "graph/passes/specialize_bodies.h"
#include "kernel/fingerprint.h"
#include "tune/roofline.h"
#include "tune/tuned.h"

namespace isomer {
namespace {

/// The task's number.
size_t number_of(TuningProblems& all, const LoweredTask& lowered, const std::string& name, Weights weights) {
  const auto known = std::find_if(all.problems.begin(), all.problems.end(), [&](const tune::Problem& problem) {
    return problem.hash == lowered.hash && problem.weights == weights;
  });
  const auto number = static_cast<size_t>(known - all.problems.begin());
  if (number == all.problems.size())
    all.problems.push_back({lowered.start,
                            lowered.hash,
                            lowered.flops,
                            0,
                            name,
                            tune::types_of(lowered.start.kernel()),
                            weights,
                            {},
                            lowered.meaning});
  return number;
}

}  // namespace

Result<void> add_problems(TuningProblems& all, const Graph& graph, const CompileOptions& options) {
  Graph specialized = graph;
  TRY_VOID(specialize_bodies(specialized));
  TaskTable table(options.micro_kernels);
  TRY(const Region whole, cut_into_tasks(specialized, options, table));
  const Weights weights = weights_in_model(count_bytes(graph));
  tune::ModelTasks model;
  for (const PlacedTask& placed : all_tasks(whole)) {
    if (placed.task->task.runs_bodies) continue;
    TRY(const LoweredTask* const lowered, table.lowered(*placed.graph, placed.task->task));
    if (lowered->view_of >= 0) continue;
    const size_t number = number_of(all, *lowered, placed.task->name, weights);
    if (model.times.size() <= number) model.times.resize(number + 1);
    ++model.times[number];
  }
  all.models.push_back(std::move(model));
  for (tune::ModelTasks& each : all.models) each.times.resize(all.problems.size());
  return {};
}

void add_rooflines(TuningProblems& all, int threads) {
  const tune::Peaks peaks = tune::measure_peaks(threads);
  for (tune::Problem& problem : all.problems)
    problem.roofline_us = tune::roofline_us(problem.start.kernel(), problem.flops, peaks, problem.weights);
}

tune::TuneOptions tuning_options(const CompileOptions& options) {
  tune::TuneOptions result;
  result.target = std::get<kernel::CpuTarget>(options.target);
  result.threads = options.threads;
  result.memory = options.memory;
  result.space = options.space;
  result.machine = machine_of(options);
  result.seed = options.seed;
  return result;
}

void take_tuned(CompileOptions& options, const kernel::Records& records, Weights weights) {
  const auto* cpu = std::get_if<kernel::CpuTarget>(&options.target);
  if (!cpu) return;
  options.tuned = [schedules = tune::TunedSchedules(records, kernel::fingerprint(*cpu, options.threads), weights),
                   space = options.space,
                   machine = machine_of(options)](const LoweredTask& task) -> std::optional<kernel::Scheduled> {
    auto found = schedules.find(task.hash, task.start, space, machine);
    return found.ok() ? *std::move(found) : std::nullopt;
  };
}

}  // namespace isomer
