#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> selection() { return {}; }

}  // namespace isomer::ops
