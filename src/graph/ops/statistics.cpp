#include "graph/ops/statistics.h"

#include "graph/ops/operand.h"

namespace isomer::ops {

te::Expr epsilon(const OpContext& context, DataType dtype) {
  return te::literal(te::Number(context.get_float("epsilon")), dtype);
}

Moments moments(te::Program& program, const Shape& kept, const Shape& reduced, const te::Expr& value) {
  const DataType dtype = value.dtype();
  const std::vector<te::Expr> at = te::axes(static_cast<int>(kept.size()));
  const te::Expr count = count_as(dtype, element_count(reduced).expr());
  const auto mean_of = [&](const te::Expr& term) {
    const te::StageValue sum = sum_over(program, kept, reduced, term);
    return program.map(kept, program.load(sum, at) / count);
  };
  const te::StageValue mean = mean_of(value);
  const te::Expr deviation = value - program.load(mean, at);
  return {mean, mean_of(deviation * deviation)};
}

Shape tail_of(const Shape& shape, size_t first) { return {shape.begin() + static_cast<int64_t>(first), shape.end()}; }

std::vector<te::Expr> joined(std::vector<te::Expr> head, const std::vector<te::Expr>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Result<void> require_rank(const OpContext& context, int least) {
  if (context.rank(0) < least)
    return context.invalid("an input of rank at least {} expected, {} found", least, text(context.shape(0)));
  return {};
}

Result<DataType> stash_type(const OpContext& context) {
  const int64_t code = context.get_int("stash_type");
  const auto dtype = is_known_data_type(code) ? static_cast<DataType>(code) : DataType::kUndefined;
  if (!is_float(dtype)) return context.invalid("stash_type of a float type expected, {} found", code);
  return bit_width(context.dtype(0)) > bit_width(dtype) ? context.dtype(0) : dtype;
}

Result<Standardized> emit_standardized(NodeForm& form, ValueId x, std::vector<int64_t> axes, float eps) {
  const DataType dtype = form.graph().value(x).type.dtype;
  const Attributes keep = {{"keepdims", int64_t{1}}};
  const ValueId over = form.ints(std::move(axes), "axes");
  TRY(const ValueId mean, form.emit("ReduceMean", {x, over}, keep));
  TRY(const ValueId centered, form.emit("Sub", {x, mean}));
  TRY(const ValueId square, form.emit("Pow", {centered, form.scalar(dtype, 2, "exponent")}));
  TRY(const ValueId variance, form.emit("ReduceMean", {square, over}, keep));
  TRY(const ValueId shifted, form.emit("Add", {variance, form.scalar(dtype, eps, "epsilon")}));
  TRY(const ValueId deviation, form.emit("Sqrt", {shifted}));
  TRY(const ValueId value, form.emit("Div", {centered, deviation}));
  return Standardized{mean, deviation, value};
}

Result<ValueId> emit_cast(NodeForm& form, ValueId value, DataType dtype) {
  if (form.graph().value(value).type.dtype == dtype) return value;
  return form.emit("Cast", {value}, {{"to", static_cast<int64_t>(dtype)}});
}

Result<DataType> take_stash_type(NodeForm& form) {
  TRY(const auto code, form.take_int("stash_type"));
  const auto stash = static_cast<DataType>(code.value_or(static_cast<int64_t>(DataType::kFloat32)));
  return bit_width(form.type(0).dtype) > bit_width(stash) ? form.type(0).dtype : stash;
}

}  // namespace isomer::ops
