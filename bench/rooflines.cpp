// How near to what the machine can do each task of a model comes with its default schedule, and which single decisions
// would bring it nearer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <map>

#include "graph/edit.h"
#include "kernel/space/module.h"
#include "measure/kernel_clock.h"
#include "prepared_model.h"
#include "search/code/compile.h"
#include "search/tasks/task_table.h"
#include "tune/possible.h"
#include "tune/roofline.h"

namespace isomer {
namespace {

struct Options {
  std::vector<std::string> models, dims, decisions;
  kernel::CpuTarget target = kernel::host_target();
  int threads = 1, repeats = 4, tries = 0;
  double below = 0.85;  ///< of the roofline: tasks for which other decisions are tried
  bool verbose = false;
};

/// Tasks that are equal.
struct Row {
  std::string name, types;
  int count = 0;
  const search::LoweredTask* task = nullptr;
  double roofline_us = 0, possible_us = 0, us = 0;
  double share() const { return roofline_us / us; }
  double lost_us() const { return (us - roofline_us) * count; }
};

using Values = std::map<std::string, int64_t>;

/// "name=3"
Values values_of(const std::vector<std::string>& pairs) {
  Values values;
  for (const std::string& pair : pairs)
    values[pair.substr(0, pair.find('='))] = std::stoll(pair.substr(pair.find('=') + 1));
  return values;
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        peaks_(tune::measure_peaks(options.threads)),
        machine_(search::machine_of(options.target, options.threads)),
        given_(values_of(options.decisions)) {
    fmt::print("{:.0f} GFLOP/s; {:.0f}, {:.0f}, {:.1f} GB/s of caches and memory\n", peaks_.fma, peaks_.second,
               peaks_.last, peaks_.memory);
  }

  Result<void> run(const std::string& file) {
    TRY(std::vector<Row> rows, rows_of(file));
    double time = 0, least = 0, nearest = 0;
    for (Row& row : rows) {
      row.us = measure(row, given_);
      nearest = std::max(nearest, row.possible_us / row.us);
      time += row.us * row.count;
      // Less than all products of a padding are computed.
      least += std::min(row.roofline_us, row.us) * row.count;
    }
    fmt::print(
        "{}: {:.1f} us, roofline {:.1f} us, {:.1f} %; the fastest task is {:.1f} times as slow as what is refused\n",
        file, time, least, 100 * least / time, 1 / nearest);
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.lost_us() > b.lost_us(); });
    for (const Row& row : rows) {
      if (!options_.verbose || row.lost_us() < 0.004 * time) break;
      fmt::print("  {:4.1f} % lost: {} of {:.1f} us at {:.0f} %  {}: {}\n", 100 * row.lost_us() / time, row.count,
                 row.us, 100 * row.share(), row.name, row.types);
      if (options_.tries > 0 && row.share() < options_.below) try_others(row);
    }
    return {};
  }

 private:
  Result<std::vector<Row>> rows_of(const std::string& file) {
    TRY(const Graph graph, prepared_model(file, values_of(options_.dims), options_.threads));
    search::TaskDecider as_preferred;
    TRY(const std::vector<search::Task> tasks, tasks_of(graph, {}, search::Surroundings::kWhole, as_preferred, table_));
    const Weights where = weights_in_model(count_bytes(graph));
    clock_.emplace(options_.threads, where);
    std::map<Hash128, Row> rows;
    for (const search::Task& task : tasks) {
      if (task.runs_bodies) continue;
      TRY(const search::LoweredTask* const lowered, table_.lowered(graph, task));
      if (lowered->view_of >= 0) continue;
      Row& row = rows[lowered->hash];
      if (row.count++ > 0) continue;
      const kernel::Kernel& kernel = lowered->start.kernel();
      row.name = task.name(graph);
      for (const auto* list : {&kernel.inputs, &kernel.outputs})
        for (const int buffer : *list)
          if (buffer >= 0) {
            const kernel::Buffer& there = kernel.buffers[static_cast<size_t>(buffer)];
            row.types +=
                (list == &kernel.outputs ? "-> " : "") + ValueType::tensor(there.dtype, there.shape).text() + " ";
          }
      row.roofline_us = tune::roofline_us(kernel, lowered->flops, peaks_, where);
      row.possible_us = tune::possible_us(kernel, peaks_, where);
      row.task = lowered;
    }
    std::vector<Row> result;
    for (auto& [hash, row] : rows) result.push_back(std::move(row));
    return result;
  }

  kernel::Scheduled schedule(const Row& row, const Values& values) const {
    kernel::Preferring preferring;
    kernel::Given given(values, preferring);
    return kernel::scheduled(row.task->start, kernel::default_space(), machine_, given);
  }

  /// The shortest of some measurements; infinite where it can't be compiled.
  double measure(const Row& row, const Values& values) {
    const kernel::ScheduledKernel made = kernel::finish(schedule(row, values).schedule, 0);
    const auto code = kernel::compile(made.kernel, options_.target);
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < options_.repeats && code.ok(); ++k)
      if (const auto time = clock_->time(job_of(made.kernel, code->kernels[0], code->image));
          time.ok() && time->fault == Fault::kNone)
        best = std::min(best, time->microseconds);
    return best;
  }

  /// One decision after the other: the one that gains most, by 4 % at least.
  void try_others(const Row& row) {
    Values taken = given_;
    double best = row.us;
    for (int left = options_.tries; left > 0;) {
      Values next = taken;
      double shortest = 0.96 * best;
      for (const kernel::Builder::Made& made : schedule(row, taken).choices)
        for (const int64_t value : made.choice.candidates) {
          if (value == made.value || left-- <= 0) continue;
          Values other = taken;
          other[made.choice.name] = value;
          if (const double time = measure(row, other); time < shortest) {
            shortest = time;
            next = other;
          }
        }
      if (next == taken) return;
      for (const auto& [name, value] : next)
        if (const auto before = taken.find(name); before == taken.end() || before->second != value)
          fmt::print("      {} := {}: {:.1f} us\n", name, value, shortest);
      taken = next;
      best = shortest;
    }
  }

  const Options& options_;
  const tune::Peaks peaks_;
  const kernel::Machine machine_;
  const Values given_;
  search::TaskTable table_;
  std::optional<KernelClock> clock_;
};

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("What tasks reach of what the machine can do");
  isomer::Options options;
  app.add_option("MODEL", options.models)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--dim", options.dims, "NAME=SIZE; what is left open is 1");
  app.add_option("--repeats", options.repeats, "Measurements of a task, of which the shortest counts");
  app.add_option("--decide", options.decisions, "NAME=VALUE: a decision, in all tasks where it is one");
  app.add_option("--tries", options.tries, "Other decisions that are tried for a task below --below, with -v");
  app.add_option("--below", options.below, "A share of the roofline");
  std::string target = "cpu";
  app.add_option("--target", target, "As isomer compile takes it");
  app.add_flag("-v", options.verbose, "Tasks too, those first that lose most");
  CLI11_PARSE(app, argc, argv);
  auto parsed = isomer::kernel::parse_cpu_target(target);
  if (!parsed.ok() || !isomer::kernel::runs_here(*parsed)) {
    std::cerr << (parsed.ok() ? "a target that this machine runs expected" : parsed.error().message()) << "\n";
    return 2;
  }
  options.target = *std::move(parsed);
  isomer::Bench bench(options);
  for (const std::string& model : options.models)
    if (const auto done = bench.run(model); !done.ok()) {
      std::cerr << model << ": " << done.error().message() << "\n";
      return 1;
    }
  return 0;
}
