// DFT STFT: discrete Fourier transforms, whole and of windows that slide over a signal. A last axis of extent 1 or 2
// holds real numbers, or real and imaginary parts. MelWeightMatrix: what spectra of sounds are multiplied with.
#include <numbers>

#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

/// Σ over n < terms of x[n] e^(-2πi kn/length), for every k < outputs; the inverse one has e^(2πi kn/length) / length.
struct Transform {
  Dim length, terms, outputs;
  Dim in_parts, out_parts = 2;
  bool inverse = false;
  bool mirrored = false;  ///< of the terms only half are given, those behind it are their conjugates
};

/// cos(2π turn / (4 quarter)) for integers 0 <= turn < 4 quarter, to all digits of a double: the angle comes into
/// [-π/4, π/4] in integers, where sine and cosine of it are as exact as it is.
Expr cosine(const Expr& turn, const Expr& quarter) {
  const auto real = [](const Expr& integer) { return te::cast(DataType::kFloat64, integer); };
  const auto angle = [&](const Expr& part) { return real(part) * (std::numbers::pi / 2) / real(quarter); };
  // cos(a) = cos(2π - a) = sin(π/2 - a)
  const Expr part = quarter - te::min(turn, 4 * quarter - turn);
  const Expr sign = te::select(part < 0, te::literal(-1, DataType::kFloat64), te::literal(1, DataType::kFloat64));
  return te::select(2 * te::abs(part) <= quarter, te::unary(te::UnaryOp::kSin, angle(part)),
                    sign * te::unary(te::UnaryOp::kCos, angle(quarter - te::abs(part))));
}

/// What part p of element n is multiplied with on its way to part c of output k: a table [k, n, p, c].
te::StageValue basis(te::Program& program, const Transform& transform, DataType dtype) {
  const Expr k = te::axis(0), n = te::axis(1), p = te::axis(2), c = te::axis(3);
  const Expr length = transform.length.expr(), turns = 4 * length;
  // sin(a) is cos(a - π/2), and -sin(a) is cos(a + π/2).
  const Expr sine = transform.inverse ? length : 3 * length, minus_sine = transform.inverse ? 3 * length : length;
  const Expr shift = te::select(te::equal(p, c), te::index(0), te::select(te::equal(c, 0), sine, minus_sine));
  const Expr turn = te::floor_mod(4 * (k * n) + shift, turns);
  Expr factor = cosine(turn, length);
  if (transform.inverse) {
    Expr count = te::index(1);
    // All but the first term, and the middle one where there is one, stand for two.
    if (transform.mirrored) count = te::select(te::equal(n, 0) || te::equal(2 * n, length), te::index(1), te::index(2));
    factor = factor * te::cast(DataType::kFloat64, count) / te::cast(DataType::kFloat64, length);
  }
  return program.map({transform.outputs, transform.terms, transform.in_parts, transform.out_parts},
                     te::cast(dtype, factor));
}

Result<Dim> scalar_dim(const OpContext& context, int i, const Dim& unknown) {
  TRY_VOID(expect_scalar(context, i));
  const auto value = context.dims(i);
  if (!value) return unknown;
  const Dim dim = (*value)[0];
  if (dim.is_constant() && (dim.value() < 1 || dim.value() > kMaxDim))
    return context.invalid("{} in [1, 2^40] expected, {} found", context.input_name(i), dim.text());
  return dim;
}

/// The extent of the last axis.
Result<Dim> parts(const OpContext& context) {
  const Dim& last = context.shape(0).back();
  if (last.is_constant() && !last.is(1) && !last.is(2))
    return context.invalid("a last axis of 1 or 2 expected, {} found", text(context.shape(0)));
  return last;
}

Dim half_spectrum(const Dim& length) { return floor_div(length, 2) + 1; }

// DFT

constexpr int kLength = 1, kAxis = 2;

struct Dft {
  int axis;
  Transform transform;
  Shape out;
};

