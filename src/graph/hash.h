// Canonical hashes: what a graph computes and how it is wired, whatever its nodes and values are called, numbered or
// ordered.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace isomer {

/// Equal for graphs that differ only in names (of values, nodes, symbolic dims), ids and order of nodes, attributes
/// spelled out at their default, and names of captures. Sharing counts: two equal nodes are not one. The graph has no
/// cycle.
Hash128 structural_hash(const Graph& graph);

/// For each value (by ValueId::index) a hash of the expression that defines it, down to inputs, captures and constants:
/// equal hashes in one graph mean equal elements, but for results of opaque nodes, which may not repeat themselves.
/// The graph has no cycle.
std::vector<Hash128> value_hashes(const Graph& graph);

/// Of one attribute; subgraphs by structure.
Hash128 attribute_hash(const Attribute& attribute);

}  // namespace isomer
