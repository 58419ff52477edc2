// The program of one node for arguments that are there. Test: tests/substitutions/proof_test.cpp
#pragma once

#include <span>

#include "graph/graph.h"
#include "graph/te/approximate.h"
#include "graph/te/program.h"

namespace isomer {

/// Of the graph's only node, for these inputs of the node: dims are theirs, and integers, where none was rounded, are
/// known. Errors: no program; it would take more bytes.
Result<te::Program> program_for(Graph graph, std::span<const te::Approximate> inputs, int64_t most_bytes);

}  // namespace isomer
