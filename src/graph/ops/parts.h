// Parts of axes that move into another axis and back: residues (Fold), pieces (Windows).
#pragma once

#include <vector>

#include "graph/node_form.h"
#include "graph/op_context.h"

namespace isomer::ops {

/// `counts[k]` parts of axis `axes[k]`, all of them one after the other in front of what axis `whole` has: its index is
/// part * size + own, parts in row-major order of the axes.
struct Parts {
  std::vector<int64_t> axes, counts;
  int64_t whole = 0;

  int64_t count() const { return element_count(counts); }
  /// Along axes[k], of a part among all.
  te::Expr part(const te::Expr& all, size_t k) const;
};

/// As the attributes `counts` and `whole` of the operator say, and its attribute axes. Errors: one axis twice, a single
/// part: nothing moves then, and every convolution would be one of parts.
Result<Parts> parts_of(const OpContext& context, const char* counts, const char* whole);

/// Parts of an image: `sizes[k]` elements along axes[k], `steps[k]` from each other, the parts `apart[k]`, zeros where
/// that is outside, `pads[k]` of them in front of the first.
struct TakenParts {
  Parts parts;
  std::vector<int64_t> apart, pads, sizes, steps;

  Shape shape(const Shape& x) const;
  te::Program program(const OpContext& context) const;
};

/// What parts that are laid back into their axes make: `sizes` along these.
Shape joined_shape(const Parts& parts, const std::vector<int64_t>& sizes, const Shape& x);

/// The sizes of input 0. Errors: they are not known.
Result<Dims> known_sizes(const NodeForm& form);

}  // namespace isomer::ops
