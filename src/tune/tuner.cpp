#include "tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "kernel/fingerprint.h"
#include "kernel/task_text.h"
#include "tune/crew.h"
#include "tune/possible.h"
#include "tune/predictor.h"
#include "tune/strategy.h"
#include "tune/trials.h"
#include "util/clock.h"
#include "util/hash.h"
#include "util/stable_sort.h"
#include "util/stop.h"
#include "util/threads.h"

namespace isomer::tune {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
/// A candidate that took less than so much of what the best takes in the same round meets it in turns; so many of a
/// round at most.
constexpr double kWorthAContest = 0.99;
constexpr size_t kContests = 3;
/// Times as long as the best takes are not measured closely; a kernel is given up after so many of the slowest default
/// schedule's, and these seconds at least.
constexpr double kHopeless = 4, kGivenUp = 50, kLeastSeconds = 2, kMostSeconds = 60;
/// Of the time of a kernel that passes the peaks as they were measured: what it may still come to.
constexpr double kOfPassedPeaks = 0.5;
/// Of a model's gains, less is not worth a record.
constexpr double kLeastSpeedup = 1.01;
/// Decisions of other tasks that are tried first.
constexpr size_t kTransferred = 4;
/// Trials of earlier runs of the task itself that a run does not measure again, and, the newest, that it goes on from.
constexpr int64_t kLeftOut = 50'000;
constexpr size_t kGoneOnFrom = 512;

/// Nothing is known of a kernel then: there was no memory to measure it in, or no process that lived.
template <class T>
bool is_unmeasured(const Result<T>& result) {
  return !result.ok() && result.error().kind == ErrorKind::kUnsupported;
}

/// Code that is known to be right.
struct Champion {
  Candidate candidate;
  ClockJob job;
};

/// All that have these decisions, whatever the problem fixes.
Candidates candidates_with(const Problem& problem, const TuneOptions& options, Decisions fixed) {
  return {problem.start, problem.own ? problem.own->space : options.space, options.machine, problem.flops,
          std::move(fixed)};
}

/// A task and what is known of it.
struct TaskRun {
  TaskRun(const Problem& problem, const TuneOptions& options, uint64_t seed, Score score)
      : problem(problem),
        without(options.without),
        candidates(candidates_of(problem, options)),
        strategy(strategy_of(options.strategy, candidates, seed, std::move(score))) {}

  /// What records call its schedules by who chose them.
  std::string maker(std::string_view who) const {
    return maker_of(who, problem.weights, problem.own ? std::string_view(problem.own->name) : std::string_view(),
                    without);
  }

  const Problem& problem;
  const std::string& without;
  Candidates candidates;
  std::unique_ptr<Strategy> strategy;
  std::optional<Champion> first, best;  ///< by default, and so far
  double recorded_us = 0;               ///< of the default schedule, in the records
  double possible_us = 0;               ///< what takes less is refused
  struct Told {
    kernel::Trial trial;
    Row seen;  ///< by the cost model, if there is one
  };
  std::vector<Told> trials;               ///< that are not in the records yet
  std::optional<kernel::Record> earlier;  ///< the best that another run left
  /// Of schedules with a time in the records when it began, and of those that it gave one.
  std::set<std::string> traces;
};

class Tuner {
 public:
  Tuner(const std::vector<Problem>& problems, const std::vector<ModelTasks>& models, kernel::Records& records,
        const TuneOptions& options)
      : models_(models),
        records_(records),
        options_(options),
        target_(kernel::fingerprint(options.target, options.threads)),
        generator_(kernel::generator_version()),
        predictor_(options, [this] { return is_out_of_time() || !check_stop().ok(); }) {
    std::map<std::string, int> groups;
    for (const Problem& problem : problems) {
      Score score;
      if (predictor_.can_score())
        score = [this](const std::vector<Candidate>& some) { return predictor_.scores(some); };
      runs_.push_back(
          std::make_unique<TaskRun>(problem, options, options.seed + mix64(runs_.size()), std::move(score)));
      runs_.back()->strategy->end_where([this] { return !check_stop().ok() || is_out_of_time(); });
      TaskState& task = state_.tasks.emplace_back();
      task.name = problem.name;
      task.types = problem.types;
      task.hash = problem.hash;
      task.progress.flops = problem.flops;
      task.progress.least_us = problem.roofline_us;
      task.progress.group = groups.emplace(problem.name, static_cast<int>(groups.size())).first->second;
    }
  }

