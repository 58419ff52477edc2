// What a tuner's candidates cost before code is made of them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <set>

#include "prepared_model.h"
#include "search/code/compile.h"
#include "search/tasks/task_table.h"
#include "tune/candidates.h"
#include "tune/draft.h"
#include "util/clock.h"

namespace isomer {
namespace {

struct Options {
  std::vector<std::string> models;
  kernel::CpuTarget target = kernel::host_target();
  int count = 64;
  uint64_t seed = 0;
};

/// Sums over tasks.
struct Costs {
  int64_t drawn = 0, different = 0;
  double drawing = 0, reading = 0, drafting = 0;  ///< seconds
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options), machine_(search::machine_of(options.target, 1)) {}

  Result<void> run(const std::string& file) {
    TRY(const Graph graph, prepared_model(file, {}, 1));
    search::TaskDecider as_preferred;
    search::TaskTable table;
    TRY(const std::vector<search::Task> tasks, tasks_of(graph, {}, search::Surroundings::kWhole, as_preferred, table));
    for (const search::Task& task : tasks) {
      if (task.runs_bodies) continue;
      TRY(const search::LoweredTask* const lowered, table.lowered(graph, task));
      if (lowered->view_of >= 0 || !seen_.insert(lowered->hash).second) continue;
      const tune::Candidates candidates(lowered->start, kernel::default_space(), machine_, lowered->flops);
      draw(candidates, task.name(graph));
    }
    return {};
  }

  void print() const {
    if (costs_.drawn > 0)
      fmt::print("{} of {} different; ms each: {:.2f} to draw, {:.2f} features, {:.3f} draft\n", costs_.different,
                 costs_.drawn, milliseconds(costs_.drawing), milliseconds(costs_.reading),
                 milliseconds(costs_.drafting));
  }

 private:
  double milliseconds(double seconds) const { return 1e3 * seconds / static_cast<double>(costs_.drawn); }

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
};

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("What a tuner's candidates cost before code is made of them");
  isomer::Options options;
  app.add_option("MODEL", options.models)->required();
  app.add_option("--count", options.count, "Schedules that are drawn of a task");
  app.add_option("--seed", options.seed);
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
