// Operators of users (include/isomer/operator.h) as rows.
#pragma once

#include <memory>
#include <vector>

#include "graph/op_def.h"
#include "isomer/operator.h"

namespace isomer {

/// nullptr where there are none. Errors: a schema that says nothing, or an operator that there is already.
Result<std::shared_ptr<const OpTable>> operators_of(const std::vector<Operator>& operators);

}  // namespace isomer
