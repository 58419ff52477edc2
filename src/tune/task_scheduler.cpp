#include "tune/task_scheduler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "util/stable_sort.h"

namespace isomer::tune {
namespace {

/// Of what a task takes, where no task had a round yet.
constexpr double kUnknownGain = 0.5;
/// Less likely programs are dropped.
constexpr double kLeastChance = 0.02;

/// Nobody could measure the task, or there was no time for it.
bool is_unknown(const TaskProgress& task) { return task.first_us <= 0; }

/// Whether what differs between the program and the first one of its part was measured.
bool is_known(const std::vector<double>& change, const std::vector<TaskProgress>& tasks) {
  for (size_t k = 0; k < tasks.size(); ++k)
    if (change[k] != 0 && is_unknown(tasks[k])) return false;
  return true;
}

/// How often each task runs in each program of a part, the first one too; tasks that all of them run equally often
/// aside.
std::vector<std::vector<double>> programs_of(const Alternatives& part, size_t tasks) {
  std::vector<double> first(tasks);
  for (const std::vector<double>& change : part.changes)
    for (size_t k = 0; k < tasks; ++k) first[k] = std::max(first[k], -change[k]);
  std::vector<std::vector<double>> result = {first};
  for (const std::vector<double>& change : part.changes) {
    result.push_back(first);
    for (size_t k = 0; k < tasks; ++k) result.back()[k] += change[k];
  }
  return result;
}

double dot(const std::vector<double>& times, const std::vector<double>& microseconds) {
  return std::inner_product(times.begin(), times.end(), microseconds.begin(), 0.0);
}

std::vector<double> now_us(const std::vector<TaskProgress>& tasks) {
  std::vector<double> result;
  for (const TaskProgress& task : tasks) result.push_back(task.now_us());
  return result;
}

/// How fast the objective grows with a task's time, by task.
std::vector<double> slopes(const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                           const SchedulerOptions& options) {
  std::vector<double> result(tasks.size());
  for (const ModelTasks& model : models) {
    const double now = time_of(model, tasks);
    double factor = 1;
    if (options.objective == Objective::kWanted && now <= model.wanted_us) factor = 0;
    if (options.objective == Objective::kSpeedups) factor = 1 / now;
    const std::vector<double> times = likely_times(model, tasks, options);
    for (size_t k = 0; k < tasks.size(); ++k)
      if (times[k] > 0) result[k] += factor * times[k];
  }
  return result;
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

/// What a round of the task may still gain, microseconds: less with each round, but one far behind those that are alike
/// may come nearer to them.
double may_gain(size_t task, const std::vector<TaskProgress>& tasks, const SchedulerOptions& options) {
  const TaskProgress& progress = tasks[task];
  const double now = progress.now_us();
  double result = std::max(now - progress.least_us, 0.0) / static_cast<double>(progress.best_us.size());
  if (const double rate = best_rate(task, tasks); progress.flops > 0 && rate > 0)
    result = std::max(result, now - options.beta * static_cast<double>(progress.flops) / rate);
  return result / (1 + rounds_without_gain(progress));
}

/// What tasks like this one gained in all their rounds, of what they took: the most that one did. Where none of them
/// had a round it is the most of all, or what is unknown still, the less the more tasks had one.
double greatest_share(int group, const std::vector<TaskProgress>& tasks) {
  double most = 0, most_of_group = 0;
  int tried = 0;
  bool is_known = false;
  for (const TaskProgress& task : tasks) {
    if (task.best_us.empty() || task.first_us <= 0) continue;
    const double share = 1 - task.now_us() / task.first_us;
    ++tried;
    most = std::max(most, share);
    if (task.group != group) continue;
    is_known = true;
    most_of_group = std::max(most_of_group, share);
  }
  return is_known ? most_of_group : std::max(most, kUnknownGain / std::sqrt(1 + tried));
}

/// What may be left of a task's time in the end: it gains once more what it gained of late, or a share such as others
/// gained, the less of it the more rounds it had.
double may_become_us(const TaskProgress& task, const std::vector<TaskProgress>& tasks,
                     const SchedulerOptions& options) {
  const double now = task.now_us();
  if (task.is_done) return now;
  const double share = greatest_share(task.group, tasks);
  const double gain =
      std::max(gained_of_late(task, options), share * now / static_cast<double>(1 + task.best_us.size()));
  return std::max(now - gain, std::min(task.least_us, now));
}

/// How likely the program's number is the smallest of numbers that are anywhere between `low` and `high`.
double chance_to_be_least(size_t program, const std::vector<double>& low, const std::vector<double>& high) {
  constexpr int kPoints = 64;
  double sum = 0;
  for (int point = 0; point < kPoints; ++point) {
    const double mine = low[program] + (high[program] - low[program]) * (point + 0.5) / kPoints;
    double all_above = 1;
    for (size_t other = 0; other < low.size(); ++other) {
      if (other == program) continue;
      const double width = high[other] - low[other];
      // Of equal ones the first is taken.
      all_above *= width > 0 ? std::clamp((high[other] - mine) / width, 0.0, 1.0)
                             : (high[other] > mine || (high[other] == mine && other > program) ? 1 : 0);
    }
    sum += all_above;
  }
  return sum / kPoints;
}

bool is_left_alone(const TaskProgress& task, const SchedulerOptions& options) {
  if (task.is_done) return true;
  const auto rounds = static_cast<int>(task.best_us.size());
  return options.objective == Objective::kStopEarly && rounds > options.patience &&
         task.best_us.back() >= task.best_us[static_cast<size_t>(rounds - 1 - options.patience)];
}

/// Tasks that are in a model's likeliest programs.
std::vector<bool> is_likely(const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                            const SchedulerOptions& options) {
  std::vector<bool> result(tasks.size());
  for (const ModelTasks& model : models) {
    std::vector<double> times = model.times;
    for (const Alternatives& part : model.parts) {
      const std::vector<double> all = chances(part, tasks, options);
      const auto best = static_cast<size_t>(std::max_element(all.begin(), all.end()) - all.begin());
      for (size_t k = 0; best > 0 && k < tasks.size(); ++k) times[k] += part.changes[best - 1][k];
    }
    for (size_t k = 0; k < tasks.size(); ++k) result[k] = result[k] || times[k] > 0;
  }
  return result;
}

/// Per unit of the objective's slope.
double expected_gain(size_t task, const std::vector<TaskProgress>& tasks, const SchedulerOptions& options) {
  const TaskProgress& progress = tasks[task];
  const auto rounds = static_cast<double>(progress.best_us.size());
  if (rounds == 0) return progress.now_us() - may_become_us(progress, tasks, options);
  const double backward = gained_of_late(progress, options) / std::min<double>(options.window, rounds);
  return options.alpha * backward + (1 - options.alpha) * may_gain(task, tasks, options);
}

}  // namespace

std::optional<Objective> objective_of(std::string_view name) {
  if (name == "f1") return Objective::kSum;
  if (name == "f2") return Objective::kWanted;
  if (name == "f3") return Objective::kSpeedups;
  if (name == "f4") return Objective::kStopEarly;
  return std::nullopt;
}

double saved_us(const Alternatives& part, size_t program, const std::vector<TaskProgress>& tasks) {
  if (program == 0) return 0;
  const std::vector<double>& change = part.changes[program - 1];
  return is_known(change, tasks) ? -dot(change, now_us(tasks)) : -std::numeric_limits<double>::infinity();
}

namespace {

struct Fastest {
  std::vector<size_t> programs;  ///< by part
  std::vector<double> times;     ///< how often each task runs with them
};

Fastest fastest_of(const ModelTasks& model, const std::vector<TaskProgress>& tasks) {
  struct Choice {
    size_t part, program;
    double saved;
  };
  std::vector<Choice> choices;
  for (size_t part = 0; part < model.parts.size(); ++part)
    for (size_t program = 1; program <= model.parts[part].changes.size(); ++program)
      if (const double saved = saved_us(model.parts[part], program, tasks); saved > 0)
        choices.push_back({part, program, saved});
  stable_sort(choices, [](const Choice& a, const Choice& b) { return a.saved > b.saved; });
  Fastest result{std::vector<size_t>(model.parts.size(), 0), model.times};
  for (const auto& [part, program, saved] : choices) {
    if (result.programs[part] > 0) continue;
    std::vector<double> times = result.times;
    const std::vector<double>& change = model.parts[part].changes[program - 1];
    for (size_t k = 0; k < times.size(); ++k) times[k] += change[k];
    // Parts may share tasks: what another one has replaced is not there any more.
    if (std::any_of(times.begin(), times.end(), [](double each) { return each < 0; })) continue;
    result.programs[part] = program;
    result.times = std::move(times);
  }
  return result;
}

}  // namespace

std::vector<size_t> fastest_programs(const ModelTasks& model, const std::vector<TaskProgress>& tasks) {
  return fastest_of(model, tasks).programs;
}

std::vector<double> fastest_times(const ModelTasks& model, const std::vector<TaskProgress>& tasks) {
  return fastest_of(model, tasks).times;
}

double time_of(const ModelTasks& model, const std::vector<TaskProgress>& tasks) {
  return dot(fastest_times(model, tasks), now_us(tasks));
}

std::vector<double> chances(const Alternatives& part, const std::vector<TaskProgress>& tasks,
                            const SchedulerOptions& options) {
  const std::vector<double> now = now_us(tasks);
  std::vector<double> later, low, high;
  for (const TaskProgress& task : tasks) later.push_back(may_become_us(task, tasks, options));
  for (const std::vector<double>& times : programs_of(part, tasks.size())) {
    const size_t program = low.size();
    const bool may_win = program == 0 || is_known(part.changes[program - 1], tasks);
    low.push_back(may_win ? dot(times, later) : std::numeric_limits<double>::infinity());
    high.push_back(may_win ? dot(times, now) : std::numeric_limits<double>::infinity());
  }
  std::vector<double> result;
  for (size_t k = 0; k < low.size(); ++k) result.push_back(std::isinf(low[k]) ? 0 : chance_to_be_least(k, low, high));
  const double most = *std::max_element(result.begin(), result.end());
  for (double& chance : result)
    if (chance < std::min(kLeastChance, most)) chance = 0;
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& chance : result) chance /= sum;
  return result;
}

std::vector<double> likely_times(const ModelTasks& model, const std::vector<TaskProgress>& tasks,
                                 const SchedulerOptions& options) {
  std::vector<double> result = model.times;
  for (const Alternatives& part : model.parts) {
    const std::vector<double> all = chances(part, tasks, options);
    for (size_t p = 0; p < part.changes.size(); ++p)
      for (size_t k = 0; k < tasks.size(); ++k) result[k] += all[p + 1] * part.changes[p][k];
  }
  // What is left of differences is no time.
  constexpr double kNothing = 1e-9;
  for (double& times : result)
    if (times < kNothing) times = 0;
  return result;
}

double expected_gain(size_t task, const std::vector<TaskProgress>& tasks, const std::vector<ModelTasks>& models,
                     const SchedulerOptions& options) {
  if (tasks[task].best_us.empty() && is_likely(tasks, models, options)[task])
    return std::numeric_limits<double>::infinity();
  return slopes(tasks, models, options)[task] * expected_gain(task, tasks, options);
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
  const std::vector<double> times = likely_times(model, tasks, options);
  for (size_t k = 0; k < tasks.size(); ++k) {
    const TaskProgress& task = tasks[k];
    if (task.is_done || times[k] == 0) continue;
    const double now = task.now_us();
    const double past = static_cast<double>(std::min<size_t>(task.best_us.size(), static_cast<size_t>(options.window)));
    const double again = std::max(past, 1.0);
    const double gained =
        past == 0 ? (first > 0 ? now * (first - after_first) / first : 0) : gained_of_late(task, options);
    gains.push_back({times[k] * std::min(gained, std::max(now - task.least_us, 0.0)) / again, again});
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
  const std::vector<bool> likely = is_likely(tasks, models, options);
  const std::vector<double> slope = slopes(tasks, models, options);
  const auto gain_of = [&](size_t k) {
    if (options.round_robin) return -static_cast<double>(tasks[k].best_us.size());
    if (tasks[k].best_us.empty() && likely[k]) return std::numeric_limits<double>::infinity();
    return slope[k] * expected_gain(k, tasks, options);
  };
  std::optional<size_t> best;
  double most = -1;
  for (size_t k = 0; k < tasks.size(); ++k) {
    // It runs in no likely program, or all its models are as fast as is wanted.
    if (is_left_alone(tasks[k], options) || slope[k] == 0) continue;
    const double gain = gain_of(k);
    // Of those that gain as much the one that had fewest rounds is first, and that which takes longest if it had none.
    const auto rounds = [&](size_t task) { return tasks[task].best_us.size(); };
    const bool is_first = best && (rounds(k) < rounds(*best) ||
                                   (rounds(k) + rounds(*best) == 0 && tasks[k].first_us > tasks[*best].first_us));
    if (best && (gain < most || (gain == most && !is_first))) continue;
    best = k;
    most = gain;
  }
  return best;
}

}  // namespace isomer::tune
