#include "cli/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/options.h"
#include "util/stable_sort.h"

namespace isomer::cli {

std::string time_text(double microseconds) {
  if (microseconds < 1e3) return fmt::format("{:.1f} us", microseconds);
  return microseconds < 1e6 ? fmt::format("{:.2f} ms", microseconds / 1e3)
                            : fmt::format("{:.2f} s", microseconds / 1e6);
}

namespace {

constexpr size_t kMostRules = 5;

std::string race_line(const search::OptimizedModel& made) {
  if (!made.raced && !made.why_not_raced.empty()) return "time: not measured: " + made.why_not_raced;
  std::string sizes;
  for (const auto& [dim, size] : made.raced_with)
    sizes += fmt::format("{}{}={}", sizes.empty() ? " at " : ", ", printable(dim), size);
  if (!made.raced)
    return fmt::format("time: {} in {}{}, as before", time_text(made.run_microseconds), made.raced_in, sizes);
  const search::Raced& raced = *made.raced;
  return fmt::format(
      "time: {} -> {} in {}{}, {:.3f} times as fast ({}; half of {} rounds in turns between {:.3f} and {:.3f})",
      time_text(raced.first), time_text(raced.second), made.raced_in, sizes, raced.ratio,
      raced.is_told_apart() ? "beyond noise" : "within noise", raced.rounds, raced.low, raced.high);
}

struct RuleGain {
  std::string rule;
  int steps = 0;
  double saved = 0;
};

std::vector<RuleGain> rules_that_paid(const search::OptimizedModel& made) {
  std::map<std::string, RuleGain> by_rule;
  for (size_t k = 0; k < made.derived.steps.size(); ++k) {
    if (made.gains[k] == 0) continue;  // it only prepares others
    RuleGain& of_rule = by_rule[made.derived.steps[k].rule];
    of_rule.rule = made.derived.steps[k].rule;
    ++of_rule.steps;
    of_rule.saved += made.gains[k];
  }
  std::vector<RuleGain> result;
  for (auto& [rule, gain] : by_rule) result.push_back(std::move(gain));
  stable_sort(result, [](const RuleGain& a, const RuleGain& b) { return a.saved > b.saved; });
  return result;
}

std::string search_line(const search::OptimizedModel& made) {
  if (!made.found) return "search: not searched: " + made.why_not_searched;
  const search::SearchStatistics& statistics = made.found->statistics;
  return fmt::format("search: {}; {} regions, {} rewrites costed, {} measured; {}", name(made.outcome),
                     made.found->regions_searched, statistics.costed, statistics.measured, name(made.found->stop));
}

/// Where nothing was taken: the regions whose best rewrites promised most, and why they were refused.
void add_refused(const search::SearchedProgram& found, std::vector<std::string>& lines) {
  constexpr size_t kMost = 3;
  std::vector<const search::SearchedRegion*> refused;
  for (const search::SearchedRegion& region : found.searched)
    if (!region.why_not.empty() && region.saved > 0) refused.push_back(&region);
  stable_sort(refused, [](const search::SearchedRegion* a, const search::SearchedRegion* b) {
    return a->saved * a->places > b->saved * b->places;
  });
  if (refused.size() > kMost) refused.resize(kMost);
  for (const search::SearchedRegion* region : refused)
    lines.push_back(fmt::format("  at {}{}: {} would save {}: {}", printable(region->where),
                                region->places > 1 ? fmt::format(" and {} equal places", region->places - 1) : "",
                                printable(region->rules.front()), time_text(region->saved), region->why_not));
}

void add_judged(const search::Judged& judged, std::vector<std::string>& lines) {
  size_t others = 0;
  int wanted = 0, taken = 0;
  for (const search::Judged::Region& region : judged.regions) {
    others += region.programs.size() - 1;
    wanted += region.wanted.program > 0 ? 1 : 0;
    taken += region.is_taken ? 1 : 0;
  }
  std::string line =
      fmt::format("graphs: {} other programs of {} regions tuned with the first ones, {} faster, {} taken", others,
                  judged.regions.size(), wanted, taken);
  if (taken > 0 && judged.raced) line += fmt::format("; {:.3f} times as fast in turns", judged.raced->ratio);
  if (wanted > taken && !judged.why_not_taken.empty()) line += "; " + judged.why_not_taken;
  lines.push_back(line);
  for (const search::Judged::Region& region : judged.regions)
    if (region.is_taken)
      lines.push_back(fmt::format("  {} in place of {}: {} saved by its tasks",
                                  printable(region.programs[region.wanted.program]), printable(region.programs[0]),
                                  time_text(region.wanted.saved)));
}

}  // namespace

std::vector<std::string> search_lines(const search::OptimizedModel& made) {
  std::vector<std::string> lines = {race_line(made), search_line(made)};
  const std::vector<RuleGain> rules = rules_that_paid(made);
  for (size_t k = 0; k < std::min(rules.size(), kMostRules); ++k)
    lines.push_back(fmt::format("  {} x {}: {} saved, as predicted", rules[k].steps, printable(rules[k].rule),
                                time_text(rules[k].saved)));
  if (rules.size() > kMostRules) lines.push_back(fmt::format("  and {} more rules", rules.size() - kMostRules));
  if (made.outcome != search::SearchOutcome::kFaster && !made.why_not_taken.empty())
    lines.push_back("  " + made.why_not_taken);
  if (made.found && made.outcome != search::SearchOutcome::kFaster) add_refused(*made.found, lines);
  if (made.judged) add_judged(*made.judged, lines);
  for (const std::string& left_out : made.left_out) lines.push_back("left out: " + printable(left_out));
  return lines;
}

std::vector<std::string> task_lines(const search::ChosenTasks& chosen) {
  const auto taken = [&](const search::TaskAlternative& each) { return each.is_taken && !chosen.plan.empty(); };
  std::string line = fmt::format("tasks: {} other ways to cut and to lay them out measured, {} taken",
                                 chosen.alternatives.size(), std::ranges::count_if(chosen.alternatives, taken));
  if (chosen.open > 0) line += fmt::format(", no time for {}", chosen.open);
  if (chosen.raced)
    line += fmt::format("; {:.3f} times as fast in turns (half of {} rounds between {:.3f} and {:.3f})",
                        chosen.raced->ratio, chosen.raced->rounds, chosen.raced->low, chosen.raced->high);
  std::vector<std::string> lines = {line};
  for (const search::TaskAlternative& each : chosen.alternatives)
    if (taken(each))
      lines.push_back(fmt::format("  {} x {}: {} -> {}", each.places, printable(each.what), time_text(each.before),
                                  time_text(each.after)));
  return lines;
}

}  // namespace isomer::cli
