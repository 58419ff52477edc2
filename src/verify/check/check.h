// The check that ends every optimization: the old model against the new one on seeded inputs (DESIGN.md, section 9).
// Tests: tests/verify/equivalence_test.cpp
#pragma once

#include <limits>
#include <map>

#include "graph/graph.h"
#include "verify/check/equivalence.h"

namespace isomer {

struct CheckOptions {
  uint64_t seed = 0;
  int runs = 2;
  int threads = 1;
  /// Further runs are only begun where they are expected to end within it. The first one ends whatever it takes: no
  /// model goes unchecked.
  double seconds = std::numeric_limits<double>::infinity();
  MemoryLimit memory = {};  ///< sizes at which the models need more are left out
};

/// A node of the old model, and why it is not checked.
struct UncheckedNode {
  std::string node;  ///< its label
  std::string reason;
  std::string text() const;  ///< "not checked: lookup (Gather), because it runs on no input tried: …"
};

struct CheckReport {
  Equivalence equivalence;
  std::vector<std::map<std::string, int64_t>> sizes;  ///< of symbolic dims, that were run; none where there are none
  int runs_wanted = 0;
  bool out_of_time = false;                 ///< the reason why there are fewer runs
  double seconds_a_run = 0;                 ///< of both models, the last one
  int nodes_unchecked = 0;                  ///< of the old model: opaque ones and those that only unknown values reach
  std::vector<std::string> left_out = {};   ///< sizes, for want of memory: a sentence each
  std::vector<UncheckedNode> cut_out = {};  ///< nodes that ran on no input tried; of nodes_unchecked as well

  /// "checked on 2 seeded inputs in double precision: largest difference …"; a line more each of sizes that were bound,
  /// time that was over, memory that was wanting and nodes that were not checked. Names of dims and nodes are as in the
  /// file.
  std::vector<std::string> lines() const;
};

/// Both are cut at the nodes that we cannot run. Symbolic dims take sizes, other ones each run, with which the old
/// model runs, cheap ones first. Where decisions are made (Sign, a cast to an integer, ArgMax) there are more runs than
/// wanted if they are cheap: few elements are close to a decision. Where none of the sizes and seeds tried is one that
/// the model runs on, the node that fails most often is cut out of both like those that cannot be run; kUnsupported
/// where the new one has no such node, or nothing is left.
Result<CheckReport> check_same(const Graph& before, const Graph& after, const CheckOptions& options);

}  // namespace isomer
