// One artifact of several: a variant for each set of bindings, over shared weights and kernels.
#pragma once

#include "runtime/artifact.h"

namespace isomer::search {

/// Adds the variants of `other` to `artifact`, with their code and those weights that it does not have yet.
void merge(runtime::Artifact& artifact, runtime::Artifact other);

}  // namespace isomer::search
