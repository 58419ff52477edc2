// The check that ends every optimization: the old model against the new one on seeded inputs (DESIGN.md, section 9).
#pragma once

#include "graph/graph.h"
#include "verify/equivalence.h"

namespace isomer {

struct CheckOptions {
  uint64_t seed = 0;
  int runs = 2;
  int threads = 1;
};

struct CheckReport {
  Equivalence equivalence;
  int nodes_unchecked = 0;  ///< of the old model: opaque ones and those that only unknown values reach
};

/// Both are cut at the nodes that we cannot run. Symbolic dims take sizes, other ones each run, with which the old
/// model runs; kUnsupported where none of the sizes tried is such.
Result<CheckReport> check_same(const Graph& before, const Graph& after, const CheckOptions& options);

}  // namespace isomer
