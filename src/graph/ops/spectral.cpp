// DFT STFT: discrete Fourier transforms, whole and of windows that slide over a signal. A last axis of extent 1 or 2
// holds real numbers, or real and imaginary parts.
#include <numbers>

#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

/// Σ over n < length of x[n] e^(-2πi kn/length), for every k < outputs.
struct Transform {
  Dim length, outputs;
  Dim in_parts;
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
  const Expr shift = te::select(te::equal(p, c), te::index(0), te::select(te::equal(c, 0), 3 * length, length));
  const Expr turn = te::floor_mod(4 * (k * n) + shift, turns);
  return program.map({transform.outputs, transform.length, transform.in_parts, 2},
                     te::cast(dtype, cosine(turn, length)));
}

Result<Dim> scalar_dim(const OpContext& context, int i, const Dim& unknown) {
  TRY_VOID(expect_scalar(context, i));
  const auto value = context.dims(i);
  if (!value) return unknown;
  const Dim dim = (*value)[0];
  if (dim.is_constant() && (dim.value() < 1 || dim.value() > kMaxDim))
    return context.invalid("{} in [1, 2^40] expected, {} found", context.op().inputs[i].name, dim.text());
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
  if (context.get_int("inverse") != 0) return context.unsupported("an inverse transform");
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
  if (onesided && transform.in_parts.is(2))
    return context.invalid("a real input expected where onesided is 1, {} found", text(in));
  transform.length = in[dft.axis];
  if (context.has_input(kLength)) {
    TRY(transform.length, scalar_dim(context, kLength, context.fresh(0, dft.axis)));
  }
  if (transform.length.is(0)) return context.invalid("a signal of at least one element expected, {} found", text(in));
  transform.outputs = onesided ? half_spectrum(transform.length) : transform.length;
  dft.out = in;
  dft.out[dft.axis] = transform.outputs;
  dft.out.back() = 2;
  return std::optional(std::move(dft));
}

Result<std::vector<ValueType>> infer_dft(const OpContext& context) {
  TRY(auto dft, dft_of(context));
  if (dft) return one(context.dtype(0), std::move(dft->out));
  Shape out;
  for (int k = 0; k + 1 < context.rank(0); ++k) out.push_back(context.fresh(0, k));
  out.push_back(2);
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
  if (transform.length != extent) term = te::select(n < extent.expr(), term, te::literal(0, wide));
  term = term * program.load(table, {te::axis(dft->axis), n, p, te::axis(rank - 1)});
  const te::StageValue sum = sum_over(program, dft->out, {transform.length, transform.in_parts}, std::move(term));
  program.outputs = {dtype == wide ? sum : program.map(dft->out, te::cast(dtype, program.load(sum, te::axes(rank))))};
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
    if (context.rank(kWindow) != 1)
      return context.invalid("a window of rank 1 expected, {} found", text(context.shape(kWindow)));
    transform.length = context.dim(kWindow, 0);
  }
  if (context.has_input(kFrame)) {
    TRY(const Dim frame, scalar_dim(context, kFrame, context.fresh(0, 2)));
    if (context.has_input(kWindow) && !agreed(frame, transform.length))
      return context.invalid("a window of {} elements expected, {} found", frame.text(), transform.length.text());
    if (!context.has_input(kWindow) || frame.is_constant()) transform.length = frame;
  }
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
  program.outputs = {dtype == wide ? sum : program.map(stft.out, te::cast(dtype, program.load(sum, te::axes(4))))};
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
  };
}

}  // namespace isomer::ops
