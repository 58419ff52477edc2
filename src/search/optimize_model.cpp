#include "search/optimize_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "graph/bind.h"
#include "search/cost/baseline.h"
#include "search/interpreting_time.h"
#include "search/region_programs.h"
#include "search/rounding_loss.h"
#include "util/check.h"
#include "util/stable_sort.h"
#include "util/stop.h"

namespace isomer::search {
namespace {

using namespace substitutions;

/// Of the time of a command: for the check, for each race, and at most for looks at what rounding loses: beyond that
/// the check alone judges.
constexpr double kAfterwards = 0.15, kRacing = 0.04, kLooking = 0.25;
/// What the caller says that it needs behind this is no more than so much of the time: of two seconds, one would leave
/// nothing to search in.
constexpr double kMostOfShort = 0.2;
constexpr double kShortestRace = 0.2;
/// Sets of gains that there is time to race and to look at, however long the search takes; one, where it would have
/// less than three times the time that they take.
constexpr int kChoices = 2;
/// Small gains are raced so many times as long.
constexpr double kLonger = 3;

/// Runs of the interpreter that a check takes at least, and that looks at what rounding loses take.
constexpr int kLeastCheck = 3, kFirstLook = 8, kNextLook = 2;
/// It is measured where a run would take so much of the time.
constexpr double kWorthMeasuring = 0.02;

/// Of what the check allows: other inputs may lose more. The few movements that are made stand for those of a check:
/// its largest of 48 is some 1.7 times the largest of 4, as numbers around zero are.
constexpr Strictness kMostLost = {.within = 0.75, .reach = 1.7};

/// Nodes of a model that is searched: steps on larger ones take too long to do and to check.
constexpr int kMostNodes = 20'000;

/// Steps and passes that are left out one after the other, before a model is given up.
constexpr int kMostLeftOut = 8;

class Optimizer {
 public:
  Optimizer(const Graph& model, Derivation derivation, std::span<const Rule> rules, Theory& theory, Backend& backend,
            const SearchModelOptions& options)
      : model_(model),
        rules_(rules),
        theory_(theory),
        backend_(backend),
        options_(options),
        base_(std::move(derivation)),
        baseline_(model, backend, {options.race, options.threads, options.seed, options.memory}) {}

  Result<OptimizedModel> run() {
    TRY(OptimizedModel made, optimized());
    if (options_.judge && !is_interrupted_) {
      const std::vector<size_t> gains = gains_of_steps_;
      auto better = judged(made);
      const bool is_left = !better.ok() && is_first_stop(better.error());
      if (!better.ok() && !is_left) return std::move(better).error();
      if (is_left)
        gains_of_steps_ = gains;
      else
        made = *std::move(better);
    }
    for (int count = 0; options_.check; ++count) {
      made.is_interrupted = is_interrupted_;
      TRY(const std::optional<std::string> difference, finished([&] { return options_.check(made); }));
      if (!difference) break;
      tell("looking for the step that the check fails by");
      TRY(const std::optional<Blame> found, blame(model_, made.derivation, theory_, options_.differ));
      if (found && found->can_be_left_out() && count < kMostLeftOut) {
        left_out_.push_back(fmt::format("{}: {}", found->what, *difference));
        TRY(made, without(*found));
        continue;
      }
      // Composites are written out for the rewrites.
      const std::string what = found && !found->can_be_left_out() ? leave_out_rewrites() : leave_out_more(made);
      if (what.empty())
        return Error{ErrorKind::kMismatch, "",
                     fmt::format("the model differs, nothing is written: {}; {}", *difference,
                                 found ? found->what + " is the first after which it does"
                                       : std::string("without any rewrite, too"))};
      left_out_.push_back(fmt::format("{}: {}", what, *difference));
      TRY(made, base_.level == 0 ? optimized() : chosen());
    }
    if (!lack_of_memory_.empty()) left_out_.push_back("search: " + lack_of_memory_);
    if (found_) tell_what_was_taken(made);
    made.raced_in = backend_.name();
    made.left_out = std::move(left_out_);
    made.found = std::move(found_);
    made.is_interrupted = is_interrupted_;
    if (is_interrupted_ && made.found) made.found->stop = StopReason::kInterrupted;
    return made;
  }

