// How far the tuner's contests can be trusted: tasks against themselves (wins are errors), and against themselves with
// something more to do (planted, a share of their time), which is to be told; alone, and beside a process that has
// another core's cycles, caches and memory.
//
//   build/bin/bench/contests MODEL --times 50
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <numeric>
#include <vector>

#include "prepared_model.h"
#include "search/code/tuning.h"
#include "tune/candidates.h"
#include "tune/measurer.h"
#include "util/child_process.h"
#include "util/clock.h"

namespace isomer {
namespace {

struct Options {
  std::string model;
  std::map<std::string, int64_t> dims;
  int threads = 1, tasks = 4, times = 20;
  double share = 0.05;
};

/// Outcomes of contests of one kind.
struct Outcomes {
  int contests = 0, won = 0, rounds = 0;
  double seconds = 0;

  void add(const Outcomes& other) {
    contests += other.contests;
    won += other.won;
    rounds += other.rounds;
    seconds += other.seconds;
  }
  void print(const char* what) const {
    fmt::print("  {:24} won {:4} of {:4} ({:5.1f} %), {:4.1f} rounds, {:.2f} s\n", what, won, contests,
               100.0 * won / std::max(contests, 1), double{1} * rounds / std::max(contests, 1),
               seconds / std::max(contests, 1));
  }
};

/// A part that counts down: mov ecx, count; dec ecx; jnz -4; xor eax, eax; ret
void append_countdown(ClockJob& job, uint32_t count) {
  job.code.resize((job.code.size() + runtime::kAlignment - 1) / runtime::kAlignment * runtime::kAlignment);
  job.parts.push_back({.entry = job.code.size()});
  for (const uint32_t byte : {0xB9U, count & 0xff, count >> 8 & 0xff, count >> 16 & 0xff, count >> 24, 0xFFU, 0xC9U,
                              0x75U, 0xFCU, 0x31U, 0xC0U, 0xC3U})
    job.code.push_back(static_cast<std::byte>(byte));
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), measurer_(kernel::host_target(), {.threads = options.threads}) {}

  Result<int> run() {
    TRY(const Graph model, prepared_model(options_.model, options_.dims, options_.threads));
    search::CompileOptions compile;
    compile.target = kernel::host_target();
    compile.threads = options_.threads;
    search::TuningProblems all;
    TRY_VOID(add_problems(all, model, compile));
    TRY_VOID(calibrate());
    const tune::TuneOptions tuning = tuning_options(compile);
    const size_t step = std::max<size_t>(all.problems.size() / static_cast<size_t>(options_.tasks), 1);
    for (size_t k = 0; k < all.problems.size(); k += step) {
      const tune::Problem& problem = all.problems[k];
      const tune::Candidates candidates(problem.start, tuning.space, tuning.machine, problem.flops);
      const tune::Candidate candidate = candidates.preferred();
      TRY(ClockJob job, measurer_.compile({&candidate, 1})[0]);
      TRY_VOID(add(problem.name + " " + problem.types, std::move(job)));
    }
    measure("alone");
    Result<ChildProcess> load = ChildProcess::fork([] {
      std::vector<int64_t> memory(int64_t{8} << 20);  // 64 MB
      for (int64_t k = 0;; ++k) std::iota(memory.begin(), memory.end(), k);
    });
    if (!load.ok()) return std::move(load).error();
    measure("beside another process");
    return failed_;
  }

 private:
  struct Task {
    std::string name;
    double us = 0;
    ClockJob job, slower;
  };

  Result<void> calibrate() {
    constexpr uint32_t kCount = 1'000'000;
    ClockJob countdown;
    append_countdown(countdown, kCount);
    TRY(const Measured time, measurer_.time(countdown));
    counts_a_us_ = kCount / time.microseconds;
    return {};
  }

  Result<void> add(const std::string& name, ClockJob job) {
    TRY(const Measured time, measurer_.time(job));
    if (time.fault != Fault::kNone) return {};
    ClockJob slower = job;
    append_countdown(slower, std::max(1U, static_cast<uint32_t>(options_.share * time.microseconds * counts_a_us_)));
    tasks_.push_back({name, time.microseconds, std::move(job), std::move(slower)});
    return {};
  }

  /// All kinds of contests in turns, so that what the machine does meets them all.
  void measure(const char* where) {
    Outcomes same_all, faster_all, slower_all;
    for (const Task& task : tasks_) {
      Outcomes same, faster, slower;
      for (int k = 0; k < options_.times; ++k) {
        contest(task.job, task.job, same);
        contest(task.slower, task.job, faster);
        contest(task.job, task.slower, slower);
      }
      fmt::print("{}, {}, {:.0f} us\n", where, task.name, task.us);
      same.print("against itself");
      faster.print("against a slower one");
      slower.print("against a faster one");
      std::fflush(stdout);
      same_all.add(same);
      faster_all.add(faster);
      slower_all.add(slower);
    }
    fmt::print("{}, all tasks\n", where);
    same_all.print("against itself");
    faster_all.print("against a slower one");
    slower_all.print("against a faster one");
  }

  void contest(const ClockJob& first, const ClockJob& second, Outcomes& outcomes) {
    const auto begin = Clock::now();
    const auto contest = measurer_.contest(first, second);
    if (!contest.ok() || contest->fault.fault != Fault::kNone) {
      ++failed_;
      return;
    }
    ++outcomes.contests;
    outcomes.won += contest->is_won();
    outcomes.rounds += contest->rounds;
    outcomes.seconds += seconds_since(begin);
  }

  const Options options_;
  tune::Measurer measurer_;
  double counts_a_us_ = 1;
  std::vector<Task> tasks_;
  int failed_ = 0;
};

}  // namespace
}  // namespace isomer

int main(int count, char** arguments) {
  isomer::Options options;
  CLI::App app("How far contests of kernels can be trusted");
  app.add_option("MODEL", options.model)->required();
  app.add_option("--dim", options.dims, "NAME=SIZE of an open dim; else 1")->delimiter('=');
  app.add_option("--threads", options.threads)->capture_default_str();
  app.add_option("--tasks", options.tasks, "About so many of the model's")->capture_default_str();
  app.add_option("--times", options.times, "Contests of each kind and task")->capture_default_str();
  app.add_option("--share", options.share, "That the slower one takes longer")->capture_default_str();
  CLI11_PARSE(app, count, arguments);
  const auto failed = isomer::Bench(options).run();
  if (!failed.ok()) {
    fmt::print(stderr, "{}\n", failed.error().message());
    return 1;
  }
  if (*failed > 0) fmt::print("{} contests failed\n", *failed);
  return 0;
}
