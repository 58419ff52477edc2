// QuantizeLinear DequantizeLinear DynamicQuantizeLinear: floats to integers and back, rounded as ONNX says.
#include "graph/ops/common.h"
#include "graph/ops/minifloat_casts.h"
#include "graph/ops/operand.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

constexpr TypeSet kQuantized = DataType::kInt8 | DataType::kUInt8 | DataType::kInt16 | DataType::kUInt16 | kSmallInts |
                               kFloat8s | DataType::kFloat4E2M1;
constexpr TypeSet kReals = DataType::kFloat32 | DataType::kFloat16 | DataType::kBFloat16;
constexpr TypeSet kScales = kReals | DataType::kFloat8E8M0;

/// Which elements share a scale: all, those of one position of `axis`, or blocks along it.
struct Granularity {
  enum class Kind { kTensor, kAxis, kBlock } kind = Kind::kTensor;
  int axis = 0;
  int64_t block = 0;
};

bool is_single(const Shape& shape) { return shape.empty() || (shape.size() == 1 && shape[0].is(1)); }

Result<Granularity> granularity(const OpContext& context) {
  const Shape& scale = context.shape(1);
  const int rank = context.rank(0);
  const int64_t block = context.get_int("block_size");
  if (block < 0) return context.invalid("block_size of at least 0 expected, {} found", block);
  if (block == 0 && is_single(scale)) return Granularity{};
  if (block == 0 && scale.size() != 1)
    return context.invalid("a scale of rank 0 or 1 expected without block_size, {} found", text(scale));
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), rank));
  Shape expected = context.shape(0);
  expected[axis] = ceil_div(expected[axis], std::max<int64_t>(block, 1));
  TRY_VOID(expect_shape(context, 1, block == 0 ? Shape{expected[axis]} : expected));
  return Granularity{block == 0 ? Granularity::Kind::kAxis : Granularity::Kind::kBlock, axis, block};
}

Result<void> check_zero_point(const OpContext& context) {
  if (!context.has_input(2) || (is_single(context.shape(1)) && is_single(context.shape(2)))) return {};
  return expect_shape(context, 2, context.shape(1));
}

/// The element of scale or zero point i that belongs to the output's place.
Expr load_shared(const OpContext& context, int i, const Granularity& granularity) {
  switch (granularity.kind) {
    case Granularity::Kind::kTensor: return context.load(i, std::vector<Expr>(context.rank(i), te::index(0)));
    case Granularity::Kind::kAxis: return context.load(i, {te::axis(granularity.axis)});
    case Granularity::Kind::kBlock: break;
  }
  std::vector<Expr> place = te::axes(context.rank(0));
  place[granularity.axis] = te::floor_div(place[granularity.axis], te::index(granularity.block));
  return context.load(i, std::move(place));
}

Expr as_double(Expr x) { return te::cast(DataType::kFloat64, std::move(x)); }

/// A scale, or a quantized element, as a number with arithmetic.
Expr number_of(Expr x) { return is_minifloat(x.dtype()) ? decoded(std::move(x)) : x; }

/// a / b of one float type, rounded to that type: what is rounded to an integer next depends on it.
Expr rounded_quotient(Expr a, Expr b) {
  const DataType dtype = a.dtype();
  return te::cast(dtype, as_double(std::move(a)) / as_double(std::move(b)));
}

Result<DataType> quantized_type(const OpContext& context) {
  const int64_t written = context.get_int("output_dtype");
  if (written != 0 && !is_known_data_type(written))
    return context.invalid("a data type expected as output_dtype, {} found", written);
  const auto asked = static_cast<DataType>(written);
  if (context.has_input(2)) {
    if (written != 0 && asked != context.dtype(2))
      return context.invalid("y_zero_point of type {} expected, {} found", name(asked), name(context.dtype(2)));
    return context.dtype(2);
  }
  if (written == 0) return DataType::kUInt8;
  if (!kQuantized.contains(asked)) return context.unsupported("the output has type {}", name(asked));
  return asked;
}

/// The float type that an attribute names; undefined where it is 0.
Result<DataType> asked_real(const OpContext& context, std::string_view attribute) {
  if (context.get_int(attribute) == 0) return DataType::kUndefined;
  TRY(const DataType asked, type_attribute(context, attribute));
  if (!kReals.contains(asked))
    return context.invalid("float32, float16 or bfloat16 expected as {}, {} found", attribute, name(asked));
  return asked;
}

