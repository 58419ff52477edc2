#include "graph/ops/operand.h"

#include "graph/te/symbols.h"

namespace isomer::ops {

std::optional<Dim> agreed(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant() && a != b) return std::nullopt;
  return b.is_constant() ? b : a;
}

std::optional<Dim> broadcast_dim(const Dim& a, const Dim& b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  if (a.is_constant() && b.is_constant()) return std::nullopt;
  if (a.is_constant() || b.is_constant()) return a.is_constant() ? a : b;
  // Where one is 0 the other is 0 or 1.
  const Dim least = min(a, b);
  return te::bounds(least.expr(), range_of_size).low.value_or(0) < 1 ? max(a, b) * min(least, 1) : max(a, b);
}

te::Expr broadcast_position(const Dim& in, const Dim& out, te::Expr position) {
  if (in.is(1)) return te::index(0);
  if (in == out || in.is_constant()) return position;
  return te::select(te::equal(in.expr(), 1), te::index(0), position);
}

te::Expr load_scalar_or_vector(const OpContext& context, int i, te::Expr axis, const Dim& dim) {
  if (context.rank(i) == 0) return context.load(i, {});
  return context.load(i, {broadcast_position(context.dim(i, 0), dim, std::move(axis))});
}

Result<void> expect_shape(const OpContext& context, int i, const Shape& shape) {
  if (!context.has_input(i)) return {};
  const Shape& found = context.shape(i);
  bool fits = found.size() == shape.size();
  for (size_t k = 0; fits && k < shape.size(); ++k) fits = agreed(found[k], shape[k]).has_value();
  if (fits) return {};
  return context.invalid("{} of shape {} expected, {} found", context.input_name(i), text(shape), text(found));
}

Result<void> expect_rank(const OpContext& context, int i, int rank) {
  if (context.rank(i) == rank) return {};
  return context.invalid("{} of rank {} expected, {} found", context.input_name(i), rank, text(context.shape(i)));
}

DataType accumulator(DataType dtype) {
  return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16 ? DataType::kFloat32 : dtype;
}

te::Expr count_as(DataType dtype, const te::Expr& count) {
  if (const auto value = te::as_constant(count)) return te::literal(*value, dtype);
  return te::cast(dtype, count);
}

te::StageValue sum_over(te::Program& program, Shape axes, Shape reduce, te::Expr body) {
  if (reduce.empty()) return program.map(std::move(axes), std::move(body));
  const DataType dtype = body.dtype();
  return program.reduce(std::move(axes), std::move(reduce), te::sum(dtype), std::move(body));
}

te::StageValue as_type(te::Program& program, te::StageValue value, DataType dtype) {
  if (program.dtype(value) == dtype) return value;
  const Shape shape = program.shape(value);
  return program.map(shape, te::cast(dtype, program.load(value, te::axes(static_cast<int>(shape.size())))));
}

std::vector<te::Expr> reduce_axes(size_t count) {
  std::vector<te::Expr> result;
  for (size_t k = 0; k < count; ++k) result.push_back(te::reduce_axis(static_cast<int>(k)));
  return result;
}

Shape fresh_shape(const OpContext& context, int output, int64_t rank) {
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.push_back(context.fresh(output, k));
  return shape;
}

Shape concatenated(Shape head, const Shape& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

}  // namespace isomer::ops