  Result<TuneState> run() {
    auto done = run_to_the_end();
    // What was measured until then is in the records, however it ended.
    auto kept = keep_all_trials();
    if (!done.ok() && done.error().kind != ErrorKind::kStopped) return std::move(done).error();
    TRY_VOID(std::move(kept));
    tell({});
    return std::move(state_);
  }

 private:
  Result<void> run_to_the_end() {
    if (options_.peaks) {
      TRY(peaks_, greatest_peaks(records_, target_, *options_.peaks));
    }
    TRY_VOID(measure_defaults());
    TRY_VOID(read_records());
    TRY_VOID(keep_all_trials());
    double slowest = 0;
    const auto is_left_out = [](const TaskState& task) { return !task.why_not.empty(); };
    if (std::all_of(state_.tasks.begin(), state_.tasks.end(), is_left_out))
      return unsupported(state_.tasks[0].name, "a kernel that can be measured expected, {}", state_.tasks[0].why_not);
    for (const TaskState& task : state_.tasks) slowest = std::max(slowest, task.progress.first_us);
    seconds_of_a_kernel_ = std::clamp(kGivenUp * slowest / 1e6, kLeastSeconds, kMostSeconds);
    measurers_.clear();
    for (bool goes_on = true; goes_on;) {
      TRY(goes_on, one_round());
    }
    return confirm();
  }

  bool is_over() const { return state_.trials >= options_.trials || is_out_of_time(); }
  bool is_out_of_time() const { return options_.seconds && seconds_since(begin_) >= *options_.seconds; }

  /// What became of a candidate; the last word counts.
  void tell_result(size_t number, const Candidate& candidate, double microseconds) {
    TaskRun& run = *runs_[number];
    run.strategy->tell(candidate, microseconds);
    kernel::Trial trial{candidate.unpreferred(), {}};
    if (std::isfinite(microseconds)) trial.microseconds = microseconds;
    std::erase_if(run.trials, [&](const auto& each) { return each.trial.decisions == trial.decisions; });
    run.trials.push_back({std::move(trial), predictor_.look(candidate)});
  }

  /// Of times in the records, told by that of the default schedule then, to those of this run.
  double scale(size_t number) const { return state_.tasks[number].progress.first_us / runs_[number]->recorded_us; }

  /// For all who learn from them.
  Result<void> keep_trials(size_t number) {
    TaskRun& run = *runs_[number];
    if (run.trials.empty()) return {};
    const Problem& problem = run.problem;
    kernel::Trials trials{key_of(number),
                          run.maker("tuned"),
                          problem.name,
                          kernel::task_text(options_.machine, problem.start, problem.meaning),
                          {}};
    for (auto& [trial, seen] : std::exchange(run.trials, {})) {
      predictor_.add(number, std::move(seen), trial.microseconds);
      if (trial.microseconds) *trial.microseconds /= scale(number);
      trials.trials.push_back(std::move(trial));
    }
    return records_.add(trials);
  }

