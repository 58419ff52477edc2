// QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearWhere QLinearSoftmax QLinearReduceMean
// QLinearGlobalAveragePool QLinearAveragePool QLinearConcat QGemm QuantizeLinear DequantizeLinear: what ONNX
// Runtime's quantization tool writes besides the standard's QLinearConv and QLinearMatMul, in its domain
// (ContribOperators.md).
#include "graph/ops/common.h"
#include "graph/ops/contrib.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"
#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

using te::Expr;

constexpr DataType kReal = DataType::kFloat32;

// Of two operands: A, B and C are an element, its scale and its zero point each.

Result<std::vector<ValueType>> infer_pair(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 4, 5, 6, 7}));
  TRY(Shape shape, broadcast(context, context.shape(0), context.shape(3)));
  return one(context.dtype(0), std::move(shape));
}

/// Scales multiplied and divided first, as MLAS does: where C's is a small multiple of them, ties are ties in float32.
Expr factor(const OpContext& context, std::initializer_list<int> scales, int divisor) {
  Expr result = te::literal(1, kReal);
  for (const int scale : scales) result = result * scalar(context, scale, kReal);
  return result / scalar(context, divisor, kReal);
}

/// `operation` gives C's elements, less its zero point, of those of A and B, less theirs.
template <class Operation>
auto of_pair(const Operation& operation) {
  return [operation](const OpContext& context) -> Result<te::Program> {
    TRY(Shape shape, broadcast(context, context.shape(0), context.shape(3)));
    const auto difference = [&](int i) {
      return te::cast(DataType::kInt32, context.load_broadcast(i, shape)) - scalar(context, i + 2, DataType::kInt32);
    };
    const Expr value = operation(context, difference(0), difference(3));
    const Expr result = requantize(value, scalar(context, 7, context.dtype(0)), context.dtype(0));
    return single_map(std::move(shape), result);
  };
}

// Of one: X and Y.

Result<std::vector<ValueType>> infer_single(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  return one(context.dtype(0), context.shape(0));
}

template <class Operation>
auto of_single(const Operation& operation) {
  return [operation](const OpContext& context) -> Result<te::Program> {
    const Shape& shape = context.shape(0);
    const Expr x = number(context, context.load_broadcast(0, shape), 1);
    return single_map(shape, quantized(context, operation(context, x), 3, context.dtype(0)));
  };
}

// One of two, by a condition; each has a scale and a zero point behind it.

enum Where { kCondition, kX, kXScale, kXZero, kY, kWhereYScale, kWhereYZero, kZScale };

Result<Shape> chosen_shape(const OpContext& context) {
  TRY_VOID(check_scalars(context, {kXScale, kXZero, kWhereYScale, kWhereYZero, kZScale, kZScale + 1}));
  TRY(const Shape shape, broadcast(context, context.shape(kX), context.shape(kY)));
  return broadcast(context, shape, context.shape(kCondition));
}

Result<std::vector<ValueType>> infer_quantized_where(const OpContext& context) {
  TRY(Shape shape, chosen_shape(context));
  return one(context.dtype(kX), std::move(shape));
}

Result<te::Program> compute_quantized_where(const OpContext& context) {
  TRY(Shape shape, chosen_shape(context));
  const Expr x = number(context, context.load_broadcast(kX, shape), kXScale);
  const Expr y = number(context, context.load_broadcast(kY, shape), kWhereYScale);
  const Expr value = te::select(context.load_broadcast(kCondition, shape), x, y);
  const Expr result = quantized(context, value, kZScale, context.dtype(kX));
  return single_map(std::move(shape), result);
}

// Over some axes of X: Softmax, means.

/// Axes that are gone over, which stay as 1 in `kept`.
struct Reduced {
  Shape kept, reduced;
  std::vector<Expr> inside;  ///< into X, in a reduction over `reduced`
  std::vector<Expr> beside;  ///< into what is kept, at a place of X
  std::vector<bool> is_reduced;
};

Reduced over(const Shape& x, const std::vector<int>& axes) {
  Reduced result{
      x, {}, te::axes(static_cast<int>(x.size())), te::axes(static_cast<int>(x.size())), std::vector<bool>(x.size())};
  for (const int axis : axes) result.is_reduced[axis] = true;
  for (size_t k = 0; k < x.size(); ++k) {
    if (!result.is_reduced[k]) continue;
    result.inside[k] = te::reduce_axis(static_cast<int>(result.reduced.size()));
    result.reduced.push_back(x[k]);
    result.kept[k] = 1;
    result.beside[k] = te::index(0);
  }
  return result;
}

