#include "graph/ops/resize.h"

#include <fmt/ranges.h>

#include <cmath>
#include <numeric>

#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

/// What Resize says in attributes and Upsample leaves at one choice.
struct Method {
  std::string mode = "nearest";
  std::string coordinates = "asymmetric";
  std::string rounding = "floor";
  te::Number cubic_a = 0;
  te::Number extrapolation = 0;
  bool excludes_outside = false;
  bool antialias = false;
  bool crops() const { return coordinates == "tf_crop_and_resize"; }
};

/// Regions of interest are held in fixed point: sums of products with positions stay integers.
constexpr int64_t kCropUnit = int64_t{1} << 30;

/// An axis with out = in * numerator / denominator, as far as known. The fraction is exact; where it came from a float
/// that is the nearest to out / in, it is out / in.
struct Axis {
  Dim in;
  std::optional<Dim> out;
  Dim numerator = 1, denominator = 1;
  /// out before it was rounded down to an integer.
  Dim whole_numerator = 1, whole_denominator = 1;
  std::optional<std::pair<int64_t, int64_t>> crop;  ///< start and end in units of 1 / kCropUnit

  bool stays() const {
    const bool whole = !crop || *crop == std::pair<int64_t, int64_t>(0, kCropUnit);
    return out && *out == in && numerator == denominator && whole;
  }
};

/// Numerators and denominators of scales stay below, so that products with positions do not overflow.
constexpr int64_t kMaxScalePart = int64_t{1} << 40;

struct Fraction {
  int64_t numerator, denominator;
};

/// A positive float as a fraction; nothing if its parts are too large.
std::optional<Fraction> exact_fraction(float value) {
  int exponent;
  const float mantissa = std::frexp(value, &exponent);
  auto numerator = static_cast<int64_t>(std::ldexp(mantissa, 24));
  exponent -= 24;
  while (numerator % 2 == 0) {
    numerator /= 2;
    ++exponent;
  }
  if (exponent < -40 || exponent > 16) return std::nullopt;
  const Fraction fraction = {exponent > 0 ? numerator << exponent : numerator,
                             exponent < 0 ? int64_t{1} << -exponent : 1};
  return fraction.numerator <= kMaxScalePart ? std::optional(fraction) : std::nullopt;
}

void set_scale(Axis& axis, const Dim& out, const Dim& numerator, const Dim& denominator) {
  axis.out = out;
  axis.numerator = numerator;
  axis.denominator = denominator;
}

Result<void> scale_axis(const OpContext& context, Axis& axis, double scale) {
  if (!(scale > 0) || std::isinf(scale)) return context.invalid("scales above 0 expected, {} found", scale);
  const auto single = static_cast<float>(scale);
  const auto fraction = exact_fraction(single);
  if (axis.in.is_constant()) {
    // Rounded to float32 before it is rounded down, as ONNX's own shape inference does.
    const float product = static_cast<float>(axis.in.value()) * single;
    if (!(product <= static_cast<float>(kMaxDim)))
      return context.invalid("dims of at most 2^40 expected, {} times {} found", axis.in.text(), scale);
    const auto out = static_cast<int64_t>(std::floor(product));
    const bool nearest_to_ratio =
        axis.in.value() > 0 &&
        static_cast<float>(static_cast<double>(out) / static_cast<double>(axis.in.value())) == single;
    if (out == 0 || nearest_to_ratio) {
      set_scale(axis, out, out == 0 ? Dim(1) : Dim(out), out == 0 ? Dim(1) : axis.in);
      axis.whole_numerator = out;
      return {};
    }
    if (!fraction) return context.unsupported("scales between 2^-16 and 2^16 expected, {} found", scale);
    set_scale(axis, out, fraction->numerator, fraction->denominator);
  } else {
    // Beyond small fractions float32 rounds products with large dims.
    if (!fraction || fraction->denominator > 1024 || fraction->numerator > (1 << 20)) return {};
    set_scale(axis, floor_div(axis.in * fraction->numerator, fraction->denominator), fraction->numerator,
              fraction->denominator);
  }
  axis.whole_numerator = axis.in * axis.numerator;
  axis.whole_denominator = axis.denominator;
  return {};
}

