// The rules of artifact.h: after them a session needs to check no index, offset or size again.
#pragma once

#include "runtime/artifact.h"
#include "util/result.h"

namespace isomer::runtime {

/// One sentence on the first rule that is broken. Code itself can't be judged: only where its functions start.
Result<void> check_artifact(const Artifact& artifact);

/// The value's own place, or that of the value that it is a view of.
const Value& base_of(const Variant& variant, const Value& value);

}  // namespace isomer::runtime