/// From opset 13 on along one axis, before over all from it on.
Result<std::vector<int>> softmax_axes(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  std::vector<int> axes = {axis};
  for (int k = axis + 1; k < context.rank(0) && context.get_int("opset") < 13; ++k) axes.push_back(k);
  return axes;
}

Result<std::vector<ValueType>> infer_softmax(const OpContext& context) {
  TRY_VOID(softmax_axes(context));
  return one(context.dtype(0), context.shape(0));
}

Result<te::Program> compute_softmax(const OpContext& context) {
  TRY(const std::vector<int> axes, softmax_axes(context));
  const Shape& x = context.shape(0);
  const Reduced at = over(x, axes);
  te::Program program;
  // The zero point cancels.
  const auto difference = [&](const std::vector<Expr>& place, const Expr& greatest) {
    const Expr apart = te::cast(DataType::kInt32, context.load(0, place)) - te::cast(DataType::kInt32, greatest);
    return te::exp(te::cast(kReal, apart) * scalar(context, 1, kReal));
  };
  const te::StageValue greatest =
      at.reduced.empty()
          ? program.map(at.kept, context.load(0, at.inside))
          : program.reduce(at.kept, at.reduced, te::maximum(context.dtype(0)), context.load(0, at.inside));
  const auto rank = static_cast<int>(x.size());
  const te::StageValue powers = program.map(x, difference(te::axes(rank), program.load(greatest, at.beside)));
  const te::StageValue sum = sum_over(program, at.kept, at.reduced, program.load(powers, at.inside));
  const Expr share = program.load(powers, te::axes(rank)) / program.load(sum, at.beside);
  program.outputs = {program.map(x, quantized(context, share, 3, context.dtype(0)))};
  return program;
}

/// The mean of what is reduced, quantized, as a stage of the kept axes.
te::StageValue quantized_mean(te::Program& program, const OpContext& context, const Reduced& at) {
  const Expr difference = te::cast(DataType::kInt32, context.load(0, at.inside)) - scalar(context, 2, DataType::kInt32);
  const te::StageValue sum = sum_over(program, at.kept, at.reduced, difference);
  const Expr total = te::cast(kReal, program.load(sum, te::axes(static_cast<int>(at.kept.size()))));
  const Expr mean = factor(context, {1}, 3) / count_as(kReal, element_count(at.reduced).expr());
  return program.map(at.kept, requantize(total * mean, scalar(context, 4, context.dtype(0)), context.dtype(0)));
}

/// All axes but the first and the channels'.
Result<Reduced> spatial(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  const Shape& x = context.shape(0);
  if (x.size() < 3) return context.invalid("X of rank at least 3 expected, {} found", text(x));
  const int channels = context.get_int("channels_last") != 0 ? context.rank(0) - 1 : 1;
  std::vector<int> axes;
  for (int k = 1; k < context.rank(0); ++k)
    if (k != channels) axes.push_back(k);
  return over(x, axes);
}

Result<std::vector<ValueType>> infer_global_mean(const OpContext& context) {
  TRY(Reduced at, spatial(context));
  return one(context.dtype(0), std::move(at.kept));
}

Result<te::Program> compute_global_mean(const OpContext& context) {
  TRY(const Reduced at, spatial(context));
  te::Program program;
  program.outputs = {quantized_mean(program, context, at)};
  return program;
}

Result<Reduced> mean_axes(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  TRY(const std::vector<int> axes, context.normalize_axes(context.get_ints("axes"), context.rank(0)));
  return over(context.shape(0), axes);
}

/// The kept axes, without those that were reduced unless they stay.
Shape mean_shape(const OpContext& context, const Reduced& at) {
  Shape shape;
  for (size_t k = 0; k < at.kept.size(); ++k)
    if (!at.is_reduced[k] || context.get_int("keepdims") != 0) shape.push_back(at.kept[k]);
  return shape;
}

Result<std::vector<ValueType>> infer_mean(const OpContext& context) {
  TRY(const Reduced at, mean_axes(context));
  return one(context.dtype(0), mean_shape(context, at));
}

Result<te::Program> compute_mean(const OpContext& context) {
  TRY(const Reduced at, mean_axes(context));
  te::Program program;
  const te::StageValue mean = quantized_mean(program, context, at);
  if (context.get_int("keepdims") != 0) {
    program.outputs = {mean};
    return program;
  }
  std::vector<Expr> place;
  int next = 0;
  for (const bool is_reduced : at.is_reduced) place.push_back(is_reduced ? te::index(0) : te::axis(next++));
  program.outputs = {program.map(mean_shape(context, at), program.load(mean, place))};
  return program;
}