/// Nothing where only data decide the axis.
Result<std::optional<Dft>> dft_of(const OpContext& context) {
  const Shape& in = context.shape(0);
  const auto rank = static_cast<int64_t>(in.size());
  if (rank < 2) return context.invalid("an input of rank 2 or more expected, {} found", text(in));
  int64_t axis = -2;
  if (context.has_input(kAxis)) {
    TRY_VOID(expect_scalar(context, kAxis));
    const auto given = context.ints(kAxis);
    if (!given) return std::optional<Dft>();
    axis = (*given)[0];
  }
  if (axis < -rank || axis >= rank - 1 || axis == -1)
    return context.invalid("an axis in [{}, -2] or [0, {}] expected, {} found", -rank, rank - 2, axis);
  Dft dft{};
  dft.axis = static_cast<int>(axis < 0 ? axis + rank : axis);
  Transform& transform = dft.transform;
  TRY(transform.in_parts, parts(context));
  const bool onesided = context.get_int("onesided") != 0;
  transform.inverse = context.get_int("inverse") != 0;
  transform.mirrored = onesided && transform.inverse;
  if (onesided && !transform.inverse && transform.in_parts.is(2))
    return context.invalid("a real input expected where onesided is 1, {} found", text(in));
  transform.length = transform.mirrored ? 2 * (in[dft.axis] - 1) : in[dft.axis];
  if (context.has_input(kLength)) {
    TRY(transform.length, scalar_dim(context, kLength, context.fresh(0, dft.axis)));
  }
  if (transform.length.is(0)) return context.invalid("a signal of at least one element expected, {} found", text(in));
  transform.terms = transform.mirrored ? half_spectrum(transform.length) : transform.length;
  transform.outputs = onesided && !transform.inverse ? half_spectrum(transform.length) : transform.length;
  if (transform.mirrored) transform.out_parts = 1;
  dft.out = in;
  dft.out[dft.axis] = transform.outputs;
  dft.out.back() = transform.out_parts;
  return std::optional(std::move(dft));
}

Result<std::vector<ValueType>> infer_dft(const OpContext& context) {
  TRY(auto dft, dft_of(context));
  if (dft) return one(context.dtype(0), std::move(dft->out));
  Shape out;
  for (int k = 0; k + 1 < context.rank(0); ++k) out.push_back(context.fresh(0, k));
  out.push_back(context.get_int("inverse") != 0 && context.get_int("onesided") != 0 ? 1 : 2);
  return one(context.dtype(0), std::move(out));
}

Result<te::Program> compute_dft(const OpContext& context) {
  TRY(const auto dft, dft_of(context));
  if (!dft || (context.has_input(kLength) && !context.dims(kLength)))
    return context.unsupported("a known axis and dft_length expected");
  const Transform& transform = dft->transform;
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  te::Program program;
  const te::StageValue table = basis(program, transform, wide);
  const auto rank = static_cast<int>(dft->out.size());
  std::vector<Expr> index = te::axes(rank);
  const Expr n = te::reduce_axis(0), p = te::reduce_axis(1);
  index[dft->axis] = n;
  index.back() = p;
  Expr term = te::cast(wide, context.load(0, index));
  // A longer transform goes on with zeros.
  const Dim& extent = context.dim(0, dft->axis);
  if (transform.terms != extent) term = te::select(n < extent.expr(), term, te::literal(0, wide));
  term = term * program.load(table, {te::axis(dft->axis), n, p, te::axis(rank - 1)});
  const te::StageValue sum = sum_over(program, dft->out, {transform.terms, transform.in_parts}, std::move(term));
  program.outputs = {as_type(program, sum, dtype)};
  return program;
}

// Opsets 17 to 19 have the axis as an attribute, which is 1 where it is not given.

Result<void> axis_to_input(NodeForm& form) {
  TRY(const auto axis, form.take_int("axis"));
  form.set_input(
      kAxis, form.constant(Tensor::from_ints(DataType::kInt64, {}, std::vector<int64_t>{axis.value_or(1)}), "axis"));
  return {};
}

