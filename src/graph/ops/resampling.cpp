// Resize Upsample GridSample RoiAlign AffineGrid MaxUnpool: values read between, or written back to, the places of a
// grid.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/resize.h"
#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

const te::Number kHalf = te::Number::fraction(1, 2);

te::Expr floored(const te::Expr& value) { return te::unary(te::UnaryOp::kFloor, value); }
te::Expr to_index(const te::Expr& value) { return te::cast(DataType::kInt64, value); }
DataType working_type(DataType dtype) { return dtype == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32; }

// GridSample

Result<Shape> sampled_shape(const OpContext& context) {
  const Shape& input = context.shape(0);
  const Shape& grid = context.shape(1);
  const size_t rank = input.size();
  const bool fits = rank >= 3 && grid.size() == rank && agreed(grid[0], input[0]) &&
                    agreed(grid.back(), Dim(static_cast<int64_t>(rank) - 2));
  if (!fits)
    return context.invalid(
        "grid of shape [N, spatial dims, number of spatial dims] for X of shape {} expected, {} found", text(input),
        text(grid));
  return concatenated({input[0], input[1]}, Shape(grid.begin() + 1, grid.end() - 1));
}

Result<std::vector<ValueType>> grid_sample_infer(const OpContext& context) {
  const std::string &mode = context.get_string("mode"), &padding = context.get_string("padding_mode");
  if (mode != "linear" && mode != "nearest" && mode != "cubic")
    return context.invalid("mode linear, nearest or cubic expected, '{}' found", mode);
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    return context.invalid("padding_mode zeros, border or reflection expected, '{}' found", padding);
  if (mode != "nearest" && context.dtype(0) == DataType::kBool) return context.unsupported("mode {} on bool", mode);
  TRY(Shape shape, sampled_shape(context));
  return one(context.dtype(0), std::move(shape));
}

/// Reads X at real coordinates in three steps: coordinates by the grid, taps around them, a weighted sum.
class GridSampler {
 public:
  explicit GridSampler(const OpContext& context)
      : context_(context),
        mode_(context.get_string("mode")),
        padding_(context.get_string("padding_mode")),
        aligned_(context.get_int("align_corners") != 0),
        spatial_(context.rank(0) - 2),
        working_(working_type(context.dtype(0))) {}

  Result<te::Program> program() {
    TRY(const Shape shape, sampled_shape(context_));
    const bool is_nearest = mode_ == "nearest";
    const int64_t taps = is_nearest ? 1 : mode_ == "linear" ? 2 : 4;
    std::vector<te::Expr> index = {te::axis(0), te::axis(1)};
    te::Expr inside = te::truth(true), weight;
    for (int d = 0; d < spatial_; ++d) {
      const te::Expr at = coordinate(d);
      const te::Expr tap = is_nearest ? to_index(at) : to_index(floored(at)) + te::reduce_axis(d) - (taps / 2 - 1);
      if (padding_ == "zeros") inside = inside && te::index(0) <= tap && tap < length(d).expr();
      index.push_back(padded(tap, d));
      if (is_nearest) continue;
      const te::Expr distance = te::cast(working_, tap) - at;
      const te::Expr factor =
          mode_ == "cubic" ? cubic_kernel(distance, te::Number::fraction(-3, 4)) : te::max(1 - te::abs(distance), 0);
      weight = weight ? weight * factor : factor;
    }
    const DataType dtype = context_.dtype(0);
    const te::Expr pixel = te::select(inside, context_.load(0, std::move(index)), te::literal(0, dtype));
    if (is_nearest) {
      program_.outputs = {program_.map(shape, pixel)};
      return std::move(program_);
    }
    te::StageValue sum =
        program_.reduce(shape, Shape(spatial_, taps), te::sum(working_), weight * te::cast(working_, pixel));
    if (working_ != dtype)
      sum = program_.map(shape, te::cast(dtype, program_.load(sum, te::axes(static_cast<int>(shape.size())))));
    program_.outputs = {sum};
    return std::move(program_);
  }

 private:
  const Dim& length(int d) const { return context_.dim(0, 2 + d); }

