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

/// A model as a sum of tasks.
struct ModelTasks {
  std::vector<double> times;  ///< how often each task runs in it, by the task's number
  double wanted_us = 0;       ///< for kWanted
};

struct SchedulerOptions {
  Objective objective = Objective::kSum;
  bool round_robin = false;  ///< instead of by gradients
  double alpha = 0.2;        ///< of what was gained of late, beside what may still be
  double beta = 2;           ///< times as long as at the rate of the best of its group a task may take
  int window = 3;            ///< rounds that are looked back
  int patience = 5;          ///< rounds without a gain, for kStopEarly
};

/// The sum of tasks, microseconds.
double time_of(const ModelTasks& model, const std::vector<TaskProgress>& tasks);

/// How much the objective gains by the task's next round, at a guess.
double expected_gain(size_t task, const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                     const SchedulerOptions& options);

/// What a model may take after so many more rounds, at a guess: a task gains once more what it gained in the rounds
/// that are looked back, one that had no round the share that others gained in their first, none what lies below the
/// peaks; where rounds don't suffice they go where they gain most.
double predicted_us(const ModelTasks& model, const std::vector<TaskProgress>& tasks, const SchedulerOptions& options,
                    double rounds);

/// The task whose round is next; nothing where all are done. Each gets one round first.
std::optional<size_t> next_task(const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                                const SchedulerOptions& options);

}  // namespace isomer::tune
