#include "graph/ops/quantized.h"

namespace isomer::ops {

te::Expr requantize(te::Expr value, te::Expr zero_point, DataType dtype) {
  const int64_t count = int64_t{1} << value_bits(dtype);
  const int64_t least = is_signed_int(dtype) ? -count / 2 : 0;
  const DataType type = value.dtype();
  const te::Expr shifted = te::unary(te::UnaryOp::kRound, std::move(value)) + te::cast(type, std::move(zero_point));
  return te::cast(dtype, te::min(te::max(shifted, least), least + count - 1));
}

te::Expr scalar(const OpContext& context, int i, DataType dtype) {
  if (!context.has_input(i)) return te::literal(0, dtype);
  return te::cast(dtype, context.load(i, std::vector(context.rank(i), te::index(0))));
}

Result<void> check_scalars(const OpContext& context, std::initializer_list<int> inputs) {
  for (const int i : inputs)
    if (context.has_input(i) && !context.shape(i).empty() && !(context.rank(i) == 1 && context.dim(i, 0).is(1)))
      return context.invalid("a single scale or zero point as input {} expected, {} found", i, text(context.shape(i)));
  return {};
}

te::Expr number(const OpContext& context, const te::Expr& element, int scale) {
  const te::Expr difference = te::cast(DataType::kInt32, element) - scalar(context, scale + 1, DataType::kInt32);
  return te::cast(DataType::kFloat32, difference) * scalar(context, scale, DataType::kFloat32);
}

te::Expr quantized(const OpContext& context, const te::Expr& value, int scale, DataType dtype) {
  return requantize(value / scalar(context, scale, DataType::kFloat32), scalar(context, scale + 1, dtype), dtype);
}

}  // namespace isomer::ops
