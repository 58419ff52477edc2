// FusedMatMul TransposeMatMul FusedGemm FusedConv MatMulNBits DynamicQuantizeMatMul MatMulIntegerToFloat: products and
// what ONNX Runtime's optimizer and its quantization tools put into one node with them, in its domain
// (ContribOperators.md).
#include <algorithm>
#include <string>

#include "graph/ops/common.h"
#include "graph/ops/contrib.h"
#include "graph/ops/operand.h"
#include "graph/ops/product.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"
#include "graph/ops/sigmoid.h"
#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

// FusedMatMul: alpha A' B', where A' and B' may be transposed in two ways.

/// Which axis of the input each axis of the operand is. The first one becomes the row, behind the batch dims; then rows
/// and columns change places.
std::vector<size_t> operand_axes(const OpContext& context, int i) {
  const char side = i == 0 ? 'A' : 'B';
  const auto flag = [&](const std::string& name) {
    return context.has_attribute(name + side) && context.get_int(name + side) != 0;
  };
  const size_t rank = context.shape(i).size();
  std::vector<size_t> axes;
  for (size_t k = 0; k < rank; ++k) axes.push_back(k);
  if (rank < 2) return axes;
  if (flag("transBatch")) std::rotate(axes.begin(), axes.begin() + 1, axes.end() - 1);
  if (flag("trans")) std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

Shape operand_shape(const OpContext& context, int i, const std::vector<size_t>& axes) {
  Shape shape;
  for (const size_t axis : axes) shape.push_back(context.shape(i)[axis]);
  return shape;
}

struct FusedMatmul {
  std::vector<size_t> a_axes, b_axes;
  Matmul matmul;
};

Result<FusedMatmul> fused_matmul_of(const OpContext& context) {
  FusedMatmul result{operand_axes(context, 0), operand_axes(context, 1), {}};
  TRY(result.matmul,
      matmul_of(context, 0, 1, operand_shape(context, 0, result.a_axes), operand_shape(context, 1, result.b_axes)));
  return result;
}

Result<std::vector<ValueType>> infer_fused_matmul(const OpContext& context) {
  TRY(const FusedMatmul fused, fused_matmul_of(context));
  return one(context.dtype(0), fused.matmul.out);
}

Result<te::Program> compute_fused_matmul(const OpContext& context) {
  TRY(const FusedMatmul fused, fused_matmul_of(context));
  const auto element = [&](int i, const std::vector<size_t>& axes, const std::vector<Expr>& index) {
    std::vector<Expr> at(index.size());
    for (size_t k = 0; k < index.size(); ++k) at[axes[k]] = index[k];
    return context.load(i, std::move(at));
  };
  te::Program program;
  const te::StageValue sum =
      sum_over(program, fused.matmul.out, {fused.matmul.inner},
               element(0, fused.a_axes, fused.matmul.a_index) * element(1, fused.b_axes, fused.matmul.b_index));
  const double alpha = context.get_float("alpha");
  const auto rank = static_cast<int>(fused.matmul.out.size());
  program.outputs = {alpha == 1 ? sum
                                : program.map(fused.matmul.out, program.load(sum, te::axes(rank)) * Number(alpha))};
  return program;
}

// FusedGemm and FusedConv: what comes behind the standard's operator of the same attributes.

/// The activation of so many parameters, as the node names it.
struct FusedActivation {
  std::string name;
  double alpha = 0, beta = 0;
};

Result<Expr> activated(const OpContext& context, const FusedActivation& activation, const Expr& x) {
  const Number alpha(activation.alpha);
  if (activation.name.empty()) return x;
  if (activation.name == "Relu") return te::max(x, 0);
  if (activation.name == "Sigmoid") return sigmoid_of(x);
  if (activation.name == "Tanh") return te::tanh(x);
  if (activation.name == "LeakyRelu") return te::select(x < 0, x * alpha, x);
  if (activation.name == "HardSigmoid") return hard_sigmoid_of(x, activation.alpha, activation.beta);
  if (activation.name == "Clip")
    return te::min(te::max(x, te::literal(alpha, x.dtype())), te::literal(Number(activation.beta), x.dtype()));
  return context.unsupported("activation Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid or Clip expected, '{}' found",
                             activation.name);
}

Result<FusedActivation> activation_of(const OpContext& context) {
  FusedActivation result;
  if (context.has_attribute("activation")) result.name = context.get_string("activation");
  std::vector<double> parameters;
  if (context.has_attribute("activation_params")) {
    for (const float value : context.get_floats("activation_params")) parameters.push_back(value);
  } else {
    for (const char* name : {"activation_alpha", "activation_beta"})
      if (context.has_attribute(name)) parameters.push_back(context.get_float(name));
  }
  size_t needed = 0;
  if (result.name == "LeakyRelu") needed = 1;
  if (result.name == "HardSigmoid" || result.name == "Clip") needed = 2;
  if (parameters.size() < needed)
    return context.invalid("{} parameters of {} expected, {} found", needed, result.name, parameters.size());
  if (needed > 0) result.alpha = parameters[0];
  if (needed > 1) result.beta = parameters[1];
  return result;
}

/// The standard's row, which reads the same inputs and attributes.
template <const char* kName>
Result<std::vector<ValueType>> infer_activated(const OpContext& context) {
  TRY(const FusedActivation activation, activation_of(context));
  TRY_VOID(activated(context, activation, te::literal(0, context.dtype(0))));
  TRY(std::vector<ValueType> types, find_op(kName)->infer(context));
  if (context.has_input(3)) TRY_VOID(expect_shape(context, 3, *types[0].shape));
  return types;
}

template <const char* kName>
Result<te::Program> compute_activated(const OpContext& context) {
  TRY(const FusedActivation activation, activation_of(context));
  TRY(te::Program program, find_op(kName)->compute(context));
  TRY(const std::vector<ValueType> types, find_op(kName)->infer(context));
  const Shape& shape = *types[0].shape;
  const std::vector<Expr> at = te::axes(static_cast<int>(shape.size()));
  Expr value = program.load(program.outputs[0], at);
  if (context.has_input(3)) value = value + context.load(3, at);
  TRY(value, activated(context, activation, value));
  program.outputs = {program.map(shape, value)};
  return program;
}

constexpr char kGemm[] = "Gemm", kConv[] = "Conv";

// MatMulNBits: A times the transposed B, [N, K], whose elements of few bits lie packed in bytes, the first ones lowest,
// in blocks along K that have a scale and a zero point each.

enum NBits { kA, kB, kScales, kZeros, kGroups, kBias };

struct Blocks {
  Dim rows = 0;  ///< N
  int64_t inner = 0, size = 0, count = 0, bits = 0;
  Shape out;

  int64_t a_byte() const { return 8 / bits; }  ///< elements
};

Result<Blocks> blocks_of(const OpContext& context) {
  Blocks result{.rows = context.get_int("N"),
                .inner = context.get_int("K"),
                .size = context.get_int("block_size"),
                .bits = context.get_int("bits"),
                .out = context.shape(kA)};
  if (result.bits != 2 && result.bits != 4 && result.bits != 8)
    return context.unsupported("2, 4 or 8 bits expected, {} found", result.bits);
  if (result.size < 16 || (result.size & (result.size - 1)) != 0)
    return context.invalid("block_size of a power of two from 16 on expected, {} found", result.size);
  if (context.get_int("N") < 1 || result.inner < 1)
    return context.invalid("N and K of at least 1 expected, {} and {} found", context.get_int("N"), result.inner);
  result.count = te::ceil_div(result.inner, result.size);
  if (result.out.empty() || !agreed(result.out.back(), Dim(result.inner)))
    return context.invalid("A with {} elements a row expected, {} found", result.inner, text(context.shape(kA)));
  result.out.back() = result.rows;
  const auto expect = [&](int i, const Dim& count, int64_t a_row) -> Result<void> {
    if (context.rank(i) == 1) return expect_shape(context, i, {count * Dim(a_row)});
    return expect_shape(context, i, {count, a_row});
  };
  TRY_VOID(expect_shape(context, kB, {result.rows, result.count, result.size / result.a_byte()}));
  TRY_VOID(expect(kScales, result.rows, result.count));
  if (context.has_input(kZeros))
    TRY_VOID(
        expect(kZeros, result.rows,
               context.dtype(kZeros) == DataType::kUInt8 ? te::ceil_div(result.count, result.a_byte()) : result.count));
  TRY_VOID(expect_shape(context, kBias, {result.rows}));
  return result;
}

Result<std::vector<ValueType>> infer_nbits(const OpContext& context) {
  TRY(Blocks blocks, blocks_of(context));
  return one(context.dtype(kA), std::move(blocks.out));
}

/// Element `at` of the row of bytes that `load` reads.
template <class Load>
Expr unpacked(const Blocks& blocks, const Expr& at, const Load& load) {
  if (blocks.bits == 8) return te::cast(DataType::kInt32, load(at));
  const Expr byte = load(te::floor_div(at, te::index(blocks.a_byte())));
  const Expr place = te::floor_mod(at, te::index(blocks.a_byte()));
  const int64_t values = int64_t{1} << blocks.bits;
  Expr value = byte;
  for (int64_t k = blocks.a_byte() - 1, above = 256 / values; k >= 0; --k, above /= values) {
    Expr part = above == 1 ? byte : te::floor_div(byte, te::literal(above, DataType::kUInt8));
    if (k + 1 < blocks.a_byte()) part = te::floor_mod(part, te::literal(values, DataType::kUInt8));
    value = k + 1 == blocks.a_byte() ? part : te::select(te::equal(place, k), part, value);
  }
  return te::cast(DataType::kInt32, value);
}

Result<te::Program> compute_nbits(const OpContext& context) {
  TRY(const Blocks blocks, blocks_of(context));
  const int last = context.rank(kA) - 1;
  // An element of a matrix of so many columns, which may lie in one axis.
  const auto element = [&](int i, const Expr& row, int64_t columns, const Expr& column) {
    return context.rank(i) == 1 ? context.load(i, {row * columns + column}) : context.load(i, {row, column});
  };
  const Expr row = te::axis(0), k = te::axis(1);
  const Expr block = te::floor_div(k, te::index(blocks.size)), within = te::floor_mod(k, te::index(blocks.size));
  const Expr number =
      te::cast(DataType::kFloat32,
               unpacked(blocks, within, [&](const Expr& byte) { return context.load(kB, {row, block, byte}); }));
  Expr zero = te::literal(int64_t{1} << (blocks.bits - 1), DataType::kFloat32);
  if (context.has_input(kZeros)) {
    if (context.dtype(kZeros) == DataType::kUInt8) {
      const int64_t bytes = te::ceil_div(blocks.count, blocks.a_byte());
      zero = te::cast(DataType::kFloat32,
                      unpacked(blocks, block, [&](const Expr& byte) { return element(kZeros, row, bytes, byte); }));
    } else {
      zero = te::cast(DataType::kFloat32, element(kZeros, row, blocks.count, block));
    }
  }
  te::Program program;
  const te::StageValue weights =
      program.map({blocks.rows, blocks.inner},
                  (number - zero) * te::cast(DataType::kFloat32, element(kScales, row, blocks.count, block)));
  std::vector<Expr> a = te::axes(last);
  a.push_back(te::reduce_axis(0));
  const Expr column = te::axis(last);
  const te::StageValue sum = sum_over(program, blocks.out, {blocks.inner},
                                      te::cast(DataType::kFloat32, context.load(kA, std::move(a))) *
                                          program.load(weights, {column, te::reduce_axis(0)}));
  Expr value = program.load(sum, te::axes(last + 1));
  if (context.has_input(kBias)) value = value + te::cast(DataType::kFloat32, context.load(kBias, {column}));
  program.outputs = {program.map(blocks.out, te::cast(context.dtype(kA), value))};
  return program;
}

// Integer products that become floats: sums of products of bytes times both scales, and a bias of columns.

Result<Shape> float_product(const OpContext& context, int bias) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  if (context.rank(1) < 2) return context.invalid("B of rank at least 2 expected, {} found", text(context.shape(1)));
  TRY_VOID(expect_shape(context, bias, {context.shape(1).back()}));
  return matmul.out;
}

