#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> control_flow() { return {}; }

}  // namespace isomer::ops
