// A node of a graph as an application in a term: what it is told beside tensors as parameters, whichever of its inputs
// and attributes say it. Test: tests/substitutions/program_test.cpp
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "verify/proof/spell_out.h"

namespace isomer::verify {

/// Which operation, on which of the node's inputs, and the types of its outputs.
struct SpelledNode {
  int operation = 0;
  std::vector<size_t> arguments;
  std::vector<int> types;
};

/// Of an inferred graph that stays as it is.
class NodeReader {
 public:
  NodeReader(const Graph& graph, Signatures& signatures) : graph_(graph), signatures_(signatures) {}

  /// Nothing where terms can't write the node.
  std::optional<SpelledNode> read(NodeId id);

 private:
  const Graph& graph_;
  Signatures& signatures_;
  std::map<std::vector<int>, std::optional<SpelledNode>> known_;  ///< layers repeat
};

}  // namespace isomer::verify
