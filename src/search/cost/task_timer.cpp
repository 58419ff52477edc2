#include "search/cost/task_timer.h"

#include <algorithm>
#include <ctime>
#include <map>

#include "kernel/default_schedule.h"
#include "kernel/fingerprint.h"
#include "measure/worker.h"
#include "tune/tuned.h"
#include "util/clock.h"
#include "util/machine_peak.h"
#include "util/parallel.h"
#include "util/stop.h"
#include "util/threads.h"

namespace isomer::search {
namespace {

const kernel::CpuTarget& cpu_of(const CompileOptions& options) { return std::get<kernel::CpuTarget>(options.target); }

/// Kernels that one LLVM module holds at most, fewer where threads would idle, and those that are made before they run.
constexpr size_t kModule = 4, kMade = 32;
/// Of starting the parts of a kernel, in microseconds.
constexpr double kStart = 0.3;
/// Of each thread, to measure bandwidth in: about what the values of a step of a model take.
constexpr int kMostTimesAgain = 3;  ///< that a task is measured once more
constexpr int64_t kBandwidthBytes = int64_t{32} << 20;

}  // namespace

class TaskTimer::State {
 public:
  TaskTable table;
  Statistics statistics;

  State(const CompileOptions& options, kernel::Records& records, Weights weights)
      : table(options.micro_kernels),
        options_(options),
        records_(records),
        target_(kernel::fingerprint(cpu_of(options), options.threads)),
        generator_(kernel::generator_version()),
        maker_(tune::maker_of("default", weights, {}, without_of(options))),
        tuned_maker_(tune::maker_of("tuned", weights, {}, without_of(options))),
        worker_({options.threads, weights, options.memory}) {}

  Result<TaskKey> key(const Graph& graph, const Task& task) {
    TRY(const LoweredTask* const lowered, lowered_of(graph, task));
    if (lowered->view_of >= 0) return TaskKey{{}, true};
    return TaskKey{lowered->hash, false};
  }

  /// Of a task that is no view: what became of measuring it, nothing where nobody did.
  Result<std::optional<Result<double>>> find(const Hash128& task) {
    if (const auto found = known_.find(task); found != known_.end()) return std::optional(found->second);
    TRY(const auto record, records_.best({task, target_, generator_}, maker_));
    if (!record) return std::optional<Result<double>>();
    ++statistics.looked_up;
    return std::optional(known_.emplace(task, outcome_of(*record)).first->second);
  }

  Result<double> roofline(const Graph& graph, const Task& task) {
    TRY(const LoweredTask* const lowered, lowered_of(graph, task));
    if (lowered->view_of >= 0) return 0.0;
    TRY(const double peak, constant("fma_gflops", [&] { return measure_fma_peak(options_.threads); }));
    TRY(const double bandwidth,
        constant("memory_gbs", [&] { return measure_read_bandwidth(kBandwidthBytes, options_.threads); }));
    return kStart + std::max(static_cast<double>(lowered->flops) / peak, lowered->bytes / bandwidth) / 1e3;
  }

  std::vector<Result<double>> measure(std::span<const TaskOf> tasks) {
    return measure_some(tasks, [](const Hash128&, const std::optional<Result<double>>& found) { return !found; });
  }

  std::vector<Result<double>> measure_again(std::span<const TaskOf> tasks) {
    return measure_some(tasks, [&](const Hash128& task, const std::optional<Result<double>>& found) {
      return (!found || found->ok()) && ++times_again_[task] <= kMostTimesAgain;
    });
  }

 private:
  /// A task on its way to a record.
  struct Candidate {
    kernel::Record record;
    kernel::ScheduledKernel scheduled;
    Result<kernel::MachineCode> code = unsupported("", "code expected, none made");
  };

  static Result<double> outcome_of(const kernel::Record& record) {
    if (record.microseconds) return *record.microseconds;
    return unsupported(record.name, "{}", record.failure);
  }

  Result<const LoweredTask*> lowered_of(const Graph& graph, const Task& task) {
    if (task.runs_bodies)
      return unsupported(task.place(graph), "a task with a kernel of its own expected, one that runs others found");
    const auto start = Clock::now();
    const auto lowered = table.lowered(graph, task);
    statistics.preparing_s += seconds_since(start);
    if (lowered.ok() && (*lowered)->is_open)
      return unsupported(task.place(graph), "sizes that are known at compile time expected, data decide some");
    return lowered;
  }

