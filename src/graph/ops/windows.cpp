// Windows Unwindow: pieces of axes side by side in another axis, overlapping or with gaps, zeros where they reach over
// an edge. A convolution of an image is one of pieces that have its halo (PET: Wang et al. 2021, section 3), and one of
// taps that are channels. Of our own domain: files hold what they expand to.
#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/parts.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

// Windows: element j of piece p is what lies at j * steps + p * apart - pads.

Result<TakenParts> windowing_of(const OpContext& context) {
  TRY(Parts parts, parts_of(context, "counts", "into"));
  const size_t count = parts.axes.size();
  TakenParts result{std::move(parts), context.get_ints("apart"), context.get_ints("pads"), context.get_ints("sizes"),
                    context.get_ints("steps")};
  TRY_VOID(check_values(context, "apart", result.apart, count, 1));
  TRY_VOID(check_values(context, "pads", result.pads, count, 0));
  TRY_VOID(check_values(context, "sizes", result.sizes, count, 1));
  TRY_VOID(check_values(context, "steps", result.steps, count, 1));
  return result;
}

Result<std::vector<ValueType>> infer_windows(const OpContext& context) {
  TRY(const TakenParts windows, windowing_of(context));
  return one(context.dtype(0), windows.shape(context.shape(0)));
}

Result<te::Program> compute_windows(const OpContext& context) {
  TRY(const TakenParts windows, windowing_of(context));
  return windows.program(context);
}

Result<void> expand_windows(NodeForm& form) {
  TRY_VOID(form.expect_attributes({"axes", "counts", "apart", "steps", "into", "pads", "sizes"}));
  TRY(const Dims x, known_sizes(form));
  TRY(const auto axes, form.take_ints("axes"));
  TRY(const auto counts, form.take_ints("counts"));
  TRY(const auto apart, form.take_ints("apart"));
  TRY(const auto steps, form.take_ints("steps"));
  TRY(const auto into, form.take_int("into"));
  TRY(const auto pads, form.take_ints("pads"));
  TRY(const auto sizes, form.take_ints("sizes"));
  const auto whole = static_cast<size_t>(*into);
  std::vector<int64_t> padding(2 * x.size(), 0);
  for (size_t k = 0; k < axes->size(); ++k) {
    const auto axis = static_cast<size_t>((*axes)[k]);
    const int64_t last = ((*sizes)[k] - 1) * (*steps)[k] + ((*counts)[k] - 1) * (*apart)[k];
    padding[axis] = (*pads)[k];
    padding[x.size() + axis] = std::max<int64_t>(last + 1 - (*pads)[k] - x[axis], 0);
  }
  ValueId value = form.input(0);
  if (std::any_of(padding.begin(), padding.end(), [](int64_t pad) { return pad != 0; })) {
    TRY(value, form.emit("Pad", {value, form.ints(padding, "pads")}));
  }
  for (size_t k = 0; k < axes->size(); ++k) {
    std::vector<int64_t> places;
    for (int64_t piece = 0; piece < (*counts)[k]; ++piece)
      for (int64_t j = 0; j < (*sizes)[k]; ++j) places.push_back(j * (*steps)[k] + piece * (*apart)[k]);
    TRY(value, form.emit("Gather", {value, form.ints(places, "places")}, {{"axis", (*axes)[k]}}));
  }
  // Pieces apart, in front of the axis that takes them.
  Dims parts, windowed = x, perm;
  std::vector<int64_t> places(x.size()), pieces(axes->size());
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const auto found = std::find(axes->begin(), axes->end(), static_cast<int64_t>(axis));
    if (found != axes->end()) {
      const auto k = static_cast<size_t>(found - axes->begin());
      pieces[k] = static_cast<int64_t>(parts.size());
      parts.push_back((*counts)[k]);
      windowed[axis] = (*sizes)[k];
    }
    places[axis] = static_cast<int64_t>(parts.size());
    parts.push_back(windowed[axis]);
  }
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (axis == whole) perm.insert(perm.end(), pieces.begin(), pieces.end());
    perm.push_back(places[axis]);
  }
  windowed[whole] *= element_count(*counts);
  TRY(const ValueId apart_value, form.emit("Reshape", {value, form.ints(parts, "parts")}));
  TRY(const ValueId moved, form.emit("Transpose", {apart_value}, {{"perm", perm}}));
  return form.emit_as(0, "Reshape", {moved, form.ints(windowed, "windowed")});
}

// Unwindow: the first `tile` elements of each piece one behind the other, `sizes` of them in all.

struct Unwindowing {
  Parts pieces;
  std::vector<int64_t> sizes, tile;
};

Result<Unwindowing> unwindowing_of(const OpContext& context) {
  TRY(Parts pieces, parts_of(context, "counts", "from"));
  Unwindowing result{std::move(pieces), context.get_ints("sizes"), context.get_ints("tile")};
  const Shape& x = context.shape(0);
  const Parts& of = result.pieces;
  TRY_VOID(check_values(context, "sizes", result.sizes, of.axes.size(), 1));
  TRY_VOID(check_values(context, "tile", result.tile, of.axes.size(), 1));
  for (size_t k = 0; k < of.axes.size(); ++k) {
    const Dim& size = x[static_cast<size_t>(of.axes[k])];
    if (size.is_constant() && result.tile[k] > size.value())
      return context.invalid("tiles of at most {} elements expected, {} found", size.value(), result.tile[k]);
    if (result.sizes[k] > of.counts[k] * result.tile[k])
      return context.invalid("at most {} elements of {} tiles expected, {} found", of.counts[k] * result.tile[k],
                             of.counts[k], result.sizes[k]);
  }
  const Dim& whole = x[static_cast<size_t>(of.whole)];
  if (whole.is_constant() && whole.value() % of.count() != 0)
    return context.invalid("a multiple of {} along axis {} expected, {} found", of.count(), of.whole, whole.value());
  return result;
}