 private:
  /// Of each region whether what was gained there is in the model.
  void tell_what_was_taken(const OptimizedModel& made) {
    std::set<size_t> taken;
    if (!made.derivation.steps.empty()) taken.insert(gains_of_steps_.begin(), gains_of_steps_.end());
    for (SearchedRegion& region : found_->searched) {
      region.is_taken = region.gain && taken.contains(*region.gain);
      if (region.gain && !region.is_taken) region.why_not = "it was not taken in the end";
    }
  }

  /// What steps begin with.
  struct Base {
    Start start;
    Plain program;
  };

  Result<OptimizedModel> optimized() {
    tell("simplifying");
    plain_ = OptimizedModel();
    plain_.derivation = base_;
    found_.reset();
    base_of_steps_.reset();
    loss_.reset();
    gains_left_out_.clear();
    gains_taken_.clear();
    const DeriveOptions derive{options_.threads, options_.log};
    plain_.why_not_searched = why_not_searched();
    if (plain_.why_not_searched.empty())
      if (const auto fits = fits_for_search(); !fits.ok())
        plain_.why_not_searched = lack_of_memory_ = fits.error().message();
    if (!plain_.why_not_searched.empty()) {
      TRY(plain_.derived, derived(model_, base_, theory_, derive));
    } else {
      TRY(Start start, start_of(model_, base_, theory_, derive));
      TRY(plain_.derived, derived(start, base_));
      Plain program = with_plain_operands(start.program);
      base_of_steps_.emplace(Base{std::move(start), std::move(program)});
      loss_.emplace(
          plain_.derived.graph, [this](int set) { return inputs_in_double(set); },
          ComparisonEffort{.threads = options_.threads,
                           .movements = kLeastMovements,
                           .strictness = kMostLost,
                           .memory = options_.memory});
    }
    if (base_.level < kSearchLevel) {
      plain_.why_not_raced = fmt::format("--level {} does not measure", base_.level);
      return plain_;
    }
    TRY_VOID(open_baseline());
    plan_time();
    if (base_of_steps_) TRY_VOID(search());
    return chosen();
  }

  /// Where the model as it was given can't be run, nothing is raced.
  Result<void> open_baseline() {
    if (backend_.can_run()) tell(fmt::format("measuring the model as it is in {}", backend_.name()));
    TRY_VOID(baseline_.open(plain_.derived.graph));
    plain_.raced_with = baseline_.sizes();
    plain_.why_not_raced = baseline_.why_not_open();
    if (!baseline_.is_open()) log(plain_.why_not_raced);
    return {};
  }

  /// What won is compared in the interpreter.
  Result<void> fits_for_search() const {
    if (backend_.can_run()) TRY_VOID(baseline_.check_room());
    return check_memory(model_, 1, options_.memory, RoundingLoss::kKept);
  }

  void plan_time() {
    run_microseconds_ = baseline_.run_microseconds();
    const auto bound = baseline_.bound(plain_.derived.graph);
    const auto work = work_of(bound.ok() ? *bound : plain_.derived.graph);
    if (work.ok() && !baseline_.is_open()) run_microseconds_ = work->microseconds;
    interpreting_seconds_ = work.ok() ? interpreting_seconds(*work) : 0;
    plain_.run_microseconds = run_microseconds_;
    plain_.open_seconds = baseline_.is_open() ? baseline_.open_seconds() : 0;
    plain_.seconds = options_.seconds.value_or(default_seconds(run_microseconds_));
    if (base_of_steps_ && interpreting_seconds_ > kWorthMeasuring * plain_.seconds)
      if (const double rate = interpreted_per_second(options_.threads); rate > 0)
        interpreting_seconds_ = interpreting_seconds(*work, rate);
    const bool is_last = options_.least_afterwards == 0;
    const double least_afterwards = is_last
                                        ? 0
                                        : std::max(std::min(options_.least_afterwards, kMostOfShort * plain_.seconds),
                                                   kLeastCheck * interpreting_seconds_);
    const double afterwards = is_last ? 0 : std::max(least_afterwards, kAfterwards * plain_.seconds);
    spare_seconds_ = afterwards - least_afterwards;
    const double mine = plain_.seconds * (1 - options_.kept) - afterwards;
    end_ = options_.begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(mine));
    if (is_interrupted_) {
      end_ = std::min(end_, Clock::now());
      spare_seconds_ = 0;
    }
    baseline_.set_race_seconds(std::min(options_.race.seconds, std::max(kShortestRace, kRacing * plain_.seconds)));
  }