Result<void> size_axis(const OpContext& context, Axis& axis, const Dim& size) {
  if (size.is_constant() && (size.value() < 0 || size.value() > kMaxDim))
    return context.invalid("sizes in [0, 2^40] expected, {} found", size.text());
  if (axis.in.is(0) && !size.is(0)) return context.invalid("a dim above 0 to resize expected, 0 found");
  if (size.is(0))
    set_scale(axis, size, 1, 1);
  else
    set_scale(axis, size, size, axis.in);
  axis.whole_numerator = size;
  return {};
}

/// All axes by the one scale at which the smallest (or largest) ratio of size to dim is met.
Result<void> keep_aspect_ratio(const OpContext& context, std::vector<Axis>& axes, const std::vector<int>& chosen,
                               const std::vector<Dim>& sizes, bool larger) {
  std::optional<Fraction> scale;
  for (size_t k = 0; k < chosen.size(); ++k) {
    const Dim& in = axes[chosen[k]].in;
    if (!in.is_constant() || !sizes[k].is_constant()) return {};
    if (in.value() <= 0 || sizes[k].value() < 0 || sizes[k].value() > (1 << 30) || in.value() > (1 << 30))
      return context.invalid("dims and sizes in [1, 2^30] expected to keep the aspect ratio, {} and {} found",
                             in.text(), sizes[k].text());
    const Fraction ratio = {sizes[k].value(), in.value()};
    const bool is_less = !scale || ratio.numerator * scale->denominator < scale->numerator * ratio.denominator;
    if (!scale || is_less != larger) scale = ratio;
  }
  for (const int axis : chosen) {
    Axis& resized = axes[axis];
    const Dim whole = resized.in * scale->numerator;
    const Dim out = floor_div(whole * 2 + scale->denominator, Dim(scale->denominator) * 2);
    set_scale(resized, out, std::max<int64_t>(scale->numerator, 1), scale->denominator);
    resized.whole_numerator = whole;
    resized.whole_denominator = scale->denominator;
  }
  return {};
}

bool has_elements(const OpContext& context, int i) {
  return context.has_input(i) && !element_count(context.shape(i)).is(0);
}

Result<void> expect_count(const OpContext& context, int i, size_t count) {
  TRY(const auto length, vector_length(context, i));
  if (length && static_cast<uint64_t>(*length) != count)
    return context.invalid("{} of {} elements expected, {} found", context.input_name(i), count, *length);
  return {};
}

/// The axes that `chosen` names are resized by input `scales`, or to input `sizes` (-1: the operator has none).
Result<std::vector<Axis>> resized_axes(const OpContext& context, const std::vector<int>& chosen, int scales,
                                       int sizes) {
  std::vector<Axis> axes;
  for (const Dim& dim : context.shape(0)) {
    axes.emplace_back();
    axes.back().in = dim;
    axes.back().out = dim;
  }
  for (const int axis : chosen) axes[axis].out = std::nullopt;
  const bool by_scales = has_elements(context, scales), by_sizes = sizes >= 0 && has_elements(context, sizes);
  if (by_scales == by_sizes && !chosen.empty())
    return context.invalid("either scales or sizes expected, {} found", by_scales ? "both" : "neither");
  if (by_scales) {
    TRY_VOID(expect_count(context, scales, chosen.size()));
    const auto values = context.reals(scales);
    for (size_t k = 0; values && k < chosen.size(); ++k) TRY_VOID(scale_axis(context, axes[chosen[k]], (*values)[k]));
  } else if (by_sizes) {
    TRY_VOID(expect_count(context, sizes, chosen.size()));
    TRY(const auto values, vector_content(context, sizes));
    const std::string& policy = context.get_string("keep_aspect_ratio_policy");
    if (policy == "stretch") {
      for (size_t k = 0; values && k < chosen.size(); ++k)
        if ((*values)[k]) TRY_VOID(size_axis(context, axes[chosen[k]], *(*values)[k]));
    } else if (const auto known = context.dims(sizes)) {
      TRY_VOID(keep_aspect_ratio(context, axes, chosen, *known, policy == "not_smaller"));
    }
  }
  return axes;
}

