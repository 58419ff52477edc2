#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> normalization() { return {}; }

}  // namespace isomer::ops
