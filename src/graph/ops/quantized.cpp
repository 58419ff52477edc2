#include "graph/ops/quantized.h"

namespace isomer::ops {

te::Expr requantize(te::Expr value, te::Expr zero_point, DataType dtype) {
  const int64_t count = int64_t{1} << value_bits(dtype);
  const int64_t least = is_signed_int(dtype) ? -count / 2 : 0;
  const DataType type = value.dtype();
  const te::Expr shifted = te::unary(te::UnaryOp::kRound, std::move(value)) + te::cast(type, std::move(zero_point));
  return te::cast(dtype, te::min(te::max(shifted, least), least + count - 1));
}

}  // namespace isomer::ops