  /// What earlier runs have measured, for the cost model; and found, of tasks that are alike.
  Result<void> read_records() {
    TRY(found_, records_.list({.target = target_, .generator = generator_}));
    std::erase_if(found_, [](const kernel::Record& record) { return !record.microseconds; });
    stable_sort(found_, [](const kernel::Record& a, const kernel::Record& b) { return a.when > b.when; });
    return predictor_.learn_from(records_, target_, generator_, runs_.size(), [this](const kernel::Trials& of) {
      const auto mine = std::find_if(runs_.begin(), runs_.end(), [&](const auto& run) {
        return run->first && run->problem.hash == of.key.task && of.key.target == target_ &&
               run->maker("tuned") == of.maker;
      });
      const auto number = static_cast<size_t>(mine - runs_.begin());
      return mine == runs_.end() ? std::nullopt : std::optional(Predictor::OwnTask{number, scale(number)});
    });
  }

  Result<void> keep_all_trials() {
    for (size_t number = 0; number < runs_.size(); ++number) TRY_VOID(keep_trials(number));
    return {};
  }

  Measurer& measurer(const TaskRun& run) {
    auto& measurer = measurers_[run.problem.weights];
    if (!measurer) measurer = new_measurer(options_, run.problem.weights, seconds_of_a_kernel_);
    return *measurer;
  }

  Result<void> measure_defaults() {
    std::vector<Candidate> candidates;
    for (const auto& run : runs_)
      candidates.push_back(run->problem.own ? run->candidates.with({}) : run->candidates.preferred());
    const auto has_time = [this](size_t number) { return number == 0 || !is_out_of_time(); };
    for (size_t begin = 0; begin < candidates.size() && has_time(begin); begin += kModules) {
      const size_t count = std::min(kModules, candidates.size() - begin);
      const auto some = std::span(candidates).subspan(begin, count);
      std::vector<Result<ClockJob>> jobs = measurer(*runs_[begin]).compile(some);
      for (size_t k = 0; k < count && has_time(begin + k); ++k) {
        TRY_VOID(check_stop());
        TRY_VOID(take_default(begin + k, std::move(some[k]), std::move(jobs[k])));
      }
    }
    trust_defaults();
    tell({});
    return {};
  }

  /// Peaks that a default schedule passes were measured on a busy machine: they are at least what it has reached. Where
  /// one passes what would be refused, nothing is.
  void trust_defaults() {
    double passed = 1;
    for (size_t number = 0; number < runs_.size(); ++number)
      if (runs_[number]->first)
        passed =
            std::max(passed, kImpossiblyFast * runs_[number]->possible_us / state_.tasks[number].progress.first_us);
    for (const auto& run : runs_) run->possible_us = passed < kImpossiblyFast ? run->possible_us / passed : 0;
  }

  Result<void> take_default(size_t number, Candidate candidate, Result<ClockJob> job) {
    TaskRun& run = *runs_[number];
    TaskState& task = state_.tasks[number];
    const auto timed = measurer(run).time(job);
    if (!timed.ok() && !is_unmeasured(timed)) return Error(timed.error());
    if (!timed.ok() || timed->fault != Fault::kNone) {
      task.why_not = timed.ok() ? timed->why : timed.error().message();
      task.progress.is_done = true;
      return {};
    }
    const Measured& measured = *timed;
    task.progress.first_us = measured.microseconds;
    run.best = run.first = Champion{std::move(candidate), *std::move(job)};
    if (peaks_) run.possible_us = possible_us(run.problem.start.kernel(), *peaks_, run.problem.weights);
    TRY(const auto left, with_times(number));
    if (!left.empty()) run.earlier = left.front();
    for (const kernel::Record& each : left) run.traces.insert(each.trace);
    run.recorded_us = measured.microseconds;
    kernel::Record record = record_of(number, run.first->candidate, measured.microseconds, {});
    record.maker = run.maker("default");
    record.runs = measured.runs;
    // Times in the records are told by that of this schedule that is there already: they may be of another hour.
    TRY(const auto known, records_.list({record.key.task, target_, generator_, record.maker}));
    const auto same = std::find_if(known.begin(), known.end(), [&](const kernel::Record& each) {
      return each.microseconds && each.trace == record.trace;
    });
    if (same != known.end()) run.recorded_us = *same->microseconds;
    tell_result(number, run.first->candidate, measured.microseconds);
    if (same != known.end()) return {};
    return records_.add(record);
  }

