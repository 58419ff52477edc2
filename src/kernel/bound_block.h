// A block as code generators see it: its iterators replaced by what they are bound to, its accesses planned.
#pragma once

#include "kernel/access_plan.h"

namespace isomer::kernel {

struct BoundBlock {
  Expr predicate;              ///< may be empty
  bool writes_beyond = false;  ///< where it does not hold nobody's elements may be written
  Expr is_first;               ///< all reduce iterators are 0, and the block initializes
  std::vector<Expr> bodies;
  std::vector<AccessPlan> writes;
};

/// The loops around the block have been entered in `ranges`, over which `plans` were made.
BoundBlock bind(const Kernel& kernel, const Block& block, const LoopRanges& ranges, const AccessPlans& plans);

}  // namespace isomer::kernel