  double seconds_left() const { return -seconds_since(end_); }
  /// What wins then is raced once more.
  bool has_time_for_longer() const { return seconds_left() > (kLonger + 1) * baseline_.race_seconds(); }
  /// Of making a runner of what was found, racing it, and looking at what it loses.
  double seconds_of_a_choice() const { return seconds_of_a_race() + seconds_of_a_look(); }
  double seconds_of_a_race() const {
    const int others = backend_.simplifies() ? 0 : 1;  // the passes alone
    return (1 + others) * baseline_.open_seconds() + (2 + others) * baseline_.race_seconds();
  }
  double seconds_of_a_look() const {
    return looks() ? (loss_->is_new() ? kFirstLook : kNextLook) * interpreting_seconds_ : 0;
  }
  double seconds_of_choices() const {
    const double another = seconds_of_a_race() + (looks() ? kNextLook * interpreting_seconds_ : 0);
    const double all = seconds_of_a_choice() + (kChoices - 1) * another;
    return all < seconds_left() / 4 ? all : seconds_of_a_choice();
  }
  /// Whether there is time to look at what rounding loses.
  bool looks() const { return kFirstLook * interpreting_seconds_ <= kLooking * plain_.seconds; }

  std::string why_not_searched() const {
    if (base_.level < kSearchLevel) return fmt::format("--level {} only simplifies", base_.level);
    const std::vector<NodeId> nodes = model_.nodes();
    const auto is_opaque = [&](NodeId id) { return model_.node(id).is_opaque(); };
    if (const auto opaque = std::find_if(nodes.begin(), nodes.end(), is_opaque); opaque != nodes.end())
      return fmt::format("it has a node that Isomer does not know ({})", model_.node(*opaque).op_type);
    if (model_.node_count() > kMostNodes)
      return fmt::format("it has {} nodes, more than {}", model_.node_count(), kMostNodes);
    if (const auto dims = free_dims(model_); !dims.empty())
      return fmt::format("sizes are open ({}); bind them with --dim {}=SIZE", fmt::join(dims, ", "), dims.front());
    return {};
  }

  Result<void> search() {
    if (backend_.can_run() && !baseline_.is_open()) {
      plain_.why_not_searched = "it can't be measured: " + plain_.why_not_raced;
      return {};
    }
    if (!substitutions_) substitutions_.emplace(rules_, theory_);
    SearchProgramOptions search = options_.search;
    search.fp = base_.fp;
    // What is refused as a whole is tried once more with the half of it: nothing would be a pity.
    search.limits.seconds = std::max(0.0, seconds_left() - seconds_of_choices());
    log(fmt::format("{:.1f} of {:.1f} s to search, {:.1f} to race and look at what is found{}", search.limits.seconds,
                    plain_.seconds, seconds_of_choices(),
                    looks() ? "" : ", of which what rounding loses is left to the check"));
    search.log = options_.log;
    search.race.threads = options_.threads;
    search.progress = [&](const SearchProgress& at) {
      const double left = std::max(run_microseconds_ - at.saved, 0.01 * run_microseconds_);
      tell(fmt::format("searching region {} of {}, {:.2f} times as fast so far", at.region, at.regions,
                       run_microseconds_ / left));
    };
    TRY(found_, search_program(base_of_steps_->program.program, *substitutions_, backend_, search));
    if (found_->stop == StopReason::kInterrupted) finish();
    return {};
  }