  /// False where nothing is left.
  Result<bool> one_round() {
    if (is_over()) return false;
    const auto next = next_task(state_.progress(), models_, options_.scheduler);
    if (!next) return false;
    TRY_VOID(round(*next));
    tell(next);
    return true;
  }

  Result<void> round(size_t number) {
    TaskRun& run = *runs_[number];
    TaskState& task = state_.tasks[number];
    TaskProgress& progress = task.progress;
    const auto count = static_cast<int>(std::min<int64_t>(options_.round, options_.trials - state_.trials));
    TRY(std::vector<Candidate> candidates, seeds(number, count));
    for (Candidate& each : run.strategy->next(count - static_cast<int>(candidates.size())))
      candidates.push_back(std::move(each));
    TRY_VOID(check_stop());
    if (is_out_of_time()) return {};
    if (candidates.empty()) {
      progress.is_done = true;
      return {};
    }
    std::vector<Timed> all(candidates.size());
    const auto done = time_all(number, candidates, all);
    // What was measured before the best one could not be any more is known all the same.
    const auto is_measured = [](const Timed& each) { return each.result.has_value(); };
    if (progress.is_done && std::ranges::none_of(all, is_measured)) return {};
    std::vector<std::pair<double, size_t>> faster;
    for (size_t k = 0; k < candidates.size(); ++k) {
      if (!all[k].result) continue;
      ++state_.trials;
      ++progress.trials;
      if (!all[k].result->ok()) {
        // It takes more memory than there is: that is no fault to be remembered.
        run.strategy->tell(candidates[k], kInfinite);
        continue;
      }
      const Measured& measured = **all[k].result;
      if (measured.fault != Fault::kNone) {
        TRY_VOID(failed(number, candidates[k], measured));
        continue;
      }
      // As if the machine had been as fast all the time.
      const double relative = measured.microseconds / all[k].now_us;
      tell_result(number, candidates[k], relative * progress.now_us());
      if (relative < kWorthAContest) faster.emplace_back(relative, k);
    }
    if (!done.ok()) return Error(done.error());
    std::sort(faster.begin(), faster.end());
    if (faster.size() > kContests) faster.resize(kContests);
    if (progress.is_done) faster.clear();
    double best = progress.now_us();
    for (const auto& [relative, k] : faster) {
      if (!all[k].job) all[k].job = compiled(run, candidates[k]);
      if (!all[k].job->ok()) continue;
      TRY(best, challenged(number, candidates[k], **all[k].job, best));
    }
    progress.best_us.push_back(best);
    return keep_trials(number);
  }

  /// What became of a candidate of a round.
  struct Timed {
    std::optional<Result<ClockJob>> job;     ///< where it was made here
    std::optional<Result<Measured>> result;  ///< nothing: the round was stopped before
    double now_us = 0;                       ///< of the best one, beside it
  };

  Result<ClockJob> compiled(const TaskRun& run, const Candidate& candidate) {
    return std::move(measurer(run).compile({&candidate, 1})[0]);
  }