  /// A stage over [N, grid's spatial dims] that gives the coordinate along spatial axis d; the load of it for an
  /// output.
  te::Expr coordinate(int d) {
    Shape axes(context_.shape(1).begin(), context_.shape(1).end() - 1);
    std::vector<te::Expr> at = te::axes(spatial_ + 1);
    at.push_back(te::index(spatial_ - 1 - d));  // the grid names the last axis first
    const te::Expr unit = te::cast(working_, context_.load(1, std::move(at))) + 1;
    const te::Expr extent = te::cast(working_, length(d).expr()), last = te::cast(working_, (length(d) - 1).expr());
    te::Expr value = aligned_ ? unit * kHalf * last : (unit * extent - 1) * kHalf;
    if (mode_ == "nearest") value = te::unary(te::UnaryOp::kRound, value);
    const te::Expr least = aligned_ ? te::literal(0, working_) : te::literal(te::Number::fraction(-1, 2), working_);
    const te::Expr greatest = aligned_ ? last : extent - kHalf;
    const te::Expr outside = value < least || greatest < value;
    if (padding_ == "border") {
      value = te::select(outside, te::min(te::max(value, 0), last), value);
    } else if (padding_ == "reflection") {
      const te::Expr span = te::max(greatest - least, 1);
      const te::Expr around = te::floor_mod(value - least, span * 2);
      value = te::select(outside, least + te::min(around, span * 2 - around), value);
    } else {
      // All taps this far out are zeros, and the numbers stay small enough to be indices.
      value = te::min(te::max(value, -8), extent + 8);
    }
    const te::StageValue stage = program_.map(std::move(axes), value);
    std::vector<te::Expr> here = {te::axis(0)};
    for (int k = 0; k < spatial_; ++k) here.push_back(te::axis(2 + k));
    return program_.load(stage, std::move(here));
  }

  /// Where a tap reads; behind a condition for zeros.
  te::Expr padded(const te::Expr& tap, int d) const {
    if (padding_ == "zeros") return tap;
    const Dim last = length(d) - 1;
    if (padding_ == "border") return clamped(tap, 0, last);
    const Dim period = aligned_ ? max(last * 2, 1) : max(length(d) * 2, 1);
    const te::Expr around = te::floor_mod(tap, period.expr());
    return clamped(te::min(around, (aligned_ ? period : period - 1).expr() - around), 0, last);
  }

  const OpContext& context_;
  const std::string &mode_, &padding_;
  const bool aligned_;
  const int spatial_;
  const DataType working_;
  te::Program program_;
};

/// Opset 16 called the modes bilinear and bicubic.
Version grid_sample_16() {
  const auto rename = [](NodeForm& form, std::string_view from, std::string_view to) {
    const auto mode = form.node().attributes.find("mode");
    if (mode == form.node().attributes.end()) return;
    if (auto* name = std::get_if<std::string>(&mode->second); name && *name == from) *name = to;
  };
  return {16,
          [=](NodeForm& form) -> Result<void> {
            rename(form, "bilinear", "linear");
            rename(form, "bicubic", "cubic");
            return {};
          },
          [=](NodeForm& form) -> Result<void> {
            // What has no known rank came from there.
            if (form.has_rank(0) && form.rank(0) != 4)
              return form.unsupported("X of rank 4 expected where the opset knows no other");
            rename(form, "linear", "bilinear");
            rename(form, "cubic", "bicubic");
            return {};
          }};
}

// RoiAlign

Result<std::vector<ValueType>> roi_align_infer(const OpContext& context) {
  const std::string &mode = context.get_string("mode"),
                    &coordinates = context.get_string("coordinate_transformation_mode");
  if (mode != "avg" && mode != "max") return context.invalid("mode avg or max expected, '{}' found", mode);
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel")
    return context.invalid("coordinate_transformation_mode half_pixel or output_half_pixel expected, '{}' found",
                           coordinates);
  if (context.rank(0) != 4) return context.invalid("X of rank 4 expected, shape {} found", text(context.shape(0)));
  if (context.rank(2) != 1)
    return context.invalid("batch_indices of rank 1 expected, shape {} found", text(context.shape(2)));
  TRY_VOID(expect_shape(context, 1, {context.dim(2, 0), 4}));
  const int64_t height = context.get_int("output_height"), width = context.get_int("output_width");
  const int64_t ratio = context.get_int("sampling_ratio");
  if (height < 1 || width < 1 || height > kMaxDim || width > kMaxDim)
    return context.invalid("output_height and output_width of at least 1 expected, {} and {} found", height, width);
  if (ratio < 0 || ratio > kMaxDim) return context.invalid("sampling_ratio of at least 0 expected, {} found", ratio);
  return one(context.dtype(0), {context.dim(2, 0), context.dim(0, 1), height, width});
}

/// What one axis of all regions comes to: for each region how many samples a bin has, and for each sample where it
/// lies.
struct RoiAxis {
  te::StageValue count;  ///< [rois]
  Dim most;              ///< the greatest count
  te::StageValue inside, low,
      high_part;  ///< [rois, bins, most]: within the image; the element before; weight of the next
};