/// axis(k) stands at (slope * axis(k) + offset) / divisor of the original axis, divisor > 0.
struct Coordinate {
  te::Expr numerator, divisor;
};

/// value, or what `one` says where `out` is 1.
te::Expr unless_one(const Dim& out, const Dim& value, const Dim& one) {
  if (out.is_constant()) return (out.is(1) ? one : value).expr();
  return te::select(te::equal(out.expr(), 1), one.expr(), value.expr());
}

Coordinate coordinate(const Axis& axis, const std::string& mode, int k) {
  const te::Expr x = te::axis(k);
  const Dim &p = axis.numerator, &q = axis.denominator, &out = *axis.out;
  if (mode == "asymmetric") return {x * q.expr(), p.expr()};
  if (mode == "align_corners") {
    // The last element on the last one. A single element has x = 0, so any divisor does.
    const Dim divisor = max(axis.whole_numerator - axis.whole_denominator, 1);
    return {x * ((axis.in - 1) * axis.whole_denominator).expr(), divisor.expr()};
  }
  if (mode == "tf_crop_and_resize") {
    const auto [start, end] = *axis.crop;
    const int64_t common = std::gcd(std::gcd(start, end), kCropUnit);
    const int64_t s = start / common, e = end / common, unit = kCropUnit / common;
    const Dim last = axis.in - 1, steps = axis.whole_numerator - axis.whole_denominator;
    if (steps.is(0)) return {(last * (s + e)).expr(), te::index(2 * unit)};
    return {(last * s * steps).expr() + x * (last * (e - s) * axis.whole_denominator).expr(),
            (max(steps, 1) * unit).expr()};
  }
  const Dim twice_p = p * 2;
  const te::Expr centre = x * (q * 2).expr();
  if (mode == "tf_half_pixel_for_nn") return {centre + q.expr(), twice_p.expr()};
  if (mode == "half_pixel_symmetric") return {centre + (axis.in * p - out * q + q - p).expr(), twice_p.expr()};
  if (mode == "pytorch_half_pixel") return {unless_one(out, q * 2, 0) * x + unless_one(out, q - p, 0), twice_p.expr()};
  return {centre + (q - p).expr(), twice_p.expr()};
}

te::Expr nearest(const Coordinate& at, const std::string& rounding) {
  const te::Expr &n = at.numerator, &d = at.divisor;
  if (rounding == "floor") return te::floor_div(n, d);
  if (rounding == "ceil") return te::floor_div(n + d - 1, d);
  if (rounding == "round_prefer_ceil") return te::floor_div(n * 2 + d, d * 2);
  return te::floor_div(n * 2 + d - 1, d * 2);
}

te::Expr linear_kernel(const te::Expr& distance) { return te::max(1 - te::abs(distance), 0); }

class Resizer {
 public:
  Resizer(const OpContext& context, const Method& method, const std::vector<Axis>& axes)
      : context_(context),
        method_(method),
        axes_(axes),
        working_(context.dtype(0) == DataType::kFloat64 ? DataType::kFloat64 : DataType::kFloat32) {
    for (const Axis& axis : axes) out_.push_back(*axis.out);
  }

