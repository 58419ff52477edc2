// Operators that only move elements, seen as element maps: out[i] = in[index(i)]. Read off the row's tensor expression,
// so that whatever moves elements (Reshape, Transpose, Slice, Expand, Identity, a Pad by nothing, a Concat of one …) is
// one thing.
#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/te/program.h"

namespace isomer {

/// A pointwise body with constants bound: loads of inputs, of which splat constants have become literals.
struct Pointwise {
  Shape shape;
  te::Expr body;         ///< over axis(k); loads kInput buffers only
  std::set<int> inputs;  ///< whose elements it loads, constants among them; not those that only decide what it is
};

struct Movement : ElementMap {
  ValueId source;
  FloatClass fp_class = FloatClass::kExact;  ///< kSignOfZero where it is x + 0
};

/// The output as one map over loads of inputs, stages inlined; nothing where the program reduces or scans.
std::optional<std::pair<Shape, te::Expr>> pointwise_of(const te::Program& program, int output);
/// The same of a node, of which constants are known; nothing where its program is not.
std::optional<Pointwise> pointwise_of(const Graph& graph, NodeId id, int output);

/// The output as an element map of one input. Elements that a constant decides (a Slice's starts, a Gather's index) are
/// part of the map.
std::optional<Movement> element_map_of(const Graph& graph, NodeId id, int output);
/// The same, where no element is converted.
std::optional<Movement> movement_of(const Graph& graph, NodeId id, int output);

/// x * 1, x / 1, x - 0, x ^ 1, max(x, -inf), min(x, inf) are x bit for bit; x + 0 but for the sign of a zero, which
/// then is the class.
te::Expr without_neutral(const te::Expr& expr, FloatClass& fp_class);

/// normal_index.
te::Expr simplified(const te::Expr& expr, const Shape& extents);

/// An operator that does an element map by itself.
struct SpelledMap {
  const OpDef* op;
  Spelling spelling;
};
/// What the first row proposes whose own expression then says the same.
std::optional<SpelledMap> spell_map(const ElementMap& map);
/// The node becomes that operator of the source; an error as `rewrite` has them.
Result<void> rewrite(Graph& graph, NodeId id, ValueId source, const SpelledMap& map);

}  // namespace isomer
