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

/// The sizes of input 0. Errors: they are not known.
Result<Dims> known_sizes(const NodeForm& form);

}  // namespace isomer::ops
