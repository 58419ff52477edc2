#include "search/code/tuning.h"

#include <algorithm>
#include <map>
#include <memory>

#include "graph/edit.h"
#include "graph/passes/specialize_bodies.h"
#include "kernel/fingerprint.h"
#include "tune/possible.h"
#include "tune/tuned.h"

namespace isomer::search {
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

bool is_open(const GivenSchedule& given, const kernel::Schedule& start) {
  return given.schedule.is_open() || is_half_open(given.schedule, start);
}

/// Schedules that are given, by the kernels that they are for.
Result<std::map<const LoweredTask*, const GivenSchedule*>> given_schedules(const CompileOptions& options,
                                                                           const TaskGraph& whole, TaskTable& table) {
  std::map<const LoweredTask*, const GivenSchedule*> result;
  const std::vector<PlacedTask> all = all_tasks(whole);
  std::vector<std::string> names;
  for (const PlacedTask& placed : all) names.push_back(placed.task->name);
  for (const GivenSchedule& given : options.schedules) {
    auto number = find_task(given.task, names);
    if (!number.ok()) return std::move(number).error().within(given.source);
    const PlacedTask& placed = all[*number];
    if (placed.task->task.runs_bodies) continue;
    TRY(const LoweredTask* const lowered, table.lowered(*placed.graph, placed.task->task));
    result[lowered] = &given;
  }
  return result;
}

}  // namespace

Result<void> leave_open(tune::Problem& problem, const GivenSchedule& given, const CompileOptions& options) {
  if (!is_open(given, problem.start))
    return invalid(given.source,
                   "a schedule of decisions alone expected, or one with knobs or defaults(): nothing is left to tune");
  TRY_VOID(make_given(given, problem.start, options.space, machine_of(options)));
  problem.fixed = tune::decisions_of(given.schedule.decisions);
  if (!is_half_open(given.schedule, problem.start))
    problem.own = std::make_shared<const tune::OwnSpace>(space_of(given.schedule, options.space, options.space_name));
  return {};
}

namespace {

/// How often each task runs in the graph, by the task's number; new ones are added.
Result<std::vector<double>> times_of(TuningProblems& all, const Graph& graph, const CompileOptions& options) {
  Graph specialized = graph;
  TRY_VOID(specialize_bodies(specialized));
  TaskTable table(options.micro_kernels);
  TRY(const TaskGraph whole, cut_into_tasks(specialized, options, table));
  const Weights weights = weights_in_model(count_bytes(graph));
  TRY(const auto given, given_schedules(options, whole, table));
  std::vector<double> times;
  for (const PlacedTask& placed : all_tasks(whole)) {
    if (placed.task->task.runs_bodies) continue;
    TRY(const LoweredTask* const lowered, table.lowered(*placed.graph, placed.task->task));
    if (lowered->view_of >= 0 || lowered->is_open) continue;
    const auto mine = given.find(lowered);
    if (mine != given.end() && !is_open(*mine->second, lowered->start)) continue;
    const size_t number = number_of(all, *lowered, placed.task->name, weights);
    if (!options.space_name.empty())
      all.problems[number].own = std::make_shared<const tune::OwnSpace>(options.space_name, options.space);
    if (mine != given.end()) TRY_VOID(leave_open(all.problems[number], *mine->second, options));
    if (times.size() <= number) times.resize(number + 1);
    ++times[number];
  }
  return times;
}

/// Models have as many times as there are tasks.
void resize_all(TuningProblems& all) {
  for (tune::ModelTasks& each : all.models) {
    each.times.resize(all.problems.size());
    for (tune::Alternatives& part : each.parts)
      for (std::vector<double>& change : part.changes) change.resize(all.problems.size());
  }
}

}  // namespace

Result<void> add_problems(TuningProblems& all, const Graph& graph, const CompileOptions& options) {
  tune::ModelTasks model;
  TRY(model.times, times_of(all, graph, options));
  all.models.push_back(std::move(model));
  resize_all(all);
  return {};
}

Result<void> add_alternative(TuningProblems& all, size_t part, const Graph& graph, const CompileOptions& options) {
  TRY(std::vector<double> times, times_of(all, graph, options));
  times.resize(all.problems.size());
  tune::ModelTasks& model = all.models.back();
  for (size_t k = 0; k < model.times.size(); ++k) times[k] -= model.times[k];
  if (model.parts.size() <= part) model.parts.resize(part + 1);
  model.parts[part].changes.push_back(std::move(times));
  resize_all(all);
  return {};
}

Result<tune::Peaks> add_rooflines(TuningProblems& all, kernel::Records& records, const CompileOptions& options) {
  const std::string target = kernel::fingerprint(std::get<kernel::CpuTarget>(options.target), options.threads);
  TRY(const tune::Peaks peaks, tune::peaks_of_target(records, target, options.threads));
  for (tune::Problem& problem : all.problems)
    problem.roofline_us = tune::roofline_us(problem.start.kernel(), problem.flops, peaks, problem.weights);
  return peaks;
}

tune::TuneOptions tuning_options(const CompileOptions& options) {
  tune::TuneOptions result;
  result.target = std::get<kernel::CpuTarget>(options.target);
  result.threads = options.threads;
  result.memory = options.memory;
  result.space = options.space;
  result.machine = machine_of(options);
  result.without = without_of(options);
  result.seed = options.seed;
  return result;
}

void take_tuned(CompileOptions& options, const kernel::Records& records, Weights weights) {
  const auto* cpu = std::get_if<kernel::CpuTarget>(&options.target);
  if (!cpu) return;
  options.tuned = [&records, weights, target = kernel::fingerprint(*cpu, options.threads),
                   usual = tune::OwnSpace{options.space_name, options.space}, machine = machine_of(options),
                   without = without_of(options)](const LoweredTask& task,
                                                  const kernel::Template* given) -> std::optional<kernel::Scheduled> {
    const tune::OwnSpace own = given ? space_of(*given, usual.space, usual.name) : usual;
    const tune::TunedSchedules schedules(records, target, weights, own.name, without);
    auto found = schedules.find(task.hash, task.start, own.space, machine);
    return found.ok() ? *std::move(found) : std::nullopt;
  };
}

}  // namespace isomer::search
