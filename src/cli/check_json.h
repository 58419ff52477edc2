// What a comparison of two models found, for JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "verify/check/check.h"

namespace isomer::cli {

/// runs, movements, elements, set_aside, by output too; max_abs_error, max_error_over_bound, passed.
nlohmann::json equivalence_json(const Equivalence& result);
/// The same, what was bound, and what was left out.
nlohmann::json check_json(const CheckReport& report);
/// On standard error, unless --quiet.
void warn_of_what_was_set_aside(const CommonOptions& options, const Equivalence& result);

}  // namespace isomer::cli
