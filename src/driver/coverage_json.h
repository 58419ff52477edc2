// What a check exercised of an artifact, for JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "search/code/coverage.h"

namespace isomer {

/// ran and all of steps, bodies, stages, kernels and of primitives by name; missed.
nlohmann::json coverage_json(const search::Coverage& coverage);

}  // namespace isomer
