#include "search/strategies/search_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/edit.h"
#include "graph/passes/contract.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/remove_dead.h"
#include "search/cost/work.h"
#include "search/strategies/lockstep.h"
#include "search/strategies/prune.h"
#include "search/strategies/saturation.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/rewrite/subprogram.h"
#include "util/random.h"
#include "util/stable_sort.h"
#include "util/stop.h"
#include "verify/check/inputs.h"

namespace isomer::search {
namespace {

using substitutions::Match;
using substitutions::Program;
using substitutions::Subprogram;
using substitutions::Substitutions;

/// A search of a region is given at least.
constexpr double kLeastSeconds = 1;
/// Searches of one region, while what differs turns out to take as long as before when it is measured again.
constexpr int kSearches = 3;
/// Steps taken times applications of the program: some seconds to take them, and again to check them.
constexpr int64_t kMostWork = 2'000'000;
/// What is found may grow by so many times as much as what is taken in the end.
constexpr double kMostSearched = 4;
/// Of a region's cost: less is not worth a race; the same of a step with those that need it, by itself; and of what all
/// regions searched so far cost, by all equal regions together.
constexpr double kLeastGain = 0.01, kLeastGainOfStep = 0.004, kLeastGainOfAll = 0.0005;

/// Random elements, the same few thousand again and again: a whole convolution's would take longer to draw than to run.
Tensor random_weights(DataType dtype, const Dims& dims, Random& random) {
  constexpr int64_t kDrawn = 4093;
  std::vector<double> values(static_cast<size_t>(std::min(kDrawn, element_count(dims))));
  for (double& value : values) value = random.uniform(-1, 1);
  const Tensor drawn = Tensor::from_doubles(dtype, {static_cast<int64_t>(values.size())}, values);
  std::vector<std::byte> bytes(static_cast<size_t>(byte_size(dtype, element_count(dims))));
  for (size_t at = 0; at < bytes.size(); at += drawn.bytes().size())
    std::copy_n(drawn.bytes().begin(), std::min(drawn.bytes().size(), bytes.size() - at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
  return Tensor(dtype, dims, std::move(bytes));
}

/// Constants of the types that placeholders had, no two alike: equal ones would become one.
void fill_weights(Graph& graph) {
  for (const ValueId id : graph.values()) {
    const auto& constant = graph.value(id).constant;
    if (!constant || !is_float(constant->dtype()) || constant->count() < 2) continue;
    Random random(static_cast<uint64_t>(id.index));
    graph.edit(id).constant = random_weights(constant->dtype(), constant->dims(), random);
  }
}

/// Regions that compute the same.
struct Kind {
  Hash128 key;
  std::vector<std::vector<int>> places;  ///< applications
  double estimate = 0;                   ///< of all of them
};

class Improver {
 public:
  Improver(Program program, Substitutions& rules, Backend& backend, const SearchProgramOptions& options)
      : rules_(rules),
        backend_(backend),
        changes_(backend.costs()),
        options_(options),
        result_{std::move(program), {}, {}, {}, 0, {}, {}, 0, 0, 0, 0, {}, StopReason::kExhausted},
        end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                    std::chrono::duration<double>(options.limits.seconds))) {
    // An e-graph takes all that matches.
    if (options_.strategy != Strategy::kEGraph) rules_.put_off_proofs();
    weight_bytes_ = weight_bytes(result_.program);
    for (int id = 0; id < result_.program.application_count(); ++id)
      estimate_ += estimates_.application(result_.program, id);
    result_.most_growth =
        options.small_growth + static_cast<int64_t>(options.most_growth * static_cast<double>(weight_bytes_));
    most_weight_bytes_ = weight_bytes_ + static_cast<int64_t>(kMostSearched * static_cast<double>(result_.most_growth));
  }

  Result<SearchedProgram> run() {
    // A weight that is read once for several values saves the most, and what is done to one of its readers alone stands
    // in the way; where it can't be, all of its readers have to be changed alike, or it is needed twice.
    search_sharing({Shared::kConstant, Beside::kSameWeights});
    search_sharing({Shared::kComputed, Beside::kSameWeights});
    for (const Gain& gain : result_.gains) result_.cost_before += gain.saved;
    std::set<int> seams;
    for (int round = 0; round < options_.rounds && seconds_left() > 0; ++round) {
      Regions regions = regions_of(result_.program, seams, options_.regions);
      if (round > 0 && regions.seams == seams) break;
      seams.insert(regions.seams.begin(), regions.seams.end());
      result_.regions = std::max(result_.regions, static_cast<int>(regions.applications.size()));
      search(kinds_of(std::move(regions.applications)), round == 0);
    }
    search_sharing({Shared::kConstant, Beside::kLightReaders});
    search_sharing({Shared::kComputed, Beside::kLightReaders});
    for (const SearchedRegion& region : result_.searched) result_.stop = std::max(result_.stop, region.stop);
    if (seconds_left() <= 0) result_.stop = check_stop().ok() ? StopReason::kTime : StopReason::kInterrupted;
    return std::move(result_);
  }

 private:
  double seconds_left() const {
    if (!check_stop().ok()) return 0;
    return std::chrono::duration<double>(end_ - std::chrono::steady_clock::now()).count();
  }

  std::vector<Kind> kinds_of(std::vector<std::vector<int>> regions) {
    const Program::Uses uses = result_.program.uses();
    std::map<Hash128, size_t> known;
    std::vector<Kind> kinds;
    for (std::vector<int>& region : regions) {
      const Hash128 key = subprogram_key(subprogram_of(result_.program, region, uses).program);
      const auto [number, is_new] = known.try_emplace(key, kinds.size());
      if (is_new) kinds.push_back({key, {}, 0});
      Kind& kind = kinds[number->second];
      for (const int id : region) kind.estimate += estimates_.application(result_.program, id);
      kind.places.push_back(std::move(region));
    }
    stable_sort(kinds, [](const Kind& a, const Kind& b) { return a.estimate > b.estimate; });
    return kinds;
  }

  /// What readers of one value became may share with others in turn.
  void search_sharing(const Sharing& sharing) {
    const auto is_heavy = [&](int id) { return estimates_.reduces(result_.program, id); };
    for (std::optional<size_t> gains; gains != result_.gains.size() && seconds_left() > 0;) {
      gains = result_.gains.size();
      search(kinds_of(sharing_regions(result_.program, sharing, is_heavy, options_.regions)), false);
    }
  }

  /// Bytes that a region may grow by: its share, by what it takes, and half of what the others may, who seldom need all
  /// of it: the first one does not use up what all may.
  int64_t growth_of_a_place(const Kind& kind) const {
    const double share = estimate_ > 0 ? std::min(1.0, kind.estimate / estimate_) : 1;
    return static_cast<int64_t>((share + 1) / 2 * static_cast<double>(result_.most_growth) /
                                static_cast<double>(kind.places.size()));
  }

  bool is_allowed(int substitution) const { return allows(options_.fp, rules_[substitution].rule->float_class); }

  /// Each kind gets the share of the time that it takes of what is left to search, and those that this was too little
  /// for share what others leave.
  void search(const std::vector<Kind>& kinds, bool is_first_round) {
    std::vector<const Kind*> all;
    for (const Kind& kind : kinds) all.push_back(&kind);
    for (int turn = 0; turn < options_.turns && !all.empty(); ++turn) {
      double rest = 0;
      for (const Kind* kind : all) rest += kind->estimate;
      std::vector<const Kind*> again;
      for (size_t k = 0; k < all.size() && seconds_left() > 0; ++k) {
        tell(k, all.size());
        const double share = rest > 0 ? all[k]->estimate / rest : 1;
        rest -= all[k]->estimate;
        if (search(*all[k], is_first_round && turn == 0, share) == Ended::kByTime) again.push_back(all[k]);
      }
      all = std::move(again);
    }
  }

  void tell(size_t number, size_t count) const {
    if (!options_.progress) return;
    double saved = 0;
    for (const Gain& gain : result_.gains) saved += gain.saved;
    options_.progress({static_cast<int>(number) + 1, static_cast<int>(count), saved});
  }

  /// What a program asks of a runtime that we know nothing of.
  struct Asked {
    size_t known_together = 0;  ///< nodes that it knows as one by what they look like, as Gelu before opset 20
    int quantized_operands = 0;
    Work work;  ///< composites that the model's opset has are one node each, as they will be written
  };

  Result<Asked> asked_by(const Program& program) {
    TRY(Graph graph, graph_of(program));
    PassOptions options;
    options.fp = options_.fp;
    options.keep_composites = true;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    Asked result;
    TRY(const auto kept, kept_nodes(graph, context));
    result.known_together = kept.size();
    result.quantized_operands = quantized_operands(program);
    TRY_VOID(contract(graph, context));
    TRY_VOID(remove_dead(graph, context));
    TRY(result.work, work_of(graph));
    return result;
  }

  /// Operands of sums that are dequantized for them: runtimes compute such sums of the quantized numbers.
  int quantized_operands(const Program& program) {
    int count = 0;
    for (int id = 0; id < program.application_count(); ++id) {
      if (!program.op(id) || !estimates_.reduces(program, id)) continue;
      for (const int argument : program.arguments(id)) {
        const int producer = program.value(argument).producer;
        count += producer >= 0 && program.op(producer) && dequantizes(*program.op(producer));
      }
    }
    return count;
  }

  bool is_welcome(const Result<Asked>& before, const Program& after) {
    return !options_.least_work || asks_no_more(asked_by(after), before);
  }
  static bool asks_no_more(const Result<Asked>& after, const Result<Asked>& before) {
    return after.ok() && before.ok() && after->known_together >= before->known_together &&
           after->quantized_operands >= before->quantized_operands && is_no_more(after->work, before->work);
  }

  Result<Searched> searched(const Program& program, Expander& expander) const {
    switch (options_.strategy) {
      case Strategy::kBeam: return beam_search(program, expander);
      case Strategy::kBestFirst: return best_first_search(program, expander);
      case Strategy::kEGraph: return saturation_search(program, expander);
    }
    return beam_search(program, expander);
  }

  enum class Ended : uint8_t { kDone, kByTime };

  /// Done in what is a share of the time that is left, or it has to be looked at again.
  Ended search(const Kind& kind, bool is_first_time, double share) {
    // An earlier gain may have taken what stood here.
    if (!is_whole(result_.program, kind.places.front())) return Ended::kDone;
    const Subprogram part = subprogram_of(result_.program, kind.places.front(), result_.program.uses());
    if (subprogram_key(part.program) != kind.key) return Ended::kDone;
    const auto [known, is_new] = searched_.try_emplace(kind.key, Ended::kByTime);
    if (known->second == Ended::kDone) return Ended::kDone;
    SearchLimits limits = options_.limits;
    limits.seconds = std::max(kLeastSeconds, seconds_to_search(kind, seconds_left() * share));
    result_.regions_searched += is_new ? 1 : 0;
    log(fmt::format("region of {} applications, {} times:", kind.places.front().size(), kind.places.size()));
    // What else was found is of the program as it is now.
    const std::optional<Program> before = limits.alternatives > 0 ? std::optional(result_.program) : std::nullopt;
    const size_t steps = result_.steps.size(), gains = result_.gains.size();
    others_.clear();
    told_.where = substitutions::where(result_.program, outputs_of(part));
    told_.applications = static_cast<int>(kind.places.front().size());
    told_.places = static_cast<int>(kind.places.size());
    known->second = search(kind, part, limits, is_new, is_first_time);
    const std::optional<size_t> gain = gains < result_.gains.size() ? std::optional(gains) : std::nullopt;
    told_.gain = gain;
    if (gain) told_.why_not.clear();
    const size_t number = numbers_.emplace(kind.key, numbers_.size()).first->second;
    if (number == result_.searched.size()) result_.searched.emplace_back();
    result_.searched[number] = std::exchange(told_, {});
    if (before) keep_alternatives(kind, number, *before, steps, gain);
    return known->second;
  }

  /// Without those of a race behind it, as far as estimates know how long runs take.
  double seconds_to_search(const Kind& kind, double seconds) const {
    constexpr int kRounds = 2 + kFewestRounds;  // those before the first one are as long
    const double run_seconds = 1e-6 * kind.estimate / static_cast<double>(kind.places.size());
    return backend_.can_run() ? std::max(seconds / 2, seconds - 2 * kRounds * run_seconds) : seconds;
  }

  /// Values of the whole.
  static std::vector<int> outputs_of(const Subprogram& part) {
    std::vector<int> result;
    for (const int value : part.program.outputs()) result.push_back(part.values[static_cast<size_t>(value)]);
    return result;
  }

  /// Those of `others_`, as far as all equal regions take them.
  void keep_alternatives(const Kind& kind, size_t region, const Program& before, size_t begin,
                         std::optional<size_t> gain) {
    std::erase_if(result_.alternatives, [&](const AlternativeProgram& each) { return each.region == region; });
    if (others_.size() > static_cast<size_t>(options_.limits.alternatives))
      others_.resize(static_cast<size_t>(options_.limits.alternatives));
    for (const SearchedAlternative& other : others_) {
      Everywhere made = everywhere(kind, before, other.steps, begin);
      if (made.matches.empty()) continue;
      if (weight_bytes(made.program) - weight_bytes(before) > result_.most_growth) continue;
      AlternativeProgram alternative{region, gain, begin, {}, other.saved * made.places};
      for (Match& match : made.matches)
        alternative.steps.push_back({std::move(match), other.saved / static_cast<double>(other.steps.size())});
      log(fmt::format("  an alternative that saves {:.1f} us:", other.saved));
      for (const Match& match : other.steps) log("    " + name(match));
      result_.alternatives.push_back(std::move(alternative));
    }
  }

  /// What a search finds first is what measurements were too short or too long by; once that is measured again it sees
  /// what there is.
  Ended search(const Kind& kind, const Subprogram& part, const SearchLimits& limits, bool is_new, bool is_first_time) {
    const Result<Asked> before = options_.least_work ? asked_by(part.program) : Asked();
    for (int time = 0; time < kSearches; ++time) {
      Expander expander(
          rules_, changes_, limits, [&](int substitution) { return is_allowed(substitution); },
          [&](const Program& program) { return is_welcome(before, program); },
          [&](int substitution) { return paid_.contains(substitution); });
      const auto found = searched(part.program, expander);
      if (!found.ok()) {
        refuse(found.error().message());
        return Ended::kDone;
      }
      add(found->statistics);
      told_.cost = found->cost;
      told_.stop = found->stop;
      others_ = found->alternatives;
      if (time == 0 && is_new) keep_singles(kind, part, found->singles);
      if (time == 0 && is_first_time) result_.cost_before += found->cost * static_cast<double>(kind.places.size());
      log(fmt::format("  {:.1f} us, {} steps may save {:.1f} us; {} states costed, {} measured; {}", found->cost,
                      found->steps.size(), found->saved, found->statistics.costed, found->statistics.measured,
                      search::name(found->stop)));
      const Ended otherwise = found->stop == StopReason::kTime ? Ended::kByTime : Ended::kDone;
      if (found->steps.empty()) return otherwise;
      const auto kept = pruned(part.program, found->steps, rules_, changes_, kLeastGainOfStep, growth_of_a_place(kind));
      if (!kept.ok()) {
        refuse(kept.error().message());
        return Ended::kDone;
      }
      const double predicted = kept->cost_before - kept->cost;
      told_.saved = predicted;
      told_.rules.clear();
      for (const Match& match : kept->steps) told_.rules.push_back(name(match));
      log(fmt::format("  measured again: {} of them save {:.1f} us", kept->steps.size(), predicted));
      const double least = std::max(kLeastGain * kept->cost_before,
                                    kLeastGainOfAll * result_.cost_before / static_cast<double>(kind.places.size()));
      if (predicted >= least && is_welcome(before, kept->program)) {
        for (const Match& match : kept->steps) log("    " + name(match));
        const double saved = backend_.can_run() ? confirmed(part.program, kept->program) : predicted;
        if (saved > 0) take_everywhere(kind, kept->steps, saved);
        if (saved <= 0) others_.insert(others_.begin(), {kept->steps, predicted});
        return otherwise;
      }
      if (!kept->steps.empty()) {
        others_.insert(others_.begin(), {kept->steps, predicted});
        told_.why_not = predicted < least
                            ? fmt::format("{:.1f} us, measured again, where {:.1f} are worth a race", predicted, least)
                            : "it is more work in another runtime";
      }
      if (found->saved < least || seconds_left() < limits.seconds) return otherwise;
    }
    return Ended::kDone;
  }

  std::string name(const Match& match) const {
    const substitutions::Substitution& substitution = rules_[match.substitution];
    return substitution.rule->name + (substitution.is_forward ? " ->" : " <-");
  }

  void keep_singles(const Kind& kind, const Subprogram& part, const std::vector<Single>& singles) {
    const int places = static_cast<int>(kind.places.size());
    for (const Single& single : singles) {
      std::vector<int> roots = single.match.roots;
      for (int& root : roots) root = part.values[static_cast<size_t>(root)];
      result_.singles.push_back(
          {name(single.match), substitutions::where(result_.program, roots), places, single.saved * places});
    }
    stable_sort(result_.singles, [](const SingleStep& a, const SingleStep& b) { return a.saved > b.saved; });
    if (result_.singles.size() > options_.singles) result_.singles.resize(options_.singles);
  }

  /// Microseconds that the steps save when both regions are run as they would be; 0 where that can't be told from
  /// nothing.
  double confirmed(const Program& before, const Program& after) {
    const auto raced = race_between(before, after);
    if (!raced.ok()) {
      refuse(raced.error().message());
      return 0;
    }
    log(fmt::format("  in turns {:.1f} us before, {:.1f} us after: {:.4f} times as fast ({:.4f} to {:.4f})",
                    raced->first, raced->second, raced->ratio, raced->low, raced->high));
    if (raced->low > 1) return raced->first * (1 - 1 / raced->ratio);
    told_.why_not = fmt::format("in turns with what it was {:.3f} times as fast ({:.3f} to {:.3f})", raced->ratio,
                                raced->low, raced->high);
    return 0;
  }

  Result<Raced> race_between(const Program& before, const Program& after) {
    TRY(Graph first, graph_of(before));
    TRY(Graph second, graph_of(after));
    substitutions::Derivation derivation;
    derivation.keep_composites = before.origin().dequantized == substitutions::Dequantized::kComputed;
    for (Graph* graph : {&first, &second}) {
      fill_weights(*graph);
      TRY_VOID(optimize(*graph, substitutions::passes_after(derivation, Graph(), *graph, before.theory())));
    }
    TRY(const std::vector<Tensor> inputs, generate_inputs(first, {}));
    TRY(const auto runner, backend_.runner(first, inputs));
    TRY(const auto other, backend_.runner(second, inputs));
    RaceOptions options = options_.race;
    options.settle_seconds = std::max(options.settle_seconds, backend_.settle_seconds());
    options.seconds += 2 * options.least_rounds * options.settle_seconds;
    options.most_seconds = std::max(options.seconds, seconds_left());
    return race(*runner, *other, options);
  }

  static bool is_whole(const Program& program, const std::vector<int>& place) {
    return std::all_of(place.begin(), place.end(), [&](int id) { return program.contains(id); });
  }

  /// Steps of a region done wherever it stands.
  struct Everywhere {
    Program program;
    std::vector<Match> matches;  ///< in order, of the program before each
    int places = 0;
  };
  /// `taken`: steps that the program has behind it.
  Everywhere everywhere(const Kind& kind, Program program, const std::vector<Match>& steps, size_t taken) {
    Everywhere made{std::move(program), {}, 0};
    for (const std::vector<int>& place : kind.places) {
      // Doing a step, and checking it when the model is derived, takes the longer the larger the program is.
      const auto work =
          static_cast<int64_t>(taken + made.matches.size() + steps.size()) * made.program.application_count();
      if (work > kMostWork) break;
      if (!is_whole(made.program, place)) continue;
      Subprogram part = subprogram_of(made.program, place, made.program.uses());
      if (subprogram_key(part.program) != kind.key) continue;
      Lockstep lockstep(made.program, std::move(part), rules_);
      if (!std::all_of(steps.begin(), steps.end(), [&](const Match& match) { return lockstep.take(match); })) continue;
      made.matches.insert(made.matches.end(), lockstep.matches().begin(), lockstep.matches().end());
      ++made.places;
      made.program = lockstep.take_whole();
    }
    return made;
  }

  void take_everywhere(const Kind& kind, const std::vector<Match>& steps, double saved) {
    Everywhere made = everywhere(kind, result_.program, steps, result_.steps.size());
    if (made.matches.empty()) return refuse("the whole takes it nowhere");
    const int64_t bytes = weight_bytes(made.program);
    if (bytes > most_weight_bytes_) return refuse("weights would grow too much");
    if (options_.least_work) {
      // What a region holds a part of may be one node of the whole.
      Result<Asked> asked = asked_by(made.program);
      if (!asked_) asked_ = asked_by(result_.program);
      if (!asks_no_more(asked, *asked_)) return refuse("the whole would be more work in another runtime");
      asked_ = std::move(asked);
    }
    Gain gain;
    gain.saved = saved * made.places;
    gain.growth = bytes - std::exchange(weight_bytes_, bytes);
    if (gain.growth > 0) log(fmt::format("  weights grow by {:.1f} MB", 1e-6 * static_cast<double>(gain.growth)));
    result_.program = std::move(made.program);
    for (const Match& match : steps) paid_.insert(match.substitution);
    for (Match& match : made.matches) {
      gain.steps.push_back(result_.steps.size());
      result_.steps.push_back({std::move(match), saved / static_cast<double>(steps.size())});
    }
    result_.gains.push_back(std::move(gain));
  }

  void add(const SearchStatistics& more) {
    SearchStatistics& all = result_.statistics;
    all.matches += more.matches;
    all.applied += more.applied;
    all.refused += more.refused;
    all.seen += more.seen;
    all.costed += more.costed;
    all.measured += more.measured;
    all.expanded += more.expanded;
    all.deepest = std::max(all.deepest, more.deepest);
  }

  void refuse(const std::string& why) {
    log("  " + why);
    told_.why_not = why;
  }
  void log(const std::string& line) const {
    if (options_.log) options_.log(line);
  }

  Substitutions& rules_;
  Backend& backend_;
  CostChanges changes_;
  Estimates estimates_;
  const SearchProgramOptions& options_;
  SearchedProgram result_;
  std::map<Hash128, Ended> searched_;
  std::set<int> paid_;                                ///< substitutions of gains
  SearchedRegion told_;                               ///< of the region that is searched
  std::map<Hash128, size_t> numbers_;                 ///< of SearchedProgram::searched, by key
  std::vector<SearchedAlternative> others_;           ///< of the region that is searched
  int64_t weight_bytes_ = 0, most_weight_bytes_ = 0;  ///< of the program, and at most
  double estimate_ = 0;                               ///< of all of the program as it was given
  std::optional<Result<Asked>> asked_;                ///< by the program, once that was wanted
  std::chrono::steady_clock::time_point end_;
};

}  // namespace

std::vector<size_t> within_growth(std::span<const Gain> gains, std::vector<size_t> numbers, int64_t most) {
  const auto growth = [&](size_t number) { return std::max<int64_t>(gains[number].growth, 0); };
  const auto of_a_byte = [&](size_t number) { return gains[number].saved / (static_cast<double>(growth(number)) + 1); };
  stable_sort(numbers, [&](size_t a, size_t b) { return of_a_byte(a) > of_a_byte(b); });
  std::erase_if(numbers, [&](size_t number) {
    if (growth(number) > most) return true;
    most -= growth(number);
    return false;
  });
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Chosen steps_of(const SearchedProgram& improved, const std::vector<size_t>& gains, const Program& before,
                Substitutions& rules, std::vector<size_t> alternatives) {
  std::vector<bool> is_chosen(improved.steps.size());
  std::vector<size_t> gain_of(improved.steps.size());
  for (const size_t gain : gains)
    for (const size_t step : improved.gains[gain].steps) {
      is_chosen[step] = true;
      gain_of[step] = gain;
    }
  const auto begin_of = [&](size_t alternative) { return improved.alternatives[alternative].begin; };
  stable_sort(alternatives, [&](size_t a, size_t b) { return begin_of(a) < begin_of(b); });
  Lockstep lockstep(before, substitutions::as_subprogram(before), rules);
  Chosen result;
  const auto keep = [&](const SearchedStep& step, const Match& taken) {
    result.steps.push_back(step_of(taken, rules));
    result.saved.push_back(step.saved);
  };
  auto next = alternatives.begin();
  for (size_t k = 0; k <= is_chosen.size(); ++k) {
    for (; next != alternatives.end() && begin_of(*next) == k; ++next) {
      const std::vector<SearchedStep>& steps = improved.alternatives[*next].steps;
      Lockstep branch = lockstep;
      if (!std::all_of(steps.begin(), steps.end(), [&](const SearchedStep& step) { return branch.take(step.match); }))
        continue;
      const size_t taken = lockstep.matches().size();
      lockstep.adopt(std::move(branch));
      for (size_t j = 0; j < steps.size(); ++j) keep(steps[j], lockstep.matches()[taken + j]);
      result.gains.resize(result.steps.size(), kOfAlternative);
      result.alternatives.push_back(*next);
    }
    if (k == is_chosen.size()) break;
    const SearchedStep& step = improved.steps[k];
    if (!is_chosen[k] || !lockstep.take(step.match)) {
      lockstep.pass_over(step.match);
      continue;
    }
    keep(step, lockstep.matches().back());
    result.gains.push_back(gain_of[k]);
  }
  return result;
}

Result<SearchedProgram> search_program(Program program, Substitutions& rules, Backend& backend,
                                       const SearchProgramOptions& options) {
  return Improver(std::move(program), rules, backend, options).run();
}

}  // namespace isomer::search
