// A report of an optimization, of what differs between two models, or of what was measured, as one HTML file that needs
// no network: what changed as drawings, the rules with their statements, times, the check, the search; the JSON inside.
// Test: tests/report/page_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace isomer::report {

/// A rule that steps of the report name.
struct RuleText {
  std::string name, statement, float_class;
};

struct PageInput {
  std::string title;
  const Graph *before = nullptr, *after = nullptr;
  std::vector<RuleText> rules;
};

/// Of `bench`, the runs of one program that stand in the page's JSON; of more, those evenly spaced.
inline constexpr size_t kMostRuns = 4000;

/// `facts`: as `optimize`, `bench`, `tune` and `diff` have them; what is not there is left out.
std::string page(const PageInput& input, const nlohmann::json& facts);

}  // namespace isomer::report
