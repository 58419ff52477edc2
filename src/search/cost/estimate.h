// What applications take by themselves, roughly: arithmetic and memory traffic, read off their rows. It says in which
// order a search looks at rewrites, not which of them it takes. Test: tests/search/optimize_model_test.cpp
#pragma once

#include <unordered_map>
#include <vector>

#include "search/cost/work.h"
#include "substitutions/rewrite/program.h"

namespace isomer::search {

/// Of all nodes of a graph by themselves in another runtime, in microseconds; those of constants alone take nothing.
double estimate(const Graph& graph);

/// Of the constants that are left when all that depends on constants alone has been computed.
int64_t weight_bytes(const substitutions::Program& program);

class Estimates {
 public:
  /// In microseconds of a core with vectors; what is computed of constants alone takes nothing. Remembered by operation
  /// and types.
  double application(const substitutions::Program& program, int application);
  /// Of views and of what is computed of constants alone there is none.
  NodeWork work(const substitutions::Program& program, int application);
  /// Whether it is more than a map or a movement of elements.
  bool reduces(const substitutions::Program& program, int application);
  /// Whether it can be computed beforehand, if its operands can.
  bool can_be_folded(const substitutions::Program& program, int application);

 private:
  struct Estimate {
    double microseconds = 0;
    bool reduces = false;
    bool can_be_folded = false;
    NodeWork work = {};
  };
  /// Whether nothing of it is left when what depends on constants alone has been computed.
  static bool is_gone(const substitutions::Program& program, int application);
  Estimate look(const substitutions::Program& program, int application);

  struct KeyHash {
    size_t operator()(const std::vector<int>& key) const;
  };
  std::unordered_map<std::vector<int>, Estimate, KeyHash> known_;
};

}  // namespace isomer::search