  te::Program nearest_program() {
    std::vector<te::Expr> index;
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k].stays()) {
        index.push_back(te::axis(static_cast<int>(k)));
        continue;
      }
      const te::Expr at = simplified(nearest(position(k), method_.rounding), out_);
      index.push_back(simplified(clamped(at, 0, axes_[k].in - 1), out_));
    }
    return single_map(out_, extrapolated(context_.load(0, std::move(index))));
  }

  /// Axes that shrink first, then those that grow, from the last on: so the steps along the last ones, whose neighbours
  /// are computed of neighbours that lie anyhow, make the fewest elements.
  std::vector<size_t> order() const {
    std::vector<size_t> shrinking, result;
    for (size_t k = 0; k < axes_.size(); ++k) {
      const Dim &p = axes_[k].numerator, &q = axes_[k].denominator;
      if (axes_[k].stays()) continue;
      const bool shrinks = p.is_constant() && q.is_constant() && p.value() < q.value();
      (shrinks ? shrinking : result).push_back(k);
    }
    std::reverse(result.begin(), result.end());
    result.insert(result.begin(), shrinking.begin(), shrinking.end());
    return result;
  }

  /// One stage an axis: a sum over taps of weight times element.
  Result<te::Program> interpolated_program() {
    Shape shape = context_.shape(0);
    te::Program program;
    std::optional<te::StageValue> last;
    for (const size_t k : order()) {
      TRY(const Taps taps, taps_of(program, k));
      shape[k] = out_[k];
      std::vector<te::Expr> index = te::axes(static_cast<int>(shape.size()));
      index[k] = taps.index;
      const te::Expr element =
          last ? program.load(*last, std::move(index)) : te::cast(working_, context_.load(0, std::move(index)));
      const te::Expr weight = program.load(taps.weights, {te::axis(static_cast<int>(k)), te::reduce_axis(0)});
      last = program.reduce(shape, {taps.count}, te::sum(working_), weight * element);
    }
    const std::vector<te::Expr> all = te::axes(static_cast<int>(shape.size()));
    if (!last) {
      program.outputs = {program.map(out_, context_.load(0, all))};
      return program;
    }
    const bool done = working_ == context_.dtype(0) && !method_.crops();
    program.outputs = {done ? *last : program.map(out_, extrapolated(rounded(program.load(*last, all))))};
    return program;
  }

 private:
  struct Taps {
    Dim count;
    te::Expr index;          ///< of tap reduce_axis(0) for position axis(k)
    te::StageValue weights;  ///< [out, count]
  };

  Coordinate position(size_t k) const { return coordinate(axes_[k], method_.coordinates, static_cast<int>(k)); }

  Result<Taps> taps_of(te::Program& program, size_t k) {
    const Axis& axis = axes_[k];
    const bool cubic = method_.mode == "cubic";
    // An antialiasing kernel is as much wider as the axis shrinks.
    const bool shrinks = axis.numerator.is_constant() && axis.denominator.is_constant() &&
                         axis.numerator.value() < axis.denominator.value();
    if (method_.antialias && !(axis.numerator.is_constant() && axis.denominator.is_constant()))
      return context_.unsupported("known scales expected for antialiasing");
    const Dim radius = cubic ? 2 : 1;
    const Dim reach = method_.antialias && shrinks ? ceil_div(radius * axis.denominator, axis.numerator) : radius;
    Taps taps{reach * 2, {}, {}};

    // Weights are over axes (position, tap) of their own: axis(0) is the position there.
    const Coordinate at = coordinate(axis, method_.coordinates, 0);
    const te::Expr first = te::floor_div(at.numerator, at.divisor) - (reach - 1).expr();
    const te::Expr tap = first + te::axis(1);
    te::Expr distance = te::cast(working_, tap * at.divisor - at.numerator) / te::cast(working_, at.divisor);
    if (method_.antialias && shrinks)
      distance = distance * count_as(working_, axis.numerator.expr()) / count_as(working_, axis.denominator.expr());
    te::Expr weight = cubic ? cubic_kernel(distance, method_.cubic_a) : linear_kernel(distance);
    if (method_.excludes_outside)
      weight = te::select(te::index(0) <= tap && tap < axis.in.expr(), weight, te::literal(0, working_));
    taps.weights = program.map({*axis.out, taps.count}, weight);
    if (method_.excludes_outside || (method_.antialias && shrinks)) {
      const te::StageValue total = program.reduce({*axis.out}, {taps.count}, te::sum(working_),
                                                  program.load(taps.weights, {te::axis(0), te::reduce_axis(0)}));
      const te::Expr sum = program.load(total, {te::axis(0)}),
                     raw = program.load(taps.weights, {te::axis(0), te::axis(1)});
      taps.weights =
          program.map({*axis.out, taps.count}, te::select(te::equal(sum, 0), te::literal(0, working_), raw / sum));
    }
    const Coordinate here = position(k);
    const te::Expr start = simplified(te::floor_div(here.numerator, here.divisor) - (reach - 1).expr(), out_);
    taps.index = clamped(start + te::reduce_axis(0), 0, axis.in - 1);
    return taps;
  }

  /// Back to the input's type; integers to the nearest within their range.
  te::Expr rounded(te::Expr value) const {
    const DataType dtype = context_.dtype(0);
    if (!is_int(dtype)) return te::cast(dtype, std::move(value));
    const auto limit = [&](const te::Monoid& monoid) {
      return te::literal(te::as<te::Literal>(monoid.identity[0])->value, working_);
    };
    value = te::unary(te::UnaryOp::kRound, std::move(value));
    return te::cast(dtype, te::min(te::max(std::move(value), limit(te::maximum(dtype))), limit(te::minimum(dtype))));
  }

  /// Cropping may look beyond the original: there the extrapolation value stands.
  te::Expr extrapolated(te::Expr value) const {
    if (!method_.crops()) return value;
    te::Expr inside = te::truth(true);
    for (size_t k = 0; k < axes_.size(); ++k) {
      if (axes_[k].stays()) continue;
      const Coordinate at = position(k);
      inside = inside && te::index(0) <= at.numerator && at.numerator <= (axes_[k].in - 1).expr() * at.divisor;
    }
    const te::Expr outside = te::cast(value.dtype(), te::literal(method_.extrapolation, DataType::kFloat32));
    return te::select(simplified(inside, out_), std::move(value), outside);
  }

  const OpContext& context_;
  const Method& method_;
  const std::vector<Axis>& axes_;
  const DataType working_;
  Shape out_;
};

