// Einsum: numpy's subscripts, with ellipses, repeated labels and an implied output, as one sum of products.
#pragma once

#include <vector>

#include "graph/op_context.h"

namespace isomer::ops {

Result<std::vector<ValueType>> infer_einsum(const OpContext& context);
Result<te::Program> compute_einsum(const OpContext& context);

}  // namespace isomer::ops
