#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> convolution() { return {}; }

}  // namespace isomer::ops