Result<std::vector<ValueType>> output_type(const OpContext& context, const Method& method,
                                           const std::vector<Axis>& axes) {
  if (method.mode != "nearest" && context.dtype(0) == DataType::kBool)
    return context.unsupported("mode {} on bool", method.mode);
  Shape shape;
  for (size_t k = 0; k < axes.size(); ++k) shape.push_back(axes[k].out.value_or(context.fresh(0, static_cast<int>(k))));
  return one(context.dtype(0), std::move(shape));
}

Result<te::Program> program_of(const OpContext& context, const Method& method, const std::vector<Axis>& axes) {
  for (const Axis& axis : axes)
    if (!axis.out) return context.unsupported("known scales or sizes expected");
  Resizer resizer(context, method, axes);
  if (method.mode == "nearest") return resizer.nearest_program();
  return resizer.interpolated_program();
}

// Resize

Result<Method> resize_method(const OpContext& context) {
  Method method;
  method.mode = context.get_string("mode");
  method.coordinates = context.get_string("coordinate_transformation_mode");
  method.rounding = context.get_string("nearest_mode");
  method.cubic_a = te::Number(context.get_float("cubic_coeff_a"));
  method.extrapolation = te::Number(context.get_float("extrapolation_value"));
  method.excludes_outside = context.get_int("exclude_outside") != 0;
  method.antialias = context.get_int("antialias") != 0;
  const auto expect = [&](const char* name, const std::string& value,
                          std::initializer_list<std::string_view> known) -> Result<void> {
    if (std::find(known.begin(), known.end(), value) != known.end()) return {};
    return context.invalid("{} among {} expected, '{}' found", name, fmt::join(known, ", "), value);
  };
  TRY_VOID(expect("mode", method.mode, {"nearest", "linear", "cubic"}));
  TRY_VOID(expect("coordinate_transformation_mode", method.coordinates,
                  {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                   "tf_crop_and_resize", "tf_half_pixel_for_nn"}));
  TRY_VOID(expect("nearest_mode", method.rounding, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  TRY_VOID(expect("keep_aspect_ratio_policy", context.get_string("keep_aspect_ratio_policy"),
                  {"stretch", "not_larger", "not_smaller"}));
  if (method.antialias && method.mode == "nearest") return context.invalid("no antialias in mode nearest expected");
  return method;
}

Result<std::vector<int>> resize_chosen(const OpContext& context) {
  std::vector<int64_t> given(context.rank(0));
  std::iota(given.begin(), given.end(), 0);
  if (context.has_attribute("axes")) given = context.get_ints("axes");
  return context.normalize_axes(given, context.rank(0));
}

Result<std::vector<Axis>> resize_axes(const OpContext& context) {
  TRY(const std::vector<int> chosen, resize_chosen(context));
  return resized_axes(context, chosen, 2, 3);
}

/// Regions of interest, where the coordinates are cropped.
Result<void> crop_axes(const OpContext& context, std::vector<Axis>& axes) {
  TRY(const std::vector<int> chosen, resize_chosen(context));
  if (!has_elements(context, 1)) return context.invalid("roi for tf_crop_and_resize expected, none found");
  TRY_VOID(expect_count(context, 1, 2 * chosen.size()));
  const auto roi = context.reals(1);
  if (!roi) return context.unsupported("a known roi expected");
  for (const double value : *roi)
    if (!(std::fabs(value) <= 1024)) return context.invalid("roi in [-1024, 1024] expected, {} found", value);
  for (size_t k = 0; k < chosen.size(); ++k) {
    const auto fixed = [](double value) {
      return static_cast<int64_t>(std::llround(value * static_cast<double>(kCropUnit)));
    };
    const int64_t start = fixed((*roi)[k]), end = fixed((*roi)[k + chosen.size()]);
    Axis& axis = axes[chosen[k]];
    axis.crop = {start, end};
    if (axis.out && !axis.stays() && !axis.out->is_constant())
      return context.unsupported("known sizes expected for tf_crop_and_resize");
  }
  return {};
}

Result<std::vector<ValueType>> resize_infer(const OpContext& context) {
  TRY(const Method method, resize_method(context));
  TRY(const std::vector<Axis> axes, resize_axes(context));
  return output_type(context, method, axes);
}

Result<te::Program> resize_compute(const OpContext& context) {
  TRY(const Method method, resize_method(context));
  TRY(std::vector<Axis> axes, resize_axes(context));
  if (method.crops()) TRY_VOID(crop_axes(context, axes));
  return program_of(context, method, axes);
}

/// Forms before opset 18 have no axes: scales, sizes and roi are of all of them.
Result<void> name_all_axes(NodeForm& form) {
  TRY(const auto axes, form.take_ints("axes"));
  if (!axes) return {};
  if (!form.has_rank(0)) return form.unsupported("a known rank expected where the opset has no axes");
  const int64_t rank = form.rank(0);
  const auto spread = [&](int input, std::vector<double> all, size_t part) -> Result<void> {
    const Tensor* given = form.constant(input);
    if (!form.has_input(input) || (given && given->count() == 0)) return {};
    if (!given || given->count() % static_cast<int64_t>(axes->size()) != 0)
      return form.unsupported("constant scales, sizes and roi expected where the opset has no axes");
    for (size_t i = 0; i < static_cast<size_t>(given->count()); ++i) {
      const int64_t axis = (*axes)[i % axes->size()];
      all[i / axes->size() * part + (axis < 0 ? axis + rank : axis)] = given->real(static_cast<int64_t>(i));
    }
    const Dims dims = {static_cast<int64_t>(all.size())};
    form.set_input(input, form.constant(Tensor::from_doubles(given->dtype(), dims, all), "resize"));
    return {};
  };
  std::vector<double> ones(rank, 1), region(2 * rank, 0), sizes(rank, 1);
  std::fill(region.begin() + rank, region.end(), 1);
  for (int64_t k = 0; k < rank; ++k) {
    const Dim& dim = (*form.type(0).shape)[k];
    if (form.has_input(3) && !dim.is_constant())
      return form.unsupported("known dims expected where the opset has no axes");
    if (dim.is_constant()) sizes[k] = static_cast<double>(dim.value());
  }
  TRY_VOID(spread(1, std::move(region), rank));
  TRY_VOID(spread(2, std::move(ones), rank));
  return spread(3, std::move(sizes), rank);
}

Result<void> refuse_symmetric(NodeForm& form) {
  const auto mode = form.node().attributes.find("coordinate_transformation_mode");
  if (mode != form.node().attributes.end() && std::get<std::string>(mode->second) == "half_pixel_symmetric")
    return form.unsupported("coordinate_transformation_mode half_pixel_symmetric is newer than the opset");
  return {};
}

/// Opset 11 wants roi and scales, be they empty.
Result<void> fill_in_empty(NodeForm& form) {
  for (const int input : {1, 2})
    if (!form.has_input(input))
      form.set_input(input,
                     form.constant(Tensor::from_doubles(DataType::kFloat32, {0}, {}), input == 1 ? "roi" : "scales"));
  return {};
}

/// Opset 10 had scales only, as input 1, and did not say how nearest rounds: runtimes round down, but up where they
/// shrink.
Result<void> lift_opset_10(NodeForm& form) {
  const Tensor* scales = form.constant(1);
  bool grows = !scales, shrinks = false;
  for (int64_t k = 0; scales && is_float(scales->dtype()) && k < scales->count(); ++k) {
    grows |= scales->real(k) > 1;
    shrinks |= scales->real(k) < 1;
  }
  const auto mode = form.node().attributes.find("mode");
  const bool is_nearest = mode == form.node().attributes.end() || std::get<std::string>(mode->second) == "nearest";
  if (is_nearest && grows && shrinks)
    return form.unsupported("mode nearest that does not grow and shrink at once expected");
  form.set_input(2, form.input(1));
  form.set_input(1, ValueId());
  form.set("coordinate_transformation_mode", std::string("asymmetric"));
  form.set("nearest_mode", std::string(shrinks ? "ceil" : "floor"));
  return {};
}

Result<void> lower_to_opset_10(NodeForm& form) {
  TRY(const auto coordinates, form.take_string("coordinate_transformation_mode"));
  TRY(const auto rounding, form.take_string("nearest_mode"));
  TRY_VOID(without(10, {"exclude_outside", "extrapolation_value", "cubic_coeff_a"}).from_newest(form));
  const auto mode = form.node().attributes.find("mode");
  const std::string name = mode == form.node().attributes.end() ? "nearest" : std::get<std::string>(mode->second);
  const Tensor* scales = form.constant(2);
  // Scales that nodes compute are taken to grow.
  bool rounds_alike = scales || rounding == "floor";
  for (int64_t k = 0; scales && k < scales->count(); ++k) {
    const double scale = scales->real(k);
    rounds_alike &= scale == 1 || rounding == (scale < 1 ? "ceil" : "floor");
  }
  if (!form.has_input(2) || (scales && scales->count() == 0) || coordinates != "asymmetric" || name == "cubic" ||
      (name == "nearest" && !rounds_alike))
    return form.unsupported("asymmetric coordinates and scales that the opset can say expected");
  form.set_input(1, form.input(2));
  form.drop_inputs_from(2);
  return {};
}

// Upsample

Result<Method> upsample_method(const OpContext& context) {
  Method method;
  method.mode = context.get_string("mode");
  if (method.mode != "nearest" && method.mode != "linear")
    return context.invalid("mode nearest or linear expected, '{}' found", method.mode);
  return method;
}

Result<std::vector<Axis>> upsample_axes(const OpContext& context) {
  std::vector<int> all(context.rank(0));
  std::iota(all.begin(), all.end(), 0);
  return resized_axes(context, all, 1, -1);
}

/// Opset 7 had scales as an attribute; opset 1 named those of height and width, and mode bilinear.
Result<void> scales_to_input(NodeForm& form) {
  TRY(const auto scales, form.take_floats("scales"));
  TRY(const auto height, form.take_float("height_scale"));
  TRY(const auto width, form.take_float("width_scale"));
  std::vector<double> values;
  if (scales) values.assign(scales->begin(), scales->end());
  if (!scales && height && width) values = {1, 1, *height, *width};
  if (values.empty()) return form.invalid("attribute 'scales' expected, none found");
  const auto mode = form.node().attributes.find("mode");
  if (mode != form.node().attributes.end() && mode->second.index() == Attribute(std::string()).index() &&
      std::get<std::string>(mode->second) == "bilinear")
    form.set("mode", std::string("linear"));
  const Dims dims = {static_cast<int64_t>(values.size())};
  form.set_input(1, form.constant(Tensor::from_doubles(DataType::kFloat32, dims, values), "scales"));
  return {};
}

Result<void> scales_to_attribute(NodeForm& form) {
  const Tensor* scales = form.constant(1);
  if (!scales) return form.unsupported("constant scales expected where the opset has them as an attribute");
  std::vector<float> values;
  for (int64_t k = 0; k < scales->count(); ++k) values.push_back(static_cast<float>(scales->real(k)));
  form.drop_inputs_from(1);
  form.set("scales", std::move(values));
  return {};
}

Result<void> scales_to_height_and_width(NodeForm& form) {
  const Tensor* scales = form.constant(1);
  if (!scales || scales->count() != 4 || scales->real(0) != 1 || scales->real(1) != 1)
    return form.unsupported("constant scales of height and width expected where the opset has them as attributes");
  form.set("height_scale", static_cast<float>(scales->real(2)));
  form.set("width_scale", static_cast<float>(scales->real(3)));
  if (const auto mode = form.node().attributes.find("mode");
      mode != form.node().attributes.end() && std::get<std::string>(mode->second) == "linear")
    form.set("mode", std::string("bilinear"));
  form.drop_inputs_from(1);
  return {};
}

}  // namespace

te::Expr cubic_kernel(const te::Expr& distance, const te::Number& a) {
  const DataType dtype = distance.dtype();
  const te::Expr x = te::abs(distance), c = te::literal(a, dtype);
  const te::Expr near = ((c + 2) * x - (c + 3)) * x * x + 1;
  const te::Expr far = ((x - 5) * x + 8) * x * c - c * 4;
  return te::select(x <= 1, near, te::select(x < 2, far, te::literal(0, dtype)));
}

OpDef resize_row() {
  const Reform without_policy =
      in_turn({refuse_symmetric, name_all_axes, without(13, {"antialias", "keep_aspect_ratio_policy"}).from_newest});
  return {.name = "Resize",
          .since = 19,
          .inputs = {"X:T1", "roi?:T2", "scales?:float32", "sizes?:int64"},
          .outputs = {"Y:T1"},
          .types = {{"T1", kPlain}, {"T2", kFloats}},
          .attributes = {with_default("antialias", 0), optional("axes", AttributeKind::kInts),
                         with_default("coordinate_transformation_mode", "half_pixel"),
                         with_default("cubic_coeff_a", -0.75), with_default("exclude_outside", 0),
                         with_default("extrapolation_value", 0.0), with_default("keep_aspect_ratio_policy", "stretch"),
                         with_default("mode", "nearest"), with_default("nearest_mode", "round_prefer_floor")},
          .versions = {{18, nullptr, refuse_symmetric},
                       {13, nullptr, without_policy},
                       {11, nullptr, in_turn({without_policy, fill_in_empty})},
                       {10, lift_opset_10, in_turn({without_policy, lower_to_opset_10})}},
          .infer = resize_infer,
          .compute = resize_compute};
}

OpDef upsample_row() {
  return {.name = "Upsample",
          .since = 9,
          .inputs = {"X", "scales:float32"},
          .outputs = {"Y"},
          .types = {{"T", kPlain}},
          .attributes = {with_default("mode", "nearest")},
          .versions = {{7, scales_to_input, scales_to_attribute}, {1, scales_to_input, scales_to_height_and_width}},
          .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
            TRY(const Method method, upsample_method(context));
            TRY(const std::vector<Axis> axes, upsample_axes(context));
            return output_type(context, method, axes);
          },
          .compute = [](const OpContext& context) -> Result<te::Program> {
            TRY(const Method method, upsample_method(context));
            TRY(const std::vector<Axis> axes, upsample_axes(context));
            return program_of(context, method, axes);
          }};
}

}  // namespace isomer::ops
