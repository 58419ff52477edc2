// Outcomes of checks as reports have them.
#pragma once

#include <nlohmann/json.hpp>

#include "verify/check/check.h"

namespace isomer {

nlohmann::json equivalence_json(const Equivalence& result);
nlohmann::json check_json(const CheckReport& report);

}  // namespace isomer