  /// What was found until a stop is not thrown away, nor what passes did.
  void finish() {
    is_interrupted_ = true;
    forget_stop();
    tell("finishing what was found (Ctrl-C again: nothing is written)");
    end_ = Clock::now();
    spare_seconds_ = 0;
  }

  /// One that ends in what was found, not in nothing. What is out of time of its own is none; and one is not the first
  /// where the check has dealt with another (a choice of tasks ends then).
  bool is_first_stop(const Error& error) {
    if (base_.level < kSearchLevel || error.kind != ErrorKind::kStopped || is_interrupted_ || check_stop().ok() ||
        stops_forgotten() != stops_before_)
      return false;
    finish();
    return true;
  }

  /// Work behind the search: the first stop within it begins it anew, without time for more.
  template <class Work>
  auto finished(const Work& work) -> decltype(work()) {
    auto done = work();
    if (!done.ok() && is_first_stop(done.error())) return work();
    return done;
  }

  /// The best of what was found, less what was left out; the passes alone where nothing is faster.
  Result<OptimizedModel> chosen() {
    gains_taken_.clear();
    bool is_first = true;
    for (const std::vector<size_t>& gains : choices()) {
      // All of them at once are raced, whatever that takes; fewer of them in what the check can spare.
      if (!std::exchange(is_first, false) && seconds_left() + spare_seconds_ < seconds_of_a_choice()) break;
      auto tried = finished([&] { return with_steps(gains); });
      if (tried.ok() && *tried) return std::move(**tried);
      if (tried.ok()) continue;
      Error error = std::move(tried).error();
      if (error.kind == ErrorKind::kMismatch)
        left_out_.push_back(error.message());
      else if (error.kind != ErrorKind::kUnsupported)
        return error;
      log(error.message());
    }
    OptimizedModel made = plain_;
    if (found_) made.outcome = found_->gains.empty() ? SearchOutcome::kNothingFound : SearchOutcome::kRefused;
    return finished([&] { return no_slower(made); });
  }

  /// All gains that weights may grow for, then the half of them that saves most, the other half, and again, down to
  /// each alone: what pays alone may not beside others, and the largest may be what others don't pay beside.
  std::vector<std::vector<size_t>> choices() const {
    if (!found_) return {};
    std::vector<size_t> ranked;
    for (size_t k = 0; k < found_->gains.size(); ++k)
      if (!gains_left_out_.contains(k)) ranked.push_back(k);
    ranked = within_growth(found_->gains, std::move(ranked), found_->most_growth);
    stable_sort(ranked, [&](size_t a, size_t b) { return found_->gains[a].saved > found_->gains[b].saved; });
    std::vector<std::vector<size_t>> result;
    if (!ranked.empty()) result.push_back(std::move(ranked));
    for (size_t k = 0; k < result.size(); ++k) {
      const std::vector<size_t> whole = result[k];
      if (whole.size() < 2) continue;
      const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(whole.size() / 2);
      result.emplace_back(whole.begin(), middle);
      result.emplace_back(middle, whole.end());
    }
    for (std::vector<size_t>& gains : result) std::sort(gains.begin(), gains.end());
    return result;
  }

  /// With the steps of these gains and alternatives.
  Result<OptimizedModel> made_of(const std::vector<size_t>& gains, const std::vector<size_t>& alternatives) {
    const Base& base = *base_of_steps_;
    const Chosen chosen = steps_of(*found_, gains, base.program.program, *substitutions_, alternatives);
    OptimizedModel made = plain_;
    made.outcome = SearchOutcome::kFaster;
    made.derivation.steps = base.program.steps;
    made.derivation.steps.insert(made.derivation.steps.end(), chosen.steps.begin(), chosen.steps.end());
    made.gains.assign(base.program.steps.size(), 0);
    made.gains.insert(made.gains.end(), chosen.saved.begin(), chosen.saved.end());
    made.derivation.rules = rules_of(made.derivation.steps, rules_, theory_.axioms());
    TRY(made.derived, derived(base.start, made.derivation));
    gains_of_steps_ = chosen.gains;
    return made;
  }

