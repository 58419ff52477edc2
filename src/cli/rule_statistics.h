// What rules are: how many, of which classes, from how many laws.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"

namespace isomer::cli {

/// Of the files, or of the rules that come with the program where there are none; as JSON where that is asked for.
Result<void> print_rule_statistics(const std::vector<std::string>& files, const CommonOptions& options);

}  // namespace isomer::cli
