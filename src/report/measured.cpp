#include "report/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "report/drawing.h"
#include "report/words.h"
#include "util/quantile.h"
#include "util/stable_sort.h"

namespace isomer::report {
namespace {

using nlohmann::json;

/// The runs of one program.
struct Runs {
  std::string name;
  std::vector<double> times;  ///< milliseconds, sorted
};

std::vector<Runs> all_runs(const json& facts) {
  std::vector<Runs> result;
  const auto add = [&](const std::string& name, const json& times) {
    if (!times.is_array() || times.empty()) return;
    result.push_back({name, times.get<std::vector<double>>()});
    std::ranges::sort(result.back().times);
  };
  add("Isomer", facts["times_ms"]);
  if (facts.contains("against"))
    for (const auto& [name, peer] : facts["against"].items()) add(name, peer.value("times_ms", json()));
  return result;
}

/// How often a run took how long, from the shortest of all on; the few that took longest are counted at the end.
std::string histogram(const Runs& runs, double least, double most) {
  constexpr size_t kBins = 80;
  constexpr int kWidth = 8, kHeight = 60;
  std::vector<size_t> bins(kBins);
  for (const double time : runs.times) {
    const double place = most > least ? (time - least) / (most - least) * (kBins - 1) : 0;
    ++bins[std::min(static_cast<size_t>(std::max(place, 0.0)), kBins - 1)];
  }
  const auto tallest = static_cast<double>(*std::ranges::max_element(bins));
  std::string result = fmt::format("<svg class=\"runs\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"runs of {}\">",
                                   kBins * kWidth, kHeight, escaped(runs.name));
  for (size_t k = 0; k < kBins; ++k) {
    if (bins[k] == 0) continue;
    const double height = std::max(1.0, kHeight * static_cast<double>(bins[k]) / tallest);
    result += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>", k * kWidth, kHeight - height,
                          kWidth - 1, height);
  }
  return result + "</svg>";
}

std::string runs_section(const json& facts) {
  const std::vector<Runs> all = all_runs(facts);
  if (all.empty()) return {};
  double least = all[0].times.front(), most = 0;
  for (const Runs& runs : all) {
    least = std::min(least, runs.times.front());
    most = std::max(most, runs.times[static_cast<size_t>(0.98 * static_cast<double>(runs.times.size() - 1))]);
  }
  std::string rows;
  for (const Runs& runs : all)
    rows += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{:.4g} ms</td><td>{:.4g} ms</td><td>{:.4g} ms</td><td>{}</td></tr>\n",
        escaped(runs.name), runs.times.size(), runs.times.front(), quantile(runs.times, 0.5), quantile(runs.times, 0.9),
        histogram(runs, least, most));
  return fmt::format(
      "<section id=\"runs\"><h2>Runs</h2>\n<table><thead><tr><th>of</th><th>runs</th><th>shortest</th><th>median</th>"
      "<th>9 of 10 within</th><th>how often, from {:.4g} to {:.4g} ms</th></tr></thead><tbody>\n{}</tbody></table>"
      "</section>\n",
      least, most, rows);
}

/// Of the CPU that `bench` has measured; 0: it ran code of a GPU.
double fma_peak(const json& facts) {
  const auto peak = facts.find("fma_peak_gflops");
  return peak != facts.end() && peak->is_number() ? peak->get<double>() : 0;
}

/// Of `bench`: where the time of a run goes.
std::string profile_section(const json& facts) {
  const json& tasks = facts["tasks"];
  std::vector<const json*> order;
  for (const json& task : tasks) order.push_back(&task);
  stable_sort(order, [](const json* a, const json* b) { return (*a)["share"] > (*b)["share"]; });
  const double peak = fma_peak(facts);
  std::string rows;
  for (const json* task : order) {
    const double share = (*task)["share"], gflops = (*task)["gflops"];
    rows += fmt::format(
        "<tr><td>{:.1f} %</td><td>{}</td><td>{}</td><td>{:.1f}</td><td>{}</td><td><code>{}</code></td></tr>\n",
        100 * share, bar(share), microseconds((*task)["median_us"]), gflops,
        peak > 0 ? fmt::format("{:.0f} %", 100 * gflops / peak) : "", escaped((*task)["name"].get<std::string>()));
  }
  return fmt::format(
      "<section id=\"tasks\"><h2>Where the time goes</h2>\n<p>{} tasks, each timed by itself. A task that runs others "
      "has their time in it.</p>\n<table><thead><tr><th>share</th><th></th><th>took</th><th>GFLOP/s</th><th>of "
      "peak</th><th>task</th></tr></thead><tbody>\n{}</tbody></table></section>\n",
      tasks.size(), rows);
}

