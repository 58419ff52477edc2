// Operators that only move elements, seen as index maps: out[i] = in[index(i)]. Read off the row's tensor expression,
// so that whatever moves elements (Reshape, Transpose, Slice, Expand, Identity, a Pad by nothing, a Concat of one …) is
// one thing.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/te/program.h"
#include "graph/te/simplify.h"

namespace isomer {

/// A pointwise body with constants bound: loads of inputs, of which splat constants have become literals.
struct Pointwise {
  Shape shape;
  te::Expr body;         ///< over axis(k); loads kInput buffers only
  std::set<int> inputs;  ///< whose elements it loads, constants among them; not those that only decide what it is
};

struct Movement {
  ValueId source;
  std::vector<te::Expr> index;               ///< one int64 expression over axis(k) for each axis of the source
  FloatClass fp_class = FloatClass::kExact;  ///< kSignOfZero where it is x + 0
};

/// The output as one map over loads of inputs, stages inlined; nothing where the program reduces, scans, or is not
/// known.
std::optional<Pointwise> pointwise_of(const Graph& graph, NodeId id, int output);

/// The output as an index map of one input. Elements that a constant decides (a Slice's starts, a Gather's index) are
/// part of the map.
std::optional<Movement> movement_of(const Graph& graph, NodeId id, int output);

/// In normal form over axes of these extents.
te::Expr simplified(const te::Expr& expr, const Shape& extents);
/// out[i] = in[i] for all i, and the shapes are the same.
bool is_identity(const std::vector<te::Expr>& index, const Shape& from, const Shape& to);

/// One standard operator that does what an index map does.
struct Spelling {
  enum class Kind : uint8_t { kIdentity, kReshape, kTranspose, kExpand, kSlice };
  Kind kind;
  std::vector<int64_t> values;             ///< kTranspose: perm; kReshape: target; kExpand: shape; kSlice: starts
  std::vector<int64_t> ends, axes, steps;  ///< kSlice
};
std::optional<Spelling> spell_movement(const std::vector<te::Expr>& index, const Shape& from, const Shape& to);

}  // namespace isomer