/// More samples than this in a bin along an axis are taken as this many: a region a thousand times the image has no
/// content.
constexpr int64_t kMaxSamples = 1024;

RoiAxis roi_axis(const OpContext& context, te::Program& program, int axis, const Dim& bins) {
  const DataType dtype = context.dtype(0);
  const Dim& rois = context.dim(2, 0);
  const Dim& extent = context.dim(0, axis);
  const int64_t column = axis == 2 ? 1 : 0;  // rois are x1, y1, x2, y2
  const bool half_pixel = context.get_string("coordinate_transformation_mode") == "half_pixel";
  const auto edge = [&](int64_t k) {
    return context.load(1, {te::axis(0), te::index(k)}) * te::Number(context.get_float("spatial_scale")) -
           (half_pixel ? kHalf : te::Number(0));
  };
  te::Expr size = edge(column + 2) - edge(column);
  if (!half_pixel) size = te::max(size, 1);
  const te::StageValue bin = program.map({rois}, size / te::cast(dtype, bins.expr()));
  const te::Expr bin_size = program.load(bin, {te::axis(0)});

  RoiAxis result;
  const int64_t ratio = context.get_int("sampling_ratio");
  if (ratio > 0) {
    result.count = program.map({rois}, te::index(ratio));
    result.most = ratio;
  } else {
    const te::Expr samples = te::unary(te::UnaryOp::kCeil, te::min(te::max(bin_size, 0), kMaxSamples));
    result.count = program.map({rois}, to_index(samples));
    const te::StageValue most =
        program.reduce({}, {rois}, te::maximum(DataType::kInt64), program.load(result.count, {te::reduce_axis(0)}));
    result.most = Dim(te::max(program.load(most, {}), 0));
  }
  const te::Expr count = te::cast(dtype, te::max(program.load(result.count, {te::axis(0)}), 1));
  const te::Expr within = (te::cast(dtype, te::axis(2)) + kHalf) * bin_size / count;
  const te::Expr place = edge(column) + te::cast(dtype, te::axis(1)) * bin_size + within;
  const Shape samples = {rois, bins, result.most};
  const te::Expr last = te::cast(dtype, (extent - 1).expr());
  const te::StageValue at = program.map(samples, place);
  const te::Expr value = program.load(at, te::axes(3));
  const te::Expr kept = te::min(te::max(value, 0), last);
  const te::Expr used = te::axis(2) < program.load(result.count, {te::axis(0)});
  result.inside = program.map(samples, used && -1 <= value && value <= te::cast(dtype, extent.expr()));
  result.low = program.map(samples, clamped(to_index(floored(kept)), 0, extent - 1));
  result.high_part = program.map(samples, kept - te::cast(dtype, program.load(result.low, te::axes(3))));
  return result;
}

Result<te::Program> roi_align_compute(const OpContext& context) {
  const DataType dtype = context.dtype(0);
  const Dim height = context.get_int("output_height"), width = context.get_int("output_width");
  const Shape shape = {context.dim(2, 0), context.dim(0, 1), height, width};
  te::Program program;
  const RoiAxis y = roi_axis(context, program, 2, height), x = roi_axis(context, program, 3, width);
  const std::vector<te::Expr> y_sample = {te::axis(0), te::axis(2), te::reduce_axis(0)};
  const std::vector<te::Expr> x_sample = {te::axis(0), te::axis(3), te::reduce_axis(1)};
  const te::Expr batch = wrapped(context.load(2, {te::axis(0)}), context.dim(0, 0));
  const te::Expr top = program.load(y.low, y_sample), left = program.load(x.low, x_sample);
  const te::Expr bottom = te::min(top + 1, (context.dim(0, 2) - 1).expr()),
                 right = te::min(left + 1, (context.dim(0, 3) - 1).expr());
  const te::Expr down = program.load(y.high_part, y_sample), across = program.load(x.high_part, x_sample);
  const auto corner = [&](const te::Expr& row, const te::Expr& column, const te::Expr& weight) {
    return weight * context.load(0, {batch, te::axis(1), row, column});
  };
  const te::Expr a = corner(top, left, (1 - down) * (1 - across)), b = corner(top, right, (1 - down) * across);
  const te::Expr c = corner(bottom, left, down * (1 - across)), d = corner(bottom, right, down * across);
  const bool average = context.get_string("mode") == "avg";
  const te::Expr sample = average ? a + b + c + d : te::max(te::max(a, b), te::max(c, d));
  const te::Expr inside = program.load(y.inside, y_sample) && program.load(x.inside, x_sample);
  const te::Expr rows = program.load(y.count, {te::axis(0)}), columns = program.load(x.count, {te::axis(0)});
  const Shape samples = {y.most, x.most};
  const te::Expr nothing = te::literal(0, dtype);
  if (average) {
    const te::StageValue sum = program.reduce(shape, samples, te::sum(dtype), te::select(inside, sample, nothing));
    program.outputs = {
        program.map(shape, program.load(sum, te::axes(4)) / te::cast(dtype, te::max(rows * columns, 1)))};
    return program;
  }
  // A sample outside the image counts as 0; beyond a region's own number of samples there is none.
  const te::Expr exists = te::reduce_axis(0) < rows && te::reduce_axis(1) < columns;
  const te::Monoid greatest = te::maximum(dtype);
  const te::StageValue most = program.reduce(
      shape, samples, greatest, te::select(exists, te::select(inside, sample, nothing), greatest.identity[0]));
  program.outputs = {
      program.map(shape, te::select(te::index(0) < rows * columns, program.load(most, te::axes(4)), nothing))};
  return program;
}