  /// Nothing where it is no faster, or loses too much; why_not_taken then says it.
  Result<std::optional<OptimizedModel>> with_steps(const std::vector<size_t>& gains) {
    TRY(OptimizedModel made, made_of(gains, {}));
    const Graph& graph = made.derived.graph;
    if (options_.search.least_work) {
      TRY(const bool holds, needs_no_more(graph, plain_.derived.graph));
      if (!holds) {
        plain_.why_not_taken = "what was found would be more work in another runtime";
        return std::optional<OptimizedModel>();
      }
    }
    // What is refused costs no more than the first look.
    const bool compares_first = seconds_of_a_look() < 2 * baseline_.race_seconds();
    for (const bool compares : {compares_first, !compares_first}) {
      if (compares && !looks()) continue;
      TRY(const bool holds, compares ? loses_little(graph) : wins(made));
      if (!holds) return std::optional<OptimizedModel>();
    }
    gains_taken_ = gains;
    return std::optional(std::move(made));
  }

  // Programs that a judge chooses among

  /// Other errors are of the program alone: it can't be run, or has no proof.
  static bool is_fatal(const Error& error) {
    return error.kind != ErrorKind::kUnsupported && error.kind != ErrorKind::kMismatch;
  }

  /// What the judge makes of it, where that wins twice.
  Result<OptimizedModel> judged(OptimizedModel made) {
    tell("measuring programs that may be faster");
    const std::vector<size_t> gains_of_made = gains_of_steps_;
    TRY(const std::vector<RegionPrograms> regions, told_to_judge(made));
    TRY(const std::vector<ProgramJudge::Choice> choices, options_.judge->choices());
    Judged result;
    std::vector<size_t> wanted;  // regions, those that save the most first
    for (size_t k = 0; k < regions.size(); ++k) {
      Judged::Region& region = result.regions.emplace_back();
      for (const RegionProgram& program : regions[k])
        region.programs.push_back(rules_text(program, *found_, *substitutions_));
      if (k < choices.size()) region.wanted = choices[k];
      if (region.wanted.program > 0) wanted.push_back(k);
    }
    stable_sort(wanted, [&](size_t a, size_t b) { return choices[a].saved > choices[b].saved; });
    bool is_taken = false;
    // Of what pays in parts not all may in the whole.
    for (; !wanted.empty() && !is_taken; wanted.resize(wanted.size() / 2)) {
      std::vector<size_t> programs(regions.size(), 0);
      for (const size_t k : wanted) programs[k] = choices[k].program;
      auto better = better_with(made, regions, programs, result);
      if (!better.ok() && is_fatal(better.error())) return std::move(better).error();
      if (!better.ok()) result.why_not_taken = better.error().message();
      is_taken = better.ok() && *better;
      if (!is_taken) continue;
      made = **std::move(better);
      for (const size_t k : wanted) result.regions[k].is_taken = true;
    }
    if (!is_taken) gains_of_steps_ = gains_of_made;
    made.judged = std::move(result);
    return made;
  }

  /// Regions with the programs that the judge knows of now, by its numbers.
  Result<std::vector<RegionPrograms>> told_to_judge(const OptimizedModel& made) {
    TRY_VOID(options_.judge->first(made));
    std::vector<RegionPrograms> result;
    if (!found_) return result;
    bool has_time = true;
    for (const RegionPrograms& all : programs_of_regions(*found_, gains_taken_, gains_left_out_, most_programs())) {
      RegionPrograms told = {all.front()};
      for (size_t k = 1; k < all.size() && has_time; ++k) {
        const auto is_known = told_to_judge(result.size(), {all.front(), all[k]});
        if (!is_known.ok() && is_fatal(is_known.error())) return Error(is_known.error());
        if (!is_known.ok()) continue;
        has_time = *is_known;
        if (has_time) told.push_back(all[k]);
      }
      if (told.size() > 1) result.push_back(std::move(told));
    }
    return result;
  }
  Result<bool> told_to_judge(size_t region, const RegionPrograms& first_and_other) {
    TRY(const OptimizedModel other, with_programs({first_and_other}, {1}));
    return options_.judge->other(region, other.derived.graph);
  }
  size_t most_programs() const { return static_cast<size_t>(options_.search.limits.alternatives) + 1; }

