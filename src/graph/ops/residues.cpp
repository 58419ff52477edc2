// Fold Unfold: parts of axes moved into another axis by residues, so that what reads every second element, or every
// third, reads neighbours. A dilated convolution is a dense one of folded images (PET: Wang et al. 2021, section 3; in
// TensorFlow's words SpaceToBatch and BatchToSpace). Of our own domain: files hold what they expand to.
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "graph/ops/common.h"
#include "graph/ops/parts.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

// Fold: the images with `pads` zeros in front, and as many behind as make `sizes` times `by`; or without what is
// beyond.

Result<TakenParts> folding_of(const OpContext& context) {
  TRY(Parts parts, parts_of(context, "by", "into"));
  const size_t count = parts.axes.size();
  const std::vector<int64_t> by = parts.counts;
  TakenParts result{std::move(parts), std::vector<int64_t>(count, 1), context.get_ints("pads"),
                    context.get_ints("sizes"), by};
  TRY_VOID(check_values(context, "pads", result.pads, count, 0));
  TRY_VOID(check_values(context, "sizes", result.sizes, count, 1));
  return result;
}

Result<std::vector<ValueType>> infer_fold(const OpContext& context) {
  TRY(const TakenParts folding, folding_of(context));
  return one(context.dtype(0), folding.shape(context.shape(0)));
}

Result<te::Program> compute_fold(const OpContext& context) {
  TRY(const TakenParts folding, folding_of(context));
  return folding.program(context);
}

Result<void> expand_fold(NodeForm& form) {
  TRY_VOID(form.expect_attributes({"axes", "by", "into", "pads", "sizes"}));
  TRY(const Dims x, known_sizes(form));
  TRY(const auto axes, form.take_ints("axes"));
  TRY(const auto by, form.take_ints("by"));
  TRY(const auto into, form.take_int("into"));
  TRY(const auto pads, form.take_ints("pads"));
  TRY(const auto sizes, form.take_ints("sizes"));
  ValueId value = form.input(0);
  std::vector<int64_t> before(x.size(), 0), behind(x.size(), 0), ends = x, starts(x.size(), 0), all_axes(x.size());
  std::iota(all_axes.begin(), all_axes.end(), 0);
  Dims apart, folded = x, perm;
  for (size_t k = 0; k < axes->size(); ++k) {
    const auto axis = static_cast<size_t>((*axes)[k]);
    const int64_t more = (*by)[k] * (*sizes)[k] - x[axis] - (*pads)[k];
    before[axis] = (*pads)[k];
    behind[axis] = std::max<int64_t>(more, 0);
    ends[axis] = x[axis] + std::min<int64_t>(more, 0);
    folded[axis] = (*sizes)[k];
    folded[static_cast<size_t>(*into)] *= (*by)[k];
  }
  if (std::any_of(ends.begin(), ends.end(), [](int64_t end) { return end < 1; }))
    return form.unsupported("sizes that something of the input is in expected");
  if (ends != x) {
    TRY(value,
        form.emit("Slice", {value, form.ints(starts, "starts"), form.ints(ends, "ends"), form.ints(all_axes, "axes")}));
  }
  std::vector<int64_t> padding = before;
  padding.insert(padding.end(), behind.begin(), behind.end());
  if (std::any_of(padding.begin(), padding.end(), [](int64_t pad) { return pad != 0; })) {
    TRY(value, form.emit("Pad", {value, form.ints(padding, "pads")}));
  }
  // Each folded axis apart: its size, then its residues; residues in front of the axis that takes them.
  std::vector<int64_t> places(x.size());
  std::vector<int64_t> residues(axes->size());
  for (size_t axis = 0; axis < x.size(); ++axis) {
    places[axis] = static_cast<int64_t>(apart.size());
    const auto found = std::find(axes->begin(), axes->end(), static_cast<int64_t>(axis));
    apart.push_back(folded[axis]);
    if (found == axes->end()) {
      apart.back() = x[axis];
      continue;
    }
    residues[static_cast<size_t>(found - axes->begin())] = static_cast<int64_t>(apart.size());
    apart.push_back((*by)[static_cast<size_t>(found - axes->begin())]);
  }
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (static_cast<int64_t>(axis) == *into) perm.insert(perm.end(), residues.begin(), residues.end());
    perm.push_back(places[axis]);
  }
  TRY(const ValueId parts, form.emit("Reshape", {value, form.ints(apart, "apart")}));
  TRY(const ValueId moved, form.emit("Transpose", {parts}, {{"perm", perm}}));
  return form.emit_as(0, "Reshape", {moved, form.ints(folded, "folded")});
}

// Unfold: the other way round, `sizes` elements from `starts` on.

struct Unfolding {
  Parts residues;
  std::vector<int64_t> starts, sizes;
};