Result<void> axis_to_attribute(NodeForm& form) {
  const auto axis = form.has_input(kAxis) ? form.ints(kAxis) : std::vector<int64_t>{-2};
  if (!axis || axis->size() != 1) return form.unsupported("a constant axis expected, as opset 17 has it");
  form.set("axis", (*axis)[0]);
  form.drop_inputs_from(kAxis);
  return {};
}

// STFT

constexpr int kStep = 1, kWindow = 2, kFrame = 3;

struct Stft {
  Transform transform;
  Dim step;
  Shape out;
};

Result<Stft> stft_of(const OpContext& context) {
  const Shape& signal = context.shape(0);
  // Real signals come without the last axis too, though the standard has it.
  if (signal.size() != 2 && signal.size() != 3)
    return context.invalid("a signal of rank 3 expected, {} found", text(signal));
  Stft stft{};
  Transform& transform = stft.transform;
  transform.in_parts = 1;
  if (signal.size() == 3) {
    TRY(transform.in_parts, parts(context));
  }
  const bool onesided = context.get_int("onesided") != 0;
  if (onesided && transform.in_parts.is(2))
    return context.invalid("a real signal expected where onesided is 1, {} found", text(signal));
  transform.length = signal[1];
  if (context.has_input(kWindow)) {
    TRY_VOID(expect_rank(context, kWindow, 1));
    transform.length = context.dim(kWindow, 0);
  }
  if (context.has_input(kFrame)) {
    TRY(const Dim frame, scalar_dim(context, kFrame, context.fresh(0, 2)));
    if (context.has_input(kWindow) && !agreed(frame, transform.length))
      return context.invalid("a window of {} elements expected, {} found", frame.text(), transform.length.text());
    if (!context.has_input(kWindow) || frame.is_constant()) transform.length = frame;
  }
  transform.terms = transform.length;
  transform.outputs = onesided ? half_spectrum(transform.length) : transform.length;
  TRY(stft.step, scalar_dim(context, kStep, context.fresh(0, 3)));
  const Dim frames = context.dims(kStep) && stft.step.is_constant()
                         ? floor_div(signal[1] - transform.length, stft.step.value()) + 1
                         : context.fresh(0, 1);
  if (frames.is_constant() && frames.value() < 1)
    return context.invalid("a signal of at least one frame expected, {} found", text(signal));
  stft.out = {signal[0], frames, transform.outputs, 2};
  return stft;
}

Result<std::vector<ValueType>> infer_stft(const OpContext& context) {
  TRY(Stft stft, stft_of(context));
  return one(context.dtype(0), std::move(stft.out));
}

Result<te::Program> compute_stft(const OpContext& context) {
  TRY(const Stft stft, stft_of(context));
  if (!stft.step.is_constant() || (context.has_input(kFrame) && !context.dims(kFrame)))
    return context.unsupported("known lengths of steps and frames expected");
  const Transform& transform = stft.transform;
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  te::Program program;
  const te::StageValue table = basis(program, transform, wide);
  const Expr n = te::reduce_axis(0), p = te::reduce_axis(1);
  std::vector<Expr> index = {te::axis(0), te::axis(1) * stft.step.expr() + n};
  if (context.rank(0) == 3) index.push_back(p);
  Expr term = te::cast(wide, context.load(0, std::move(index)));
  if (context.has_input(kWindow)) term = term * te::cast(wide, context.load(kWindow, {n}));
  term = term * program.load(table, {te::axis(2), n, p, te::axis(3)});
  const te::StageValue sum = sum_over(program, stft.out, {transform.length, transform.in_parts}, std::move(term));
  program.outputs = {as_type(program, sum, dtype)};
  return program;
}

// MelWeightMatrix: triangles over the bins of a spectrum, evenly spaced where pitch is heard (O'Shaughnessy 1987).

constexpr int kBands = 0, kDftLength = 1, kSampleRate = 2, kLowest = 3, kHighest = 4;

