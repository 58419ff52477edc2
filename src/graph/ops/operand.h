// Reading operands whose dims must agree or broadcast, and types that sums are kept in.
#pragma once

#include <optional>

#include "graph/op_context.h"

namespace isomer::ops {

/// The dim that two equal ones share: the constant of them, if any. Nothing when they are different constants.
std::optional<Dim> agreed(const Dim& a, const Dim& b);
/// numpy's broadcast of two dims; nothing when they don't.
std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b);
/// Position in an operand of dim `in` that broadcasts to `position` of dim `out`.
te::Expr broadcast_position(const Dim& in, const Dim& out, te::Expr position);

/// Input i, a scalar or a tensor of one element, or a vector with one element per position of `axis` (which has dim
/// `dim`).
te::Expr load_scalar_or_vector(const OpContext& context, int i, te::Expr axis, const Dim& dim);
/// An error unless input i is absent or has the given shape, as far as dims are known.
Result<void> expect_shape(const OpContext& context, int i, const Shape& shape);

/// An error unless input i has so many axes.
Result<void> expect_rank(const OpContext& context, int i, int rank);

/// The type that sums and quotients are kept in: float32 for narrower floats, else the type itself.
DataType accumulator(DataType dtype);
/// An integer as a number of that type; exact where it is a literal.
te::Expr count_as(DataType dtype, const te::Expr& count);
/// Σ over `reduce` of body, as a stage; a map where there is nothing to sum over.
te::StageValue sum_over(te::Program& program, Shape axes, Shape reduce, te::Expr body);

/// The stage's value, or it in another type, as a stage.
te::StageValue as_type(te::Program& program, te::StageValue value, DataType dtype);

/// reduce_axis(0), … of so many axes.
std::vector<te::Expr> reduce_axes(size_t count);
/// A shape of which only data decide the dims.
Shape fresh_shape(const OpContext& context, int output, int64_t rank);

/// head followed by tail.
Shape concatenated(Shape head, const Shape& tail);

}  // namespace isomer::ops