// Tensors put together, each behind it its scale and zero point; Y's come first.

int pieces_of(const OpContext& context) { return (context.input_count() - 2) / 3; }

Result<Shape> joined(const OpContext& context) {
  const int pieces = pieces_of(context);
  if (context.input_count() != 2 + 3 * pieces || pieces == 0)
    return context.invalid("Y's scale and zero point, and three inputs for each tensor, expected, {} inputs found",
                           context.input_count());
  for (int i = 0; i < context.input_count(); ++i)
    if (!context.has_input(i)) return context.invalid("input {} expected, none found", i);
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(2)));
  Shape shape = context.shape(2);
  for (int k = 0; k < pieces; ++k) {
    const int i = 2 + 3 * k;
    TRY_VOID(check_scalars(context, {i + 1, i + 2}));
    if (context.dtype(i) != context.dtype(1) || context.dtype(i + 2) != context.dtype(i) ||
        context.dtype(i + 1) != kReal)
      return context.invalid("tensors and zero points of type {}, with scales of float32, expected",
                             name(context.dtype(1)));
    TRY_VOID(expect_rank(context, i, static_cast<int>(shape.size())));
    for (size_t a = 0; k > 0 && a < shape.size(); ++a) {
      if (static_cast<int>(a) == axis) {
        shape[a] = shape[a] + context.dim(i, axis);
        continue;
      }
      const auto common = agreed(shape[a], context.dim(i, static_cast<int>(a)));
      if (!common)
        return context.invalid("inputs that differ only along axis {} expected, shapes {} and {} found", axis,
                               text(context.shape(2)), text(context.shape(i)));
      shape[a] = *common;
    }
  }
  return shape;
}

Result<std::vector<ValueType>> infer_concat(const OpContext& context) {
  TRY_VOID(check_scalars(context, {0, 1}));
  TRY(Shape shape, joined(context));
  return one(context.dtype(1), std::move(shape));
}

Result<te::Program> compute_concat(const OpContext& context) {
  TRY(Shape shape, joined(context));
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(2)));
  std::vector<Expr> begins, pieces;
  Dim begin = 0;
  for (int k = 0; k < pieces_of(context); ++k) {
    const int i = 2 + 3 * k;
    const Dim& extent = context.dim(i, axis);
    if (extent.is(0) && k + 1 < pieces_of(context)) continue;
    std::vector<Expr> index = te::axes(static_cast<int>(shape.size()));
    index[axis] = index[axis] - begin.expr();
    begins.push_back(begin.expr());
    pieces.push_back(
        quantized(context, number(context, context.load(i, std::move(index)), i + 1), 0, context.dtype(1)));
    begin = begin + extent;
  }
  return single_map(std::move(shape), choose(te::axis(axis), begins, pieces));
}

// alpha * (A' - a_zero) * (B' - b_zero) * a_scale * b_scale + C, quantized where there is a scale for that. C is in
// units of alpha * a_scale * b_scale.

enum QGemm { kA, kAScale, kAZero, kB, kBScale, kBZero, kC, kYScale, kYZero };

struct Product {
  bool trans_a = false, trans_b = false;
  Dim rows = 0, columns = 0, inner = 0;
};

Result<Product> qgemm_of(const OpContext& context) {
  TRY_VOID(expect_rank(context, kA, 2));
  TRY_VOID(expect_rank(context, kB, 2));
  TRY_VOID(check_scalars(context, {kAScale, kAZero, kYScale, kYZero}));
  Product result{.trans_a = context.get_int("transA") != 0, .trans_b = context.get_int("transB") != 0};
  result.rows = context.dim(kA, result.trans_a);
  result.columns = context.dim(kB, !result.trans_b);
  const auto inner = agreed(context.dim(kA, !result.trans_a), context.dim(kB, result.trans_b));
  if (!inner)
    return context.invalid("A' and B' with equal inner dims expected, {} and {} found", text(context.shape(kA)),
                           text(context.shape(kB)));
  result.inner = *inner;
  for (const int i : {kBScale, kBZero}) {
    const bool is_single = context.rank(i) == 0 || (context.rank(i) == 1 && context.dim(i, 0).is(1));
    if (!is_single) TRY_VOID(expect_shape(context, i, {result.columns}));
  }
  if (context.has_input(kC)) {
    const Shape out = {result.rows, result.columns};
    TRY(const Shape shared, broadcast(context, context.shape(kC), out));
    if (shared.size() != 2)
      return context.invalid("C that broadcasts to {} expected, {} found", text(out), text(context.shape(kC)));
  }
  return result;
}

