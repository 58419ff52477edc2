// What normalizations share: statistics of neighbours, and the types that they are computed in.
#pragma once

#include <vector>

#include "graph/node_form.h"
#include "graph/op_context.h"

namespace isomer::ops {

/// Where the row says nothing else.
inline constexpr float kEpsilon = 1e-5f;
/// The attribute, in that type.
te::Expr epsilon(const OpContext& context, DataType dtype);

struct Moments {
  te::StageValue mean, variance;  ///< over the kept axes
};

/// Mean and variance over `reduced` of `value`, an expression over axis(…) of `kept` and reduce_axis(…). Two passes, so
/// that nothing cancels.
Moments moments(te::Program& program, const Shape& kept, const Shape& reduced, const te::Expr& value);

/// The axes from `first` on.
Shape tail_of(const Shape& shape, size_t first);
/// head followed by tail.
std::vector<te::Expr> joined(std::vector<te::Expr> head, const std::vector<te::Expr>& tail);

/// An error unless input 0 has so many axes.
Result<void> require_rank(const OpContext& context, int least);
/// The type in which a normalization is computed: stash_type, but never narrower than the input.
Result<DataType> stash_type(const OpContext& context);

/// x standardized over `axes`, by primitives in the spelling that exporters use: (x - mean) / sqrt(mean((x - mean)^2) +
/// epsilon).
struct Standardized {
  ValueId mean, deviation, value;
};
Result<Standardized> emit_standardized(NodeForm& form, ValueId x, std::vector<int64_t> axes, float eps);
/// A Cast where the value has another type.
Result<ValueId> emit_cast(NodeForm& form, ValueId value, DataType dtype);
/// The type in which the expansion computes: as stash_type(context).
Result<DataType> take_stash_type(NodeForm& form);

}  // namespace isomer::ops
