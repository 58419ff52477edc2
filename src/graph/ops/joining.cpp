// Concat Split Slice Pad CenterCropPad Tile Expand: parts of tensors put together, cut out, repeated.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/te/integer.h"
#include "graph/te/simplify.h"

namespace isomer::ops {
namespace {

/// A type of the given shape, or of unknown rank.
std::vector<ValueType> shaped(DataType dtype, std::optional<Shape> shape) {
  return {{ValueType::Kind::kTensor, dtype, std::move(shape), {}}};
}

Shape fresh_shape(const OpContext& context, int output, int64_t rank) {
  Shape shape;
  for (int k = 0; k < rank; ++k) shape.push_back(context.fresh(output, k));
  return shape;
}

// Concat

Result<Shape> concat_shape(const OpContext& context, int axis) {
  Shape shape = context.shape(0);
  for (int i = 1; i < context.input_count(); ++i) {
    const Shape& next = context.shape(i);
    if (next.size() != shape.size())
      return context.invalid("inputs of one rank expected, shapes {} and {} found", text(context.shape(0)), text(next));
    for (size_t k = 0; k < shape.size(); ++k) {
      if (static_cast<int>(k) == axis) {
        shape[k] = shape[k] + next[k];
        continue;
      }
      const auto common = agreed(shape[k], next[k]);
      if (!common)
        return context.invalid("inputs that differ only along axis {} expected, shapes {} and {} found", axis,
                               text(context.shape(0)), text(next));
      shape[k] = *common;
    }
  }
  return shape;
}

/// Each element looks for its piece among all.
constexpr int kMaxPieces = 4096;

Result<std::vector<ValueType>> concat_infer(const OpContext& context) {
  if (context.input_count() > kMaxPieces) return context.unsupported("more than {} inputs", kMaxPieces);
  for (int i = 0; i < context.input_count(); ++i)
    if (!context.has_input(i)) return context.invalid("input {} expected, none found", i);
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(Shape shape, concat_shape(context, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> concat_compute(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  TRY(Shape shape, concat_shape(context, axis));
  std::vector<te::Expr> begins, pieces;
  Dim begin = 0;
  for (int i = 0; i < context.input_count(); ++i) {
    const Dim& extent = context.dim(i, axis);
    if (extent.is(0) && i + 1 < context.input_count()) continue;
    std::vector<te::Expr> index = te::axes(context.rank(0));
    index[axis] = index[axis] - begin.expr();
    begins.push_back(begin.expr());
    pieces.push_back(context.load(i, std::move(index)));
    begin = begin + extent;
  }
  return single_map(std::move(shape), choose(te::axis(axis), begins, pieces));
}

// Split

struct Cut {
  int axis;
  std::vector<std::optional<Dim>> sizes;  ///< one an output at least; unknown ones empty
};

Result<Cut> split_sizes(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  const Dim& whole = context.dim(0, axis);
  const auto outputs = static_cast<size_t>(context.output_count());
  if (context.has_input(1)) {
    if (context.has_attribute("num_outputs"))
      return context.invalid("either split or num_outputs expected, both found");
    TRY(auto sizes, vector_content(context, 1));
    if (!sizes) return Cut{axis, std::vector<std::optional<Dim>>(outputs)};
    if (sizes->size() != outputs)
      return context.invalid("sizes of {} outputs in split expected, {} found", outputs, sizes->size());
    Dim total = 0;
    for (const auto& size : *sizes) {
      if (size && size->is_constant() && size->value() < 0)
        return context.invalid("sizes of at least 0 in split expected, {} found", size->text());
      total = total + size.value_or(0);
    }
    const bool all_known = std::all_of(sizes->begin(), sizes->end(), [](const auto& size) { return size.has_value(); });
    if (all_known && total.is_constant() && whole.is_constant() && total != whole)
      return context.invalid("sizes in split that sum to {} expected, {} found", whole.text(), total.text());
    return Cut{axis, *std::move(sizes)};
  }
  if (!context.has_attribute("num_outputs")) return context.invalid("split or num_outputs expected, neither found");
  const int64_t count = context.get_int("num_outputs");
  if (count < 1 || static_cast<uint64_t>(count) != outputs)
    return context.invalid("num_outputs of {}, the number of outputs, expected, {} found", outputs, count);
  const Dim part = ceil_div(whole, count), last = whole - part * (count - 1);
  if (last.is_constant() && last.value() < 0)
    return context.invalid("a dim that splits into {} parts of {} expected, {} found", count, part.text(),
                           whole.text());
  std::vector<std::optional<Dim>> sizes(outputs, part);
  sizes.back() = last;
  return Cut{axis, std::move(sizes)};
}

Result<std::vector<ValueType>> split_infer(const OpContext& context) {
  TRY(const Cut cut, split_sizes(context));
  std::vector<ValueType> types;
  for (size_t i = 0; i < cut.sizes.size(); ++i) {
    Shape shape = context.shape(0);
    shape[cut.axis] = cut.sizes[i].value_or(context.fresh(static_cast<int>(i), cut.axis));
    types.push_back(ValueType::tensor(context.dtype(0), std::move(shape)));
  }
  return types;
}

Result<te::Program> split_compute(const OpContext& context) {
  TRY(const Cut cut, split_sizes(context));
  te::Program program;
  Dim begin = 0;
  for (size_t i = 0; i < cut.sizes.size(); ++i) {
    if (!cut.sizes[i]) return context.unsupported("known sizes expected");
    Shape shape = context.shape(0);
    shape[cut.axis] = *cut.sizes[i];
    std::vector<te::Expr> index = te::axes(context.rank(0));
    index[cut.axis] = index[cut.axis] + begin.expr();
    const bool wanted = context.wants_output(static_cast<int>(i));
    program.outputs.push_back(wanted ? program.map(std::move(shape), context.load(0, std::move(index)))
                                     : te::StageValue{});
    begin = begin + *cut.sizes[i];
  }
  return program;
}

/// Without sizes, forms before opset 18 split evenly among the outputs.
Result<void> count_outputs(NodeForm& form) {
  if (!form.has_input(1)) form.set("num_outputs", static_cast<int64_t>(form.node().outputs.size()));
  return {};
}

/// The way back: an uneven last part must be said in sizes.
Result<void> size_outputs(NodeForm& form) {
  TRY(const auto count, form.take_int("num_outputs"));
  if (!count || form.has_input(1)) return {};
  // Where the sizes are not known the split came without them: it is even, else the model was wrong before.
  if (!form.has_rank(0)) return {};
  const auto found = form.node().attributes.find("axis");
  int64_t axis = found == form.node().attributes.end() ? 0 : std::get<int64_t>(found->second);
  if (axis < 0) axis += form.rank(0);
  const Dim& whole = (*form.type(0).shape)[axis];
  if (!whole.is_constant() || floor_mod(whole, *count).is(0)) return {};
  const int64_t part = te::ceil_div(whole.value(), *count);
  std::vector<int64_t> sizes(*count, part);
  sizes.back() = whole.value() - part * (*count - 1);
  form.set_input(1, form.ints(std::move(sizes), "split"));
  return {};
}

Version split_version(int since) {
  if (since == 13) return {13, count_outputs, size_outputs};
  const Version attribute = ints_attribute_to_input(since, "split", 1);
  return {since, in_turn({attribute.to_newest, count_outputs}),
          in_turn({size_outputs, attribute.from_newest, since < 11 ? count_from_front("axis") : nullptr})};
}

// Slice

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
  TRY(const auto starts, vector_content(context, 1));
  TRY(const auto ends, vector_content(context, 2));
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

// Pad

struct PadAxis {
  Dim before = 0, after = 0;
};

/// Pads of every axis, unknown ones empty.
Result<std::vector<std::optional<PadAxis>>> pad_axes(const OpContext& context) {
  const int rank = context.rank(0);
  const std::string& mode = context.get_string("mode");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap")
    return context.invalid("mode constant, reflect, edge or wrap expected, '{}' found", mode);
  if (context.has_input(2)) TRY_VOID(expect_scalar(context, 2));
  TRY(const auto pads, vector_content(context, 1));
  std::vector<int> axes(rank);
  for (int k = 0; k < rank; ++k) axes[k] = k;
  const std::vector<std::optional<PadAxis>> unknown(rank);
  if (context.has_input(3)) {
    const auto given = context.ints(3);
    if (!given) return unknown;
    TRY(axes, context.normalize_axes(*given, rank));
  }
  if (!pads) return unknown;
  if (pads->size() != 2 * axes.size())
    return context.invalid("{} pads, two an axis, expected, {} found", 2 * axes.size(), pads->size());
  std::vector<std::optional<PadAxis>> result(rank, PadAxis());
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto& before = (*pads)[k];
    const auto& after = (*pads)[k + axes.size()];
    for (const auto& pad : {before, after})
      if (pad && pad->is_constant() && (pad->value() > kMaxDim || pad->value() < -kMaxDim))
        return context.invalid("pads in [-2^40, 2^40] expected, {} found", pad->text());
    result[axes[k]] = before && after ? std::optional(PadAxis{*before, *after}) : std::nullopt;
  }
  return result;
}

Result<std::vector<ValueType>> pad_infer(const OpContext& context) {
  TRY(const auto pads, pad_axes(context));
  Shape shape = context.shape(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!pads[k]) {
      shape[k] = context.fresh(0, static_cast<int>(k));
      continue;
    }
    const Dim kept = shape[k] + min(pads[k]->before, 0) + min(pads[k]->after, 0);
    const Dim padded = shape[k] + pads[k]->before + pads[k]->after;
    if (kept.is_constant() && kept.value() <= 0 && context.get_string("mode") != "constant" && padded != kept &&
        !padded.is(0))
      return context.invalid("elements to fill dim {} at axis {} from expected, none found", padded.text(), k);
    if (padded.is_constant() && padded.value() < 0)
      return context.invalid("pads that leave axis {} of dim {} at least 0 expected, {} found", k, shape[k].text(),
                             padded.text());
    shape[k] = padded;
  }
  return one(context.dtype(0), std::move(shape));
}

bool is_known_below(const Dim& a, const Dim& b) { return a.is_constant() && b.is_constant() && a.value() < b.value(); }

/// What a position outside [0, count) stands for.
te::Expr filled(const std::string& mode, const te::Expr& position, const PadAxis& pad, const Dim& count) {
  const Dim last = count - 1;
  if (mode == "edge") return clamped(position, 0, last);
  if (mode == "wrap") return te::floor_mod(position, count.expr());
  if (is_known_below(pad.before, count) && is_known_below(pad.after, count))
    return te::select(position < 0, -position,
                      te::select(last.expr() < position, (last * 2).expr() - position, position));
  const te::Expr around = te::floor_mod(position, max(last * 2, 1).expr());
  return te::min(around, (last * 2).expr() - around);
}

Result<te::Program> pad_compute(const OpContext& context) {
  TRY(const auto pads, pad_axes(context));
  const std::string& mode = context.get_string("mode");
  const DataType dtype = context.dtype(0);
  Shape shape = context.shape(0);
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!pads[k]) return context.unsupported("known pads and axes expected");
    shape[k] = shape[k] + pads[k]->before + pads[k]->after;
  }
  std::vector<te::Expr> index;
  te::Expr inside = te::truth(true);
  for (int k = 0; k < context.rank(0); ++k) {
    const PadAxis& pad = *pads[k];
    const te::Expr position = te::axis(k) - pad.before.expr();
    if (pad.before.is(0) && pad.after.is(0)) {
      index.push_back(te::axis(k));
    } else if (mode == "constant") {
      const te::Expr within = te::index(0) <= position && position < context.dim(0, k).expr();
      inside = inside && simplified(within, shape);
      index.push_back(simplified(position, shape));
    } else {
      // Negative pads cut first; what is left is continued.
      const Dim cut = min(pad.before, 0);
      const Dim count = context.dim(0, k) + cut + min(pad.after, 0);
      const te::Expr from_kept = simplified(te::axis(k) - max(pad.before, 0).expr(), shape);
      index.push_back(simplified(filled(mode, from_kept, pad, count) - cut.expr(), shape));
    }
  }
  const te::Expr value = context.has_input(2) ? load_scalar(context, 2) : te::literal(0, dtype);
  return single_map(std::move(shape), te::select(inside, context.load(0, std::move(index)), value));
}

/// Opset 2 had pads and value as attributes; opset 1 called them paddings and value.
Version pad_attributes(int since, const char* name) {
  const Version pads = ints_attribute_to_input(since, name, 1);
  return {since,
          [=](NodeForm& form) -> Result<void> {
            TRY_VOID(pads.to_newest(form));
            TRY(const auto value, form.take_float("value"));
            if (!value || *value == 0) return {};
            if (!is_float(form.type(0).dtype)) return form.unsupported("a known float type expected");
            form.set_input(2, form.scalar(form.type(0).dtype, *value, "value"));
            return {};
          },
          [=](NodeForm& form) -> Result<void> {
            if (form.has_input(2)) {
              const Tensor* value = form.constant(2);
              if (!value || value->count() != 1 || !is_float(value->dtype()))
                return form.unsupported("a constant value expected where the opset has it as an attribute");
              if (value->real(0) != 0) form.set("value", static_cast<float>(value->real(0)));
            }
            return pads.from_newest(form);
          }};
}

/// Before opset 18 pads were of all axes.
Result<void> pad_all_axes(NodeForm& form) {
  if (!form.has_input(3)) return {};
  const auto pads = form.ints(1), axes = form.ints(3);
  if (!form.has_rank(0) || !pads || !axes)
    return form.unsupported("constant pads and axes expected where the opset has no axes");
  const int rank = form.rank(0);
  std::vector<int64_t> all(2 * rank, 0);
  for (size_t k = 0; k < axes->size(); ++k) {
    const int64_t axis = (*axes)[k] < 0 ? (*axes)[k] + rank : (*axes)[k];
    all[axis] = (*pads)[k];
    all[axis + rank] = (*pads)[k + axes->size()];
  }
  form.set_input(1, form.ints(std::move(all), "pads"));
  form.drop_inputs_from(3);
  return {};
}

Result<void> refuse_wrap(NodeForm& form) {
  const auto mode = form.node().attributes.find("mode");
  if (mode != form.node().attributes.end() && std::get<std::string>(mode->second) == "wrap")
    return form.unsupported("mode wrap is newer than the opset");
  return {};
}

// CenterCropPad

/// The sizes that axes come to; nothing where unknown, and no entry for those that stay.
Result<std::vector<std::pair<int, std::optional<Dim>>>> centered_sizes(const OpContext& context) {
  std::vector<int64_t> given(context.rank(0));
  for (size_t k = 0; k < given.size(); ++k) given[k] = static_cast<int64_t>(k);
  if (context.has_attribute("axes")) given = context.get_ints("axes");
  TRY(const std::vector<int> axes, context.normalize_axes(given, context.rank(0)));
  TRY(const auto sizes, vector_content(context, 1));
  if (sizes && sizes->size() != axes.size())
    return context.invalid("a shape of {} elements expected, {} found", axes.size(), sizes->size());
  std::vector<std::pair<int, std::optional<Dim>>> result;
  for (size_t k = 0; k < axes.size(); ++k) {
    const std::optional<Dim> size = sizes ? (*sizes)[k] : std::nullopt;
    if (size && size->is_constant() && size->value() < 0)
      return context.invalid("sizes of at least 0 in shape expected, {} found", size->text());
    result.emplace_back(axes[k], size);
  }
  return result;
}

Result<std::vector<ValueType>> center_infer(const OpContext& context) {
  TRY(const auto sizes, centered_sizes(context));
  Shape shape = context.shape(0);
  for (const auto& [axis, size] : sizes) shape[axis] = size.value_or(context.fresh(0, axis));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> center_compute(const OpContext& context) {
  TRY(const auto sizes, centered_sizes(context));
  Shape shape = context.shape(0);
  std::vector<te::Expr> index = te::axes(context.rank(0));
  te::Expr inside = te::truth(true);
  for (const auto& [axis, size] : sizes) {
    if (!size) return context.unsupported("a known shape expected");
    const Dim& from = context.dim(0, axis);
    shape[axis] = *size;
    const Dim cut = floor_div(max(from - *size, 0), 2), added = floor_div(max(*size - from, 0), 2);
    const te::Expr place = te::axis(axis) - added.expr();
    inside = inside && te::index(0) <= place && place < min(from, *size).expr();
    index[axis] = place + cut.expr();
  }
  inside = simplified(inside, shape);
  for (te::Expr& expr : index) expr = simplified(expr, shape);
  return single_map(std::move(shape),
                    te::select(inside, context.load(0, std::move(index)), te::literal(0, context.dtype(0))));
}

// Tile

Result<std::optional<Shape>> tile_shape(const OpContext& context) {
  TRY(const auto repeats, vector_content(context, 1));
  Shape shape = fresh_shape(context, 0, context.rank(0));
  if (!repeats) return std::optional<Shape>(std::move(shape));
  if (repeats->size() != shape.size())
    return context.invalid("{} repeats, one an axis, expected, {} found", shape.size(), repeats->size());
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!(*repeats)[k]) continue;
    if ((*repeats)[k]->is_constant() && (*repeats)[k]->value() < 0)
      return context.invalid("repeats of at least 0 expected, {} found", (*repeats)[k]->text());
    shape[k] = context.dim(0, static_cast<int>(k)) * *(*repeats)[k];
  }
  return std::optional(std::move(shape));
}