Result<std::vector<ValueType>> infer_qgemm(const OpContext& context) {
  TRY(const Product product, qgemm_of(context));
  if (!context.has_input(kYScale)) return one(kReal, {product.rows, product.columns});
  if (!context.has_input(kYZero)) return context.invalid("y_zero_point beside y_scale expected, none found");
  return one(context.dtype(kYZero), {product.rows, product.columns});
}

Result<te::Program> compute_qgemm(const OpContext& context) {
  TRY(const Product gemm, qgemm_of(context));
  const Shape out = {gemm.rows, gemm.columns};
  const Expr row = te::axis(0), column = te::axis(1), k = te::reduce_axis(0);
  const auto at = [](bool transposed, const Expr& i, const Expr& j) {
    return transposed ? std::vector{j, i} : std::vector{i, j};
  };
  const auto whole = [](const Expr& x) { return te::cast(DataType::kInt32, x); };
  const auto of_column = [&](int i) { return load_scalar_or_vector(context, i, column, gemm.columns); };
  te::Program program;
  const te::StageValue product =
      sum_over(program, out, {gemm.inner},
               (whole(context.load(kA, at(gemm.trans_a, row, k))) - scalar(context, kAZero, DataType::kInt32)) *
                   (whole(context.load(kB, at(gemm.trans_b, k, column))) - whole(of_column(kBZero))));
  Expr sum = program.load(product, {row, column});
  if (context.has_input(kC)) sum = sum + context.load_broadcast(kC, out);
  const Expr scale = te::literal(te::Number(context.get_float("alpha")), kReal) * scalar(context, kAScale, kReal) *
                     te::cast(kReal, of_column(kBScale));
  const Expr value = te::cast(kReal, sum) * scale;
  program.outputs = {
      program.map(out, context.has_input(kYScale) ? quantized(context, value, kYScale, context.dtype(kYZero)) : value)};
  return program;
}

// QuantizeLinear and DequantizeLinear before the standard's had 16 bits.

template <const char* kName>
Result<std::vector<ValueType>> infer_standard(const OpContext& context) {
  return find_op(kName)->infer(context);
}

template <const char* kName>
Result<te::Program> compute_standard(const OpContext& context) {
  return find_op(kName)->compute(context);
}

constexpr char kQuantize[] = "QuantizeLinear", kDequantize[] = "DequantizeLinear";
constexpr TypeSet kIntegers = kContribBytes | DataType::kInt16 | DataType::kUInt16 | DataType::kInt4 | DataType::kUInt4;
constexpr TypeSet kQuantizedReals = DataType::kFloat16 | DataType::kFloat32;

OpDef pair_row(std::string_view name, std::function<Result<te::Program>(const OpContext&)> compute) {
  return {.domain = kContribDomain,
          .name = name,
          .since = 1,
          .inputs = {"A", "A_scale:float32", "A_zero_point?", "B", "B_scale:float32", "B_zero_point?",
                     "C_scale:float32", "C_zero_point?"},
          .outputs = {"C"},
          .types = {{"T", kContribBytes}},
          .infer = infer_pair,
          .compute = std::move(compute)};
}

OpDef single_row(std::string_view name, std::vector<AttributeDef> attributes,
                 std::function<Result<te::Program>(const OpContext&)> compute) {
  return {.domain = kContribDomain,
          .name = name,
          .since = 1,
          .inputs = {"X", "X_scale:float32", "X_zero_point?", "Y_scale:float32", "Y_zero_point?"},
          .outputs = {"Y"},
          .types = {{"T", kContribBytes}},
          .attributes = std::move(attributes),
          .infer = infer_single,
          .compute = std::move(compute)};
}

}  // namespace

