#include "cli/tune_table.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "util/stable_sort.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
constexpr Fault kTold[] = {Fault::kCode,  Fault::kCrash,  Fault::kLate,
                           Fault::kValue, Fault::kBounds, Fault::kImpossible};

/// In how many places of all models, with the fastest program of each part; by task.
std::vector<double> all_places(const TuneScene& scene, const tune::TuneState& state) {
  std::vector<double> sum(state.tasks.size());
  for (const tune::ModelTasks& model : scene.tasks) {
    const std::vector<double> times = tune::fastest_times(model, state.progress());
    for (size_t k = 0; k < sum.size(); ++k) sum[k] += times[k];
  }
  return sum;
}

/// The programs that are the fastest now, and how likely others still are.
json programs_json(const tune::ModelTasks& model, const tune::TuneState& state) {
  const std::vector<size_t> fastest = tune::fastest_programs(model, state.progress());
  json result = json::array();
  for (size_t p = 0; p < fastest.size(); ++p)
    result.push_back({{"fastest", fastest[p]}, {"chances", tune::chances(model.parts[p], state.progress(), {})}});
  return result;
}

/// Of the time of all models, what each task may still gain at the machine's peaks.
std::vector<double> all_to_gain(const TuneScene& scene, const tune::TuneState& state,
                                const std::vector<double>& places) {
  double all = 0;
  for (const tune::ModelTasks& model : scene.tasks) all += state.now_us(model);
  std::vector<double> result = places;
  for (size_t k = 0; k < result.size(); ++k) {
    const tune::TaskProgress& task = state.tasks[k].progress;
    result[k] = all > 0 ? result[k] * std::max(task.now_us() - task.least_us, 0.0) / all : 0;
  }
  return result;
}

std::string minutes(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

int64_t failed(const tune::TuneState& state, Fault fault) {
  int64_t sum = 0;
  for (const tune::TaskState& task : state.tasks) sum += task.faults[static_cast<size_t>(fault)];
  return sum;
}

std::string failures(const tune::TuneState& state) {
  int64_t all = 0;
  std::vector<std::string> kinds;
  for (const Fault fault : kTold)
    if (const int64_t count = failed(state, fault); count > 0) {
      all += count;
      kinds.push_back(fmt::format("{} {}", count, name(fault)));
    }
  return all == 0 ? std::string() : fmt::format("  failed {}: {}", all, fmt::join(kinds, ", "));
}

std::string cut(std::string text, size_t columns) {
  if (text.size() > columns) text.resize(columns);
  return text;
}

}  // namespace

std::string headline(const TuneScene& scene, const tune::TuneState& state) {
  double first = 0, now = 0, predicted = 0;
  for (const tune::ModelTasks& model : scene.tasks) {
    first += state.first_us(model);
    now += state.now_us(model);
  }
  for (const double us : state.predicted_us) predicted += us;
  const bool goes_on = state.trials > 0 && predicted < now;
  return fmt::format("x{}  {}  {}/{} trials  {}{}  {:.3f} -> {:.3f} ms{}{}", scene.threads, scene.cpu, state.trials,
                     scene.trials, minutes(state.seconds), scene.seconds ? " of " + minutes(*scene.seconds) : "",
                     first / 1e3, now / 1e3, goes_on ? fmt::format(" (predicted {:.3f})", predicted / 1e3) : "",
                     failures(state));
}

std::vector<std::string> table(const TuneScene& scene, const tune::TuneState& state, size_t tasks, size_t columns) {
  std::vector<std::string> lines = {cut(headline(scene, state), columns)};
  for (size_t m = 0; scene.models.size() > 1 && m < scene.models.size(); ++m)
    lines.push_back(cut(fmt::format("{}  {:.3f} -> {:.3f} ms", printable(scene.models[m]),
                                    state.first_us(scene.tasks[m]) / 1e3, state.now_us(scene.tasks[m]) / 1e3),
                        columns));
  constexpr size_t kFigures = 66;
  const size_t width = std::max(columns, kFigures + 12) - kFigures;
  lines.push_back(cut(fmt::format("{:<{}} {:>3} {:>5} {:>10} {:>10} {:>8} {:>6} {:>7} {:>8}", "task", width, "no",
                                  "times", "start us", "best us", "of peak", "won", "trials", "to gain"),
                      columns));
  std::vector<size_t> order(state.tasks.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  const std::vector<double> places = all_places(scene, state), to_gain = all_to_gain(scene, state, places);
  stable_sort(order, [&](size_t a, size_t b) { return to_gain[a] > to_gain[b]; });
  if (order.size() > tasks) order.resize(tasks);
  for (const size_t k : order) {
    const tune::TaskState& task = state.tasks[k];
    const double now = task.progress.now_us();
    lines.push_back(
        cut(fmt::format("{:<{}} {:>3} {:>5} {:>10.1f} {:>10.1f} {:>6.0f} % {:>6.2f} {:>7} {:>6.1f} %",
                        cut(printable(task.name + " " + task.types), width), width, k, fmt::format("x{}", places[k]),
                        task.progress.first_us, now, now > 0 ? 100 * task.progress.least_us / now : 0, task.speedup(),
                        task.progress.trials, 100 * to_gain[k]),
            columns));
  }
  return lines;
}

json to_json(const TuneScene& scene, const tune::TuneState& state) {
  json tasks = json::array();
  const std::vector<double> places = all_places(scene, state);
  for (size_t k = 0; k < state.tasks.size(); ++k) {
    const tune::TaskState& task = state.tasks[k];
    json faults = json::object();
    for (const Fault fault : kTold)
      if (task.faults[static_cast<size_t>(fault)] > 0) faults[name(fault)] = task.faults[static_cast<size_t>(fault)];
    tasks.push_back({{"task", k},
                     {"hash", task.hash.hex()},
                     {"name", task.name},
                     {"types", task.types},
                     {"places", places[k]},
                     {"start_us", task.progress.first_us},
                     {"best_us", task.progress.now_us()},
                     {"roofline_us", task.progress.least_us},
                     {"speedup", task.speedup()},
                     {"trials", task.progress.trials},
                     {"failed", faults},
                     {"found", task.is_found},
                     {"why_not", task.why_not.empty() ? json() : json(task.why_not)}});
  }
  json models = json::array();
  for (size_t m = 0; m < scene.models.size(); ++m)
    models.push_back({{"model", scene.models[m]},
                      {"start_ms", state.first_us(scene.tasks[m]) / 1e3},
                      {"best_ms", state.now_us(scene.tasks[m]) / 1e3},
                      {"programs", programs_json(scene.tasks[m], state)},
                      {"predicted_ms", m < state.predicted_us.size() ? json(state.predicted_us[m] / 1e3) : json()}});
  return {{"models", models},       {"threads", scene.threads}, {"cpu", scene.cpu},
          {"trials", state.trials}, {"seconds", state.seconds}, {"task", state.task ? json(*state.task) : json()},
          {"tasks", tasks}};
}

}  // namespace isomer::cli