/// The sum at the output's place, times the scales, plus the bias.
te::StageValue scaled_sum(te::Program& program, const OpContext& context, const Matmul& matmul, te::StageValue sum,
                          const Expr& scale, int bias, DataType dtype) {
  const auto rank = static_cast<int>(matmul.out.size());
  Expr value = te::cast(DataType::kFloat32, program.load(sum, te::axes(rank))) * scale;
  if (context.has_input(bias)) value = value + te::cast(DataType::kFloat32, context.load(bias, {matmul.column}));
  return program.map(matmul.out, te::cast(dtype, value));
}

Result<std::vector<ValueType>> infer_dynamic_matmul(const OpContext& context) {
  TRY(Shape out, float_product(context, 4));
  for (const int i : {2, 3}) TRY_VOID(check_parameter(context, i, context.shape(1), context.shape(1).size() - 1));
  return one(DataType::kFloat32, std::move(out));
}

Result<te::Program> compute_dynamic_matmul(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  const Shape& b = context.shape(1);
  const auto of_column = [&](int i, const std::vector<Expr>& index) {
    return load_parameter(context, i, b, index, b.size() - 1);
  };
  te::Program program;
  const DynamicBytes bytes = dynamic_bytes(program, context, 0);
  const auto whole = [](const Expr& x) { return te::cast(DataType::kInt32, x); };
  Expr right = whole(context.load(1, matmul.b_index));
  if (context.has_input(3)) right = right - whole(of_column(3, matmul.b_index));
  const te::StageValue sum =
      sum_over(program, matmul.out, {matmul.inner},
               (whole(program.load(bytes.y, matmul.a_index)) - whole(program.load(bytes.zero, {}))) * right);
  std::vector<Expr> place = matmul.b_index;
  place[b.size() - 2] = te::index(0);
  const Expr scale = program.load(bytes.scale, {}) * of_column(2, place);
  program.outputs = {scaled_sum(program, context, matmul, sum, scale, 4, DataType::kFloat32)};
  return program;
}

