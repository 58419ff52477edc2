// The schedule primitives (DESIGN.md 7; TVM's TensorIR: Feng et al. 2023, section 3.2). Each checks that it applies and
// says why it does not; the kernel is then in an unspecified state (Schedule works on a copy). None changes what the
// kernel computes, but for the order in which a reduction combines. New loops take the next free variables, in the
// order in which the result lists them.
#pragma once

#include <fmt/format.h>

#include "kernel/loop_nest.h"
#include "kernel/trace.h"
#include "util/result.h"

namespace isomer::kernel::primitives {

/// As errors name it.
inline std::string text(LoopId loop) { return fmt::format("k{}", loop.variable); }

// Loops (primitives_loops.cpp)

/// Replaces a loop by a nest of these extents, outermost first; one factor may be -1: as large as needed. Where the
/// product is more than the extent the blocks below get a predicate. Of a loop whose extent data decide the first
/// factor is -1.
Result<LoopIds> split(Kernel& kernel, LoopId loop, const Integers& factors);
/// One loop for a nest of loops, each the only statement of the one before. Data may decide the extent of the first.
Result<LoopId> fuse(Kernel& kernel, const LoopIds& loops);
/// Puts these loops of one nest into this order; they share the places that they had. Ordered ones may be among them,
/// in the order that they had, around a map whose steps read of what they write only what lies at their own place: each
/// place may take all of its steps before another one does.
Result<void> reorder(Kernel& kernel, const LoopIds& loops);
/// The loop is outermost or stands in an ordered one that is, and what its iterations write does not overlap.
Result<void> parallel(Kernel& kernel, LoopId loop);
/// The loop has a constant extent and no loop below it is parallel or vectorized; no reduction runs over it. But the
/// only loop in it may be one over the lanes of a map, if both are as long: 4, 8 or 16; what lies along the loop in
/// memory is then transposed in registers.
Result<void> vectorize(Kernel& kernel, LoopId loop);
Result<void> unroll(Kernel& kernel, LoopId loop);
/// The iterations become blocks of threads ("block.x", "block.y", "block.z": outermost loops, one for each axis) or
/// threads ("thread.x", …). Several loops may be bound to one axis of threads: also one inside of another, where the
/// threads share what each of them would compute for itself otherwise. No reduction runs over it, but one between the
/// lanes of a warp. What a launch must be beyond that, launch.h says.
Result<void> bind(Kernel& kernel, LoopId loop, const std::string& axis);
/// The "first" or "last" iteration stands apart, before or behind the loop, with blocks (and buffers of its own, where
/// only the loop uses them): predicates that only it needs are gone from the others.
Result<void> peel(Kernel& kernel, LoopId loop, const std::string& iteration);
/// Two loops, the second of them (the result) from iteration `at` on, as with `peel`; selects that always choose the
/// same in one of them are gone there.
Result<LoopId> partition(Kernel& kernel, LoopId loop, int64_t at);
/// Replaces a loop whose extent data decide by two for each of the sizes, which become smaller: one over tiles and one
/// inside of a tile, for as many iterations as those before have left. Of the last size the last tile begins where it
/// ends with the loop, and computes anew what others have computed (Halide's ShiftInwards); if all iterations together
/// are fewer they are those of a last loop (in one that runs once then). The loop is over axes and around one block,
/// which reads nothing that it writes.
Result<LoopIds> shift_inwards(Kernel& kernel, LoopId loop, const Integers& sizes);
Result<void> annotate(Kernel& kernel, LoopId loop, const std::string& key, int64_t value);

// Blocks into others (primitives_inline.cpp)

/// What reads the block's buffer computes the element itself. The block is a map over the whole buffer, which is no
/// output.
Result<void> compute_inline(Kernel& kernel, const std::string& block);
/// The block, a map that reads each element of a buffer once, is applied by the map that writes that buffer; where it
/// only moves the elements, by a reduction as well, or by the steps of a scan, which then read them back from there.
Result<void> reverse_compute_inline(Kernel& kernel, const std::string& block);

/// What a map makes of nothing but a byte (the sigmoid of a quantized number, quantized again) is read from a table of
/// 256 elements, which a block of its own makes: that part of the map with the most arithmetic, which has some.
/// (primitives_tables.cpp)
Result<std::string> tabulate(Kernel& kernel, const std::string& block);

// Blocks to other places (primitives_move.cpp)

/// Moves a block under a loop whose body holds all that reads its buffer: it computes there what the body needs.
Result<void> compute_at(Kernel& kernel, const std::string& block, LoopId loop);
/// Moves a map under a loop whose body writes what the map reads: it handles there what the body has finished, which is
/// all.
Result<void> reverse_compute_at(Kernel& kernel, const std::string& block, LoopId loop);
/// Loop fusion (Wolfe 1989): the body of `second` follows that of `first` in one loop, which stands where `second` did.
/// The two stand in one body, have one extent, and an iteration reads of what the other loop writes no more than its
/// own iteration has finished.
Result<void> join(Kernel& kernel, LoopId first, LoopId second);

// Buffers (primitives_cache.cpp)

/// A copy of what `block` reads of `buffer` (element `number` of those that it reads at a point, 0 for the first), in a
/// buffer and by a block of its own that takes its place as source. Where the read stands under a select that only
/// bounds its index (padding), the copy holds what the select gives.
Result<std::string> cache_read(Kernel& kernel, const std::string& block, const std::string& buffer, int64_t number);
/// The same, but the copy is indexed by the block's own iterators, those that the read depends on (axes, then those of
/// the reduction): what windows that overlap share is there once for each. The block computes at every point of its
/// iterators.
Result<std::string> reindex(Kernel& kernel, const std::string& block, const std::string& buffer, int64_t number);
/// The block writes a new buffer, from which a new block copies to the old one. Maps in earlier nests that write the
/// buffer at its own points (a sum over what may be nothing begins so) write the new one, too; only later nests read
/// the old one.
Result<std::string> cache_write(Kernel& kernel, const std::string& block);
/// "cache" or "registers": memory of the thread, of the size that one iteration of the loops around all uses needs.
/// "shared": of a block of threads, of the size that one iteration of the loops around needs that are no threads;
/// before its writer moves to its place.
Result<void> set_scope(Kernel& kernel, const std::string& buffer, const std::string& scope);

/// So many elements without use stand between rows of the last dim of a buffer that is shared.
Result<void> storage_align(Kernel& kernel, const std::string& buffer, int64_t gap);
/// Pieces of rows of a shared buffer, of 16 bytes, lie in other places of their row from row to row
/// (Buffer::is_swizzled).
Result<void> swizzle(Kernel& kernel, const std::string& buffer);

// Layouts (primitives_layout.cpp)

/// Changes the order of a buffer's elements in memory; physical axes are separated by ':', each "k" (axis k), "k/b"
/// (its blocks of b) or "k%b" (within its block): "0:1/8:2:3:1%8" is NCHW8c. A last block that is not full has elements
/// that nothing writes. The buffer is no input or output.
Result<void> transform_layout(Kernel& kernel, const std::string& buffer, const std::string& layout);
/// The same for an input or output: whoever calls the kernel must lay it out so.
Result<void> set_layout(Kernel& kernel, const std::string& buffer, const std::string& layout);

/// A buffer of a narrow real type ("float16"), which is no input or output, and read only where its elements are cast
/// to the wider type that is named, holds them as these: they are rounded as before, and converted once.
Result<void> widen(Kernel& kernel, const std::string& buffer, const std::string& type);
/// The block computes whole tiles along an axis: where loops run beyond it the block reads elements at its end instead,
/// and its buffer, which it alone writes and is no input or output, has room for what nothing uses. No predicate over
/// the axis is left.
Result<void> pad(Kernel& kernel, const std::string& block, int64_t axis);
/// An axis of a block, all dims of buffers that it runs over, and all iterators of other blocks that do, become two
/// each: quotients and remainders by `factor`. The channels of groups are dims then: [1, 128, 56, 56] becomes
/// [1, 32, 4, 56, 56]. Before all that makes loops other than `lower` does.
Result<void> split_dims(Kernel& kernel, const std::string& block, int64_t axis, int64_t factor);
/// An axis of a block alone in loops of its own becomes two, quotients and remainders by a factor of which its extent
/// is a multiple whatever the sizes are: phases of a transposed convolution. Buffers stay as they are.
Result<void> split_axis(Kernel& kernel, const std::string& block, int64_t axis, int64_t factor);
/// Neighbouring dims of buffers over which neighbouring iterators of blocks run, everywhere, become one dim and one
/// iterator: [1, 64, 56, 56] may become [1, 64, 3136]. Reductions over one step go (but for a last one). Before all
/// that makes loops other than `lower` does.
Result<void> collapse(Kernel& kernel);
/// The same, where `copy`, a map that writes its own point, may find what it reads by quotients and remainders: the
/// places of a window become one dim of what `reindex` made, its steps another (implicit GEMM: Chetlur et al. 2014).
/// Iterator `apart` of a reduction that reads the copy stays one of its own (channels, say); -1: none.
Result<void> flatten(Kernel& kernel, const std::string& copy, int64_t apart);

// Paddings (primitives_padding.cpp)

/// The select of a padding becomes two: that of the given dims of the buffer inside, that of the others around it.
Result<void> split_padding(Kernel& kernel, const std::string& block, const std::string& buffer, const Integers& dims);
/// Where a padding's select gives what changes nothing, or a zero that is multiplied, its condition becomes the block's
/// predicate. What zeros are multiplied with is finite (padding.h). The reduction's initialization stands elsewhere.
Result<void> skip_padding(Kernel& kernel, const std::string& block);
/// The same for a copy that holds the padding: tiles (the unrolled and vectorized loops around the block) that read
/// nothing else are skipped.
Result<void> skip_border(Kernel& kernel, const std::string& block, const std::string& buffer);

// Reductions (primitives_reduction.cpp)

/// The initialization becomes a block of its own in front of the loop. No loop above runs over the reduction; where one
/// runs over axes too, no other block writes the result.
Result<std::string> decompose_reduction(Kernel& kernel, const std::string& block, LoopId loop);
/// What the reduction gives in one iteration of the loop, a tile of constant extents, is combined in registers: in
/// front of the reduction they are initialized, behind it a block, the result, stores them. All of the reduction runs
/// inside of the loop.
Result<std::string> keep_in_registers(Kernel& kernel, const std::string& block, LoopId loop);
/// A reduction's last loop runs over so many lanes at a time, which hold partial results in registers (by a block, the
/// result); those of sums of reals are sums of blocks. What fills no lanes is for the first ones of them. Then they are
/// combined. The monoid is commutative.
Result<std::string> reduce_in_lanes(Kernel& kernel, const std::string& block, LoopId loop, int64_t lanes);
/// The reduction over the loop happens last, in a block of its own behind the reduction's outermost loop, over partial
/// results that the loop's iterations compute independently, in buffers with one more axis. The monoid is commutative.
Result<std::string> rfactor(Kernel& kernel, const std::string& block, LoopId loop);
/// A loop over the reduction in `parts` that do not depend on each other: partial results of each, which the block
/// combines (rfactor). The loop over the parts is outermost, so that threads can share a reduction with few results.
Result<std::string> split_k(Kernel& kernel, const std::string& block, LoopId loop, int64_t parts);

/// A sum's buffer, which is no input or output, holds numbers of a wider real type ("float32" for halves), in which the
/// products of the body are taken and added; what reads it rounds once. The sum has its initialization; beside it only
/// maps may write the buffer, whose numbers are converted.
Result<void> accumulate_in(Kernel& kernel, const std::string& block, const std::string& type);

/// A sum of products of bytes, each less an offset (as quantized numbers are less their zero points), becomes one over
/// words of `count` of them that lie along an iterator of the reduction: of 4 bytes, or of 2 differences in 16 bits
/// (words.h). The words are copies, by blocks of their own; where offsets of bytes are left,
/// sum (p - y)(q - z) = sum p q - y sum q - z sum p + steps y z, by blocks for those sums and a map. Integers wrap, so
/// that this holds whatever their values are. (primitives_words.cpp)
Result<void> multiply_words(Kernel& kernel, const std::string& block, int64_t iterator, int64_t count);

// Micro-tiles and micro-kernels (primitives_tensorize.cpp)

/// The loop and those in it, around one reduction alone, become a tile of registers: "avx2.6x2x8" writes out loops of 6
/// and 2 iterations and makes lanes of the last 8. Their extents are the tile's, which fits the registers of its
/// instruction set. "mma.m16n8k16": tensor cores do (mma.h). Or one of the kernel's micro-kernels, by its name,
/// computes them: they are what it is described to compute, and no later primitive makes something else of them.
Result<void> tensorize(Kernel& kernel, LoopId loop, const std::string& tile);

}  // namespace isomer::kernel::primitives