  /// By whoever measures. The task is done where the best one can't be measured any more. Errors: those of the machine.
  Result<void> time_all(size_t number, const std::vector<Candidate>& candidates, std::vector<Timed>& all) {
    TaskRun& run = *runs_[number];
    size_t own = candidates.size();
    if (options_.crew) {
      TRY(own, options_.crew->give({run.problem, run.best->candidate, candidates, kHopeless, seconds_of_a_kernel_}));
    }
    std::optional<CodeAhead> ahead;
    if (options_.compiles_beside.value_or(options_.threads + 1 < available_threads())) {
      ahead.emplace(measurer(run), std::span(candidates).first(own));
    } else {
      std::vector<Result<ClockJob>> jobs = measurer(run).compile(std::span(candidates).first(own));
      TRY_VOID(check_stop());  // some were not made
      for (size_t k = 0; k < own; ++k) all[k].job = std::move(jobs[k]);
    }
    const auto time_here = [&](const std::vector<size_t>& numbers) -> Result<void> {
      std::vector<double> best_us;
      const auto time = [&](size_t place, double now_us) -> Result<void> {
        const size_t k = numbers[place];
        if (!all[k].job) all[k].job = ahead && k < own ? ahead->take(k) : compiled(run, candidates[k]);
        auto result = measurer(run).time(*all[k].job, kHopeless * now_us, run.possible_us);
        if (!result.ok() && !is_unmeasured(result)) return Error(result.error());
        all[k].result = std::move(result);
        return check_stop();
      };
      const auto best = time_beside_best(measurer(run), run.best->job, numbers.size(), best_us, time);
      for (size_t place = 0; place < best_us.size(); ++place) all[numbers[place]].now_us = best_us[place];
      if (!best.ok() && !is_unmeasured(best)) return Error(best.error());
      if (!best.ok() || best->fault != Fault::kNone) {
        state_.tasks[number].why_not = best.ok() ? best->why : best.error().message();
        state_.tasks[number].progress.is_done = true;
      }
      return {};
    };
    std::vector<size_t> mine(own), left;
    std::iota(mine.begin(), mine.end(), size_t{0});
    TRY_VOID(time_here(mine));
    if (own == candidates.size() || state_.tasks[number].progress.is_done) return {};
    TRY(auto others, options_.crew->take());
    for (size_t k = own; k < candidates.size(); ++k) {
      auto& finding = others[k - own];
      if (finding && (finding->measured.fault != Fault::kNone || finding->measured.microseconds >= run.possible_us)) {
        all[k].result = std::move(finding->measured);
        all[k].now_us = finding->now_us;
      } else {
        left.push_back(k);
      }
    }
    return left.empty() ? Result<void>() : time_here(left);
  }

  /// The time of the better one, where `best_us` is that of the best so far.
  Result<double> challenged(size_t number, const Candidate& candidate, const ClockJob& job, double best_us) {
    TaskRun& run = *runs_[number];
    const auto contest = measurer(run).contest(run.best->job, job);
    if (is_unmeasured(contest)) return best_us;
    if (!contest.ok()) return Error(contest.error());
    if (contest->fault.fault != Fault::kNone) {
      TRY_VOID(failed(number, candidate, contest->fault));
      return best_us;
    }
    // Turns tell more than the one time of the round.
    const double us = contest->is_won() ? best_us / contest->ratio : best_us * std::max(1.0, 1 / contest->ratio);
    if (contest->rounds > 0) tell_result(number, candidate, us);
    if (!contest->is_won()) return best_us;
    const auto checked = measurer(run).check(candidate, job, run.first->candidate);
    if (is_unmeasured(checked)) return best_us;
    if (!checked.ok()) return Error(checked.error());
    if (!*checked) return best_us;
    if ((*checked)->fault != Fault::kNone) {
      TRY_VOID(failed(number, candidate, **checked));
      return best_us;
    }
    run.best = Champion{candidate, job};
    state_.tasks[number].is_found = true;
    const kernel::Record record = record_of(number, candidate, us, {});
    run.traces.insert(record.trace);
    TRY_VOID(records_.add(record));
    return us;
  }