enum ToFloat { kAScale = 2, kBScale, kAZero, kBZero, kFloatBias };

Result<std::vector<ValueType>> infer_to_float(const OpContext& context) {
  TRY(Shape out, float_product(context, kFloatBias));
  if (context.rank(0) < 1) return context.invalid("A of rank at least 1 expected, a scalar found");
  for (const int i : {kAScale, kAZero})
    if (context.has_input(i) && !element_count(context.shape(i)).is(1))
      return context.unsupported("one {} expected, {} found", context.input_name(i), text(context.shape(i)));
  for (const int i : {kBScale, kBZero})
    TRY_VOID(check_parameter(context, i, context.shape(1), context.shape(1).size() - 1));
  return one(context.dtype(kAScale), std::move(out));
}

Result<te::Program> compute_to_float(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  const Shape& b = context.shape(1);
  te::Program program;
  TRY(const te::StageValue sum, integer_product(context, program, matmul, kAZero, kBZero));
  std::vector<Expr> place = matmul.b_index;
  place[b.size() - 2] = te::index(0);
  const Expr a_scale = context.load(kAScale, std::vector(context.rank(kAScale), te::index(0)));
  const Expr scale = te::cast(DataType::kFloat32, a_scale) *
                     te::cast(DataType::kFloat32, load_parameter(context, kBScale, b, place, b.size() - 1));
  program.outputs = {scaled_sum(program, context, matmul, sum, scale, kFloatBias, context.dtype(kAScale))};
  return program;
}