/// Before opset 16 samples were not shifted by half a pixel.
Version roi_align_10() {
  return {10,
          [](NodeForm& form) -> Result<void> {
            form.set("coordinate_transformation_mode", std::string("output_half_pixel"));
            return {};
          },
          [](NodeForm& form) -> Result<void> {
            TRY(const auto mode, form.take_string("coordinate_transformation_mode"));
            if (mode == "output_half_pixel") return {};
            return form.unsupported("coordinate_transformation_mode output_half_pixel expected, which the opset means");
          }};
}

// AffineGrid

Result<std::optional<Shape>> affine_grid_shape(const OpContext& context) {
  TRY(const auto size, vector_content(context, 1));
  if (!size) return std::optional<Shape>();
  if (size->size() != 4 && size->size() != 5)
    return context.invalid("size of 4 or 5 elements expected, {} found", size->size());
  const auto spatial = static_cast<int64_t>(size->size()) - 2;
  TRY_VOID(expect_shape(context, 0, {(*size)[0] ? *(*size)[0] : context.dim(0, 0), spatial, spatial + 1}));
  Shape shape = {context.dim(0, 0)};
  for (int k = 0; k < spatial; ++k) {
    shape.push_back((*size)[2 + k].value_or(context.fresh(0, 1 + k)));
    if (shape.back().is_constant() && shape.back().value() < 0)
      return context.invalid("sizes of at least 0 expected, {} found", shape.back().text());
  }
  shape.push_back(spatial);
  return std::optional(std::move(shape));
}

Result<te::Program> affine_grid_compute(const OpContext& context) {
  TRY(const auto shape, affine_grid_shape(context));
  if (!shape || !context.dims(1)) return context.unsupported("a known size expected");
  const int spatial = static_cast<int>(shape->size()) - 2;
  const DataType dtype = context.dtype(0);
  const auto factor = [&](int column) {
    return context.load(0, {te::axis(0), te::axis(spatial + 1), te::index(column)});
  };
  te::Expr sum = factor(spatial);
  for (int k = 0; k < spatial; ++k) {
    const int axis = spatial - k;  // the first column is of the last axis
    const Dim& length = (*shape)[axis];
    const te::Expr step = te::axis(axis) * 2;
    const te::Expr place = context.get_int("align_corners") != 0
                               ? te::cast(dtype, step) / te::cast(dtype, max(length - 1, 1).expr())
                               : te::cast(dtype, step + 1) / te::cast(dtype, length.expr());
    sum = sum + factor(k) * (place - 1);
  }
  return single_map(*shape, sum);
}

// MaxUnpool

/// The shape that a pooling's input had, of which `I` holds positions in row-major order.
Result<Shape> pooled_from(const OpContext& context) {
  const int64_t spatial = context.rank(0) - 2;
  if (spatial < 1) return context.invalid("X of rank at least 3 expected, shape {} found", text(context.shape(0)));
  TRY_VOID(expect_shape(context, 1, context.shape(0)));
  const auto given = [&](const char* name, int64_t count, int64_t fallback) {
    return context.has_attribute(name) ? context.get_ints(name) : std::vector<int64_t>(count, fallback);
  };
  const std::vector<int64_t> kernel = context.get_ints("kernel_shape"), strides = given("strides", spatial, 1),
                             pads = given("pads", 2 * spatial, 0);
  TRY_VOID(check_values(context, "kernel_shape", kernel, spatial, 1));
  TRY_VOID(check_values(context, "strides", strides, spatial, 1));
  TRY_VOID(check_values(context, "pads", pads, 2 * spatial, 0));
  Shape shape = context.shape(0);
  for (int64_t k = 0; k < spatial; ++k) {
    Dim& dim = shape[2 + k];
    dim = (dim - 1) * strides[k] + kernel[k] - pads[k] - pads[k + spatial];
    if (dim.is_constant() && dim.value() < 0)
      return context.invalid("pads that leave dims of at least 0 expected, {} found", dim.text());
  }
  return shape;
}