Result<std::vector<ValueType>> infer_unwindow(const OpContext& context) {
  TRY(const Unwindowing unwindowing, unwindowing_of(context));
  return one(context.dtype(0), joined_shape(unwindowing.pieces, unwindowing.sizes, context.shape(0)));
}

Result<te::Program> compute_unwindow(const OpContext& context) {
  TRY(const Unwindowing unwindowing, unwindowing_of(context));
  const Parts& pieces = unwindowing.pieces;
  const Shape shape = joined_shape(unwindowing.pieces, unwindowing.sizes, context.shape(0));
  std::vector<Expr> index = te::axes(static_cast<int>(shape.size()));
  Expr all = te::index(0);
  for (size_t k = 0; k < pieces.axes.size(); ++k) {
    Expr& at = index[static_cast<size_t>(pieces.axes[k])];
    const Expr tile = te::index(unwindowing.tile[k]);
    all = all * pieces.counts[k] + te::floor_div(at, tile);
    at = te::floor_mod(at, tile);
  }
  Expr& whole = index[static_cast<size_t>(pieces.whole)];
  whole = all * shape[static_cast<size_t>(pieces.whole)].expr() + whole;
  return single_map(shape, context.load(0, index));
}

Result<void> expand_unwindow(NodeForm& form) {
  TRY_VOID(form.expect_attributes({"axes", "counts", "from", "sizes", "tile"}));
  TRY(const Dims x, known_sizes(form));
  TRY(const auto axes, form.take_ints("axes"));
  TRY(const auto counts, form.take_ints("counts"));
  TRY(const auto from, form.take_int("from"));
  TRY(const auto sizes, form.take_ints("sizes"));
  TRY(const auto tile, form.take_ints("tile"));
  ValueId value = form.input(0);
  Dims tiled = x;
  for (size_t k = 0; k < axes->size(); ++k) tiled[static_cast<size_t>((*axes)[k])] = (*tile)[k];
  if (tiled != x) {
    TRY(value, form.emit("Slice", {value, form.ints(std::vector<int64_t>(axes->size(), 0), "starts"),
                                   form.ints(*tile, "ends"), form.ints(*axes, "axes")}));
  }
  // The pieces apart, then each in front of what it has of its axis.
  Dims parts, whole = tiled, perm;
  std::vector<int64_t> places(x.size());
  int64_t first_piece = 0;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    if (static_cast<int64_t>(axis) == *from) {
      first_piece = static_cast<int64_t>(parts.size());
      parts.insert(parts.end(), counts->begin(), counts->end());
      whole[axis] /= element_count(*counts);
    }
    places[axis] = static_cast<int64_t>(parts.size());
    parts.push_back(whole[axis]);
  }
  bool is_cut = false;
  for (size_t axis = 0; axis < x.size(); ++axis) {
    const auto found = std::find(axes->begin(), axes->end(), static_cast<int64_t>(axis));
    if (found != axes->end()) {
      const auto k = static_cast<size_t>(found - axes->begin());
      perm.push_back(first_piece + static_cast<int64_t>(k));
      whole[axis] *= (*counts)[k];
      is_cut = is_cut || (*sizes)[k] < whole[axis];
    }
    perm.push_back(places[axis]);
  }
  TRY(const ValueId apart, form.emit("Reshape", {value, form.ints(parts, "parts")}));
  TRY(const ValueId moved, form.emit("Transpose", {apart}, {{"perm", perm}}));
  if (!is_cut) return form.emit_as(0, "Reshape", {moved, form.ints(whole, "whole")});
  TRY(const ValueId all, form.emit("Reshape", {moved, form.ints(whole, "whole")}));
  return form.emit_as(0, "Slice",
                      {all, form.ints(std::vector<int64_t>(axes->size(), 0), "starts"), form.ints(*sizes, "ends"),
                       form.ints(*axes, "axes")});
}

}  // namespace

std::vector<OpDef> windows() {
  return {
      {.domain = kOwnDomain,
       .name = "Windows",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {required("apart", AttributeKind::kInts), required("axes", AttributeKind::kInts),
                      required("counts", AttributeKind::kInts), required("into", AttributeKind::kInt),
                      required("pads", AttributeKind::kInts), required("sizes", AttributeKind::kInts),
                      required("steps", AttributeKind::kInts)},
       .infer = infer_windows,
       .compute = compute_windows,
       .expand = expand_windows},
      {.domain = kOwnDomain,
       .name = "Unwindow",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {required("axes", AttributeKind::kInts), required("counts", AttributeKind::kInts),
                      required("from", AttributeKind::kInt), required("sizes", AttributeKind::kInts),
                      required("tile", AttributeKind::kInts)},
       .infer = infer_unwindow,
       .compute = compute_unwindow,
       .expand = expand_unwindow},
  };
}

}  // namespace isomer::ops
