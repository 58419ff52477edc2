// A model made faster: passes, a search over proved rules, and races in the end that the searched model has to win.
// What a check finds wrong afterwards is left out. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <map>

#include "search/cost/backend.h"
#include "search/strategies/search_program.h"
#include "substitutions/derivation/blame.h"
#include "substitutions/derivation/derivation.h"
#include "util/clock.h"
#include "util/memory_limit.h"

namespace isomer::search {

/// The level from which on models are searched.
inline constexpr int kSearchLevel = 3;

struct OptimizedModel;

/// What is wrong with a model that was made, for people; nothing: it is the same function as the one it was made of.
using CheckModel = std::function<Result<std::optional<std::string>>(const OptimizedModel& made)>;

/// Whoever measures several programs of each region before one of them is taken, such as a tuner.
class ProgramJudge {
 public:
  struct Choice {
    size_t program = 0;  ///< 0: the one that the region has; else the number of the other, from 1
    double saved = 0;    ///< microseconds, by the other
  };
  virtual ~ProgramJudge() = default;
  /// The model as races chose it.
  virtual Result<void> first(const OptimizedModel& made) = 0;
  /// The same with another program in one region; regions count from 0, and come in order. False: there is no time for
  /// it.
  virtual Result<bool> other(size_t region, const Graph& graph) = 0;
  /// By region.
  virtual Result<std::vector<Choice>> choices() = 0;
  /// As fast as it is known how to make it.
  virtual Result<std::unique_ptr<Runner>> runner(const Graph& graph, std::span<const Tensor> inputs) = 0;
};

/// What became of the programs that a judge was given.
struct Judged {
  struct Region {
    std::vector<std::string> programs;  ///< the rules of each, for people; the first is the one that it had
    ProgramJudge::Choice wanted;
    bool is_taken = false;  ///< it is in the model
  };
  std::vector<Region> regions;
  std::optional<Raced> raced;  ///< the model as races chose it against what the judge chose, the last time
  std::string why_not_taken;   ///< of what the judge chose, the last that was refused
};

struct SearchModelOptions {
  SearchProgramOptions search;   ///< its `fp` is the derivation's, its time and what it tells are decided here
  RaceOptions race;              ///< its time is at most so much
  double least_speedup = 1.005;  ///< of a race: less is not told from noise
  uint64_t seed = 0;
  int threads = 1;
  MemoryLimit memory = {};                 ///< a model that needs more for being measured and compared is not searched
  Clock::time_point begin = Clock::now();  ///< when the command began
  std::optional<double> seconds;           ///< of the whole command; nothing: as what the model takes to run suggests
  double least_afterwards = 1;             ///< seconds that the caller needs behind this, for its check and its files
  double kept = 0;                         ///< of all seconds, for what else the caller does behind this
  ProgramJudge* judge = nullptr;           ///< it has `search.limits.alternatives` and one program of a region to judge
  CheckModel check = nullptr;
  substitutions::Differ differ = nullptr;  ///< by which a step that fails the check is found; needed with `check`
  std::function<void(std::string_view)> log = nullptr;
  /// What is being done now, and the seconds that are left of the command's, once they are known.
  std::function<void(std::string_view what, std::optional<double> seconds_left)> progress = nullptr;
};

enum class SearchOutcome : uint8_t {
  kPasses,        ///< nothing was searched
  kNothingFound,  ///< no rewrite was found that costs less
  kRefused,       ///< those found were not faster in the end, lost too much in rounding, or could not be run
  kFaster,
};
std::string_view name(SearchOutcome outcome);

struct OptimizedModel {
  substitutions::Derivation derivation;
  substitutions::Derived derived;
  std::vector<double> gains;  ///< microseconds, by step of the derivation, as predicted
  SearchOutcome outcome = SearchOutcome::kPasses;
  std::string why_not_searched;               ///< where it was not
  std::optional<SearchedProgram> found;       ///< of the search, whether it was taken or not
  std::optional<Raced> raced;                 ///< the model as it was given against what was made, in the end
  std::string raced_in;                       ///< the backend's name
  std::map<std::string, int64_t> raced_with;  ///< sizes that the model leaves open
  std::string why_not_raced;
  std::string why_not_taken;          ///< of the last that was found and refused
  std::optional<Judged> judged;       ///< where there was a judge
  double run_microseconds = 0;        ///< of the model as it was given, in a run or as estimated
  std::vector<std::string> left_out;  ///< steps that were found but can't be taken, passes, the search; with a reason
  double seconds = 0;                 ///< that the whole command was given
  double open_seconds = 0;            ///< that making code or a session of it took, where it is raced
  bool is_interrupted = false;        ///< by a stop, for a check, before it; it is the best of what was known then
};

/// Seconds that a command should take for a model that runs in so many microseconds: a second of waiting is worth it
/// for a millisecond that runs a thousand times a day.
double default_seconds(double run_microseconds);

/// The first stop while it searches and after that ends in the best of what is known, without a judge; a second one in
/// an error, as one before does, and any below kSearchLevel, where only passes run. The derivation says what was bound,
/// level and fp; steps are added. Rules must be of the theory. Where the check fails and no step is to blame, rewrites
/// are left out, then passes. Errors, kMismatch: it fails without any of them, too.
Result<OptimizedModel> optimize_model(const Graph& model, substitutions::Derivation derivation,
                                      std::span<const substitutions::Rule> rules, substitutions::Theory& theory,
                                      Backend& backend, const SearchModelOptions& options);

}  // namespace isomer::search