  template <class Measure>
  Result<double> constant(const std::string& name, const Measure& measure) {
    if (const auto known = constants_.find(name); known != constants_.end()) return known->second;
    TRY(std::optional<double> value, records_.constant(target_, name));
    if (!value || !(*value > 0)) {
      value = measure();
      TRY_VOID(records_.set_constant(target_, name, *value));
    }
    return constants_[name] = *value;
  }

  /// Those are measured, once each, for which `is_wanted(hash, what is known)`.
  template <class IsWanted>
  std::vector<Result<double>> measure_some(std::span<const TaskOf> tasks, const IsWanted& is_wanted) {
    std::vector<Result<TaskKey>> keys;
    std::set<Hash128> seen;
    std::map<Hash128, const TaskOf*> wanted;
    for (const TaskOf& task : tasks) {
      keys.push_back(key(*task.graph, *task.task));
      if (!keys.back().ok() || keys.back()->is_view || !seen.insert(keys.back()->hash).second) continue;
      if (const auto found = find(keys.back()->hash); found.ok() && is_wanted(keys.back()->hash, *found))
        wanted.emplace(keys.back()->hash, &task);
    }
    const Result<void> done = measure(wanted);
    std::vector<Result<double>> times;
    for (const Result<TaskKey>& key : keys) times.push_back(time_of(key, done));
    return times;
  }

  Result<double> time_of(const Result<TaskKey>& key, const Result<void>& done) {
    if (!key.ok()) return Error(key.error());
    if (key->is_view) return 0.0;
    TRY(const auto found, find(key->hash));
    if (found) return *found;
    if (const auto lost = lost_.find(key->hash); lost != lost_.end()) return Error(lost->second);
    CHECK(!done.ok());
    return Error(done.error());
  }

  Result<void> measure(const std::map<Hash128, const TaskOf*>& tasks) {
    if (tasks.empty()) return {};
    if (!kernel::runs_here(cpu_of(options_)))
      return unsupported("target", "a CPU that this machine has expected, {} found", cpu_of(options_).cpu);
    std::vector<Candidate> candidates;
    for (const auto& [hash, task] : tasks) {
      TRY_VOID(check_stop());
      TRY(Candidate candidate, candidate_of(hash, *task));
      candidates.push_back(std::move(candidate));
    }
    for (std::span<Candidate> rest = candidates; !rest.empty();) {
      const auto some = rest.first(std::min(rest.size(), kMade));
      compile(some);
      TRY_VOID(run(some));
      rest = rest.subspan(some.size());
    }
    return {};
  }

  Result<Candidate> candidate_of(const Hash128& hash, const TaskOf& of) {
    const auto start = Clock::now();
    TRY(const LoweredTask* const lowered, table.lowered(*of.graph, *of.task));
    Candidate candidate;
    candidate.record.key = {hash, target_, generator_};
    candidate.record.maker = maker_;
    candidate.record.name = of.task->name(*of.graph);
    candidate.record.types = tune::types_of(lowered->start.kernel());
    candidate.scheduled = kernel::finish(kernel::default_schedule(lowered->start, machine_of(options_)), 0);
    candidate.record.trace = print(candidate.scheduled.trace);
    statistics.preparing_s += seconds_since(start);
    return candidate;
  }

  void compile(std::span<Candidate> candidates) {
    const auto start = Clock::now();
    const auto threads = static_cast<size_t>(available_threads());
    const size_t module = std::clamp<size_t>((candidates.size() + threads - 1) / threads, 1, kModule);
    const size_t modules = (candidates.size() + module - 1) / module;
    ThreadPool pool(static_cast<int>(std::min(threads, modules)));
    pool.run(static_cast<int64_t>(modules), [&](int64_t m, int) {
      const size_t first = static_cast<size_t>(m) * module;
      compile_module(candidates.subspan(first, std::min(module, candidates.size() - first)));
    });
    statistics.compiling_s += seconds_since(start);
  }

