// What a tuner's candidates cost before code is made of them, and how well the draft ranks those that were measured.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <set>

#include "kernel/records.h"
#include "prepared_model.h"
#include "search/compile.h"
#include "search/task_table.h"
#include "tune/candidates.h"
#include "tune/draft.h"
#include "util/clock.h"
#include "util/stable_sort.h"

namespace isomer {
namespace {

struct Options {
  std::vector<std::string> models;
  kernel::CpuTarget target = kernel::host_target();
  int count = 64;
  uint64_t seed = 0;
  std::string records;
};

/// Sums over tasks.
struct Costs {
  int64_t drawn = 0, different = 0;
  double drawing = 0, reading = 0, drafting = 0;  ///< seconds
};
/// Sums over tasks, of the fastest trial's time / that of the fastest among those that the draft puts first.
struct Ranking {
  int64_t tasks = 0, trials = 0;
  double first = 0, five = 0, quarter = 0, half = 0;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), machine_(machine_of(options.target, 1)) {}

  Result<void> run(const std::string& file) {
    TRY(const Graph graph, prepared_model(file, {}, 1));
    TaskDecider as_preferred;
    TaskTable table;
    TRY(const std::vector<Task> tasks, tasks_of(graph, {}, Surroundings::kWhole, as_preferred, table));
    std::optional<kernel::Records> records;
    if (!options_.records.empty()) {
      TRY(records, kernel::Records::open(options_.records));
    }
    for (const Task& task : tasks) {
      if (task.runs_bodies) continue;
      TRY(const LoweredTask* const lowered, table.lowered(graph, task));
      if (lowered->view_of >= 0 || !seen_.insert(lowered->hash).second) continue;
      const tune::Candidates candidates(lowered->start, kernel::default_space(), machine_, lowered->flops);
      if (records) {
        TRY(const auto trials, records->trials({.task = lowered->hash}, std::numeric_limits<int64_t>::max()));
        for (const kernel::Trials& of : trials) rank(candidates, of.trials);
      } else {
        draw(candidates, task.name(graph));
      }
    }
    return {};
  }

  void print() const {
    if (ranking_.tasks > 0)
      fmt::print("{} tasks, {} trials: first {:.3f}, best of five {:.3f}, of a quarter {:.3f}, of half {:.3f}\n",
                 ranking_.tasks, ranking_.trials, mean(ranking_.first), mean(ranking_.five), mean(ranking_.quarter),
                 mean(ranking_.half));
    if (costs_.drawn > 0)
      fmt::print("{} of {} different; ms each: {:.2f} to draw, {:.2f} features, {:.3f} draft\n", costs_.different,
                 costs_.drawn, milliseconds(costs_.drawing), milliseconds(costs_.reading),
                 milliseconds(costs_.drafting));
  }

 private:
  double mean(double sum) const { return sum / static_cast<double>(ranking_.tasks); }
  double milliseconds(double seconds) const { return 1e3 * seconds / static_cast<double>(costs_.drawn); }

  void rank(const tune::Candidates& candidates, const std::vector<kernel::Trial>& trials) {
    struct Drafted {
      double cycles, microseconds;
    };
    std::vector<Drafted> all;
    double best = std::numeric_limits<double>::infinity();
    for (const kernel::Trial& trial : trials) {
      const tune::Candidate candidate = candidates.with(trial.decisions);
      const tune::Features features = tune::features_of(candidate.made.kernel, machine_);
      all.push_back({tune::drafted_cycles(features, machine_),
                     trial.microseconds.value_or(std::numeric_limits<double>::infinity())});
      best = std::min(best, all.back().microseconds);
    }
    constexpr size_t kLeast = 8;
    if (all.size() < kLeast) return;
    stable_sort(all, [](const Drafted& a, const Drafted& b) { return a.cycles < b.cycles; });
    const auto best_of = [&](size_t count) {
      double us = std::numeric_limits<double>::infinity();
      for (size_t k = 0; k < count; ++k) us = std::min(us, all[k].microseconds);
      return best / us;
    };
    ++ranking_.tasks;
    ranking_.trials += std::ssize(all);
    ranking_.first += best_of(1);
    ranking_.five += best_of(5);
    ranking_.quarter += best_of(all.size() / 4);
    ranking_.half += best_of(all.size() / 2);
  }

  void draw(const tune::Candidates& candidates, const std::string& name) {
    Random random(options_.seed);
    std::set<Hash128> schedules;
    double drawing = 0;
    for (int k = 0; k < options_.count; ++k) {
      const auto begin = Clock::now();
      const tune::Candidate candidate = candidates.sampled(random, random.uniform(0.1, 1));
      drawing += seconds_since(begin);
      const auto made = Clock::now();
      const tune::Features features = tune::features_of(candidate.made.kernel, machine_);
      costs_.reading += seconds_since(made);
      const auto read = Clock::now();
      tune::drafted_cycles(features, machine_);
      costs_.drafting += seconds_since(read);
      schedules.insert(candidate.hash);
    }
    fmt::print("{:6.2f} ms a draw, {:4} of {} different: {}\n", 1e3 * drawing / options_.count, schedules.size(),
               options_.count, name);
    costs_.drawn += options_.count;
    costs_.different += std::ssize(schedules);
    costs_.drawing += drawing;
  }

  const Options& options_;
  const kernel::Machine machine_;
  std::set<Hash128> seen_;
  Costs costs_;
  Ranking ranking_;
};

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("What a tuner's candidates cost before code is made of them, and how well the draft ranks them");
  isomer::Options options;
  app.add_option("MODEL", options.models)->required();
  app.add_option("--count", options.count, "Schedules that are drawn of a task");
  app.add_option("--seed", options.seed);
  app.add_option("--records", options.records, "Draw nothing: rank the trials that this file has of the models' tasks");
  CLI11_PARSE(app, argc, argv);
  isomer::Bench bench(options);
  for (const std::string& model : options.models)
    if (const auto done = bench.run(model); !done.ok()) {
      std::cerr << model << ": " << done.error().message() << "\n";
      return 1;
    }
  bench.print();
  return 0;
}