/// The type that the quotient is rounded to; undefined where nothing says.
Result<DataType> quotient_type(const OpContext& context) {
  TRY(const DataType asked, asked_real(context, "precision"));
  if (asked != DataType::kUndefined) return asked;
  const DataType x = context.dtype(0), scale = context.dtype(1);
  return is_float(x) && (x == scale || is_minifloat(scale)) ? x : DataType::kUndefined;
}

Result<std::vector<ValueType>> infer_quantize(const OpContext& context) {
  TRY_VOID(granularity(context));
  if (const auto precision = quotient_type(context); !precision.ok()) return precision.error();
  TRY_VOID(check_zero_point(context));
  TRY(const DataType dtype, quantized_type(context));
  return one(dtype, context.shape(0));
}

Result<te::Program> compute_quantize(const OpContext& context) {
  TRY(const Granularity shared, granularity(context));
  TRY(const DataType dtype, quantized_type(context));
  TRY(const DataType precision, quotient_type(context));
  const Expr x = context.load_broadcast(0, context.shape(0)), scale = number_of(load_shared(context, 1, shared));
  const Expr quotient =
      precision == DataType::kUndefined
          ? as_double(x) / as_double(scale)
          : te::cast(DataType::kFloat32, rounded_quotient(te::cast(precision, x), te::cast(precision, scale)));
  if (is_minifloat(dtype)) {
    const Expr moved =
        context.has_input(2) ? as_double(quotient) + as_double(number_of(load_shared(context, 2, shared))) : quotient;
    // A stage of its own: what rounds it compares it with each number that there is.
    te::Program program;
    const te::StageValue numbers = program.map(context.shape(0), moved);
    const Expr number = program.load(numbers, te::axes(static_cast<int>(context.rank(0))));
    program.outputs = {
        program.map(context.shape(0), cast_number(dtype, number, {.saturates = context.get_int("saturate") != 0}))};
    return program;
  }
  const Expr zero = context.has_input(2) ? load_shared(context, 2, shared) : te::literal(0, dtype);
  return single_map(context.shape(0), requantize(quotient, zero, dtype));
}

Result<DataType> dequantized_type(const OpContext& context) {
  TRY(const DataType asked, asked_real(context, "output_dtype"));
  if (asked != DataType::kUndefined) return asked;
  if (is_minifloat(context.dtype(1)))
    return context.unsupported("output_dtype expected where the scale is {}", name(context.dtype(1)));
  return context.dtype(1);
}

Result<std::vector<ValueType>> infer_dequantize(const OpContext& context) {
  TRY_VOID(granularity(context));
  TRY_VOID(check_zero_point(context));
  TRY(const DataType dtype, dequantized_type(context));
  return one(dtype, context.shape(0));
}

/// The difference is exact in integers, of int32 in 64 bits, and in float32 of minifloats; the product is taken in
/// float32.
Result<te::Program> compute_dequantize(const OpContext& context) {
  TRY(const Granularity shared, granularity(context));
  TRY(const DataType dtype, dequantized_type(context));
  const DataType wide = is_minifloat(context.dtype(0))         ? DataType::kFloat32
                        : context.dtype(0) == DataType::kInt32 ? DataType::kInt64
                                                               : DataType::kInt32;
  Expr difference = te::cast(wide, number_of(context.load_broadcast(0, context.shape(0))));
  if (context.has_input(2)) difference = difference - te::cast(wide, number_of(load_shared(context, 2, shared)));
  const Expr scale = te::cast(DataType::kFloat32, number_of(load_shared(context, 1, shared)));
  return single_map(context.shape(0), te::cast(dtype, te::cast(DataType::kFloat32, difference) * scale));
}

// Older forms lack attributes; what they cannot say is refused.

/// Before opset 21 the output's type is that of the zero point: one is made where the type is not the default.
Result<void> say_type_by_zero_point(NodeForm& form) {
  TRY(const auto written, form.take_int("output_dtype"));
  const auto dtype = static_cast<DataType>(written.value_or(0));
  if (form.has_input(2) || dtype == DataType::kUndefined || dtype == DataType::kUInt8) return {};
  const auto dims = form.has_rank(1) ? constants(*form.type(1).shape) : std::nullopt;
  if (!dims) return form.unsupported("a scale of constant shape expected");
  const std::vector<int64_t> zeros(element_count(*dims), 0);
  form.set_input(2, form.constant(Tensor::from_ints(dtype, *dims, zeros), "zero_point"));
  return {};
}

/// Opset 10 knows one scale for the whole tensor only.
Result<void> per_tensor_only(NodeForm& form) {
  // A scale of unknown rank came from there.
  if (form.has_rank(1) && !is_single(*form.type(1).shape)) return form.unsupported("a single scale expected");
  form.drop("axis");
  return {};
}

