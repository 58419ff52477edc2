// What a search, and measuring tasks, came to, for people.
#pragma once

#include <string>
#include <vector>

#include "search/cost/choose_tasks.h"
#include "search/optimize_model.h"

namespace isomer::cli {

/// "12.3 us", "4.56 ms", "7.89 s"
std::string time_text(double microseconds);

/// Lines, in this order: time before and after and how surely, or why there is none; what paid, or why nothing did;
/// what was left out. `steps`: as they were taken, with their gains.
std::vector<std::string> search_lines(const search::OptimizedModel& made);

/// One on other ways to cut a model into tasks, and one for each that was taken.
std::vector<std::string> task_lines(const search::ChosenTasks& chosen);

}  // namespace isomer::cli