/// Of `tune`: what each task was, is, and could be.
std::string tuned_section(const json& facts) {
  const auto to_gain = [](const json& task) {
    return task["places"].get<double>() *
           std::max(task["best_us"].get<double>() - task["roofline_us"].get<double>(), 0.0);
  };
  double all = 0;
  std::vector<const json*> order;
  for (const json& task : facts["tasks"]) {
    order.push_back(&task);
    all += task["places"].get<double>() * task["best_us"].get<double>();
  }
  stable_sort(order, [&](const json* a, const json* b) { return to_gain(*a) > to_gain(*b); });
  std::string rows;
  for (const json* task : order) {
    const double best = (*task)["best_us"], limit = (*task)["roofline_us"];
    int64_t failed = 0;
    std::string faults;
    for (const auto& [name, count] : (*task)["failed"].items()) {
      failed += count.get<int64_t>();
      faults += fmt::format("{}{} {}", faults.empty() ? "" : ", ", count.get<int64_t>(), name);
    }
    std::string remark = failed > 0 ? "failed: " + faults : "";
    if ((*task)["why_not"].is_string()) remark = (*task)["why_not"].get<std::string>();
    rows += fmt::format(
        "<tr><td>{}</td><td><code>{} {}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td></tr>\n",
        number((*task)["task"]), escaped((*task)["name"].get<std::string>()),
        escaped((*task)["types"].get<std::string>()), number((*task)["places"]), microseconds((*task)["start_us"]),
        microseconds(best), (*task)["speedup"].get<double>(),
        best > 0 ? bar(limit / best) + fmt::format("{:.0f} %", 100 * limit / best) : "",
        all > 0 ? fmt::format("{:.1f} %", 100 * to_gain(*task) / all) : "", number((*task)["trials"]), escaped(remark));
  }
  return fmt::format(
      "<section id=\"tasks\"><h2>Tasks</h2>\n<p>Those first that have most to gain at the machine's peaks.</p>\n"
      "<table><thead><tr><th>no</th><th>task</th><th>places</th><th>start</th><th>best</th><th>won</th><th>of what the "
      "peaks allow</th><th>to gain, of all time</th><th>trials</th><th></th></tr></thead><tbody>\n{}</tbody></table>"
      "</section>\n",
      rows);
}

std::string models_section(const json& facts) {
  if (facts["models"].size() < 2) return {};
  std::string rows;
  for (const json& model : facts["models"])
    rows +=
        fmt::format("<tr><td>{}</td><td>{} ms</td><td>{} ms</td></tr>\n", escaped(model["model"].get<std::string>()),
                    number(model["start_ms"]), number(model["best_ms"]));
  return fmt::format(
      "<section id=\"models\"><h2>Models</h2>\n<table><thead><tr><th>model</th><th>start</th><th>best</th></tr></thead>"
      "<tbody>\n{}</tbody></table></section>\n",
      rows);
}

bool is_of_bench(const json& facts) { return facts.contains("times_ms"); }
bool is_of_tune(const json& facts) { return facts.contains("models"); }

std::string bench_tiles(const json& facts) {
  std::string result = tile("time of a run", number(facts["median_ms"]) + " ms",
                            fmt::format("the median; {} ms at least; {}", number(facts["min_ms"]),
                                        facts.contains("device") ? escaped(facts["device"].get<std::string>())
                                                                 : number(facts["threads"]) + " threads"));
  if (facts.contains("gflops"))
    result += tile(
        "arithmetic", fmt::format("{} GFLOP/s", number(facts["gflops"])),
        (fma_peak(facts) > 0 ? fmt::format("of {} that the machine was seen to do; ", number(facts["fma_peak_gflops"]))
                             : "") +
            fmt::format("{} GFLOP a run", number(facts["gflop"])));
  if (facts.contains("peak_memory_mb")) result += tile("memory", number(facts["peak_memory_mb"]) + " MB", "at most");
  if (facts.contains("against"))
    for (const auto& [name, peer] : facts["against"].items())
      result += tile(escaped(name + " " + peer.value("version", "")),
                     fmt::format("{} times our time", number(peer["ratio"], "{:.2f}")),
                     fmt::format("half of the rounds in turns between {} and {}", number(peer["ratio_p25"], "{:.2f}"),
                                 number(peer["ratio_p75"], "{:.2f}")));
  return result;
}

std::string tune_tiles(const json& facts) {
  double start = 0, best = 0;
  for (const json& model : facts["models"]) {
    start += model["start_ms"].get<double>();
    best += model["best_ms"].get<double>();
  }
  int64_t failed = 0;
  for (const json& task : facts["tasks"])
    for (const auto& [name, count] : task["failed"].items()) failed += count.get<int64_t>();
  return tile("time, as the sum of tasks", fmt::format("{:.4g} → {:.4g} ms", start, best),
              best > 0 ? fmt::format("{:.3f} times as fast", start / best) : "") +
         tile("trials", number(facts["trials"], "{:.0f}"), failed > 0 ? fmt::format("{} failed", failed) : "") +
         tile("took", number(facts["seconds"], "{:.1f}") + " s",
              fmt::format("{}, {} threads", escaped(facts["cpu"].get<std::string>()), number(facts["threads"])));
}

}  // namespace

std::string measured_tiles(const json& facts) {
  return is_of_bench(facts) ? bench_tiles(facts) : is_of_tune(facts) ? tune_tiles(facts) : std::string();
}

std::string measured_sections(const json& facts) {
  if (is_of_bench(facts)) return runs_section(facts) + profile_section(facts);
  return is_of_tune(facts) ? models_section(facts) + tuned_section(facts) : std::string();
}

}  // namespace isomer::report