Result<std::vector<ValueType>> infer_mel(const OpContext& context) {
  TRY(const DataType dtype, type_attribute(context, "output_datatype"));
  for (const int i : {kSampleRate, kLowest, kHighest}) TRY_VOID(expect_scalar(context, i));
  TRY(Dim bands, scalar_dim(context, kBands, context.fresh(0, 1)));
  TRY(const Dim length, scalar_dim(context, kDftLength, Dim()));
  return one(dtype, {context.dims(kDftLength) ? half_spectrum(length) : context.fresh(0, 0), std::move(bands)});
}

Result<te::Program> compute_mel(const OpContext& context) {
  constexpr DataType kReal = DataType::kFloat64;
  TRY(const auto types, infer_mel(context));
  if (!context.dims(kBands) || !context.dims(kDftLength))
    return context.unsupported("known numbers of bands and of the transform's points expected");
  const Shape& shape = *types[0].shape;
  const auto mel_of = [&](int i) {
    return te::log(te::cast(kReal, load_scalar(context, i)) / 700 + 1) * (2595 / std::numbers::ln10);
  };
  const Expr rate = te::cast(kReal, load_scalar(context, kSampleRate));
  const Expr points = te::cast(kReal, ((*context.dims(kDftLength))[0] + 1).expr());
  te::Program program;
  // The bins at which triangles begin, are highest and end: neighbours share them.
  const Dim edges = shape[1] + 2;
  const Expr lowest = mel_of(kLowest);
  const Expr step = (mel_of(kHighest) - lowest) / te::cast(kReal, edges.expr());
  const Expr mel = te::cast(kReal, te::axis(0)) * step + lowest;
  const Expr hertz = (te::exp(mel * (std::numbers::ln10 / 2595)) - 1) * 700;
  const te::StageValue bins =
      program.map({edges}, te::cast(DataType::kInt64, te::unary(te::UnaryOp::kFloor, points * hertz / rate)));
  const auto bin = [&](int after) { return program.load(bins, {te::axis(1) + after}); };
  const auto ratio = [](const Expr& a, const Expr& b) { return te::cast(kReal, a) / te::cast(kReal, b); };
  const Expr at = te::axis(0), low = bin(0), centre = bin(1), high = bin(2);
  const Expr zero = te::literal(0, kReal), one = te::literal(1, kReal);
  const Expr rising = te::select(te::equal(low, centre), te::select(te::equal(at, centre), one, zero),
                                 te::select(low <= at && at <= centre, ratio(at - low, centre - low), zero));
  const Expr weight = te::select(centre <= at && at < high, ratio(high - at, high - centre), rising);
  program.outputs = {program.map(shape, te::cast(types[0].dtype, weight))};
  return program;
}

}  // namespace

std::vector<OpDef> spectral() {
  const TypeSet lengths = DataType::kInt32 | DataType::kInt64;
  return {
      {.name = "DFT",
       .since = 20,
       .inputs = {"input:T1", "dft_length?:T2", "axis?:int64"},
       .outputs = {"output:T1"},
       .types = {{"T1", kFloats}, {"T2", lengths}},
       .attributes = {with_default("inverse", 0), with_default("onesided", 0)},
       .versions = {{17, axis_to_input, axis_to_attribute}},
       .infer = infer_dft,
       .compute = compute_dft},
      {.name = "STFT",
       .since = 17,
       .inputs = {"signal:T1", "frame_step:T2", "window?:T1", "frame_length?:T2"},
       .outputs = {"output:T1"},
       .types = {{"T1", kFloats}, {"T2", lengths}},
       .attributes = {with_default("onesided", 1)},
       .infer = infer_stft,
       .compute = compute_stft},
      {.name = "MelWeightMatrix",
       .since = 17,
       .inputs = {"num_mel_bins:T1", "dft_length:T1", "sample_rate:T1", "lower_edge_hertz:T2", "upper_edge_hertz:T2"},
       .outputs = {"output:T3"},
       .types = {{"T1", kIndices}, {"T2", kFloats}, {"T3", kNumeric}},
       .attributes = {with_default("output_datatype", 1)},
       .infer = infer_mel,
       .compute = compute_mel},
  };
}

}  // namespace isomer::ops
