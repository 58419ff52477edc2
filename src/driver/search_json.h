// What searches found and what became of it, as reports have it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "search/cost/choose_tasks.h"
#include "search/optimize_model.h"

namespace isomer {

/// "search" of a report (CLI.md): of the search and the race; "outcome" alone where there was none.
nlohmann::json search_json(const search::OptimizedModel& made);
/// "tasks chosen" of a report: every alternative that was measured.
nlohmann::json tasks_json(const search::ChosenTasks& chosen);

}  // namespace isomer