Result<Unfolding> unfolding_of(const OpContext& context) {
  TRY(Parts residues, parts_of(context, "by", "from"));
  Unfolding result{std::move(residues), context.get_ints("starts"), context.get_ints("sizes")};
  const Shape& x = context.shape(0);
  TRY_VOID(check_values(context, "starts", result.starts, result.residues.axes.size(), 0));
  TRY_VOID(check_values(context, "sizes", result.sizes, result.residues.axes.size(), 1));
  for (size_t k = 0; k < result.sizes.size(); ++k) {
    const Dim& size = x[static_cast<size_t>(result.residues.axes[k])];
    if (size.is_constant() && result.starts[k] + result.sizes[k] > size.value() * result.residues.counts[k])
      return context.invalid("at most {} elements expected, {} from {} on found",
                             size.value() * result.residues.counts[k], result.sizes[k], result.starts[k]);
  }
  const Dim& whole = x[static_cast<size_t>(result.residues.whole)];
  if (whole.is_constant() && whole.value() % result.residues.count() != 0)
    return context.invalid("a multiple of {} along axis {} expected, {} found", result.residues.count(),
                           result.residues.whole, whole.value());
  return result;
}

Result<std::vector<ValueType>> infer_unfold(const OpContext& context) {
  TRY(const Unfolding unfolding, unfolding_of(context));
  return one(context.dtype(0), joined_shape(unfolding.residues, unfolding.sizes, context.shape(0)));
}

Result<te::Program> compute_unfold(const OpContext& context) {
  TRY(const Unfolding unfolding, unfolding_of(context));
  const Parts& residues = unfolding.residues;
  const Shape shape = joined_shape(unfolding.residues, unfolding.sizes, context.shape(0));
  std::vector<Expr> index = te::axes(static_cast<int>(shape.size()));
  Expr residue = te::index(0);
  for (size_t k = 0; k < residues.axes.size(); ++k) {
    Expr& at = index[static_cast<size_t>(residues.axes[k])];
    const Expr from = at + unfolding.starts[k];
    residue = residue * residues.counts[k] + te::floor_mod(from, te::index(residues.counts[k]));
    at = te::floor_div(from, te::index(residues.counts[k]));
  }
  Expr& whole = index[static_cast<size_t>(residues.whole)];
  whole = residue * shape[static_cast<size_t>(residues.whole)].expr() + whole;
  return single_map(shape, context.load(0, index));
}

Result<void> expand_unfold(NodeForm& form) {
  TRY_VOID(form.expect_attributes({"axes", "by", "from", "starts", "sizes"}));
  TRY(const Dims x, known_sizes(form));
  TRY(const auto axes, form.take_ints("axes"));
  TRY(const auto by, form.take_ints("by"));
  TRY(const auto from, form.take_int("from"));
  TRY(const auto starts, form.take_ints("starts"));
  TRY(const auto sizes, form.take_ints("sizes"));
  // The residues apart, in front of the axis that had them; then each behind its own axis.
  Dims apart, whole = x, perm;
  std::vector<int64_t> places(x.size());
  int64_t first_residue = 0;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (static_cast<int64_t>(axis) == *from) {
      first_residue = static_cast<int64_t>(apart.size());
      apart.insert(apart.end(), by->begin(), by->end());
      for (const int64_t count : *by) whole[axis] /= count;
    }
    places[axis] = static_cast<int64_t>(apart.size());
    apart.push_back(static_cast<int64_t>(axis) == *from ? whole[axis] : x[axis]);
  }
  std::vector<int64_t> ends;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    perm.push_back(places[axis]);
    const auto found = std::find(axes->begin(), axes->end(), static_cast<int64_t>(axis));
    if (found == axes->end()) continue;
    perm.push_back(first_residue + (found - axes->begin()));
    whole[axis] *= (*by)[static_cast<size_t>(found - axes->begin())];
  }
  bool is_cut = false;
  for (size_t k = 0; k < axes->size(); ++k) {
    ends.push_back((*starts)[k] + (*sizes)[k]);
    is_cut = is_cut || (*starts)[k] > 0 || ends[k] < whole[static_cast<size_t>((*axes)[k])];
  }
  TRY(const ValueId parts, form.emit("Reshape", {form.input(0), form.ints(apart, "apart")}));
  TRY(const ValueId moved, form.emit("Transpose", {parts}, {{"perm", perm}}));
  if (!is_cut) return form.emit_as(0, "Reshape", {moved, form.ints(whole, "whole")});
  TRY(const ValueId all, form.emit("Reshape", {moved, form.ints(whole, "whole")}));
  return form.emit_as(0, "Slice",
                      {all, form.ints(*starts, "starts"), form.ints(ends, "ends"), form.ints(*axes, "axes")});
}

}  // namespace

std::vector<OpDef> residues() {
  const std::vector<AttributeDef> both = {required("axes", AttributeKind::kInts), required("by", AttributeKind::kInts)};
  const auto attributes = [&](std::vector<AttributeDef> more) {
    more.insert(more.begin(), both.begin(), both.end());
    return more;
  };
  return {
      {.domain = kOwnDomain,
       .name = "Fold",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = attributes({required("into", AttributeKind::kInt), required("pads", AttributeKind::kInts),
                                 required("sizes", AttributeKind::kInts)}),
       .infer = infer_fold,
       .compute = compute_fold,
       .expand = expand_fold},
      {.domain = kOwnDomain,
       .name = "Unfold",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = attributes({required("from", AttributeKind::kInt), required("sizes", AttributeKind::kInts),
                                 required("starts", AttributeKind::kInts)}),
       .infer = infer_unfold,
       .compute = compute_unfold,
       .expand = expand_unfold},
  };
}

}  // namespace isomer::ops
