// QLinearAdd QLinearMul QLinearSigmoid QLinearLeakyRelu QLinearGlobalAveragePool QLinearConcat QGemm: what ONNX
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

/// Input i, of one element, in another type; 0 where it is absent.
Expr scalar(const OpContext& context, int i, DataType dtype) {
  if (!context.has_input(i)) return te::literal(0, dtype);
  return te::cast(dtype, context.load(i, std::vector(context.rank(i), te::index(0))));
}

Result<void> check_scalars(const OpContext& context, std::initializer_list<int> inputs) {
  for (const int i : inputs)
    if (context.has_input(i) && !context.shape(i).empty() && !(context.rank(i) == 1 && context.dim(i, 0).is(1)))
      return context.invalid("a single scale or zero point as input {} expected, {} found", i, text(context.shape(i)));
  return {};
}

/// The number that a quantized element stands for; its scale is the input behind it, its zero point the one behind
/// that.
Expr number(const OpContext& context, const Expr& element, int scale) {
  const Expr difference = te::cast(DataType::kInt32, element) - scalar(context, scale + 1, DataType::kInt32);
  return te::cast(kReal, difference) * scalar(context, scale, kReal);
}

/// The element that stands for a number; the scale is input `scale`, the zero point the one behind it.
Expr quantized(const OpContext& context, const Expr& value, int scale, DataType dtype) {
  return requantize(value / scalar(context, scale, kReal), scalar(context, scale + 1, dtype), dtype);
}

// Of two operands: A, B and C are an element, its scale and its zero point each.

Result<std::vector<ValueType>> infer_pair(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 4, 5, 6, 7}));
  TRY(Shape shape, broadcast(context, context.shape(0), context.shape(3)));
  return one(context.dtype(0), std::move(shape));
}

template <class Operation>
auto of_pair(const Operation& operation) {
  return [operation](const OpContext& context) -> Result<te::Program> {
    TRY(Shape shape, broadcast(context, context.shape(0), context.shape(3)));
    const Expr a = number(context, context.load_broadcast(0, shape), 1);
    const Expr b = number(context, context.load_broadcast(3, shape), 4);
    const Expr value = quantized(context, operation(a, b), 6, context.dtype(0));
    return single_map(std::move(shape), value);
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

// Means over all axes but the first and the channels'.

struct GlobalMean {
  Shape out, inner;
  std::vector<Expr> index;
};

Result<GlobalMean> global_mean(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  const Shape& x = context.shape(0);
  if (x.size() < 3) return context.invalid("X of rank at least 3 expected, {} found", text(x));
  const size_t channels = context.get_int("channels_last") != 0 ? x.size() - 1 : 1;
  GlobalMean result{x, {}, te::axes(static_cast<int>(x.size()))};
  for (size_t k = 1; k < x.size(); ++k) {
    if (k == channels) continue;
    result.index[k] = te::reduce_axis(static_cast<int>(result.inner.size()));
    result.inner.push_back(x[k]);
    result.out[k] = 1;
  }
  return result;
}

Result<std::vector<ValueType>> infer_global_mean(const OpContext& context) {
  TRY(GlobalMean mean, global_mean(context));
  return one(context.dtype(0), std::move(mean.out));
}

Result<te::Program> compute_global_mean(const OpContext& context) {
  TRY(const GlobalMean mean, global_mean(context));
  te::Program program;
  const Expr difference =
      te::cast(DataType::kInt32, context.load(0, mean.index)) - scalar(context, 2, DataType::kInt32);
  const te::StageValue sum = sum_over(program, mean.out, mean.inner, difference);
  const Expr total = te::cast(kReal, program.load(sum, te::axes(static_cast<int>(mean.out.size()))));
  const Expr value = total / count_as(kReal, element_count(mean.inner).expr()) * scalar(context, 1, kReal);
  program.outputs = {program.map(mean.out, quantized(context, value, 3, context.dtype(0)))};
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
      pair_row("QLinearAdd", of_pair([](const Expr& a, const Expr& b) { return a + b; })),
      pair_row("QLinearMul", of_pair([](const Expr& a, const Expr& b) { return a * b; })),
      single_row("QLinearSigmoid", {},
                 of_single([](const OpContext&, const Expr& x) { return 1 / (1 + te::exp(-x)); })),
      single_row("QLinearLeakyRelu", {with_default("alpha", 0.01)},
                 of_single([](const OpContext& context, const Expr& x) {
                   return te::select(x < 0, x * te::Number(context.get_float("alpha")), x);
                 })),
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
  };
}

}  // namespace isomer::ops
