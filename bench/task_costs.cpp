// What TaskTimer says of a model's tasks, one by one and in all, beside what they take in the model.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "graph/bind.h"
#include "graph/edit.h"
#include "graph/onnx/import.h"
#include "runtime/session.h"
#include "search/code/prepare.h"
#include "search/cost/task_timer.h"
#include "search/tasks/layouts.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/threads.h"
#include "verify/check/inputs.h"

namespace isomer {
namespace {

struct Options {
  std::string model, records;
  std::vector<std::string> dims;
  int threads = 1;
  double seconds = 3;
  bool verbose = false;
};

struct InModel {
  double median_ms = 0, fast_ms = 0;  ///< the latter: of one of the fastest tenth
  std::vector<double> tasks_us;       ///< means
};

Result<std::unique_ptr<runtime::Session>> open(const runtime::Artifact& artifact, int threads, bool timed) {
  TRY(auto model, runtime::Model::load(artifact));
  return runtime::Session::create(std::move(model), {.threads = threads, .bindings = {}, .timed = timed});
}

Result<std::vector<double>> run_for(runtime::Session& session, const std::vector<Tensor>& inputs, double seconds) {
  std::vector<runtime::Tensor> given, made(session.variant().outputs.size());
  for (const Tensor& tensor : inputs)
    given.push_back({static_cast<runtime::ElementType>(tensor.dtype()), tensor.dims(),
                     const_cast<std::byte*>(tensor.bytes().data())});
  std::vector<double> times;
  for (const auto start = Clock::now(); seconds_since(start) < seconds;) {
    const int64_t before = interruptions();
    const auto begin = Clock::now();
    TRY_VOID(session.run(given, made));
    if (interruptions() == before || seconds_since(start) > seconds) times.push_back(seconds_since(begin) * 1e3);
  }
  std::sort(times.begin(), times.end());
  return times;
}

Result<InModel> run_model(const Graph& graph, const search::CompileOptions& compile_options, const Options& options) {
  TRY(const search::Compilation compiled, compile(graph, compile_options));
  TRY(const auto inputs, generate_inputs(graph, {}));
  InModel result;
  const int cpu = current_cpu();
  TRY(auto session, open(compiled.artifact, options.threads, false));
  TRY(auto timed, open(compiled.artifact, options.threads, true));
  const StayOn pinned(options.threads > 1 ? cpu : -1);  // the sessions' workers are on others
  TRY(const auto times, run_for(*session, inputs, options.seconds));
  result.median_ms = times[times.size() / 2];
  result.fast_ms = times[times.size() / 10];
  TRY_VOID(run_for(*timed, inputs, options.seconds));
  const auto steps = timed->times();
  auto step = steps.begin();
  for (const search::GraphTask& task : compiled.whole.tasks) {
    if (task.view_of >= 0) {
      result.tasks_us.push_back(0);
      continue;
    }
    step = std::find_if(step, steps.end(),
                        [&](const runtime::StepTime& time) { return time.depth == 0 && time.step->name == task.name; });
    CHECK(step != steps.end()) << task.name;
    result.tasks_us.push_back(static_cast<double>(step->nanoseconds) / 1e3 /
                              static_cast<double>(std::max<int64_t>(step->runs, 1)));
    ++step;
  }
  return result;
}

Result<void> compare(const Options& options) {
  TRY(Graph graph, import_model(options.model, {}));
  std::map<std::string, int64_t> dims;
  for (const std::string& dim : options.dims)
    dims[dim.substr(0, dim.find('='))] = std::stoll(dim.substr(dim.find('=') + 1));
  TRY_VOID(bind_inputs(graph, dims, {}));
  search::CompileOptions compile_options;
  compile_options.target = kernel::host_target();
  compile_options.threads = options.threads;
  TRY_VOID(search::prepare_for_code(graph, {.level = 2, .threads = options.threads}));
  search::TaskDecider as_preferred;
  kernel::Records records = kernel::Records::in_memory();
  if (!options.records.empty()) {
    TRY(records, kernel::Records::open(options.records));
  }
  const Weights weights = weights_in_model(count_bytes(graph));
  search::TaskTimer timer(compile_options, records, weights);
  TRY(const std::vector<search::Task> tasks,
      tasks_of(graph, compile_options, search::Surroundings::kWhole, as_preferred, timer.table()));
  std::vector<search::TaskOf> all;
  for (const search::Task& task : tasks) all.push_back({&graph, &task});
  const auto start = Clock::now();
  const auto costs = timer.measure(all);
  const double seconds = seconds_since(start);
  const auto again = Clock::now();
  for (const search::Task& task : tasks) static_cast<void>(timer.key(graph, task));
  const double key_us = seconds_since(again) * 1e6 / static_cast<double>(tasks.size());
  TRY(const InModel in_model, run_model(graph, compile_options, options));
  double sum = 0, steps = 0, least = 0;
  for (size_t k = 0; k < tasks.size(); ++k) {
    steps += in_model.tasks_us[k];
    if (!costs[k].ok()) {
      fmt::print("{}: {}\n", tasks[k].name(graph), costs[k].error().message());
      continue;
    }
    sum += *costs[k];
    TRY(const double bound, timer.roofline(graph, tasks[k]));
    least += bound;
    if (options.verbose)
      fmt::print("{:10.1f} {:10.1f} {:10.1f}  {}\n", *costs[k], in_model.tasks_us[k], bound, tasks[k].name(graph));
  }
  const search::TaskTimer::Statistics& statistics = timer.statistics();
  fmt::print(
      "{} x{}: {} tasks, {} measured, {} failed, in {:.2f} s ({:.2f} preparing, {:.2f} LLVM, {:.2f} running), a key in "
      "{:.0f} us; weights in {}; costs {:.3f} ms, steps {:.3f}, model {:.3f} (fast runs {:.3f}), roofline {:.3f}\n",
      options.model, options.threads, tasks.size(), statistics.measured, statistics.failed, seconds,
      statistics.preparing_s, statistics.compiling_s, statistics.running_s, key_us,
      weights == Weights::kInCache ? "cache" : "memory", sum / 1e3, steps / 1e3, in_model.median_ms, in_model.fast_ms,
      least / 1e3);
  return {};
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("What tasks cost alone and in their model");
  isomer::Options options;
  app.add_option("MODEL", options.model)->required();
  app.add_option("--threads", options.threads);
  app.add_option("--dim", options.dims);
  app.add_option("--records", options.records);
  app.add_option("--duration", options.seconds);
  app.add_flag("-v", options.verbose, "Each task: its cost, what its step takes, the roofline, in microseconds");
  CLI11_PARSE(app, argc, argv);
  const auto done = isomer::compare(options);
  if (!done.ok()) std::cerr << done.error().message() << "\n";
  return done.ok() ? 0 : 1;
}
