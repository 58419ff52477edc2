// Operands of products of matrices on a GPU: which axes make a product of a sum, and the copies of operands in the
// memory of a block of threads, how they lie there and who fetches them.
#pragma once

#include "kernel/space/builder.h"
#include "kernel/space/gpu_product_plan.h"

namespace isomer::kernel {

/// Along an axis that only one operand has.
inline constexpr int64_t kMostImages = 8;

inline bool moves(const std::optional<int64_t>& stride) { return stride != 0; }

/// Floats are rounded where that is granted.
inline bool allows(const Machine& machine, const MmaShape& mma) { return &mma != &kMmaOfFloats || machine.tf32; }

/// Axes along which one operand each stays where it is; columns lie as the output does.
std::optional<ProductPlan> axes_of(const View& view, const Block& block);

/// Moves what it reads: element by element, with a padding perhaps.
bool is_copy(const Block& block);

/// The block that copies the operand into the memory of a block of threads: the one that makes it, where it only moves
/// elements and nobody else reads them, or a new one. Not the block `packed`, which makes it beforehand.
Result<std::string> copy_of(Builder& builder, const std::string& sums, int operand, const std::string& packed);

/// What a sum reads of the copy along an iterator lies side by side.
bool lay_last(Builder& builder, const std::string& sums, const std::string& copy, const Expr& iterator);

/// Lets the block read of a copy, made beforehand, in which what an iterator runs over lies side by side: the copy's
/// name; empty: it can't be.
std::string read_laid_last(Builder& builder, const std::string& name, const LoadAccess& access, const Expr& iterator);

/// The rows of an operand that a warp reads at once (mma.h) follow each other in the copy: of `of_thread` rows the
/// first ones of all threads, then the second ones. Of columns it reads two of each thread.
bool lay_for_warps(Builder& builder, const std::string& sums, const std::string& copy, const Expr& iterator,
                   int64_t of_thread, bool is_across);

/// Threads fetch together what the block copies at the loop. Neighbours take what lies side by side in the source or,
/// where that is unknown (windows), places rather than steps.
bool fetch_together(Builder& builder, const std::string& copy, LoopId at, const ProductPlan& plan);

}  // namespace isomer::kernel
