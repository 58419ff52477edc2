// The last form of a model before code is made of it: every pass, with all composites that have rows, whatever the
// model's opset is, bodies specialized for what is known around them, groups as wide as vectors.
#pragma once

#include "graph/graph.h"
#include "kernel/target.h"

namespace isomer {

struct PrepareOptions {
  int level = 2;
  std::vector<std::string> without = {};  ///< passes that are left out
  int threads = 1;
  kernel::Target target;
};

/// Of a graph whose dims are bound. Errors: those of the passes.
Result<void> prepare_for_code(Graph& graph, const PrepareOptions& options);

}  // namespace isomer
