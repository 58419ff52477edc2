#include "verify/check/check_json.h"

#include <cmath>

namespace isomer {

using nlohmann::json;

json equivalence_json(const Equivalence& result) {
  const auto number = [](double x) { return std::isfinite(x) ? json(x) : json(nullptr); };
  json outputs = json::array();
  for (const OutputCoverage& output : result.outputs)
    outputs.push_back({{"name", output.name},
                       {"elements", output.elements},
                       {"set_aside", output.set_aside},
                       {"not_finite", output.not_finite}});
  return {{"runs", result.runs},
          {"movements", result.movements},
          {"elements", result.elements()},
          {"set_aside", result.set_aside()},
          {"outputs", std::move(outputs)},
          {"max_abs_error", number(result.max_abs_error)},
          {"max_error_over_bound", number(result.max_error_over_bound)},
          {"passed", result.passed()}};
}

json check_json(const CheckReport& report) {
  json result = equivalence_json(report.equivalence);
  json sizes = json::array();
  for (const auto& bound : report.sizes) sizes.push_back(bound);
  json cut_out = json::array();
  for (const UncheckedNode& node : report.cut_out) cut_out.push_back({{"node", node.node}, {"reason", node.reason}});
  result.update({{"sizes", std::move(sizes)},
                 {"not_checked", std::move(cut_out)},
                 {"runs_wanted", report.runs_wanted},
                 {"out_of_time", report.out_of_time},
                 {"left_out", report.left_out},
                 {"nodes_unchecked", report.nodes_unchecked}});
  return result;
}

}  // namespace isomer