Result<void> drop_saturate(NodeForm& form) {
  form.drop("saturate");
  return {};
}

// DynamicQuantizeLinear: scale and zero point from the range of the data, extended to hold 0.

Result<std::vector<ValueType>> infer_dynamic(const OpContext& context) {
  return std::vector{ValueType::tensor(DataType::kUInt8, context.shape(0)), ValueType::tensor(DataType::kFloat32, {}),
                     ValueType::tensor(DataType::kUInt8, {})};
}

Result<te::Program> compute_dynamic(const OpContext& context) {
  te::Program program;
  const DynamicBytes bytes = dynamic_bytes(program, context, 0);
  program.outputs = {bytes.y, bytes.scale, bytes.zero};
  return program;
}

}  // namespace

DynamicBytes dynamic_bytes(te::Program& program, const OpContext& context, int i) {
  const DataType type = DataType::kFloat32;
  const Shape& shape = context.shape(i);
  const Expr element = context.load(i, reduce_axes(shape.size()));
  const auto extreme = [&](const te::Monoid& monoid) {
    return program.load(shape.empty() ? program.map({}, element) : program.reduce({}, shape, monoid, element), {});
  };
  const Expr least = te::min(extreme(te::minimum(type)), 0), greatest = te::max(extreme(te::maximum(type)), 0);
  const Expr range = te::cast(type, as_double(greatest) - as_double(least));
  DynamicBytes bytes;
  bytes.scale = program.map(
      {}, te::select(te::equal(range, 0), te::literal(1, type), rounded_quotient(range, te::literal(255, type))));
  const Expr lowest = -rounded_quotient(least, program.load(bytes.scale, {}));
  bytes.zero = program.map({}, requantize(lowest, te::literal(0, DataType::kUInt8), DataType::kUInt8));
  const Expr quotient = rounded_quotient(context.load_broadcast(i, shape), program.load(bytes.scale, {}));
  bytes.y = program.map(shape, requantize(quotient, program.load(bytes.zero, {}), DataType::kUInt8));
  return bytes;
}

std::vector<OpDef> quantization() {
  const Reform no_blocks = drop_neutral("block_size", 0), no_precision = drop_neutral("precision", 0);
  const Reform of_scale = drop_neutral("output_dtype", 0);
  return {
      {.name = "QuantizeLinear",
       .since = 23,
       .inputs = {"x:T1", "y_scale:T2", "y_zero_point?:T3"},
       .outputs = {"y:T3"},
       .types = {{"T1", kReals | DataType::kInt32}, {"T2", kScales | DataType::kInt32}, {"T3", kQuantized}},
       .attributes = {with_default("axis", 1), with_default("block_size", 0), with_default("output_dtype", 0),
                      with_default("precision", 0), with_default("saturate", 1)},
       .versions = {{21, nullptr, no_precision},
                    {19, nullptr, in_turn({no_precision, say_type_by_zero_point, no_blocks})},
                    {13, nullptr, in_turn({no_precision, say_type_by_zero_point, no_blocks, drop_saturate})},
                    {10, nullptr,
                     in_turn({no_precision, say_type_by_zero_point, no_blocks, drop_saturate, per_tensor_only})}},
       .infer = infer_quantize,
       .compute = compute_quantize},

      {.name = "DequantizeLinear",
       .since = 23,
       .inputs = {"x:T1", "x_scale:T2", "x_zero_point?:T1"},
       .outputs = {"y:T2"},  // or another float: output_dtype
       .types = {{"T1", kQuantized | DataType::kInt32}, {"T2", kScales}},
       .attributes = {with_default("axis", 1), with_default("block_size", 0), with_default("output_dtype", 0)},
       .versions = {{21, nullptr, of_scale},
                    {19, nullptr, in_turn({of_scale, no_blocks})},
                    {13, nullptr, in_turn({of_scale, no_blocks})},
                    {10, nullptr, in_turn({of_scale, no_blocks, per_tensor_only})}},
       .infer = infer_dequantize,
       .compute = compute_dequantize},

      {.name = "DynamicQuantizeLinear",
       .since = 11,
       .inputs = {"x:T1"},
       .outputs = {"y:T2", "y_scale:float32", "y_zero_point:T2"},
       .types = {{"T1", DataType::kFloat32}, {"T2", DataType::kUInt8}},
       .infer = infer_dynamic,
       .compute = compute_dynamic},
  };
}

}  // namespace isomer::ops
