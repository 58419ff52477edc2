// The schedule that a task gets without any measurement: chosen by how its loads move, the machine's vectors, registers
// and threads. What it looks at are tensor expressions; it knows no operators (DESIGN.md 7).
#pragma once

#include <set>

#include "kernel/micro_tile.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

struct Machine {
  VectorUnit vectors = kAvx2;
  int threads = 1;
  // False, to measure what they give:
  bool packing = true;      ///< operands are copied into the order in which tiles read them
  bool micro_tiles = true;  ///< results of reductions are held in registers, tiles of them

  int lanes(DataType dtype) const;
};

/// A valid schedule for any kernel that `lower` gives, of which only layouts of inputs and outputs may have been set.
/// `constants` are the task's inputs that are known at compile time: what depends on them alone is computed once, so
/// they may be brought into any layout.
Schedule default_schedule(Schedule schedule, const Machine& machine, const std::set<int>& constants = {});

}  // namespace isomer::kernel