  // Where one kernel makes no code none of its module does: then each is tried alone.
  void compile_module(std::span<Candidate> candidates) const {
    std::vector<const kernel::Kernel*> kernels;
    for (const Candidate& candidate : candidates) kernels.push_back(&candidate.scheduled.kernel);
    auto code = kernel::compile(kernels, cpu_of(options_));
    if (!code.ok() && code.error().kind == ErrorKind::kStopped) return;
    for (size_t k = 0; k < candidates.size(); ++k) {
      if (code.ok())
        candidates[k].code = kernel::MachineCode{code->image, {code->kernels[k]}};
      else
        candidates[k].code = kernel::compile(*kernels[k], cpu_of(options_));
    }
  }

  Result<void> run(std::span<Candidate> candidates) {
    const auto start = Clock::now();
    std::vector<kernel::Record> records;
    Result<void> stopped;
    for (Candidate& candidate : candidates) {
      if (stopped = check_stop(); !stopped.ok()) break;
      auto time = run(candidate);
      const auto before = known_.find(candidate.record.key.task);
      if (before != known_.end() && before->second.ok() && (!time.ok() || time->microseconds >= *before->second))
        continue;
      ++(time.ok() ? statistics.measured : statistics.failed);
      const bool is_lasting = time.ok() || !candidate.code.ok() || time.error().kind == ErrorKind::kInvalid;
      if (!is_lasting) {
        lost_.emplace(candidate.record.key.task, std::move(time).error().within(candidate.record.name));
        continue;
      }
      if (time.ok()) {
        candidate.record.microseconds = time->microseconds;
        candidate.record.runs = time->runs;
      } else {
        candidate.record.failure = time.error().message();
      }
      candidate.record.when = std::time(nullptr);
      const bool is_shorter = before != known_.end();
      known_.insert_or_assign(candidate.record.key.task, outcome_of(candidate.record));
      if (!is_shorter || !is_yardstick(candidate.record.key)) records.push_back(std::move(candidate.record));
    }
    statistics.running_s += seconds_since(start);
    TRY_VOID(records_.add(records));
    return stopped;
  }

  /// Whether tuned times are told by the time that the records have.
  bool is_yardstick(const kernel::RecordKey& key) const {
    const auto tuned = records_.best(key, tuned_maker_);
    const auto trials = records_.trials({key.task, key.target, key.generator, tuned_maker_}, 1);
    return (tuned.ok() && *tuned) || (trials.ok() && !trials->empty());
  }

  Result<Measured> run(const Candidate& candidate) {
    if (!candidate.code.ok()) return Error(candidate.code.error());
    TRY(Measured measured,
        worker_.time(job_of(candidate.scheduled.kernel, candidate.code->kernels[0], candidate.code->image)));
    if (measured.fault != Fault::kNone) return invalid("", "{}", measured.why);
    return measured;
  }

  const CompileOptions& options_;
  kernel::Records& records_;
  const std::string target_, generator_, maker_, tuned_maker_;
  std::map<Hash128, Result<double>> known_;  ///< by TaskKey
  std::map<Hash128, int> times_again_;
  std::map<Hash128, Error> lost_;  ///< failed for lack of memory, which may be there the next time
  std::map<std::string, double> constants_;
  MeasuringWorker worker_;
};

TaskTimer::TaskTimer(const CompileOptions& options, kernel::Records& records, Weights weights)
    : state_(std::make_unique<State>(options, records, weights)) {}
TaskTimer::~TaskTimer() = default;

const TaskTimer::Statistics& TaskTimer::statistics() const { return state_->statistics; }
TaskTable& TaskTimer::table() { return state_->table; }
Result<TaskKey> TaskTimer::key(const Graph& graph, const Task& task) { return state_->key(graph, task); }
Result<double> TaskTimer::roofline(const Graph& graph, const Task& task) { return state_->roofline(graph, task); }
std::vector<Result<double>> TaskTimer::measure(std::span<const TaskOf> tasks) { return state_->measure(tasks); }

std::vector<Result<double>> TaskTimer::measure_again(std::span<const TaskOf> tasks) {
  return state_->measure_again(tasks);
}

std::optional<double> TaskTimer::known(const TaskKey& key) {
  if (key.is_view) return 0.0;
  const auto found = state_->find(key.hash);
  return found.ok() && *found && (*found)->ok() ? std::optional(***found) : std::nullopt;
}

Result<double> TaskTimer::measure(const Graph& graph, const Task& task) {
  const TaskOf one{&graph, &task};
  return measure({&one, 1}).front();
}

}  // namespace isomer::search