  /// What the records have of a task, where it is gone on from: what is the best, and all that was ever the best before
  /// the generator changed. What failed, or was passed by another, is not tried again.
  Result<std::vector<Decisions>> known_of(size_t number) {
    std::vector<Decisions> result;
    TaskRun& run = *runs_[number];
    if (!options_.continues) return result;
    TRY_VOID(tell_earlier(number));
    TRY(const auto records, records_.list({run.problem.hash, target_, std::nullopt, run.maker("tuned")}));
    for (const kernel::Record& record : records) {
      const auto trace = kernel::parse_trace(record.trace);
      if (!trace.ok()) continue;
      const bool was_best = record.microseconds || record.failure == kNotFaster;
      if (record.microseconds || (was_best && record.key.generator != generator_)) {
        result.push_back(decisions_of(*trace));
        continue;
      }
      if (was_best) continue;
      // What decisions of another version come to may be another schedule by now.
      const Candidate candidate = run.candidates.with(decisions_of(*trace));
      if (record.key.generator == generator_ && candidate.hash == kernel::hash(*trace))
        run.strategy->tell(candidate, kInfinite);
    }
    return result;
  }

  /// What earlier runs measured of this task is not measured again; the newest is what is gone on from.
  Result<void> tell_earlier(size_t number) {
    TaskRun& run = *runs_[number];
    const kernel::RecordKey key = key_of(number);
    TRY(const std::vector<kernel::Trials> all,
        records_.trials({key.task, key.target, key.generator, run.maker("tuned")}, kLeftOut));
    std::set<Decisions> measured;
    for (const kernel::Trials& of : all) {
      const size_t first = of.trials.size() - std::min(of.trials.size(), kGoneOnFrom);
      // They are made from new to old, as far as time suffices, and told from old to new.
      std::vector<std::vector<Candidate>> parts;
      size_t begin = of.trials.size();
      for (const auto start = Clock::now(); begin > first && has_time_for_earlier(options_, start, runs_.size());) {
        TRY_VOID(check_stop());
        const size_t end = begin;
        begin -= std::min(kMadeAgain, begin - first);
        std::vector<Decisions> decisions;
        for (size_t k = begin; k < end; ++k) decisions.push_back(of.trials[k].decisions);
        parts.push_back(run.candidates.with_each(decisions));
      }
      size_t k = begin;
      for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        for (const Candidate& candidate : *part) {
          const auto& [decisions, us] = of.trials[k++];
          if (candidate.unpreferred() != decisions) continue;  // of another space
          run.strategy->tell(candidate, us ? *us * scale(number) : kInfinite);
        }
      for (const kernel::Trial& trial : of.trials) measured.insert(trial.decisions);
    }
    run.strategy->leave_out(std::move(measured));
    return {};
  }

  /// What is tried before the strategy is asked: what the records have of this task, and what others that are alike
  /// found, in this run and before.
  Result<std::vector<Candidate>> seeds(size_t number, int count) {
    std::vector<Candidate> result;
    TaskRun& run = *runs_[number];
    if (!state_.tasks[number].progress.best_us.empty()) return result;
    TRY(std::vector<Decisions> decisions, known_of(number));
    size_t transferred = 0;
    for (size_t other = 0; other < runs_.size() && transferred < kTransferred; ++other)
      if (other != number && state_.tasks[other].is_found &&
          state_.tasks[other].progress.group == state_.tasks[number].progress.group) {
        decisions.push_back(runs_[other]->best->candidate.unpreferred());
        ++transferred;
      }
    for (const kernel::Record& record : found_) {
      if (transferred == kTransferred) break;
      if (record.name != run.problem.name || record.key.task == run.problem.hash || record.maker != run.maker("tuned"))
        continue;
      const auto trace = kernel::parse_trace(record.trace);
      if (!trace.ok()) continue;
      decisions.push_back(decisions_of(*trace));
      ++transferred;
    }
    std::vector<Hash128> seen = {run.first->candidate.hash};
    for (const Decisions& each : decisions) {
      if (static_cast<int>(result.size()) >= count) break;
      Candidate candidate = run.candidates.with(each);
      if (std::find(seen.begin(), seen.end(), candidate.hash) != seen.end()) continue;
      seen.push_back(candidate.hash);
      run.strategy->tell(candidate, kInfinite);  // which is not given again
      result.push_back(std::move(candidate));
    }
    return result;
  }

