// What modules do to loops, whatever the block is.
#pragma once

#include <string>
#include <vector>

#include "kernel/space/builder.h"

namespace isomer::kernel {

/// Loops of a map in the order in which its output lies in memory, as far as that is known.
LoopIds in_memory_order(Builder& builder, const std::string& name);
/// Splits a loop of the block so that vectors of it are left: whole ones where a width divides it or there are many,
/// with a last one apart.
void vectorize(Builder& builder, LoopId loop, const std::string& name);
/// One parallel loop over these outermost ones of a block, where there is enough to do (operations of elements).
void parallelize(Builder& builder, const std::string& name, const LoopIds& outer, int64_t work);
/// All unrolled but the last, which becomes lanes; whether that did.
bool write_out(Builder& builder, const LoopIds& loops);
/// The blocks that were not there before.
std::vector<std::string> made_since(const Builder& builder, const std::vector<std::string>& before);

}  // namespace isomer::kernel
