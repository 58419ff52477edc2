// What modules do to loops, whatever the block is.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernel/space/builder.h"

namespace isomer::kernel {

/// The axis of the block that the loop moves, step by step, from wherever it begins; nothing where there is none.
std::optional<size_t> axis_along(const Block& block, LoopId loop);
/// Loops of a map in the order in which its output lies in memory, as far as that is known.
LoopIds in_memory_order(Builder& builder, const std::string& name);
/// The last of the loops that run through memory as one does, in what the map writes and in all that it reads, become
/// one: elements of a part of a concatenation.
void fuse_run(Builder& builder, const std::string& name, LoopIds& loops);
/// Splits a loop of the block so that vectors of it are left: whole ones where a width divides it or there are many,
/// with a last one apart.
void vectorize(Builder& builder, LoopId loop, const std::string& name);
/// Steps of a map that read only what stands at their own place (running sums, the states of a state-space model): a
/// run of places, or some that lie apart, take all of their steps before the next do. `loops`: those inside of the one
/// over steps. Whether they do. (steps.cpp)
bool take_all_steps(Builder& builder, const std::string& name, const LoopIds& loops);
/// One parallel loop over these outermost ones of a block, where there is enough to do (operations of elements).
void parallelize(Builder& builder, const std::string& name, const LoopIds& outer, int64_t work);
/// All unrolled but the last, which becomes lanes; whether that did.
bool write_out(Builder& builder, const LoopIds& loops);
/// The blocks that were not there before.
std::vector<std::string> made_since(const Builder& builder, const std::vector<std::string>& before);

}  // namespace isomer::kernel