Result<Shape> unpooled_shape(const OpContext& context) {
  TRY(Shape shape, pooled_from(context));
  if (!context.has_input(2)) return shape;
  TRY(const auto given, vector_content(context, 2));
  if (given && given->size() != shape.size())
    return context.invalid("output_shape of {} elements expected, {} found", shape.size(), given->size());
  for (size_t k = 0; k < shape.size(); ++k) {
    const std::optional<Dim> dim = given ? (*given)[k] : std::nullopt;
    if (dim && dim->is_constant() && shape[k].is_constant() && dim->value() < shape[k].value())
      return context.invalid("output_shape of at least {} expected, {} found", text(shape), dim->text());
    shape[k] = dim.value_or(context.fresh(0, static_cast<int>(k)));
  }
  return shape;
}

Result<te::Program> max_unpool_compute(const OpContext& context) {
  if (context.has_input(2) && !context.dims(2)) return context.unsupported("a known output_shape expected");
  TRY(const Shape from, pooled_from(context));
  TRY(const Shape shape, unpooled_shape(context));
  std::vector<te::Expr> at, index(from.size());
  for (size_t k = 0; k < from.size(); ++k) at.push_back(te::reduce_axis(static_cast<int>(k)));
  Dim stride = 1;
  for (size_t k = from.size(); k-- > 0;) {
    index[k] = te::floor_div(context.load(1, at), max(stride, 1).expr());
    if (k > 0) index[k] = te::floor_mod(index[k], max(from[k], 1).expr());
    stride = stride * from[k];
  }
  te::Program program;
  program.outputs = {program.update(
      {shape, te::literal(0, context.dtype(0)), context.shape(0), std::move(index), context.load(0, at), {}})};
  return program;
}

}  // namespace

std::vector<OpDef> resampling() {
  std::vector<OpDef> rows = {
      {.name = "GridSample",
       .since = 22,
       .inputs = {"X:T1", "grid:T2"},
       .outputs = {"Y:T1"},
       .types = {{"T1", kPlain}, {"T2", kFloats}},
       .attributes = {with_default("align_corners", 0), with_default("mode", "linear"),
                      with_default("padding_mode", "zeros")},
       .versions = {{20}, grid_sample_16()},
       .infer = grid_sample_infer,
       .compute = [](const OpContext& context) { return GridSampler(context).program(); }},
      {.name = "RoiAlign",
       .since = 22,
       .inputs = {"X:T1", "rois:T1", "batch_indices:T2"},
       .outputs = {"Y:T1"},
       .types = {{"T1", kFloats}, {"T2", DataType::kInt64}},
       .attributes = {with_default("coordinate_transformation_mode", "half_pixel"), with_default("mode", "avg"),
                      with_default("output_height", 1), with_default("output_width", 1),
                      with_default("sampling_ratio", 0), with_default("spatial_scale", 1.0)},
       .versions = {{16}, roi_align_10()},
       .infer = roi_align_infer,
       .compute = roi_align_compute},
      {.name = "AffineGrid",
       .since = 20,
       .inputs = {"theta:T1", "size:T2"},
       .outputs = {"grid:T1"},
       .types = {{"T1", kFloats}, {"T2", DataType::kInt64}},
       .attributes = {with_default("align_corners", 0)},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY(auto shape, affine_grid_shape(context));
         return std::vector<ValueType>{{ValueType::Kind::kTensor, context.dtype(0), std::move(shape), {}}};
       },
       .compute = affine_grid_compute},
      {.name = "MaxUnpool",
       .since = 22,
       .inputs = {"X:T1", "I:T2", "output_shape?:T2"},
       .outputs = {"output:T1"},
       .types = {{"T1", kFloats}, {"T2", DataType::kInt64}},
       .attributes = {required("kernel_shape", AttributeKind::kInts), optional("pads", AttributeKind::kInts),
                      optional("strides", AttributeKind::kInts)},
       .versions = {{11}, {9}},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY(Shape shape, unpooled_shape(context));
         return one(context.dtype(0), std::move(shape));
       },
       .compute = max_unpool_compute},
  };
  rows.push_back(resize_row());
  rows.push_back(upsample_row());
  return rows;
}

}  // namespace isomer::ops
