// Artifacts on the arrays of the interpreter, for checks and the command line.
#pragma once

#include <span>
#include <vector>

#include "graph/te/array.h"
#include "runtime/session.h"

namespace isomer::search {

/// Inputs are rounded to their element types first.
Result<std::vector<te::Array>> run_artifact(runtime::Session& session, std::span<const te::Array> inputs);

}  // namespace isomer::search