Result<te::Program> tile_compute(const OpContext& context) {
  if (!context.dims(1)) return context.unsupported("known repeats expected");
  TRY(auto shape, tile_shape(context));
  std::vector<te::Expr> index;
  for (int k = 0; k < context.rank(0); ++k)
    index.push_back(simplified(te::floor_mod(te::axis(k), context.dim(0, k).expr()), *shape));
  return single_map(*std::move(shape), context.load(0, std::move(index)));
}

/// Opset 1 repeated along one axis, both given as scalars of T.
Result<void> tile_repeats(NodeForm& form) {
  const Tensor* tiles = form.constant(1);
  const Tensor* axis = form.constant(2);
  if (!form.has_rank(0) || !tiles || !axis || tiles->count() != 1 || axis->count() != 1)
    return form.unsupported("a known rank and constant tiles and axis expected");
  const double at = axis->real(0), times = tiles->real(0);
  if (!(at >= 0 && at < form.rank(0)) || !(times >= 0 && times <= static_cast<double>(kMaxDim)))
    return form.invalid("tiles of at least 0 and axis in [0, {}) expected, {} and {} found", form.rank(0), times, at);
  std::vector<int64_t> repeats(form.rank(0), 1);
  repeats[static_cast<size_t>(at)] = static_cast<int64_t>(times);
  form.set_input(1, form.ints(std::move(repeats), "repeats"));
  form.drop_inputs_from(2);
  return {};
}

