#include "driver/search_json.h"

#include <nlohmann/json.hpp>

namespace isomer {

using nlohmann::json;

namespace {

json race_json(const search::Raced& raced) {
  return {{"before_us", raced.first}, {"after_us", raced.second}, {"ratio", raced.ratio},
          {"low", raced.low},         {"high", raced.high},       {"rounds", raced.rounds}};
}

json judged_json(const search::Judged& judged) {
  json regions = json::array();
  for (const search::Judged::Region& region : judged.regions)
    regions.push_back({{"programs", region.programs},
                       {"wanted", region.wanted.program},
                       {"saved_us", region.wanted.saved},
                       {"taken", region.is_taken}});
  json result = {{"regions", regions}};
  if (!judged.why_not_taken.empty()) result["why_not_taken"] = judged.why_not_taken;
  if (judged.raced) result["race"] = race_json(*judged.raced);
  return result;
}

}  // namespace

json search_json(const search::OptimizedModel& made) {
  json result = {{"outcome", name(made.outcome)}, {"left_out", made.left_out}};
  if (!made.why_not_searched.empty()) result["why"] = made.why_not_searched;
  if (made.found) {
    const search::SearchStatistics& statistics = made.found->statistics;
    json gains = json::array();
    for (const search::Gain& gain : made.found->gains)
      gains.push_back({{"saved_us", gain.saved}, {"steps", gain.steps.size()}});
    json singles = json::array();
    for (const search::SingleStep& single : made.found->singles)
      singles.push_back(
          {{"rule", single.rule}, {"where", single.where}, {"places", single.places}, {"saved_us", single.saved}});
    json regions = json::array();
    for (const search::SearchedRegion& region : made.found->searched)
      regions.push_back({{"where", region.where},
                         {"applications", region.applications},
                         {"places", region.places},
                         {"cost_us", region.cost},
                         {"saved_us", region.saved},
                         {"rules", region.rules},
                         {"taken", region.is_taken},
                         {"why_not", region.why_not.empty() ? json() : json(region.why_not)}});
    result["by_region"] = std::move(regions);
    result["best_single_steps"] = std::move(singles);
    result.update({{"cost_before_us", made.found->cost_before},
                   {"gains", gains},
                   {"regions", made.found->regions},
                   {"regions_searched", made.found->regions_searched},
                   {"stop_reason", name(made.found->stop)},
                   {"matches", statistics.matches},
                   {"rewrites", statistics.applied},
                   {"refused", statistics.refused},
                   {"seen_before", statistics.seen},
                   {"costed", statistics.costed},
                   {"measured", statistics.measured},
                   {"expanded", statistics.expanded},
                   {"deepest", statistics.deepest}});
  }
  if (made.judged) result["graphs"] = judged_json(*made.judged);
  if (made.raced) {
    result["race"] = race_json(*made.raced);
    result["race"].update({{"in", made.raced_in}, {"at", made.raced_with}});
  }
  return result;
}

json tasks_json(const search::ChosenTasks& chosen) {
  json alternatives = json::array();
  for (const search::TaskAlternative& each : chosen.alternatives) {
    json told = {{"what", each.what}, {"places", each.places}, {"choose", each.answers}};
    if (each.why_not.empty())
      told.update({{"before_us", each.before}, {"after_us", each.after}, {"taken", each.is_taken}});
    else
      told["why_not"] = each.why_not;
    alternatives.push_back(std::move(told));
  }
  json result = {{"alternatives", alternatives}, {"open", chosen.open}, {"is_other", !chosen.plan.empty()}};
  if (chosen.raced) result["race"] = race_json(*chosen.raced);
  return result;
}

}  // namespace isomer