  Result<void> failed(size_t number, const Candidate& candidate, const Measured& measured) {
    ++state_.tasks[number].faults[static_cast<size_t>(measured.fault)];
    tell_result(number, candidate, kInfinite);
    return records_.add(
        record_of(number, candidate, std::nullopt, std::string(name(measured.fault)) + ": " + measured.why));
  }

  kernel::RecordKey key_of(size_t number) const { return {runs_[number]->problem.hash, target_, generator_}; }

  /// `us`: as this run has it.
  kernel::Record record_of(size_t number, const Candidate& candidate, std::optional<double> us,
                           std::string failure) const {
    const TaskRun& run = *runs_[number];
    const Problem& problem = run.problem;
    if (us) us = *us * run.recorded_us / state_.tasks[number].progress.first_us;
    kernel::Record record;
    record.key = key_of(number);
    record.maker = run.maker("tuned");
    record.trace = print(candidate.made.trace);
    record.name = problem.name;
    record.types = problem.types;
    record.microseconds = us;
    record.failure = std::move(failure);
    record.when = std::time(nullptr);
    return record;
  }

  /// The last word on what was found, and on what an earlier run left of a task that had trials: one beside the other,
  /// and against the default schedule, which contests by contest may have lost sight of. Of them it alone keeps a time
  /// in the records, which stay as they are where that can't be measured.
  Result<void> confirm() {
    for (size_t number = 0; number < runs_.size(); ++number) {
      TaskRun& run = *runs_[number];
      TaskState& task = state_.tasks[number];
      const bool has_trials = run.earlier && task.progress.trials > 0 && task.why_not.empty();
      if (!task.is_found && !has_trials) continue;
      TRY(const bool earlier_stays, meet_earlier(number));
      Contest contest;
      if (is_default_best(run)) {
        task.is_found = false;
      } else {
        auto found = measurer(run).contest(run.first->job, run.best->job);
        if (is_unmeasured(found)) continue;
        TRY(contest, std::move(found));
        task.is_found = contest.is_won() && contest.ratio >= kLeastSpeedup;
      }
      task.progress.best_us.push_back(task.progress.first_us / (task.is_found ? contest.ratio : 1));
      TRY(std::vector<kernel::Record> records, retired(number, earlier_stays));
      if (task.is_found) records.push_back(record_of(number, run.best->candidate, task.progress.now_us(), {}));
      TRY_VOID(records_.add(records));
    }
    return {};
  }

  static bool is_default_best(const TaskRun& run) { return run.best->candidate.hash == run.first->candidate.hash; }

  /// What another run left, if anything, is the best one where it is faster still. Whether it stays in the records
  /// although it is not: it can't be measured, or it may be faster than the default schedule, which is the best one.
  Result<bool> meet_earlier(size_t number) {
    TaskRun& run = *runs_[number];
    if (!run.earlier) return false;
    const auto trace = kernel::parse_trace(run.earlier->trace);
    if (!trace.ok()) return false;
    // It need not have the decisions that are fixed in this run.
    const Candidate earlier = candidates_with(run.problem, options_, {}).with(decisions_of(*trace));
    if (earlier.hash != kernel::hash(*trace)) return false;  // nobody can make it any more
    if (earlier.hash == run.best->candidate.hash) return false;
    auto job = std::move(measurer(run).compile({&earlier, 1})[0]);
    if (!job.ok()) return true;
    auto found = measurer(run).contest(run.best->job, *job);
    if (is_unmeasured(found)) return true;
    TRY(const Contest contest, std::move(found));
    if (contest.fault.fault != Fault::kNone) return false;
    if (contest.is_won()) {
      run.best = Champion{earlier, *std::move(job)};
      return false;
    }
    return contest.rounds == 0 || (is_default_best(run) && contest.ratio >= kLeastSpeedup);
  }