Result<void> refuse_repeats(NodeForm& form) { return form.unsupported("opset 6 or newer expected"); }

// Expand

Result<std::optional<Shape>> expand_shape(const OpContext& context) {
  TRY(const auto target, vector_content(context, 1));
  if (!target) return std::optional<Shape>();
  const Shape& from = context.shape(0);
  Shape shape = fresh_shape(context, 0, static_cast<int64_t>(std::max(from.size(), target->size())));
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t from_axis = k + from.size() - shape.size(), target_axis = k + target->size() - shape.size();
    const Dim dim = k + from.size() >= shape.size() ? from[from_axis] : Dim(1);
    const std::optional<Dim> wanted = k + target->size() >= shape.size() ? (*target)[target_axis] : Dim(1);
    if (wanted && wanted->is_constant() && wanted->value() < 0)
      return context.invalid("dims of at least 0 in shape expected, {} found", wanted->text());
    if (!wanted) {
      if (dim.is_constant() && !dim.is(1)) shape[k] = dim;
      continue;
    }
    const auto common = broadcast_dim(dim, *wanted);
    if (!common)
      return context.invalid("a shape that {} broadcasts to expected, dim {} at axis {} found", text(from),
                             wanted->text(), k);
    shape[k] = *common;
  }
  return std::optional(std::move(shape));
}

