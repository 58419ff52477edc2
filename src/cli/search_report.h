// What a search came to, for people and for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "search/optimize_model.h"

namespace isomer::cli {

/// Lines, in this order: time before and after and how surely, or why there is none; what paid, or why nothing did;
/// what was left out. `steps`: as they were taken, with their gains.
std::vector<std::string> search_lines(const OptimizedModel& made);

/// "search" of a report (CLI.md).
nlohmann::json search_json(const OptimizedModel& made);

}  // namespace isomer::cli
