// What other modules have scheduled by that of maps: copies that they make, parts.
#pragma once

#include <string>

#include "kernel/space/builder.h"

namespace isomer::kernel {

void schedule_map(Builder& builder, const std::string& name);

// Ways to schedule one; false: none was found, the schedule is as it was.

/// A map that joins others (concatenations) becomes one for each.
bool partition_map(Builder& builder, const std::string& name, LoopIds loops, int64_t work);
/// A source that lies contiguous along another axis than the result: tiles that are transposed in registers.
bool transpose_map(Builder& builder, const std::string& name, const LoopIds& loops, int64_t work);
/// The same of a copy in blocks along an axis: a packed operand.
bool pack_map(Builder& builder, const std::string& name, int64_t work);
/// Blocks of such a map are moved at a time, each line of cache is read once; the loops are these then.
void block_transposition(Builder& builder, const std::string& name, LoopIds& loops);

}  // namespace isomer::kernel
