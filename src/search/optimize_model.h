// A model made faster: passes, a search over proved rules, and a race in the end that the searched model has to win.
// Test: tests/search/optimize_model_test.cpp
#pragma once

#include "search/backend.h"
#include "search/improve.h"
#include "substitutions/derivation.h"

namespace isomer {

struct OptimizeModelOptions {
  ImproveOptions search;  ///< its `fp` is the derivation's, its time that of everything: most of it is for the search
  RaceOptions race;
  double least_speedup = 1.005;  ///< of a race: less is not told from noise
  int most_nodes = 20'000;       ///< of a model that is searched: steps on larger ones take too long to do and to check
  uint64_t seed = 0;
  int threads = 1;
  std::function<void(std::string_view)> log = nullptr;
};

enum class SearchOutcome : uint8_t {
  kPasses,        ///< nothing was searched: sizes are not known, or nodes
  kNothingFound,  ///< no rewrite was found that costs less
  kSlower,        ///< those found were not faster in the end, or could not be run
  kFaster,
};
std::string_view name(SearchOutcome outcome);

struct OptimizedModel {
  substitutions::Derivation derivation;
  substitutions::Derived derived;
  std::vector<double> gains;  ///< microseconds, by step of the derivation, as predicted
  SearchOutcome outcome = SearchOutcome::kPasses;
  std::optional<Improved> found;     ///< of the search, whether it was taken or not
  std::vector<std::string> refused;  ///< why steps that were found could not be derived: each is an error of the search
  std::optional<Raced> raced;        ///< passes alone against passes and steps, of what was taken last
};

/// The derivation says what was bound, level and fp; steps are added. Rules must be of the theory.
Result<OptimizedModel> optimize_model(const Graph& model, substitutions::Derivation derivation,
                                      std::span<const substitutions::Rule> rules, substitutions::Theory& theory,
                                      Backend& backend, const OptimizeModelOptions& options);

}  // namespace isomer
