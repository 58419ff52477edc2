// The programs that a search leaves for each region, for a judge to choose one of (optimize_model.h).
// Test: tests/search/optimize_model_test.cpp
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "search/strategies/search_program.h"

namespace isomer::search {

/// A region with what was gained there, or with an alternative, or, where it is neither, as it was; by their numbers in
/// SearchedProgram.
struct RegionProgram {
  std::optional<size_t> gain, alternative;
};
/// The first is the one that the model has.
using RegionPrograms = std::vector<RegionProgram>;

/// By region, at most so many of each; regions of one program are not there. `taken`: gains that the model has.
std::vector<RegionPrograms> programs_of_regions(const SearchedProgram& found, const std::vector<size_t>& taken,
                                                const std::set<size_t>& left_out, size_t most);

/// "winograd-4 x 2, merge": the rules of its steps; "as it was".
std::string rules_text(const RegionProgram& program, const SearchedProgram& found,
                       const substitutions::Substitutions& rules);

/// By their numbers in SearchedProgram, for steps_of.
struct ChosenPrograms {
  std::vector<size_t> gains, alternatives;
};
/// What the model has with the programs of these numbers in its regions; `taken` as above.
ChosenPrograms chosen_programs(const std::vector<RegionPrograms>& regions, const std::vector<size_t>& numbers,
                               const std::vector<size_t>& taken);

}  // namespace isomer::search
