#include "tune/task_scheduler.h"

#include <algorithm>
#include <limits>

namespace isomer::tune {
namespace {

/// How fast the objective grows with a task's time.
double slope(size_t task, const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
             Objective objective) {
  double sum = 0;
  for (const ModelTasks& model : models) {
    const double times = model.times[task];
    if (times == 0) continue;
    const double now = time_of(model, tasks);
    switch (objective) {
      case Objective::kSum:
      case Objective::kStopEarly: sum += times; break;
      case Objective::kWanted: sum += now > model.wanted_us ? times : 0; break;
      case Objective::kSpeedups: sum += times / now; break;
    }
  }
  return sum;
}

/// The most operations in a microsecond that a task of the group reaches.
double best_rate(size_t task, const std::vector<TaskProgress>& tasks) {
  double best = 0;
  for (const TaskProgress& other : tasks)
    if (other.group == tasks[task].group && other.now_us() > 0)
      best = std::max(best, static_cast<double>(other.flops) / other.now_us());
  return best;
}

double rounds_without_gain(const TaskProgress& task) {
  double count = 0;
  for (size_t k = task.best_us.size(); k > 0; --k, ++count)
    if (task.best_us[k - 1] < (k > 1 ? task.best_us[k - 2] : task.first_us)) break;
  return count;
}

/// Microseconds, in the rounds that are looked back.
double gained_of_late(const TaskProgress& task, const SchedulerOptions& options) {
  const auto rounds = static_cast<int>(task.best_us.size());
  const double before =
      rounds > options.window ? task.best_us[static_cast<size_t>(rounds - 1 - options.window)] : task.first_us;
  return before - task.now_us();
}

bool is_left_alone(const TaskProgress& task, const SchedulerOptions& options) {
  if (task.is_done) return true;
  const auto rounds = static_cast<int>(task.best_us.size());
  return options.objective == Objective::kStopEarly && rounds > options.patience &&
         task.best_us.back() >= task.best_us[static_cast<size_t>(rounds - 1 - options.patience)];
}

}  // namespace

std::optional<Objective> objective_of(std::string_view name) {
  if (name == "f1") return Objective::kSum;
  if (name == "f2") return Objective::kWanted;
  if (name == "f3") return Objective::kSpeedups;
  if (name == "f4") return Objective::kStopEarly;
  return std::nullopt;
}

double time_of(const ModelTasks& model, const std::vector<TaskProgress>& tasks) {
  double sum = 0;
  for (size_t k = 0; k < tasks.size(); ++k) sum += model.times[k] * tasks[k].now_us();
  return sum;
}

double expected_gain(size_t task, const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                     const SchedulerOptions& options) {
  const TaskProgress& progress = tasks[task];
  const double now = progress.now_us();
  const auto rounds = static_cast<double>(progress.best_us.size());
  if (rounds == 0) return std::numeric_limits<double>::infinity();
  const double backward = gained_of_late(progress, options) / std::min<double>(options.window, rounds);
  // What may still be gained: less with each round, but one far behind those that are alike may come nearer to them.
  double forward = std::max(now - progress.least_us, 0.0) / rounds;
  if (const double rate = best_rate(task, tasks); progress.flops > 0 && rate > 0)
    forward = std::max(forward, now - options.beta * static_cast<double>(progress.flops) / rate);
  forward /= 1 + rounds_without_gain(progress);
  return slope(task, tasks, models, options.objective) * (options.alpha * backward + (1 - options.alpha) * forward);
}

double predicted_us(const ModelTasks& model, const std::vector<TaskProgress>& tasks, const SchedulerOptions& options,
                    double rounds) {
  double first = 0, after_first = 0;
  for (const TaskProgress& task : tasks)
    if (!task.best_us.empty()) {
      first += task.first_us;
      after_first += task.best_us.front();
    }
  struct Gain {
    double rate = 0, rounds = 0;  ///< microseconds a round
  };
  std::vector<Gain> gains;
  for (size_t k = 0; k < tasks.size(); ++k) {
    const TaskProgress& task = tasks[k];
    if (task.is_done || model.times[k] == 0) continue;
    const double now = task.now_us();
    const double past = static_cast<double>(std::min<size_t>(task.best_us.size(), static_cast<size_t>(options.window)));
    const double again = std::max(past, 1.0);
    const double gained =
        past == 0 ? (first > 0 ? now * (first - after_first) / first : 0) : gained_of_late(task, options);
    gains.push_back({model.times[k] * std::min(gained, std::max(now - task.least_us, 0.0)) / again, again});
  }
  std::sort(gains.begin(), gains.end(), [](const Gain& a, const Gain& b) { return a.rate > b.rate; });
  double predicted = time_of(model, tasks);
  for (const Gain& gain : gains) {
    const double taken = std::min(gain.rounds, rounds);
    predicted -= gain.rate * taken;
    rounds -= taken;
  }
  return predicted;
}

std::optional<size_t> next_task(const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                                const SchedulerOptions& options) {
  std::optional<size_t> best;
  double most = -1;
  for (size_t k = 0; k < tasks.size(); ++k) {
    if (is_left_alone(tasks[k], options)) continue;
    const double gain =
        options.round_robin ? -static_cast<double>(tasks[k].best_us.size()) : expected_gain(k, tasks, models, options);
    // Of those that have had no round the one that takes longest is first.
    const bool is_first =
        best && tasks[k].best_us.empty() && tasks[*best].best_us.empty() && tasks[k].first_us > tasks[*best].first_us;
    if (best && gain <= most && !is_first) continue;
    best = k;
    most = gain;
  }
  return best;
}

}  // namespace isomer::tune
