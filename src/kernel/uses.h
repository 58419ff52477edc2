// What the blocks of a launch (launch.h) use of memory, that which several threads see and that of a thread's own, and
// whether one thread alone uses it.
#pragma once

#include <string>
#include <vector>

#include "kernel/launch.h"

namespace isomer::kernel {

/// An access of a block to a buffer.
struct Use {
  std::string block;
  int buffer = -1;
  std::vector<Expr> index;  ///< over loop variables
  std::vector<const Loop*> loops;
  bool is_write = false;
  bool is_of_lanes = false;  ///< what is written the lanes of a warp bring together (launch.h)
};

/// Of all blocks below to arguments of the kernel and shared buffers; the statement outlives it.
std::vector<Use> uses_of(const Kernel& kernel, const Statement& statement);
/// To buffers that are a thread's own.
std::vector<Use> private_uses_of(const Kernel& kernel, const Statement& statement);

/// Whether an element of both uses, of one buffer, is used in one block of threads along the loop's axis, not in one by
/// the first and in another by the second.
bool is_of_one_block(const Use& a, const Use& b, const Loop& grid);
/// Whether both use no element in common within an iteration of this loop, in whatever iterations of the others.
bool are_apart(const Use& a, const Use& b, const Loop& turns);
/// Whether, within a block of threads, the thread that uses an element in the first use is the one that does in the
/// second.
bool is_of_one_thread(const Use& a, const Use& b, const Launch& launch);

}  // namespace isomer::kernel