  Result<OptimizedModel> with_programs(const std::vector<RegionPrograms>& regions, const std::vector<size_t>& numbers) {
    const ChosenPrograms programs = chosen_programs(regions, numbers, gains_taken_);
    return made_of(programs.gains, programs.alternatives);
  }

  /// Nothing where it is not; `result` then says why.
  Result<std::optional<OptimizedModel>> better_with(const OptimizedModel& made,
                                                    const std::vector<RegionPrograms>& regions,
                                                    const std::vector<size_t>& programs, Judged& result) {
    TRY(OptimizedModel other, with_programs(regions, programs));
    if (looks()) {
      TRY(const bool holds, loses_little(other.derived.graph));
      if (!holds) {
        result.why_not_taken = "it loses too much in rounding";
        return std::optional<OptimizedModel>();
      }
    }
    if (!baseline_.is_open()) return std::optional(std::move(other));
    tell("racing what the judge chose");
    TRY(const auto first, options_.judge->runner(made.derived.graph, baseline_.inputs_of_races()));
    TRY(const auto second, options_.judge->runner(other.derived.graph, baseline_.inputs_of_races()));
    for (int time = 0; time < 2; ++time) {
      TRY(result.raced, baseline_.race(*second, 1, first.get()));
      log_race("what the judge chose", *result.raced);
      if (!is_won(*result.raced)) {
        result.why_not_taken = "it " + lost_text(*result.raced);
        return std::optional<OptimizedModel>();
      }
    }
    TRY(other.raced, baseline_.race(*second));
    return std::optional(std::move(other));
  }

  /// Races it, where that can be done.
  Result<bool> wins(OptimizedModel& made) {
    if (!baseline_.is_open()) return true;
    tell(fmt::format("racing what was found in {}", backend_.name()));
    TRY(auto runner, baseline_.runner(made.derived.graph));
    TRY(const bool is_faster, beats_passes(*runner));
    if (!is_faster) return false;
    // A race that was won may have been luck: the figure that is told is that of another one.
    if (backend_.simplifies()) {
      TRY(made.raced, baseline_.race(*runner));
    } else {
      TRY(made.raced, race_closely(std::move(runner), made.derived.graph));
    }
    log_race("again", *made.raced);
    const bool is_lost = backend_.simplifies() ? !is_won(*made.raced) : made.raced->is_slower() && !binds_sizes();
    if (is_lost) tell_why_lost(*made.raced);
    return !is_lost;
  }

  Result<bool> beats_passes(Runner& runner) {
    std::unique_ptr<Runner> passes;
    if (!backend_.simplifies()) {
      TRY(passes, baseline_.runner(plain_.derived.graph));
    }
    TRY(Raced raced, baseline_.race(runner, 1, passes.get()));
    // Small gains take longer to tell from noise.
    if (raced.high > 1 && !is_won(raced) && has_time_for_longer()) {
      TRY(raced, baseline_.race(runner, kLonger, passes.get()));
    }
    log_race("what was found", raced);
    if (!is_won(raced)) tell_why_lost(raced);
    return is_won(raced);
  }

  void tell_why_lost(const Raced& raced) { plain_.why_not_taken = "what was found " + lost_text(raced); }
  static std::string lost_text(const Raced& raced) {
    return fmt::format(
        "was {:.3f} times as fast in a race (half of its rounds between {:.3f} and {:.3f}), which is not surely more "
        "than 1",
        raced.ratio, raced.low, raced.high);
  }

