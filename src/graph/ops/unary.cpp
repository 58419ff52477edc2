#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> unary() { return {}; }

}  // namespace isomer::ops
