// What other decisions than the preferred ones give on the GPU here: the first task of each model, tile by tile.
//     bench/gpu_sweep [--seconds 60] [--count 40] MODEL...
// A line a candidate: model, microseconds with cold caches, decisions; the preferred ones first.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "kernel/default_schedule.h"
#include "kernel/scheduled_kernel.h"
#include "kernel/space/gpu_modules.h"
#include "prepared_model.h"
#include "runtime/cuda/event_clock.h"
#include "search/code/compile.h"
#include "search/code/gpu_code.h"
#include "search/code/targets.h"
#include "search/tasks/fuse.h"
#include "search/tasks/task_table.h"
#include "util/clock.h"
#include "util/parallel.h"

namespace isomer {
namespace {

namespace cuda = runtime::cuda;
using Decisions = std::map<std::string, int64_t>;

struct Options {
  std::vector<std::string> models;
  double seconds = 60;
  int count = 40;
  int threads = 1;
  uint64_t seed = 1;
};

/// The first task that has a kernel, before it is scheduled.
Result<kernel::Schedule> first_task(const std::string& file, const Options& options) {
  search::CompileOptions compile;
  compile.target = kernel::CudaTarget{"sm_90a"};
  for_gpu(compile);
  TRY(const Graph graph, prepared_model(file, {}, options.threads));
  search::TaskDecider decider((search::TaskPlan()));
  search::TaskTable table;
  TRY(const std::vector<search::Task> tasks, tasks_of(graph, compile, search::Surroundings::kWhole, decider, table));
  for (const search::Task& task : tasks) {
    TRY(const search::LoweredTask* const lowered, table.lowered(graph, task));
    if (lowered->view_of < 0) return lowered->start;
  }
  return unsupported(file, "a task with a kernel expected");
}

struct Candidate {
  std::string model;
  std::vector<kernel::Builder::Made> choices;
  kernel::Kernel kernel;
  search::GpuCode code = {};
  std::string failure = {};
  double microseconds = INFINITY;
};

/// Samples sizes: of tiles, blocks of threads, parts; and whether operands are laid out anew.
class SamplingSizes : public kernel::Decider {
 public:
  SamplingSizes(Random& random, double chance) : sampling_(random, chance) {}
  int64_t decide(const kernel::Choice& choice) override {
    const bool is_size = choice.candidates.size() > 2 || choice.name.ends_with("_last");
    return is_size ? sampling_.decide(choice) : choice.preferred;
  }

 private:
  kernel::Sampling sampling_;
};

/// The preferred schedule and others, each once.
std::vector<Candidate> candidates(const std::string& model, const kernel::Schedule& start, const Options& options) {
  std::vector<Candidate> all;
  std::set<std::string> known;
  Random random(options.seed);
  for (int k = 0; k < 4 * options.count && static_cast<int>(all.size()) < options.count; ++k) {
    kernel::Preferring preferring;
    SamplingSizes sampling(random, k % 2 == 0 ? 0.2 : 0.5);
    kernel::Scheduled made = kernel::scheduled(start, kernel::gpu_space(), kernel::Machine(),
                                               k == 0 ? static_cast<kernel::Decider&>(preferring) : sampling);
    kernel::Kernel kernel = made.schedule.finish();
    if (!known.insert(print(kernel)).second) continue;
    all.push_back({model, made.choices, std::move(kernel)});
  }
  return all;
}

class Runner {
 public:
  static Result<std::unique_ptr<Runner>> open() {
    auto runner = std::make_unique<Runner>();
    TRY(runner->gpu_, cuda::Gpu::open(0));
    runner->current_ = std::make_unique<cuda::Gpu::Current>(*runner->gpu_);
    TRY(runner->device_, cuda::GpuDevice::create(runner->gpu_));
    TRY(runner->clock_, cuda::EventClock::create(*runner->device_));
    return runner;
  }
  std::string arch() const {
    const cuda::GpuFacts& facts = gpu_->facts();
    return facts.arch() + (facts.major == 9 ? "a" : "");
  }

