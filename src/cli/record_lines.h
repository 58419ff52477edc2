// Tuning records as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <vector>

#include "kernel/records.h"

namespace isomer::cli {

nlohmann::json to_json(const kernel::Record& record);

/// The records of a text that has one a line, as `to_json` writes them. Errors name the line.
Result<std::vector<kernel::Record>> parse_record_lines(std::string_view text);

}  // namespace isomer::cli
