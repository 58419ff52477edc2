// Slice: a part of a tensor, at regular steps.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/te/simplify.h"

namespace isomer::ops {
namespace {

struct SliceAxis {
  Dim start = 0;
  int64_t step = 1;
  std::optional<Dim> size;  ///< nothing: start or end are unknown
};

/// A start or end, which counts from the end where negative, within [least, greatest] of the axis.
Dim slice_bound(const Dim& value, const Dim& dim, const Dim& least, const Dim& greatest) {
  if (const auto constant = value.constant()) {
    // Beyond every dim is as good as infinite; saturated sums would tell nothing of symbolic dims.
    if (*constant >= kMaxDim) return greatest;
    if (*constant < -kMaxDim) return least;
    return *constant < 0 ? max(dim + *constant, least) : min(value, greatest);
  }
  const te::Interval range = te::bounds(value.expr());
  if (range.low && *range.low >= 0) return min(value, greatest);
  const Dim from_front(te::select(value.expr() < 0, (value + dim).expr(), value.expr()));
  return min(max(from_front, least), greatest);
}

Result<std::optional<std::vector<SliceAxis>>> slice_axes(const OpContext& context) {
  const int rank = context.rank(0);
  TRY(const auto starts, vector_content(context, 1, true));
  TRY(const auto ends, vector_content(context, 2, true));
  if (!starts || !ends) return std::optional<std::vector<SliceAxis>>();
  if (starts->size() != ends->size())
    return context.invalid("as many ends as starts expected, {} and {} found", ends->size(), starts->size());
  std::vector<int64_t> given(starts->size());
  for (size_t k = 0; k < given.size(); ++k) given[k] = static_cast<int64_t>(k);
  if (context.has_input(3)) {
    const auto axes = context.ints(3);
    if (!axes) return std::optional<std::vector<SliceAxis>>();
    given = *axes;
  }
  if (given.size() != starts->size())
    return context.invalid("as many axes as starts expected, {} and {} found", given.size(), starts->size());
  TRY(const std::vector<int> axes, context.normalize_axes(given, rank));
  std::optional<Content> steps;
  if (context.has_input(4)) {
    TRY(steps, vector_content(context, 4));
    if (steps && steps->size() != axes.size())
      return context.invalid("as many steps as starts expected, {} and {} found", steps->size(), axes.size());
  }
  std::vector<SliceAxis> slices(rank);
  for (int k = 0; k < rank; ++k) slices[k].size = context.dim(0, k);
  for (size_t k = 0; k < axes.size(); ++k) {
    SliceAxis& slice = slices[axes[k]];
    const Dim& dim = context.dim(0, axes[k]);
    const std::optional<Dim> step = !context.has_input(4) ? Dim(1) : steps ? (*steps)[k] : std::nullopt;
    if (step && step->is(0)) return context.invalid("steps other than 0 expected, 0 found");
    if (!step || !step->is_constant() || !(*starts)[k] || !(*ends)[k]) {
      slice.size = std::nullopt;
      continue;
    }
    slice.step = std::clamp(step->value(), -2 * kMaxDim, 2 * kMaxDim);
    if (slice.step > 0) {
      slice.start = slice_bound(*(*starts)[k], dim, 0, dim);
      slice.size = max(ceil_div(slice_bound(*(*ends)[k], dim, 0, dim) - slice.start, slice.step), 0);
    } else {
      slice.start = min(slice_bound(*(*starts)[k], dim, 0, dim - 1), dim - 1);  // an axis of 0 elements starts at -1
      slice.size = max(ceil_div(slice.start - slice_bound(*(*ends)[k], dim, -1, dim - 1), -slice.step), 0);
    }
  }
  return std::optional(std::move(slices));
}

Result<std::vector<ValueType>> slice_infer(const OpContext& context) {
  TRY(const auto slices, slice_axes(context));
  Shape shape = fresh_shape(context, 0, context.rank(0));
  for (size_t k = 0; slices && k < shape.size(); ++k)
    if ((*slices)[k].size) shape[k] = *(*slices)[k].size;
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> slice_compute(const OpContext& context) {
  TRY(const auto slices, slice_axes(context));
  Shape shape;
  std::vector<te::Expr> index;
  for (int k = 0; k < context.rank(0); ++k) {
    if (!slices || !(*slices)[k].size) return context.unsupported("known starts, ends, axes and steps expected");
    const SliceAxis& slice = (*slices)[k];
    shape.push_back(*slice.size);
    index.push_back(slice.start.expr() + te::axis(k) * slice.step);
  }
  for (te::Expr& expr : index) expr = simplified(expr, shape);
  return single_map(std::move(shape), context.load(0, std::move(index)));
}

std::optional<Spelling> spell_slice(const ElementMap& map) {
  if (!only_moves(map)) return std::nullopt;
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  if (from.size() != to.size()) return std::nullopt;
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t k = 0; k < from.size(); ++k) {
    if (axis_of(map.index[k]) == static_cast<int>(k) && from[k] == to[k]) continue;
    const auto stride = stride_of(map, k);
    if (!stride || stride->step == 0 || !from[k].is_constant()) return std::nullopt;
    const int64_t extent = from[k].value(), last = stride->start + stride->step * (to[k].value() - 1);
    if (stride->start < 0 || stride->start >= extent || last < 0 || last >= extent) return std::nullopt;
    // One before the first element is written as a number below -extent.
    const int64_t end = last + (stride->step > 0 ? 1 : -1);
    starts.push_back(stride->start);
    ends.push_back(end < 0 ? -extent - 1 : end);
    axes.push_back(static_cast<int64_t>(k));
    steps.push_back(stride->step);
  }
  return Spelling{.lists = {std::move(starts), std::move(ends), std::move(axes), std::move(steps)}};
}

/// Opset 1 had starts, ends and axes as attributes, and no steps.
Result<void> slice_inputs(NodeForm& form) {
  int input = 1;
  for (const char* name : {"starts", "ends", "axes"}) {
    TRY(auto values, form.take_ints(name));
    if (values) form.set_input(input, form.ints(std::move(*values), name));
    ++input;
  }
  return {};
}

Result<void> slice_attributes(NodeForm& form) {
  if (const auto steps = form.ints(4);
      form.has_input(4) && (!steps || std::any_of(steps->begin(), steps->end(), [](int64_t s) { return s != 1; })))
    return form.unsupported("steps of 1 expected where the opset has no steps");
  int input = 1;
  for (const char* name : {"starts", "ends", "axes"}) {
    const auto values = form.ints(input);
    if (form.has_input(input) && !values)
      return form.unsupported("a constant {} expected where the opset has it as an attribute", name);
    if (values) form.set(name, *values);
    ++input;
  }
  form.drop_inputs_from(1);
  return count_from_front("axes")(form);
}

}  // namespace

std::vector<OpDef> slicing() {
  return {
      {.name = "Slice",
       .since = 13,
       .inputs = {"data", "starts:Tind", "ends:Tind", "axes?:Tind", "steps?:Tind"},
       .outputs = {"output"},
       .types = {{"T", kPlain}, {"Tind", kIndices}},
       .versions = {{11}, {10}, {1, slice_inputs, slice_attributes}},
       .infer = slice_infer,
       .compute = slice_compute,
       .spell = spell_slice},
  };
}

}  // namespace isomer::ops
