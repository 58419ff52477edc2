// Copies of what a block reads, in nests of their own before its: what primitives that make them share.
#pragma once

#include <string>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/tree.h"
#include "util/result.h"

namespace isomer::kernel::primitives {

int add_buffer(Kernel& kernel, const std::string& hint, DataType dtype, Shape shape);

/// Inserts a root statement before (after) the one that `place` stands in; places below are no longer valid.
void insert_beside(Kernel& kernel, const Place& place, Statement statement, bool after);

/// A map over these extents: `value` of axis(k), to that element of a buffer.
Statement map_to(Kernel& kernel, const std::string& name, const std::vector<Expr>& extents, int buffer,
                 std::vector<Expr> index, Expr value);

/// A buffer of these extents, called `name` or much like it, and a map of the same name that makes it before the nest
/// that `place` stands in: `value` of element axis(0), axis(1)…
struct Made {
  int buffer = -1;
  std::string block;
};
Made make_before(Kernel& kernel, const Place& place, const std::string& name, DataType dtype,
                 const std::vector<Expr>& extents, Expr value);

/// An expression over a block's axes at other values of them.
Expr at(const Expr& expr, const std::vector<Expr>& axes);

/// All that writes the buffer stands in other nests.
Result<void> check_complete(Kernel& kernel, const Place& place, int buffer);

/// The part of a buffer that a block reads at an index, dim by dim.
struct CopiedRegion {
  std::vector<Expr> extents;
  std::vector<Expr> from;  ///< the buffer's element that is element axis(0), axis(1)… of the copy
  std::vector<Expr> to;    ///< the copy's element in place of `index`, over the block's iterators
};
/// `condition`: of a padding around the read, over axis(k) for index[k]; empty: there is none.
Result<CopiedRegion> copied_region(const Kernel& kernel, const Block& block, int buffer, const std::vector<Expr>& index,
                                   const Expr& condition);

}  // namespace isomer::kernel::primitives
