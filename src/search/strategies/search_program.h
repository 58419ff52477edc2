// Searching a whole program: regions one after the other, equal ones once, then once more with the seams inside of
// regions. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/float_class.h"
#include "search/cost/backend.h"
#include "search/strategies/regions.h"
#include "search/strategies/states.h"

namespace isomer::search {

enum class Strategy : uint8_t { kBeam, kBestFirst, kEGraph };

/// How far a search is.
struct SearchProgress {
  int region = 0, regions = 0;  ///< kinds of regions of this round
  double saved = 0;             ///< microseconds, so far
};

struct SearchProgramOptions {
  Strategy strategy = Strategy::kBeam;
  SearchLimits limits;  ///< of one region; its seconds are those of everything together
  RegionOptions regions;
  int rounds = 2;                   ///< of cutting: each leaves the seams of those before whole
  int turns = 2;                    ///< of a round's regions: those that had too little time are searched again
  double most_growth = 1;           ///< of the bytes of constants, and
  int64_t small_growth = 16 << 20;  ///< bytes beyond it, may what is taken in the end grow by
  size_t singles = 10;              ///< that are told
  RaceOptions race = {.seconds = 0.4, .sweep_bytes = part_sweep_bytes()};  ///< between a region and what it becomes
  FloatMode fp = FloatMode::kReassociate;
  bool least_work = false;  ///< only what is no more work wherever it runs (work.h) is taken
  std::function<void(std::string_view)> log = nullptr;            ///< lines about regions that were searched
  std::function<void(const SearchProgress&)> progress = nullptr;  ///< before each region
};

struct SearchedStep {
  substitutions::Match match;  ///< of the program before it
  double saved = 0;            ///< microseconds, as it was predicted
};

/// What was found in equal regions.
struct Gain {
  double saved = 0;  ///< microseconds, in all of them together, as a race between the region and what it became says
  std::vector<size_t> steps;  ///< numbers in SearchedProgram::steps, in order
  int64_t growth = 0;         ///< bytes of constants
};

/// Another program for equal regions than the one that they got: it may be faster once its kernels are tuned.
struct AlternativeProgram {
  size_t region = 0;           ///< of SearchedProgram::searched; those of one exclude each other,
  std::optional<size_t> gain;  ///< and what was gained there
  size_t begin = 0;            ///< of SearchedProgram::steps, so many were taken before
  std::vector<SearchedStep> steps;
  double saved = 0;  ///< microseconds, in all of them together, as tasks take by their default schedules
};

/// A rewrite by itself, in all equal regions.
struct SingleStep {
  std::string rule, where;
  int places = 0;
  double saved = 0;  ///< microseconds, in all of them together, as tasks alone take
};

/// What became of the search of a kind of region.
struct SearchedRegion {
  std::string where;  ///< what it makes, where it first stands
  int applications = 0, places = 0;
  double cost = 0, saved = 0;      ///< microseconds of one, and by the best rewrites as tasks take
  std::vector<std::string> rules;  ///< of the best rewrites, in order
  std::optional<size_t> gain;      ///< of SearchedProgram::gains: what came of them
  bool is_taken = false;           ///< they are in the model that was made in the end (optimize_model.h)
  std::string why_not;             ///< where there were any
  StopReason stop = StopReason::kExhausted;
};

struct SearchedProgram {
  substitutions::Program program;
  std::vector<SearchedStep> steps;
  std::vector<Gain> gains;
  std::vector<AlternativeProgram> alternatives;  ///< SearchLimits::alternatives of a region at most
  int64_t most_growth = 0;                       ///< bytes that gains which are taken may grow by
  std::vector<SearchedRegion> searched;          ///< each kind of region once, in the order of their first searches
  std::vector<SingleStep> singles;               ///< the best ones, whether they were taken or not
  double cost = 0, cost_before = 0;              ///< microseconds; of what could be costed
  int regions = 0, regions_searched = 0;
  SearchStatistics statistics;
  StopReason stop = StopReason::kExhausted;  ///< of the whole, or the strongest of its regions'
};

/// Of the gains of these numbers those that together grow by at most so many bytes: those that save the most a byte.
std::vector<size_t> within_growth(std::span<const Gain> gains, std::vector<size_t> numbers, int64_t most);

inline constexpr size_t kOfAlternative = std::numeric_limits<size_t>::max();

struct Chosen {
  std::vector<substitutions::Step> steps;
  std::vector<double> saved;         ///< by step
  std::vector<size_t> gains;         ///< that steps are of, by step, or kOfAlternative
  std::vector<size_t> alternatives;  ///< that were taken
};
/// The steps of these gains and alternatives, by their numbers, on the program that was improved, without those that
/// need something of others. No two of them are of one region.
Chosen steps_of(const SearchedProgram& improved, const std::vector<size_t>& gains, const substitutions::Program& before,
                substitutions::Substitutions& rules, std::vector<size_t> alternatives = {});

/// Rules and backend outlive it.
Result<SearchedProgram> search_program(substitutions::Program program, substitutions::Substitutions& rules,
                                       Backend& backend, const SearchProgramOptions& options);

}  // namespace isomer::search
