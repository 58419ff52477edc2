// Nodes that scale and shift each channel by constants: BatchNormalization, and Mul, Div, Add, Sub with a constant that
// varies along one axis at most.
#pragma once

#include <optional>
#include <vector>

#include "graph/graph.h"

namespace isomer {

/// output = source * scale[c] + shift[c], c the position along `axis`; one element and axis -1 where all are equal.
struct Affine {
  ValueId source;
  int axis = -1;
  std::vector<double> scale, shift;
  bool is_shift() const;  ///< the scale is 1
  bool is_scale() const;  ///< the shift is 0
  /// Scale and shift of `count` channels.
  std::vector<double> scales(int64_t count) const;
  std::vector<double> shifts(int64_t count) const;
};
std::optional<Affine> affine_at(const Graph& graph, NodeId id);

}  // namespace isomer
