#include "search/cost/race.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/memory.h"
#include "runtime/session.h"
#include "search/code/prepare.h"
#include "util/clock.h"
#include "util/quantile.h"
#include "util/stable_sort.h"
#include "util/stop.h"
#include "util/threads.h"

namespace isomer::search {
namespace {

/// A turn takes at least so long, so that clocks and interruptions weigh little.
constexpr double kTurnSeconds = 0.01;
constexpr size_t kCacheLine = 64;

/// Clocks are off by so much less than 1; what is slower than the other is so whatever chance explains.
constexpr double kNotSlower = 0.995, kPlainlySlower = 0.98;

class CompiledRunner final : public Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(Compilation compiled, std::span<const Tensor> inputs, int threads,
                                                MemoryLimit memory) {
    TRY(auto model, runtime::Model::load(std::move(compiled.artifact)));
    auto runner = std::make_unique<CompiledRunner>();
    TRY(runner->session_, runtime::Session::create(std::move(model), {threads, {}, false, memory}));
    for (const Tensor& tensor : inputs) TRY_VOID(runner->give(tensor));
    runner->outputs_.resize(runner->session_->variant().outputs.size());
    return std::unique_ptr<Runner>(std::move(runner));
  }

  Result<void> run() override { return session_->run(given_, outputs_); }

 private:
  /// Where code reads it as it lies: the session would copy others in each run.
  Result<void> give(const Tensor& tensor) {
    const auto bytes = tensor.bytes();
    auto made = runtime::Memory::allocate(static_cast<int64_t>(bytes.size()));
    if (!made) return unsupported("inputs", "{} bytes of memory expected", bytes.size());
    std::copy(bytes.begin(), bytes.end(), made->data());
    memory_.push_back(std::move(*made));
    dims_.push_back(std::make_unique<Dims>(tensor.dims()));
    given_.push_back({static_cast<runtime::ElementType>(tensor.dtype()), *dims_.back(), memory_.back().data()});
    return {};
  }

  std::unique_ptr<runtime::Session> session_;
  std::vector<runtime::Memory> memory_;
  std::vector<std::unique_ptr<Dims>> dims_;
  std::vector<runtime::Tensor> given_, outputs_;
};

double machine_seconds() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

/// Of one run, the lower quartile of those that nothing interrupted, or of all where there is none.
Result<double> seconds_of(Runner& runner, int runs, std::span<const std::byte> sweep,
                          const std::function<double()>& clock) {
  std::vector<double> all, undisturbed;
  for (int k = 0; k < runs; ++k) {
    for (size_t at = 0; at < sweep.size(); at += kCacheLine) asm volatile("" : : "r"(sweep[at]));
    const int64_t before = interruptions();
    const double start = clock();
    TRY_VOID(runner.run());
    all.push_back(clock() - start);
    if (interruptions() == before) undisturbed.push_back(all.back());
  }
  return quantile(undisturbed.empty() ? all : undisturbed, 0.25);
}

}  // namespace

Result<std::unique_ptr<Runner>> compiled_runner(const Graph& graph, std::span<const Tensor> inputs, int level,
                                                const CompileOptions& options) {
  Graph prepared = graph;
  TRY_VOID(prepare_for_code(prepared, prepare_options(options, level)));
  TRY(Compilation compiled, compile(prepared, options));
  return runner_of(std::move(compiled), inputs, options.threads, options.memory);
}

Result<std::unique_ptr<Runner>> runner_of(Compilation compiled, std::span<const Tensor> inputs, int threads,
                                          MemoryLimit memory) {
  return CompiledRunner::create(std::move(compiled), inputs, threads, memory);
}

bool Raced::is_slower() const { return ratio < kPlainlySlower || (ratio < kNotSlower && is_told_apart()); }
bool Raced::is_surely_not_slower() const { return ratio - noise() >= kNotSlower; }

Raced middle_of(std::vector<Raced> races) {
  stable_sort(races, [](const Raced& a, const Raced& b) { return a.ratio < b.ratio; });
  const size_t count = races.size(), quarter = count / 4;
  Raced result = races[count / 2];
  result.low = races[quarter].ratio;
  result.high = races[count - 1 - quarter].ratio;
  result.rounds = static_cast<int>(count);
  return result;
}

int64_t part_sweep_bytes() {
  const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return 2 * (size > 0 ? size : long{1} << 20);
}

int least_rounds(const RaceOptions& options, double round_seconds) {
  const double each = std::max(round_seconds, 1e-6);
  const int least = std::min(kOfLongRuns, options.least_rounds);
  const double wanted = std::clamp<double>(std::floor(options.seconds / each), least, options.least_rounds);
  return static_cast<int>(std::min(wanted, std::floor(options.most_seconds / each)));
}

Result<Raced> race(Runner& first, Runner& second, const RaceOptions& options) {
  Runner* const runners[] = {&first, &second};
  // Else another process may move this thread onto the CPU of its own worker.
  const StayOn stay(options.threads > 1 ? current_cpu() : -1);
  const std::vector<std::byte> sweep(static_cast<size_t>(options.sweep_bytes), std::byte{1});
  const auto clock = options.clock ? options.clock : machine_seconds;
  int runs[2];
  double round_seconds = 0;
  for (int k = 0; k < 2; ++k) {
    TRY_VOID(runners[k]->run());
    const double start = clock();
    TRY_VOID(seconds_of(*runners[k], 1, sweep, clock));
    const double run_seconds = std::max(clock() - start, 1e-7);
    runs[k] = std::clamp(static_cast<int>(kTurnSeconds / run_seconds), 1, 10'000);
    round_seconds += options.settle_seconds + runs[k] * run_seconds;
  }
  if (kFewestRounds * round_seconds > options.most_seconds)
    return unsupported("", "time for {} rounds of a race of {:.1f} s each expected, {:.1f} s found", kFewestRounds,
                       round_seconds, options.most_seconds);
  const int least = least_rounds(options, round_seconds);
  std::vector<double> times[2], ratios;
  const auto end = Clock::now() + std::chrono::duration<double>(std::min(options.seconds, options.most_seconds));
  const auto leave_doubt = [&] {
    const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
    return std::ssize(ratios) < kFewestRounds || (*least < kNoDoubt && *greatest > 1 / kNoDoubt);
  };
  for (int round = 0; (round < least && leave_doubt()) || Clock::now() < end; ++round) {
    TRY_VOID(check_stop());
    double turn[2];
    // Who begins changes, so that what one leaves behind meets both.
    for (const int k : {round % 2, 1 - round % 2}) {
      std::this_thread::sleep_for(std::chrono::duration<double>(options.settle_seconds));
      TRY(turn[k], seconds_of(*runners[k], runs[k], sweep, clock));
      times[k].push_back(turn[k]);
    }
    ratios.push_back(turn[0] / turn[1]);
  }
  return Raced{1e6 * quantile(times[0], 0.5), 1e6 * quantile(times[1], 0.5), quantile(ratios, 0.5),
               quantile(ratios, 0.25),        quantile(ratios, 0.75),        static_cast<int>(ratios.size())};
}

}  // namespace isomer::search
