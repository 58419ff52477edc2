#include "search/region_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace isomer::search {
namespace {

/// In the order in which a judge is asked about them. `gain` is of the region, or was left out.
RegionPrograms programs_of(std::optional<size_t> gain, bool is_taken, const std::vector<size_t>& alternatives,
                           size_t most) {
  RegionPrograms result;
  if (gain) result.push_back({gain, {}});
  for (const size_t alternative : alternatives) result.push_back({{}, alternative});
  const RegionProgram as_it_was;
  result.insert(is_taken ? result.end() : result.begin(), as_it_was);
  if (result.size() > most) result.resize(most);
  return result;
}

}  // namespace

std::vector<RegionPrograms> programs_of_regions(const SearchedProgram& found, const std::vector<size_t>& taken,
                                                const std::set<size_t>& left_out, size_t most) {
  struct Region {
    std::optional<size_t> gain;
    std::vector<size_t> alternatives;
  };
  std::vector<Region> regions;
  std::map<size_t, size_t> places;  // of regions with alternatives
  std::set<size_t> gains_with_alternatives;
  for (size_t k = 0; k < found.alternatives.size(); ++k) {
    const AlternativeProgram& each = found.alternatives[k];
    const auto [place, is_new] = places.emplace(each.region, regions.size());
    if (is_new) regions.push_back({each.gain, {}});
    regions[place->second].alternatives.push_back(k);
    if (each.gain) gains_with_alternatives.insert(*each.gain);
  }
  for (size_t gain = 0; gain < found.gains.size(); ++gain)
    if (!gains_with_alternatives.contains(gain)) regions.push_back({gain, {}});
  std::vector<RegionPrograms> result;
  for (Region& region : regions) {
    if (region.gain && left_out.contains(*region.gain)) region.gain.reset();
    const bool is_taken = region.gain && std::find(taken.begin(), taken.end(), *region.gain) != taken.end();
    RegionPrograms programs = programs_of(region.gain, is_taken, region.alternatives, most);
    if (programs.size() > 1) result.push_back(std::move(programs));
  }
  return result;
}

std::string rules_text(const RegionProgram& program, const SearchedProgram& found,
                       const substitutions::Substitutions& rules) {
  std::map<std::string, int> times;
  const auto count = [&](const SearchedStep& step) { ++times[rules[step.match.substitution].rule->name]; };
  if (program.gain)
    for (const size_t step : found.gains[*program.gain].steps) count(found.steps[step]);
  if (program.alternative)
    for (const SearchedStep& step : found.alternatives[*program.alternative].steps) count(step);
  std::string text;
  for (const auto& [rule, count_of_rule] : times)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", rule,
                        count_of_rule > 1 ? fmt::format(" x {}", count_of_rule) : "");
  return text.empty() ? "as it was" : text;
}

ChosenPrograms chosen_programs(const std::vector<RegionPrograms>& regions, const std::vector<size_t>& numbers,
                               const std::vector<size_t>& taken) {
  std::set<size_t> gains(taken.begin(), taken.end());
  ChosenPrograms result;
  for (size_t k = 0; k < regions.size(); ++k) {
    const RegionProgram &first = regions[k].front(), &chosen = regions[k][numbers[k]];
    if (first.gain) gains.erase(*first.gain);
    if (chosen.gain) gains.insert(*chosen.gain);
    if (chosen.alternative) result.alternatives.push_back(*chosen.alternative);
  }
  result.gains.assign(gains.begin(), gains.end());
  return result;
}

}  // namespace isomer::search
