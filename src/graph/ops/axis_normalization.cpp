// MeanVarianceNormalization LRN LpNormalization: values scaled by statistics of their neighbours along axes.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/statistics.h"

namespace isomer::ops {
namespace {

// MeanVarianceNormalization: over `axes`, epsilon added to the deviation.

constexpr double kVarianceGuard = 1e-9;

Result<std::vector<ValueType>> infer_mean_variance(const OpContext& context) {
  TRY_VOID(context.normalize_axes(context.get_ints("axes"), context.rank(0)));
  return same_as_first(context);
}

/// Position of each axis of a tensor among kept axes (axis(…)) and reduced ones (reduce_axis(…)).
struct Split {
  Shape kept, reduced;
  std::vector<te::Expr> index;    ///< over kept and reduced iterators
  std::vector<te::Expr> kept_at;  ///< the kept axes among axis(…) of the whole tensor
};
Split split_axes(const Shape& shape, const std::vector<int>& axes) {
  Split split;
  for (size_t k = 0; k < shape.size(); ++k) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int>(k)) != axes.end();
    Shape& side = reduced ? split.reduced : split.kept;
    const int position = static_cast<int>(side.size());
    split.index.push_back(reduced ? te::reduce_axis(position) : te::axis(position));
    side.push_back(shape[k]);
    if (!reduced) split.kept_at.push_back(te::axis(static_cast<int>(k)));
  }
  return split;
}

Result<te::Program> compute_mean_variance(const OpContext& context) {
  TRY(const std::vector<int> axes, context.normalize_axes(context.get_ints("axes"), context.rank(0)));
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Split split = split_axes(x, axes);
  te::Program program;
  const Moments statistics = moments(program, split.kept, split.reduced, te::cast(wide, context.load(0, split.index)));
  const te::Expr centered =
      te::cast(wide, context.load(0, te::axes(context.rank(0)))) - program.load(statistics.mean, split.kept_at);
  const te::Expr deviation = te::sqrt(program.load(statistics.variance, split.kept_at));
  program.outputs = {
      program.map(x, te::cast(dtype, centered / (deviation + te::Number(static_cast<float>(kVarianceGuard)))))};
  return program;
}

// LRN: x / (bias + alpha / size * Σ x²)^beta over the `size` channels around.

Result<std::vector<ValueType>> infer_lrn(const OpContext& context) {
  TRY_VOID(require_rank(context, 2));
  const int64_t size = context.get_int("size");
  if (size < 1 || size > (int64_t{1} << 24)) return context.invalid("size in [1, 2^24] expected, {} found", size);
  return same_as_first(context);
}

Result<te::Program> compute_lrn(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const int64_t size = context.get_int("size");
  std::vector<te::Expr> index = te::axes(context.rank(0));
  index[1] = te::axis(1) + te::reduce_axis(0) - (size - 1) / 2;
  const te::Expr inside = te::index(0) <= index[1] && index[1] < x[1].expr();
  const te::Expr neighbour = te::cast(wide, context.load(0, index));
  te::Program program;
  const te::StageValue sum =
      program.reduce(x, {size}, te::sum(wide), te::select(inside, neighbour * neighbour, te::literal(0, wide)));
  const auto number = [&](std::string_view name) { return te::Number(context.get_float(name)); };
  const std::vector<te::Expr> at = te::axes(context.rank(0));
  const te::Expr base = program.load(sum, at) * number("alpha") / te::Number(size) + number("bias");
  const te::Expr value = te::cast(wide, context.load(0, at));
  program.outputs = {program.map(x, te::cast(dtype, value / te::pow(base, te::literal(number("beta"), wide))))};
  return program;
}

// LpNormalization: x / ‖x‖ along one axis, p = 1 or 2; a zero vector stays zero.

Result<std::vector<ValueType>> infer_lp(const OpContext& context) {
  const int64_t p = context.get_int("p");
  if (p != 1 && p != 2) return context.invalid("p of 1 or 2 expected, {} found", p);
  TRY_VOID(context.normalize_axis(context.get_int("axis"), context.rank(0)));
  return same_as_first(context);
}

Result<te::Program> compute_lp(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  const bool euclidean = context.get_int("p") == 2;
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Split split = split_axes(context.shape(0), {axis});
  te::Program program;
  const te::Expr x = te::cast(wide, context.load(0, split.index));
  const te::StageValue sum = program.reduce(split.kept, split.reduced, te::sum(wide), euclidean ? x * x : te::abs(x));
  const te::Expr total = program.load(sum, split.kept_at);
  const te::Expr value = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr normal = value / (euclidean ? te::sqrt(total) : total);
  program.outputs = {program.map(context.shape(0), te::cast(dtype, te::select(te::equal(total, 0), value, normal)))};
  return program;
}

}  // namespace

std::vector<OpDef> axis_normalization() {
  return {
      {.name = "MeanVarianceNormalization",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axes", std::vector<int64_t>{0, 2, 3})},
       .versions = {{9}},
       .infer = infer_mean_variance,
       .compute = compute_mean_variance},

      {.name = "LRN",
       .since = 13,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1e-4f), with_default("beta", 0.75f), with_default("bias", 1.0f),
                      required("size", AttributeKind::kInt)},
       .versions = {{1}},
       .infer = infer_lrn,
       .compute = compute_lrn},

      {.name = "LpNormalization",
       .since = 22,
       .inputs = {"input"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("axis", -1), with_default("p", 2)},
       .versions = {{1}},
       .infer = infer_lp,
       .compute = compute_lp},
  };
}

}  // namespace isomer::ops