  /// The passes alone, fewer of them, or none: the first that is not slower than the model as it was given. Where fixed
  /// sizes make it slower whatever the passes do, it is the fastest of them: they were asked for.
  Result<OptimizedModel> no_slower(OptimizedModel made) {
    if (!baseline_.is_open() || backend_.simplifies()) return made;
    if (made.derived.before.steps.empty() && !binds_sizes()) {
      made.why_not_raced = "nothing was changed";
      return made;
    }
    std::optional<OptimizedModel> best;
    std::vector<std::string> slower;
    for (const int level : levels_to_race()) {
      OptimizedModel tried = made;
      if (level < base_.level) {
        tried.derivation = base_;
        tried.derivation.level = level;
        TRY(tried.derived, derived(model_, tried.derivation, theory_, {options_.threads, nullptr}));
      }
      const std::string what =
          level > 0 ? fmt::format("passes of level {}", level) : std::string("its sizes, fixed as told");
      tell(fmt::format("racing the simplified model in {}", backend_.name()));
      const auto raced = race_closely(tried.derived.graph);
      if (!raced.ok() && raced.error().kind == ErrorKind::kUnsupported) {
        slower.push_back(fmt::format("{}: {}", what, raced.error().message()));
        continue;
      }
      if (!raced.ok()) return raced.error();
      tried.raced = *raced;
      log_race(what, *raced);
      if (!tried.raced->is_slower()) {
        left_out_.insert(left_out_.end(), slower.begin(), slower.end());
        return tried;
      }
      slower.push_back(fmt::format("{}: {:.3f} times as fast in {}", what, tried.raced->ratio, backend_.name()));
      if (!best || best->raced->ratio < tried.raced->ratio) best = std::move(tried);
    }
    if (binds_sizes() && best) {
      best->why_not_taken = fmt::format(
          "with fixed sizes {} is slower, whatever else is done to the model; leave --dim and --input-shapes out",
          backend_.name());
      return *std::move(best);
    }
    left_out_.insert(left_out_.end(), slower.begin(), slower.end());
    made.derivation = base_;
    made.derivation.level = 0;
    made.why_not_raced = "the model is as it was";
    TRY(made.derived, derived(model_, made.derivation, theory_, {options_.threads, nullptr}));
    return made;
  }

  bool binds_sizes() const { return !base_.dims.empty() || !base_.shapes.empty(); }

  /// The first is that of the passes that were done; below the second come levels with fewer passes.
  std::vector<int> levels_to_race() const {
    std::vector<int> levels = {base_.level};
    if (base_.level >= 2) levels.push_back(1);
    if (binds_sizes()) levels.push_back(0);
    return levels;
  }

  /// Against the model as it was given.
  Result<Raced> race_closely(std::unique_ptr<Runner> runner, const Graph& graph) {
    const auto has_time = [&] { return seconds_left() + spare_seconds_ >= baseline_.renewed_race_seconds(); };
    return baseline_.race_closely(std::move(runner), graph, has_time,
                                  [&](const Raced& raced) { log_race("in doubt", raced); });
  }
  Result<Raced> race_closely(const Graph& graph) {
    TRY(auto runner, baseline_.runner(graph));
    return race_closely(std::move(runner), graph);
  }

  Result<OptimizedModel> without(const Blame& found) {
    if (!found.step) {
      base_.without.push_back(found.pass);
      return optimized();
    }
    const size_t in_front = base_of_steps_->program.steps.size();
    // Those in front are there for the others.
    if (*found.step < in_front)
      gains_left_out_.insert(gains_of_steps_.begin(), gains_of_steps_.end());
    else if (const size_t gain = gains_of_steps_[*found.step - in_front]; gain != kOfAlternative)
      gains_left_out_.insert(gain);
    // Alternatives are left out, all of them.
    return chosen();
  }

  std::string leave_out_rewrites() {
    for (size_t gain = 0; gain < found_->gains.size(); ++gain) gains_left_out_.insert(gain);
    return "all rewrites";
  }

  /// No step alone is to blame where the code of a program rounds otherwise than a check allows, which the interpreter
  /// does not show: rewrites go that round otherwise, then all that the search found, then all passes. What went, for
  /// people; nothing where nothing is left.
  std::string leave_out_more(const OptimizedModel& made) {
    if (!made.derivation.steps.empty()) {
      const size_t in_front = base_of_steps_->program.steps.size(), known = gains_left_out_.size();
      bool are_all = true;
      for (size_t k = 0; k < gains_of_steps_.size(); ++k) {
        const size_t gain = gains_of_steps_[k];
        const bool rounds = made.derived.steps[in_front + k].fp_class >= FloatClass::kReassociated;
        if (rounds && gain != kOfAlternative) gains_left_out_.insert(gain);
        are_all = are_all && gains_left_out_.contains(gain);
      }
      if (!are_all && gains_left_out_.size() > known) return "rewrites that round otherwise";
      return leave_out_rewrites();
    }
    if (base_.level == 0) return "";
    return fmt::format("passes of level {}", std::exchange(base_.level, 0));
  }

