// Graphs into tasks (DESIGN.md 1): an anchor with what can be computed on its way in and out. What decides is the form
// of the programs, never the operator. Tests: tests/search/compile_test.cpp
#pragma once

#include <vector>

#include "search/tasks/task.h"
#include "search/tasks/task_plan.h"

namespace isomer::search {

struct FuseOptions {
  // False, to measure what they give:
  bool enabled = true;    ///< else every node is a task
  bool attention = true;  ///< else products and the rows between them are tasks of their own
  bool rows = true;       ///< else reductions of rows and what is computed of them and the rows again are
};

/// The tasks of a graph whose dims are bound, in an order in which they can run; nodes that no output needs are left
/// out. Nodes over bodies are tasks too; their bodies are graphs of their own. What has a size that data decide is a
/// task of its own. Errors (kUnsupported): a node without a program, or of values whose rank is not known; it is named.
Result<std::vector<Task>> fuse(const Graph& graph, const FuseOptions& options, TaskDecider& decider);
/// As preferred.
Result<std::vector<Task>> fuse(const Graph& graph, const FuseOptions& options = {});

}  // namespace isomer::search