OpDef matmul_row(std::string_view name, std::vector<AttributeDef> attributes) {
  return {.domain = kContribDomain,
          .name = name,
          .since = 1,
          .inputs = {"A", "B"},
          .outputs = {"Y"},
          .types = {{"T", kFloats}},
          .attributes = std::move(attributes),
          .infer = infer_fused_matmul,
          .compute = compute_fused_matmul};
}

}  // namespace

std::vector<OpDef> product_contrib() {
  return {
      matmul_row("FusedMatMul", {with_default("alpha", 1.0), with_default("transA", 0), with_default("transB", 0),
                                 with_default("transBatchA", 0), with_default("transBatchB", 0)}),
      matmul_row("TransposeMatMul", {with_default("alpha", 1.0), with_default("transA", 0), with_default("transB", 0)}),
      {.domain = kContribDomain,
       .name = "FusedGemm",
       .since = 1,
       .inputs = {"A", "B", "C?"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {optional("activation", AttributeKind::kString),
                      optional("activation_alpha", AttributeKind::kFloat),
                      optional("activation_beta", AttributeKind::kFloat),
                      optional("activation_gamma", AttributeKind::kFloat), with_default("alpha", 1.0),
                      with_default("beta", 1.0), with_default("transA", 0), with_default("transB", 0)},
       .infer = infer_activated<kGemm>,
       .compute = compute_activated<kGemm>},
      {.domain = kContribDomain,
       .name = "FusedConv",
       .since = 1,
       .inputs = {"X", "W", "B?", "Z?"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {optional("activation", AttributeKind::kString),
                      optional("activation_params", AttributeKind::kFloats), with_default("auto_pad", "NOTSET"),
                      optional("dilations", AttributeKind::kInts), with_default("group", 1),
                      optional("kernel_shape", AttributeKind::kInts), optional("pads", AttributeKind::kInts),
                      optional("strides", AttributeKind::kInts)},
       .infer = infer_activated<kConv>,
       .compute = compute_activated<kConv>},
      {.domain = kContribDomain,
       .name = "MatMulNBits",
       .since = 1,
       .inputs = {"A:T1", "B:uint8", "scales:T1", "zero_points?:T3", "?:int32", "bias?:T1"},
       .outputs = {"Y:T1"},
       .types = {{"T1", kContribFloats}, {"T3", kContribFloats | DataType::kUInt8}},
       .attributes = {required("K", AttributeKind::kInt), required("N", AttributeKind::kInt),
                      with_default("accuracy_level", 0), with_default("bits", 4),
                      required("block_size", AttributeKind::kInt), only("weight_prepacked", 0)},
       .infer = infer_nbits,
       .compute = compute_nbits},
      {.domain = kContribDomain,
       .name = "DynamicQuantizeMatMul",
       .since = 1,
       .inputs = {"A:float32", "B:T2", "b_scale:float32", "b_zero_point?:T2", "bias?:float32"},
       .outputs = {"Y:float32"},
       .types = {{"T2", kContribBytes}},
       .infer = infer_dynamic_matmul,
       .compute = compute_dynamic_matmul},
      {.domain = kContribDomain,
       .name = "MatMulIntegerToFloat",
       .since = 1,
       .inputs = {"A:T1", "B:T2", "a_scale:T3", "b_scale:T3", "a_zero_point?:T1", "b_zero_point?:T2", "bias?:T3"},
       .outputs = {"Y:T3"},
       .types = {{"T1", kContribBytes}, {"T2", kContribBytes}, {"T3", DataType::kFloat16 | DataType::kFloat32}},
       .infer = infer_to_float,
       .compute = compute_to_float},
  };
}

}  // namespace isomer::ops