  Result<bool> loses_little(const Graph& graph) {
    tell("looking at what rounding loses");
    TRY(const auto lost, loss_->of(graph));
    // The check looks for inputs of its own.
    if (!lost) return true;
    log(fmt::format("rounding takes {:.2g} of what it may", lost->max_error_over_bound));
    if (!lost->passed())
      plain_.why_not_taken =
          fmt::format("what was found loses {:.2g} of what rounding may take on one input, too close to all of it",
                      lost->max_error_over_bound);
    return lost->passed();
  }

  /// Those of races.
  Result<std::vector<te::Array>> inputs_in_double(int set) const {
    TRY(const std::vector<Tensor> tensors, baseline_.inputs(set));
    return te::to_arrays(tensors);
  }

  bool is_won(const Raced& raced) const {
    return raced.ratio >= options_.least_speedup && raced.low >= std::min(1.0, options_.least_speedup);
  }

  void log_race(std::string_view what, const Raced& raced) const {
    log(fmt::format("{}: {:.1f} us before, {:.1f} us after, {:.4f} times as fast ({:.4f} to {:.4f})", what, raced.first,
                    raced.second, raced.ratio, raced.low, raced.high));
  }
  void log(std::string_view line) const {
    if (options_.log) options_.log(line);
  }
  void tell(std::string_view what) const {
    if (!options_.progress) return;
    const bool is_planned = plain_.seconds > 0;
    options_.progress(
        what, is_planned ? std::optional(std::max(0.0, plain_.seconds - seconds_since(options_.begin))) : std::nullopt);
  }

  const Graph& model_;
  std::span<const Rule> rules_;
  Theory& theory_;
  Backend& backend_;
  const SearchModelOptions& options_;
  Derivation base_;  ///< without steps

  OptimizedModel plain_;  ///< of the passes alone
  Baseline baseline_;
  std::optional<RoundingLoss> loss_;  ///< against the passes alone: what those lose, the check judges
  double run_microseconds_ = 0;       ///< of the model as it was given, in a race or as estimated
  double interpreting_seconds_ = 0;   ///< of one run
  double spare_seconds_ = 0;          ///< beyond what is needed behind the end
  Clock::time_point end_;

  std::optional<Base> base_of_steps_;
  std::optional<Substitutions> substitutions_;
  std::optional<SearchedProgram> found_;
  std::vector<size_t> gains_taken_;     ///< of the model that won its races
  std::vector<size_t> gains_of_steps_;  ///< of the steps that were made last, those of Base::program aside
  std::set<size_t> gains_left_out_;
  const int stops_before_ = stops_forgotten();
  bool is_interrupted_ = false;  ///< once: what was found is to be finished
  std::string lack_of_memory_;   ///< why nothing is searched, where that is it
  std::vector<std::string> left_out_;
};

}  // namespace

std::string_view name(SearchOutcome outcome) {
  constexpr std::array<std::string_view, 4> kNames = {"not searched", "nothing found that is faster",
                                                      "what was found was not taken in the end", "faster"};
  return kNames[static_cast<size_t>(outcome)];
}

double default_seconds(double run_microseconds) {
  constexpr double kLeast = 2, kMost = 60, kOfAMillisecond = 8;
  return std::clamp(kOfAMillisecond * std::sqrt(run_microseconds / 1e3), kLeast, kMost);
}

Result<OptimizedModel> optimize_model(const Graph& model, Derivation derivation, std::span<const Rule> rules,
                                      Theory& theory, Backend& backend, const SearchModelOptions& options) {
  return Optimizer(model, std::move(derivation), rules, theory, backend, options).run();
}

}  // namespace isomer::search
