#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> product() { return {}; }

}  // namespace isomer::ops