  /// Tuned schedules of the task that have a time in the records, the fastest first.
  Result<std::vector<kernel::Record>> with_times(size_t number) const {
    const kernel::RecordKey key = key_of(number);
    TRY(std::vector<kernel::Record> records,
        records_.list({key.task, key.target, key.generator, runs_[number]->maker("tuned")}));
    std::erase_if(records, [](const kernel::Record& record) { return !record.microseconds; });
    return records;
  }

  /// Those without their time; but for the one that stays, and what others have found since this run began.
  Result<std::vector<kernel::Record>> retired(size_t number, bool earlier_stays) const {
    const TaskRun& run = *runs_[number];
    TRY(std::vector<kernel::Record> records, with_times(number));
    std::erase_if(records, [&](const kernel::Record& record) {
      return !run.traces.contains(record.trace) || (earlier_stays && record.trace == run.earlier->trace);
    });
    for (kernel::Record& record : records) {
      record.microseconds.reset();
      record.failure = kNotFaster;
      record.when = std::time(nullptr);
    }
    return records;
  }

  void tell(std::optional<size_t> task) {
    state_.seconds = seconds_since(begin_);
    state_.task = task;
    state_.no_model = predictor_.why_no_model();
    // Peaks that a kernel passes were measured too low, nobody knows by how much.
    for (TaskState& each : state_.tasks)
      if (const double now = each.progress.now_us(); now > 0 && now < each.progress.least_us)
        each.progress.least_us = kOfPassedPeaks * now;
    const std::vector<TaskProgress> all = state_.progress();
    state_.predicted_us.clear();
    for (const ModelTasks& model : models_)
      state_.predicted_us.push_back(predicted_us(model, all, options_.scheduler, rounds_left()));
    if (options_.tell) options_.tell(state_);
  }

  /// At the pace so far.
  double rounds_left() const {
    double rounds = static_cast<double>(options_.trials - state_.trials) / options_.round;
    if (options_.seconds && state_.trials > 0) {
      const double a_round = state_.seconds / static_cast<double>(state_.trials) * options_.round;
      rounds = std::min(rounds, (*options_.seconds - state_.seconds) / a_round);
    }
    return std::max(rounds, 0.0);
  }

  static constexpr size_t kModules = 32;  ///< that are compiled at a time

  const Clock::time_point begin_ = Clock::now();
  const std::vector<ModelTasks>& models_;
  kernel::Records& records_;
  const TuneOptions& options_;
  const std::string target_, generator_;
  std::optional<Peaks> peaks_;
  Predictor predictor_;
  std::vector<std::unique_ptr<TaskRun>> runs_;
  double seconds_of_a_kernel_ = kMostSeconds;
  std::map<Weights, std::unique_ptr<Measurer>> measurers_;
  std::vector<kernel::Record> found_;  ///< by earlier runs, the newest first
  TuneState state_;
};

}  // namespace

double TuneState::first_us(const ModelTasks& model) const {
  double sum = 0;
  for (size_t k = 0; k < tasks.size(); ++k) sum += model.times[k] * tasks[k].progress.first_us;
  return sum;
}

double TuneState::now_us(const ModelTasks& model) const { return time_of(model, progress()); }

std::vector<TaskProgress> TuneState::progress() const {
  std::vector<TaskProgress> result;
  for (const TaskState& task : tasks) result.push_back(task.progress);
  return result;
}

Candidates candidates_of(const Problem& problem, const TuneOptions& options) {
  return candidates_with(problem, options, problem.fixed);
}

std::unique_ptr<Measurer> new_measurer(const TuneOptions& options, Weights weights, double seconds) {
  const MeasuringOptions measuring{options.threads, weights, options.memory, seconds};
  return options.measurer ? options.measurer(measuring)
                          : std::make_unique<Measurer>(options.target, measuring, options.compiler);
}

Result<TuneState> tune(const std::vector<Problem>& problems, const std::vector<ModelTasks>& models,
                       kernel::Records& records, const TuneOptions& options) {
  return Tuner(problems, models, records, options).run();
}

}  // namespace isomer::tune
