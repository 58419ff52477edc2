// Tunes the tasks of models: rounds of candidates, each task's when it is its turn, measured beside what is best so far
// (Ansor: Zheng et al. 2020; AutoTVM: Chen et al. 2018). What is found is in the records when a round
// ends, and what was measured until then where it ends in an error.
// Test: tests/tune/tuner_test.cpp
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/codegen_llvm.h"
#include "kernel/machine.h"
#include "kernel/records.h"
#include "kernel/space/module.h"
#include "measure/kernel_clock.h"
#include "tune/cost_model.h"
#include "tune/measurer.h"
#include "tune/roofline.h"
#include "tune/task_scheduler.h"
#include "tune/tuned.h"

namespace isomer::tune {

/// A task that is tuned.
struct Problem {
  kernel::Schedule start;  ///< as it was lowered, with its layouts
  Hash128 hash = {};       ///< that records know it by
  int64_t flops = 0;
  double roofline_us = 0;   ///< what the machine's peaks allow
  std::string name, types;  ///< for people
  Weights weights = Weights::kInMemory;
  Decisions fixed = {};      ///< what is not tuned
  std::string meaning = {};  ///< as text (kernel/task_text.h); without it nobody learns of its trials later
  /// The user's, instead of the options'; what is preferred there takes the place of the default schedule.
  std::shared_ptr<const OwnSpace> own = nullptr;
};

struct TaskState {
  std::string name, types;
  Hash128 hash = {};
  TaskProgress progress;                     ///< its times are those of the default schedule / how many times as fast
  std::array<int64_t, kFaults> faults = {};  ///< by Fault
  bool is_found = false;                     ///< something faster than the default schedule
  std::string why_not;                       ///< it can't be measured

  double speedup() const { return progress.now_us() > 0 ? progress.first_us / progress.now_us() : 1; }
};

struct TuneState {
  std::vector<TaskState> tasks;  ///< by problem
  int64_t trials = 0;
  double seconds = 0;
  std::optional<size_t> task;             ///< whose round it was
  std::string no_model;                   ///< why there is no cost model
  std::vector<double> predicted_us = {};  ///< by model: in the end, at a guess (task_scheduler.h)

  /// The sum of a model's tasks by their default schedules, microseconds; as they are now, with the fastest program of
  /// each part.
  double first_us(const ModelTasks& model) const;
  double now_us(const ModelTasks& model) const;
  /// By task.
  std::vector<TaskProgress> progress() const;
};

class Crew;

struct TuneOptions {
  kernel::CpuTarget target;
  int threads = 1;
  MemoryLimit memory = {};
  kernel::Space space = kernel::default_space();
  kernel::Machine machine;
  std::string without;            ///< parts that it leaves out, as maker_of has them
  int64_t trials = 1000;          ///< of all tasks
  std::optional<double> seconds;  ///< no round begins after them, and no other task is measured
  int round = 16;                 ///< trials in it
  std::string strategy = "evolution";
  bool continues = false;  ///< from what the records have
  bool learns = true;      ///< what is tried next by a cost model, where its library is found
  bool drafts = true;      ///< the same by the draft, where and as long as there is no model
  CostModelOptions cost_model = {};
  SchedulerOptions scheduler;
  CompilerOptions compiler = {};
  std::optional<Peaks> peaks = {};  ///< what is faster than they allow is refused; the greatest of all runs count
  uint64_t seed = 0;
  std::function<void(const TuneState&)> tell = {};  ///< after each round
  Crew* crew = nullptr;                             ///< who measures beside this process (crew.h)
  /// Code is made while other code is timed; nothing: where that leaves both their cores, and one more.
  std::optional<bool> compiles_beside = {};
  /// What measures; none: this machine. Tests have times that are recorded.
  std::function<std::unique_ptr<Measurer>(const MeasuringOptions&)> measurer = nullptr;
};

/// All schedules of the problem, and what measures them.
Candidates candidates_of(const Problem& problem, const TuneOptions& options);
std::unique_ptr<Measurer> new_measurer(const TuneOptions& options, Weights weights, double seconds);

/// In records, where a time would be: a schedule that is right, and was the best for a while.
inline constexpr const char* kNotFaster = "not faster than another schedule";

/// Errors: those of the records; kUnsupported where nothing can be measured here. A kernel that can't be measured any
/// more, as where its process is ended from outside, costs its task, or a contest, and no more. Where it is stopped
/// (util/stop.h) it ends with what was found. `models` have as many times as there are problems.
Result<TuneState> tune(const std::vector<Problem>& problems, const std::vector<ModelTasks>& models,
                       kernel::Records& records, const TuneOptions& options);

}  // namespace isomer::tune
