// How a block's loads move through memory as its iterators advance: what schedules are chosen by.
#pragma once

#include <optional>
#include <vector>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// One load of a block. A stride is in elements of the buffer for a step of the iterator by one; nothing where it is no
/// constant.
struct LoadAccess {
  Expr load;
  int buffer = -1;
  std::vector<std::optional<int64_t>> axes;
  std::vector<std::optional<int64_t>> reduce;
};

/// The loads in the bodies of a block, each once, in order; those inside other loads' indices too.
std::vector<LoadAccess> load_accesses(const Kernel& kernel, const Block& block);
/// The same, with the stride along `axis` between neighbours in one of the blocks of `width` that the axis is cut into.
std::vector<LoadAccess> load_accesses(const Kernel& kernel, const Block& block, int axis, int64_t width);

/// Vectors side by side that lanes are shuffled out of, at most.
inline constexpr int64_t kMostShuffled = 4;

/// Where the elements lie that `lanes` neighbours along an axis load, from the first one's, the same for each vector of
/// so many (channels of groups: 0, 0, 0, 0, 4, 4, 4, 4, …); nothing where that depends on anything else.
std::optional<std::vector<int64_t>> lane_offsets(const Kernel& kernel, const Block& block, const LoadAccess& access,
                                                 int axis, int64_t lanes);

/// The stride along an axis between points `period` apart: 1 or, where strides alternate (phases of transposed
/// convolutions), as much as they take to repeat.
std::optional<int64_t> stride_at_period(const Kernel& kernel, const Block& block, const LoadAccess& access, int axis,
                                        int64_t period);

/// The least period up to 4, or the one up to 16 after which indices repeat, at which the stride is constant, and that
/// stride; nothing at period 1 where there is none.
std::pair<int64_t, std::optional<int64_t>> regular_stride(const Kernel& kernel, const Block& block,
                                                          const LoadAccess& access, int axis);

/// Steps of the element that a block writes (of its first buffer), by axis.
std::vector<std::optional<int64_t>> write_strides(const Kernel& kernel, const Block& block);

/// After so many steps of an iterator, what a block's loads read has moved by constants: the least common multiple of
/// what quotients and remainders in their indices repeat after. 0: nothing is known, or it takes long.
int64_t period(const Block& block, const Expr& iterator);

/// Whether an index is axis(0), axis(1)… in a buffer of this shape; dims of 1 have one index anyway.
bool is_point(const std::vector<Expr>& index, const Shape& shape);

/// Row-major offset of an element.
Expr offset_of(const Buffer& buffer, const std::vector<Expr>& index);

/// Iterations of a block; nothing where data decide them.
std::optional<int64_t> points(const Block& block);

/// Arithmetic in an expression, in additions: roots and intrinsics count ten, divisions four.
int count_operations(const Expr& expr);

}  // namespace isomer::kernel
