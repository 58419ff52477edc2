// Whether what an operator of a user reads lies within what it reads from.
#pragma once

#include "graph/op_context.h"

namespace isomer {

/// Each index that iterators alone decide is proved, by interval arithmetic and the conditions of the selects around
/// it, to be in range: code does not check it. Those that data decide are checked where they are read. Sizes that are
/// not known yet are not looked at.
Result<void> check_places(const te::Program& program, const OpContext& context);

}  // namespace isomer
