// The program of one node. Test: tests/substitutions/proof_test.cpp
#pragma once

#include <optional>
#include <span>

#include "graph/graph.h"
#include "graph/te/approximate.h"
#include "graph/te/program.h"

namespace isomer {

/// For those who can do without: nothing where types are missing that the program depends on, or the node has none.
std::optional<te::Program> program_of(const Graph& graph, NodeId id);

/// Of the graph's only node, for these inputs of the node: dims are theirs, and integers, where none was rounded, are
/// known. Errors: no program; it would take more bytes.
Result<te::Program> program_for(Graph graph, std::span<const te::Approximate> inputs, int64_t most_bytes);

}  // namespace isomer