  /// The median of some runs, in microseconds.
  Result<double> time(const Candidate& candidate) {
    std::vector<runtime::DeviceMemory> memory;
    for (const kernel::Buffer& buffer : candidate.kernel.buffers) {
      runtime::DeviceMemory& made = memory.emplace_back();
      if (buffer.scope != kernel::Scope::kArgument) continue;
      const int64_t bytes = byte_size(buffer.dtype, element_count(buffer.shape).value());
      auto there = device_->allocate(bytes);
      if (!there) return unsupported("", "{} bytes of the GPU's memory expected", bytes);
      made = std::move(*there);
      if (buffer.dtype != DataType::kFloat32) continue;
      if (static_cast<size_t>(bytes) / sizeof(float) > values_.size()) extend_values(static_cast<size_t>(bytes));
      device_->upload(made.data(), values_.data(), bytes);
      TRY_VOID(device_->finish());
    }
    const cuda::Driver& driver = gpu_->driver();
    cuda::Module module = nullptr;
    TRY_VOID(driver.check(driver.module_load(&module, candidate.code.modules[0].image.data()), "a module"));
    auto word = device_->allocate(sizeof(int32_t));
    std::vector<double> times;
    for (int turn = 0; turn < 6 && word; ++turn) {
      clock_->start();
      for (const runtime::Launch& launch : candidate.code.kernels[0].launches)
        TRY_VOID(ask(module, launch, memory, reinterpret_cast<cuda::Address>(word->data())));
      clock_->stop();
      TRY(const double seconds, clock_->seconds());
      times.push_back(1e6 * seconds);
    }
    driver.module_unload(module);
    std::sort(times.begin(), times.end());
    return times[times.size() / 2 - 1];
  }

 private:
  /// Random numbers for so many bytes.
  void extend_values(size_t bytes) {
    Random random(7);
    values_.resize(bytes / sizeof(float));
    for (float& value : values_) value = static_cast<float>(random.below(1 << 20)) / (1 << 19) - 1;
  }

  Result<void> ask(cuda::Module module, const runtime::Launch& launch, const std::vector<runtime::DeviceMemory>& memory,
                   cuda::Address word) {
    const cuda::Driver& driver = gpu_->driver();
    TRY(const cuda::Function function, driver.function(module, launch.function, launch.shared_bytes));
    std::vector<void*> pointers, arguments = {&word};
    for (const int32_t buffer : launch.buffers) pointers.push_back(memory[static_cast<size_t>(buffer)].data());
    for (void*& pointer : pointers) arguments.push_back(&pointer);
    int32_t turn = 0;
    if (launch.takes_turn) arguments.push_back(&turn);
    const auto size = [](int64_t count) { return static_cast<unsigned>(count); };
    device_->ask(launch.function, [&] {
      return driver.launch(function, size(launch.blocks[0]), size(launch.blocks[1]), size(launch.blocks[2]),
                           size(launch.threads[0]), size(launch.threads[1]), size(launch.threads[2]),
                           size(launch.shared_bytes), device_->stream(), arguments.data(), nullptr);
    });
    return {};
  }

  std::shared_ptr<const cuda::Gpu> gpu_;
  std::unique_ptr<cuda::Gpu::Current> current_;
  std::unique_ptr<cuda::GpuDevice> device_;
  std::unique_ptr<cuda::EventClock> clock_;
  std::vector<float> values_;
};

Result<void> sweep(const Options& options) {
  const Clock::time_point start_time = Clock::now();
  TRY(auto runner, Runner::open());
  std::vector<Candidate> all;
  for (const std::string& model : options.models) {
    TRY(const kernel::Schedule start, first_task(model, options));
    for (Candidate& each : candidates(model, start, options)) all.push_back(std::move(each));
  }
  ThreadPool pool(options.threads);
  pool.run(static_cast<int64_t>(all.size()), [&](int64_t k, int) {
    Candidate& candidate = all[static_cast<size_t>(k)];
    if (seconds_since(start_time) > options.seconds) {
      candidate.failure = "no time";
      return;
    }
    auto made = search::gpu_code({&candidate.kernel}, runner->arch(), 1);
    if (made.ok())
      candidate.code = *std::move(made);
    else
      candidate.failure = made.error().message().substr(0, 100);
  });
  for (Candidate& candidate : all) {
    if (candidate.failure.empty()) {
      const auto time = runner->time(candidate);
      if (time.ok())
        candidate.microseconds = *time;
      else
        candidate.failure = time.error().message();
    }
    std::vector<std::string> decisions;
    for (const auto& made : candidate.choices) decisions.push_back(fmt::format("{}={}", made.choice.name, made.value));
    fmt::print("{} {:.1f} {} {}\n", std::filesystem::path(candidate.model).stem().string(), candidate.microseconds,
               fmt::join(decisions, ","), candidate.failure);
  }
  return {};
}

}  // namespace
}  // namespace isomer

int main(int argc, char** argv) {
  CLI::App app("Other decisions for a GPU, measured");
  isomer::Options options;
  app.add_option("MODEL", options.models)->required();
  app.add_option("--seconds", options.seconds, "After which no more is compiled");
  app.add_option("--count", options.count, "Candidates a model");
  app.add_option("--threads", options.threads, "That compile");
  app.add_option("--seed", options.seed);
  CLI11_PARSE(app, argc, argv);
  if (const auto done = isomer::sweep(options); !done.ok()) {
    std::cerr << done.error().message() << "\n";
    return 1;
  }
}
