// A task's meaning as loops: what every schedule starts from.
#pragma once

#include "kernel/loop_nest.h"
#include "util/result.h"

namespace isomer::kernel {

struct TaskType {
  DataType dtype;
  Shape shape;
};

/// What sizes are called that lie in an input: one an element, "" for those that nobody asks for.
using SizeNames = std::vector<std::string>;

/// One root loop nest for each stage (or each inner stage of a scan), in the order of the program; nothing is fused,
/// inlined or parallel. Block and buffer of stage k are called "sk" ("sk.c" the buffer of component c > 0, "sk.inner2"
/// an inner stage of a scan). `inputs` has an undefined dtype for absent ones. Behind them the kernel has an input for
/// each of `sizes`, int64: where program and shapes have a symbol of these names, data decide what lies there. Errors:
/// a symbol that is not bound.
Result<Kernel> lower(const te::Program& program, const std::vector<TaskType>& inputs,
                     const std::vector<SizeNames>& sizes = {});

}  // namespace isomer::kernel
