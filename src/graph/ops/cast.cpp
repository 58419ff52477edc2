#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> cast() { return {}; }

}  // namespace isomer::ops
