// Whether graphs are the same, by comparing the things themselves: attributes by value, constants byte by byte. A hash
// (graph/hash.h) says so only as long as nobody makes it lie. Test: tests/graph/equal_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "graph/graph.h"

namespace isomer {

/// Where the second graph is another than the first, in words; nothing where they differ only in names (of values,
/// nodes, symbolic dims, captures), ids and order of nodes, and attributes spelled out at their default. Sharing
/// counts: two equal nodes are not one. The graphs have no cycle.
std::optional<std::string> difference(const Graph& first, const Graph& second);

/// Up to the last that is given: inputs that are omitted behind it mean nothing.
size_t count_given(const std::vector<ValueId>& values);
/// Bodies of an attribute, in order; none where it holds none.
std::vector<const Graph*> bodies_of(const Attribute& attribute);

/// Whether the node has no row, or one in its bodies: two that do the same with the same may give different results.
bool has_opaque(const Node& node);

/// Whether an attribute is -0.0, or has it: exact numbers have one zero (te::Number), so that what rows say of the node
/// is said of 0.0.
bool has_negative_zero(const Attribute& attribute);

/// Whether a value of one graph stands for a value of the other.
using SameValue = std::function<bool(ValueId first, ValueId second)>;
/// Whether two nodes do the same with values that are the same: operator, attributes, bodies.
bool do_the_same(const Node& first, const Node& second, const SameValue& same);

/// The node without names, with a place for each input instead of the value, and sizes of bodies instead of these.
Node without_names(const Node& node);

}  // namespace isomer