Result<std::vector<ValueType>> expand_infer(const OpContext& context) {
  TRY(auto shape, expand_shape(context));
  return shaped(context.dtype(0), std::move(shape));
}

Result<te::Program> expand_compute(const OpContext& context) {
  if (!context.dims(1)) return context.unsupported("a known shape expected");
  TRY(const auto shape, expand_shape(context));
  return single_map(*shape, context.load_broadcast(0, *shape));
}

std::optional<Spelling> spell_expand(const ElementMap& map) {
  if (!only_moves(map)) return std::nullopt;
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  const auto dims = constants(to);
  if (!dims || from.size() > to.size()) return std::nullopt;
  const size_t offset = to.size() - from.size();
  for (size_t k = 0; k < from.size(); ++k) {
    const bool is_kept = axis_of(map.index[k]) == static_cast<int>(k + offset) && from[k] == to[k + offset];
    if (!is_kept && !(from[k].is(1) && te::as_constant(map.index[k]) == 0)) return std::nullopt;
  }
  return Spelling{.lists = {*dims}};
}

}  // namespace

std::vector<OpDef> joining() {
  const std::vector<TypeVariable> any = {{"T", kComputable}};
  return {
      {.name = "Concat",
       .since = 13,
       .inputs = {"inputs*"},
       .outputs = {"concat_result"},
       .types = any,
       .attributes = {required("axis", AttributeKind::kInt)},
       .versions = {{11},
                    {4, nullptr, count_from_front("axis")},
                    {1,
                     [](NodeForm& form) -> Result<void> {
                       if (!form.has("axis")) form.set("axis", int64_t{1});
                       return {};
                     },
                     count_from_front("axis")}},
       .infer = concat_infer,
       .compute = concat_compute,
       .axioms = {{"Concat(Concat(x,y){axis=a},z){axis=a} = Concat(x,Concat(y,z){axis=a}){axis=a}", "ranked"},
                  {"Concat(x,y,z){..p} = Concat(Concat(x,y){..p},z){..p}", "ranked"},
                  {"Concat(x,y,z,u){..p} = Concat(Concat(x,y,z){..p},u){..p}", "ranked"},
                  {"Concat(Concat(x,y){axis=a},Concat(z,w){axis=a}){axis=b} = "
                   "Concat(Concat(x,z){axis=b},Concat(y,w){axis=b}){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Concat(Add(x,y),Add(z,w)){..p} = Add(Concat(x,z){..p},Concat(y,w){..p})", "ranked"},
                  {"Concat(Mul(x,y),Mul(z,w)){..p} = Mul(Concat(x,z){..p},Concat(y,w){..p})", "ranked"},
                  {"Concat(Max(x,y),Max(z,w)){..p} = Max(Concat(x,z){..p},Concat(y,w){..p})", "ranked",
                   FloatClass::kSignOfZero},
                  {"Concat(Relu(x),Relu(y)){..p} = Relu(Concat(x,y){..p})", "ranked"},
                  {"Concat(Sigmoid(x),Sigmoid(y)){..p} = Sigmoid(Concat(x,y){..p})", "ranked"},
                  {"Concat(Tanh(x),Tanh(y)){..p} = Tanh(Concat(x,y){..p})", "ranked"},
                  {"Concat(Exp(x),Exp(y)){..p} = Exp(Concat(x,y){..p})", "ranked"},
                  {"Concat(Sqrt(x),Sqrt(y)){..p} = Sqrt(Concat(x,y){..p})", "ranked"},
                  {"Concat(Erf(x),Erf(y)){..p} = Erf(Concat(x,y){..p})", "ranked"},
                  {"Concat(Mul(x,s),Mul(y,s)){..p} = Mul(Concat(x,y){..p},s) if s_rank == 0", "ranked"},
                  {"Concat(Add(x,b),Add(y,b)){axis=0} = Add(Concat(x,y){axis=0},b) if b_rank == x_rank - 1", "ranked"},
                  {"Concat(Mul(x,b),Mul(y,b)){axis=0} = Mul(Concat(x,y){axis=0},b) if b_rank == x_rank - 1", "ranked"},
                  {"Concat(Add(x,b),Add(y,b)){axis=a} = Add(Concat(x,y){axis=a},b) if b_rank == 1 && a + 1 < x_rank",
                   "ranked"},
                  {"Concat(Mul(x,b),Mul(y,b)){axis=a} = Mul(Concat(x,y){axis=a},b) if b_rank == 1 && a + 1 < x_rank",
                   "ranked"},
                  {"Concat(Add(x,b),Add(y,c)){axis=-1} = Add(Concat(x,y){axis=-1},Concat(b,c){axis=0}) if b_rank == 1 "
                   "&& c_rank == 1 && b_0 == x_back1 && c_0 == y_back1",
                   "ranked"},
                  {"Concat(Mul(x,b),Mul(y,c)){axis=-1} = Mul(Concat(x,y){axis=-1},Concat(b,c){axis=0}) if b_rank == 1 "
                   "&& c_rank == 1 && b_0 == x_back1 && c_0 == y_back1",
                   "ranked"},
                  {"Concat(Add(x,b),Add(y,c)){axis=1} = Add(Concat(x,y){axis=1},Concat(b,c){axis=0}) if b_rank == "
                   "x_rank - 1 && c_rank == x_rank - 1 && b_0 == x_1 && c_0 == y_1",
                   "images"},
                  {"Concat(Mul(x,b),Mul(y,c)){axis=1} = Mul(Concat(x,y){axis=1},Concat(b,c){axis=0}) if b_rank == "
                   "x_rank - 1 && c_rank == x_rank - 1 && b_0 == x_1 && c_0 == y_1",
                   "images"},
                  {"Concat(Slice(x){axes=[a],ends=[s],starts=[r]},Slice(x){axes=[a],ends=[t],starts=[s]}){axis=a} = "
                   "Slice(x){axes=[a],ends=[t],starts=[r]} if r < s && s < t",
                   "ranked"}}},
      {.name = "Split",
       .since = 18,
       .inputs = {"input", "split?:int64"},
       .outputs = {"outputs*"},
       .types = any,
       .attributes = {with_default("axis", 0), optional("num_outputs", AttributeKind::kInt)},
       .versions = {split_version(13), split_version(11), split_version(2), split_version(1)},
       .infer = split_infer,
       .compute = split_compute,
       .axioms = {{"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]} = x", "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]}.1 = y", "ranked"},
                  {"Concat(Split(x){axis=a,split=[s,t]},Split(x){axis=a,split=[s,t]}.1){axis=a} = x", "ranked"},
                  {"Split(x){axis=a,split=[s,t]} = Slice(x){axes=[a],ends=[s],starts=[0]}", "ranked"},
                  {"Split(x){axis=a,split=[s,t]}.1 = Slice(x){axes=[a],ends=[s + t],starts=[s]}", "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]} = "
                   "Concat(Split(x){axis=b,split=[s,t]},Split(y){axis=b,split=[s,t]}){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]} = "
                   "Concat(Split(x){axis=b,split=[s,t]},Split(y){axis=b,split=[s,t]}){axis=a} if 0 <= b && b < a",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]}.1 = "
                   "Concat(Split(x){axis=b,split=[s,t]}.1,Split(y){axis=b,split=[s,t]}.1){axis=a} if 0 <= a && a < b",
                   "ranked"},
                  {"Split(Concat(x,y){axis=a}){axis=b,split=[s,t]}.1 = "
                   "Concat(Split(x){axis=b,split=[s,t]}.1,Split(y){axis=b,split=[s,t]}.1){axis=a} if 0 <= b && b < a",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}){axis=a,split=[u,v]} = Split(x){axis=a,split=[u,v + t]}",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}.1){axis=a,split=[u,v]} = Split(Split(x){axis=a,split=[s + "
                   "u,v]}){axis=a,split=[s,u]}.1",
                   "ranked"},
                  {"Split(Split(x){axis=a,split=[s,t]}.1){axis=a,split=[u,v]}.1 = Split(x){axis=a,split=[s + u,v]}.1",
                   "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]} = Split(x){axis=a,split=[u,v + t]}", "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]}.1 = Split(Split(x){axis=a,split=[u + v,t]}){axis=a,split=[u,v]}.1",
                   "ranked"},
                  {"Split(x){axis=a,split=[u,v,t]}.2 = Split(x){axis=a,split=[u + v,t]}.1", "ranked"}}},
      {.name = "Slice",
       .since = 13,
       .inputs = {"data", "starts:Tind", "ends:Tind", "axes?:Tind", "steps?:Tind"},
       .outputs = {"output"},
       .types = {{"T", kComputable}, {"Tind", kIndices}},
       .versions = {{11}, {10}, {1, slice_inputs, slice_attributes}},
       .infer = slice_infer,
       .compute = slice_compute,
       .spell = spell_slice},
      {.name = "Pad",
       .since = 21,
       .inputs = {"data", "pads:int64", "constant_value?", "axes?:Tind"},
       .outputs = {"output"},
       .types = {{"T", kComputable}, {"Tind", kIndices}},
       .attributes = {with_default("mode", "constant")},
       .versions = {{19},
                    {18, nullptr, refuse_wrap},
                    {13, nullptr, in_turn({refuse_wrap, pad_all_axes})},
                    {11, nullptr, in_turn({refuse_wrap, pad_all_axes})},
                    [] {
                      Version version = pad_attributes(2, "pads");
                      version.from_newest = in_turn({refuse_wrap, pad_all_axes, version.from_newest});
                      return version;
                    }(),
                    [] {
                      Version version = pad_attributes(1, "paddings");
                      version.from_newest = in_turn({refuse_wrap, pad_all_axes, version.from_newest});
                      return version;
                    }()},
       .infer = pad_infer,
       .compute = pad_compute,
       .axioms = {{"Pad(x){pads=[0,0,0,0,0,0,0,0]} = x", "ranked"},
                  {"Pad(Pad(x){pads=[a,b,c,d,e,f,g,h]}){pads=[i,j,k,l,m,n,o,p]} = Pad(x){pads=[a + i,b + j,c + k,d + "
                   "l,e + m,f + n,g + o,h + p]} if 0 <= a && 0 <= b && 0 <= c && 0 <= d && 0 <= e && 0 <= f && 0 <= g "
                   "&& 0 <= h && 0 <= i && 0 <= j && 0 <= k && 0 <= l && 0 <= m && 0 <= n && 0 <= o && 0 <= p",
                   "ranked"},
                  {"Pad(Add(x,y)){pads=[a,b,c,d,e,f,g,h]} = "
                   "Add(Pad(x){pads=[a,b,c,d,e,f,g,h]},Pad(y){pads=[a,b,c,d,e,f,g,h]})",
                   "equal"},
                  {"Pad(Mul(x,y)){pads=[a,b,c,d,e,f,g,h]} = "
                   "Mul(Pad(x){pads=[a,b,c,d,e,f,g,h]},Pad(y){pads=[a,b,c,d,e,f,g,h]})",
                   "equal"},
                  {"Pad(Mul(x,s)){pads=[a,b,c,d,e,f,g,h]} = Mul(Pad(x){pads=[a,b,c,d,e,f,g,h]},s) if s_rank == 0",
                   "broadcast", FloatClass::kFinite},
                  {"Pad(Relu(x)){pads=[a,b,c,d,e,f,g,h]} = Relu(Pad(x){pads=[a,b,c,d,e,f,g,h]})", "equal"},
                  {"Pad(Concat(x,y){axis=0}){pads=[0,b,c,d,0,f,g,h]} = "
                   "Concat(Pad(x){pads=[0,b,c,d,0,f,g,h]},Pad(y){pads=[0,b,c,d,0,f,g,h]}){axis=0}",
                   "ranked"},
                  {"Pad(Concat(x,y){axis=1}){pads=[a,0,c,d,e,0,g,h]} = "
                   "Concat(Pad(x){pads=[a,0,c,d,e,0,g,h]},Pad(y){pads=[a,0,c,d,e,0,g,h]}){axis=1}",
                   "ranked"}}},
      {.name = "CenterCropPad",
       .since = 18,
       .inputs = {"input_data", "shape:Tind"},
       .outputs = {"output_data"},
       .types = {{"T", kComputable}, {"Tind", kIndices}},
       .attributes = {optional("axes", AttributeKind::kInts)},
       .infer = center_infer,
       .compute = center_compute},
      {.name = "Tile",
       .since = 13,
       .inputs = {"input", "repeats:T1"},
       .outputs = {"output"},
       .types = {{"T", kComputable}, {"T1", DataType::kInt64}},
       .versions = {{6}, {1, tile_repeats, refuse_repeats}},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY(auto shape, tile_shape(context));
         return shaped(context.dtype(0), std::move(shape));
       },
       .compute = tile_compute},
      {.name = "Expand",
       .since = 13,
       .inputs = {"input", "shape:int64"},
       .outputs = {"output"},
       .types = any,
       .versions = {{8}},
       .infer = expand_infer,
       .compute = expand_compute,
       .spell = spell_expand,
       .shape_input = 1,
       .axioms = {{"Mul(x,Expand(1){shape=[x_0,x_1]}) = x", "ranked"},
                  {"Mul(x,Expand(1){shape=[x_0,x_1,x_2]}) = x", "ranked"},
                  {"Mul(x,Expand(1){shape=[x_0,x_1,x_2,x_3]}) = x", "ranked"},
                  {"Add(x,Expand(y){..p}) = Add(x,y)", "broadcast"},
                  {"Mul(x,Expand(y){..p}) = Mul(x,y)", "broadcast"},
                  {"Transpose(Expand(1){shape=[a,b]}){perm=[1,0]} = Expand(1){shape=[b,a]}", "ranked"},
                  {"Expand(x){shape=[x_0,x_1]} = x", "ranked"},
                  {"Expand(x){shape=[x_0,x_1,x_2]} = x", "ranked"},
                  {"Expand(x){shape=[x_0,x_1,x_2,x_3]} = x", "ranked"},
                  {"Expand(Relu(x)){..p} = Relu(Expand(x){..p})", "equal"},
                  {"Expand(Add(x,y)){..p} = Add(Expand(x){..p},Expand(y){..p})", "equal"},
                  {"Expand(Mul(x,y)){..p} = Mul(Expand(x){..p},Expand(y){..p})", "equal"}}},
  };
}

}  // namespace isomer::ops