std::vector<OpDef> quantized_contrib() {
  return {
      pair_row("QLinearAdd", of_pair([](const OpContext& context, const Expr& a, const Expr& b) {
                 return te::cast(kReal, a) * factor(context, {1}, 6) + te::cast(kReal, b) * factor(context, {4}, 6);
               })),
      pair_row("QLinearMul", of_pair([](const OpContext& context, const Expr& a, const Expr& b) {
                 return te::cast(kReal, a * b) * factor(context, {1, 4}, 6);
               })),
      single_row("QLinearSigmoid", {},
                 of_single([](const OpContext&, const Expr& x) { return 1 / (1 + te::exp(-x)); })),
      single_row("QLinearLeakyRelu", {with_default("alpha", 0.01)},
                 of_single([](const OpContext& context, const Expr& x) {
                   return te::select(x < 0, x * te::Number(context.get_float("alpha")), x);
                 })),
      {.domain = kContribDomain,
       .name = "QLinearWhere",
       .since = 1,
       .inputs = {"condition:bool", "X", "x_scale:float32", "x_zero_point", "Y", "y_scale:float32", "y_zero_point",
                  "z_scale:float32", "z_zero_point"},
       .outputs = {"Z"},
       .types = {{"T", kContribBytes}},
       .infer = infer_quantized_where,
       .compute = compute_quantized_where},
      {.domain = kContribDomain,
       .name = "QLinearSoftmax",
       .since = 1,
       .inputs = {"X", "X_scale:float32", "x_zero_point?", "y_scale:float32", "y_zero_point"},
       .outputs = {"Y"},
       .types = {{"T", kContribBytes}},
       .attributes = {with_default("axis", -1), required("opset", AttributeKind::kInt)},
       .infer = infer_softmax,
       .compute = compute_softmax},
      {.domain = kContribDomain,
       .name = "QLinearReduceMean",
       .since = 1,
       .inputs = {"data", "data_scale:float32", "data_zero_point?", "reduced_scale:float32", "reduced_zero_point?"},
       .outputs = {"reduced"},
       .types = {{"T", kContribBytes}},
       .attributes = {required("axes", AttributeKind::kInts), required("keepdims", AttributeKind::kInt)},
       .infer = infer_mean,
       .compute = compute_mean},
      {.domain = kContribDomain,
       .name = "QLinearGlobalAveragePool",
       .since = 1,
       .inputs = {"X", "x_scale:float32", "x_zero_point", "y_scale:float32", "y_zero_point"},
       .outputs = {"Y"},
       .types = {{"T", kContribBytes}},
       .attributes = {with_default("channels_last", 0)},
       .infer = infer_global_mean,
       .compute = compute_global_mean},
      {.domain = kContribDomain,
       .name = "QLinearConcat",
       .since = 1,
       .inputs = {"Y_scale:float32", "Y_zero_point:T8", "inputs*:TV~"},
       .outputs = {"Y:T8"},
       .types = {{"T8", kContribBytes}, {"TV", kContribBytes | kReal}},
       .attributes = {required("axis", AttributeKind::kInt)},
       .infer = infer_concat,
       .compute = compute_concat},
      {.domain = kContribDomain,
       .name = "QGemm",
       .since = 1,
       .inputs = {"A:TA", "a_scale:float32", "a_zero_point:TA", "B:TB", "b_scale:float32", "b_zero_point:TB",
                  "C?:int32", "y_scale?:float32", "y_zero_point?:TY"},
       .outputs = {"Y:TO"},
       .types = {{"TA", kContribBytes}, {"TB", kContribBytes}, {"TY", kContribBytes}, {"TO", kContribBytes | kReal}},
       .attributes = {with_default("alpha", 1.0), with_default("transA", 0), with_default("transB", 0)},
       .infer = infer_qgemm,
       .compute = compute_qgemm},
      // Attributes that the standard's have besides say what these do.
      {.domain = kContribDomain,
       .name = kQuantize,
       .since = 1,
       .inputs = {"x:T1", "y_scale:T1", "y_zero_point?:T2"},
       .outputs = {"y:T2"},
       .types = {{"T1", kQuantizedReals}, {"T2", kIntegers}},
       .attributes = {with_default("axis", 1), only("block_size", 0), only("output_dtype", 0), only("precision", 0),
                      only("saturate", 1)},
       .infer = infer_standard<kQuantize>,
       .compute = compute_standard<kQuantize>},
      {.domain = kContribDomain,
       .name = kDequantize,
       .since = 1,
       .inputs = {"x:T1", "x_scale:T2", "x_zero_point?:T1"},
       .outputs = {"y:T2"},
       .types = {{"T1", kIntegers | DataType::kInt32}, {"T2", kQuantizedReals}},
       .attributes = {with_default("axis", 1), only("block_size", 0), only("output_dtype", 0)},
       .infer = infer_standard<kDequantize>,
       .compute = compute_standard<kDequantize>},
  };
}

}  // namespace isomer::ops
