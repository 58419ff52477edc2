// Whose turn it is: trials go where they make what is tuned for better soonest (Ansor: Zheng et al. 2020, section 6).
// Ansor takes all of a task's time for what may still be gained, so that long tasks that are as fast as they can be
// take most trials; here it is what lies above the machine's peaks, and less the longer a task has gained nothing.
// Test: tests/tune/task_scheduler_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace isomer::tune {

/// What several models are tuned for (Ansor, table 2).
enum class Objective : uint8_t {
  kSum,        ///< f1: the sum of all models' times
  kWanted,     ///< f2: the same, but what a model is faster than is wanted of it counts nothing
  kSpeedups,   ///< f3: the geometric mean of how many times as fast each has become
  kStopEarly,  ///< f4: the sum, but a task that has not become faster for a while is left alone
};
/// "f1" to "f4".
std::optional<Objective> objective_of(std::string_view name);

/// A task as the scheduler knows it.
struct TaskProgress {
  double first_us = 0;  ///< of the default schedule
  double least_us = 0;  ///< what the machine's peaks allow
  int64_t flops = 0;
  int group = 0;                     ///< of tasks that are alike: what one of them reaches others may reach
  std::vector<double> best_us = {};  ///< after each round
  int64_t trials = 0;
  bool is_done = false;  ///< nothing is left to try

  double now_us() const { return best_us.empty() ? first_us : best_us.back(); }
};

/// A part of a model that several programs compute (graph substitutions leave more than one): the measured times of
/// their tasks decide which of them the model gets. Parts are chosen by themselves, so that k programs each in r parts
/// stand for k^r models.
struct Alternatives {
  /// Of each program beside the one that ModelTasks::times have: how much oftener, or less often, each task runs.
  std::vector<std::vector<double>> changes;
};

/// A model as a sum of tasks.
struct ModelTasks {
  std::vector<double> times;  ///< how often each task runs in it, by the task's number
  double wanted_us = 0;       ///< for kWanted
  std::vector<Alternatives> parts = {};
};

struct SchedulerOptions {
  Objective objective = Objective::kSum;
  bool round_robin = false;  ///< instead of by gradients
  double alpha = 0.2;        ///< of what was gained of late, beside what may still be
  double beta = 2;           ///< times as long as at the rate of the best of its group a task may take
  int window = 3;            ///< rounds that are looked back
  int patience = 5;          ///< rounds without a gain, for kStopEarly
};

/// The sum of tasks, microseconds, with the fastest program of each part.
double time_of(const ModelTasks& model, const std::vector<TaskProgress>& tasks);

/// The fastest program of each part: 0 is that of the model's `times`, others are numbers of `changes` and one more.
/// Where parts share tasks, one that saves more goes first, and what needs a task that it has replaced is not taken.
std::vector<size_t> fastest_programs(const ModelTasks& model, const std::vector<TaskProgress>& tasks);

/// Microseconds that a program takes less than the first one of its part; minus infinity where what differs could not
/// be measured.
double saved_us(const Alternatives& part, size_t program, const std::vector<TaskProgress>& tasks);

/// How often each task runs with the fastest program of each part.
std::vector<double> fastest_times(const ModelTasks& model, const std::vector<TaskProgress>& tasks);

/// How likely each program of a part, the first one too, is the fastest in the end: each may take any time between what
/// it takes now and what its tasks may still gain, at a guess. Next to nothing is 0: such a program is dropped.
std::vector<double> chances(const Alternatives& part, const std::vector<TaskProgress>& tasks,
                            const SchedulerOptions& options);

/// How often each task runs, as likely as that is.
std::vector<double> likely_times(const ModelTasks& model, const std::vector<TaskProgress>& tasks,
                                 const SchedulerOptions& options);

/// How much the objective gains by the task's next round, at a guess.
double expected_gain(size_t task, const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                     const SchedulerOptions& options);

/// What a model may take after so many more rounds, at a guess: a task gains once more what it gained in the rounds
/// that are looked back, one that had no round the share that others gained in their first, none what lies below the
/// peaks; where rounds don't suffice they go where they gain most.
double predicted_us(const ModelTasks& model, const std::vector<TaskProgress>& tasks, const SchedulerOptions& options,
                    double rounds);

/// The task whose round is next; nothing where all are done, run only in programs that were dropped, or are of models
/// that are as fast as is wanted. Each of the likeliest programs' gets one round first.
std::optional<size_t> next_task(const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                                const SchedulerOptions& options);

}  // namespace isomer::tune
