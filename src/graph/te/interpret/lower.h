// From expressions to nodes over iterators.
//
// Index arithmetic is brought to sums over iterators. mod(e, c) is e - c·floor(e / c), so that what a row took apart by
// div and mod and put together again cancels; an iterator that is divided by a divisor of its extent is split in two.
#pragma once

#include <functional>
#include <optional>

#include "graph/te/array.h"
#include "graph/te/interpret/lowered.h"
#include "graph/te/program.h"
#include "util/result.h"

namespace isomer::te::interpreter {

/// The array behind a reference: its dims and storage are read when planning, its elements when running.
using Buffers = std::function<const Array&(const BufferRef&)>;

struct Domain {
  Dims axes;
  Dims reduce;
  int64_t trip = 1;  ///< steps of the scan around, for the range of kTime
  bool operator==(const Domain&) const = default;
};

/// A body may read operand(kLeft, k) too: accumulator k. Fails only for what no interpreter can run: unbound symbols,
/// or an absurd number of axes.
Result<Lowered> lower(const std::vector<Expr>& bodies, const Monoid& combine, const Domain& domain,
                      const Buffers& buffers);

}  // namespace isomer::te::interpreter
