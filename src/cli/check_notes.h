// What a check could not compare, said where users see it.
#pragma once

#include "cli/options.h"
#include "verify/check/equivalence.h"

namespace isomer::cli {

void warn_of_what_was_set_aside(const CommonOptions& options, const Equivalence& result);

}  // namespace isomer::cli
