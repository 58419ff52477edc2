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

/// Steps of the element that a block writes (of its first buffer), by axis.
std::vector<std::optional<int64_t>> write_strides(const Kernel& kernel, const Block& block);

/// Whether an index is axis(0), axis(1)… in a buffer of this shape; dims of 1 have one index anyway.
bool is_point(const std::vector<Expr>& index, const Shape& shape);

/// Row-major offset of an element.
Expr offset_of(const Buffer& buffer, const std::vector<Expr>& index);

/// Iterations of a block; nothing where data decide them.
std::optional<int64_t> points(const Block& block);

/// Arithmetic in an expression, in additions: roots and intrinsics count ten, divisions four.
int count_operations(const Expr& expr);

}  // namespace isomer::kernel
