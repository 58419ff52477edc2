// MatMul Gemm Einsum MatMulInteger QLinearMatMul: sums of products.
#include "graph/ops/product.h"

#include "graph/ops/common.h"
#include "graph/ops/einsum.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

Result<Matmul> matmul_of(const OpContext& context, int a, int b) {
  return matmul_of(context, a, b, context.shape(a), context.shape(b));
}

Result<Matmul> matmul_of(const OpContext& context, int a, int b, const Shape& left, const Shape& right) {
  Matmul result{.a = a, .b = b};
  if (left.empty() || right.empty()) return context.invalid("operands of rank at least 1 expected, a scalar found");
  const auto inner = agreed(left.back(), right[right.size() == 1 ? 0 : right.size() - 2]);
  if (!inner)
    return context.invalid("operands with equal inner dims expected, {} and {} found", text(left), text(right));
  result.inner = *inner;
  const auto batch_of = [](const Shape& shape) {
    return shape.size() <= 2 ? Shape() : Shape(shape.begin(), shape.end() - 2);
  };
  const Shape left_batch = batch_of(left), right_batch = batch_of(right);
  TRY(result.out, broadcast(context, left_batch, right_batch));
  const Shape batch = result.out;
  if (left.size() > 1) {
    result.row = te::axis(static_cast<int>(result.out.size()));
    result.out.push_back(left[left.size() - 2]);
  }
  if (right.size() > 1) {
    result.column = te::axis(static_cast<int>(result.out.size()));
    result.out.push_back(right.back());
  }
  const auto batch_index = [&](const Shape& in) {
    std::vector<te::Expr> index;
    for (size_t k = batch.size() - in.size(); k < batch.size(); ++k)
      index.push_back(broadcast_position(in[k - (batch.size() - in.size())], batch[k], te::axis(static_cast<int>(k))));
    return index;
  };
  result.a_index = batch_index(left_batch);
  result.b_index = batch_index(right_batch);
  if (left.size() > 1) result.a_index.push_back(result.row);
  result.a_index.push_back(te::reduce_axis(0));
  result.b_index.push_back(te::reduce_axis(0));
  if (right.size() > 1) result.b_index.push_back(result.column);
  return result;
}

te::Expr load_parameter(const OpContext& context, int i, const Shape& shape, const std::vector<te::Expr>& index,
                        size_t axis) {
  const Shape& found = context.shape(i);
  if (shape.empty()) return context.load(i, std::vector(found.size(), te::index(0)));
  if (found.size() <= 1) return load_scalar_or_vector(context, i, index[axis], shape[axis]);
  std::vector<te::Expr> position;
  for (size_t k = 0; k < found.size(); ++k) position.push_back(broadcast_position(found[k], shape[k], index[k]));
  return context.load(i, std::move(position));
}

Result<void> check_parameter(const OpContext& context, int i, const Shape& shape, size_t axis) {
  if (!context.has_input(i) || context.rank(i) == 0) return {};
  const Shape& found = context.shape(i);
  bool fits = found.size() == 1 || found.size() == shape.size();
  for (size_t k = 0; fits && k < found.size(); ++k)
    fits = found[k].is(1) || (!shape.empty() && agreed(found[k], shape[found.size() == 1 ? axis : k]).has_value());
  if (fits) return {};
  return context.invalid("{} for an operand of shape {} expected, {} found", context.input_name(i), text(shape),
                         text(found));
}

size_t row_axis(const Shape& shape) { return shape.size() <= 1 ? 0 : shape.size() - 2; }

Result<te::StageValue> integer_product(const OpContext& context, te::Program& program, const Matmul& matmul, int a_zero,
                                       int b_zero) {
  const Shape &a = context.shape(matmul.a), &b = context.shape(matmul.b);
  TRY_VOID(check_parameter(context, a_zero, a, row_axis(a)));
  TRY_VOID(check_parameter(context, b_zero, b, b.size() - 1));
  const auto centered = [&](int i, const std::vector<te::Expr>& index, int zero, size_t axis) {
    const te::Expr value = te::cast(DataType::kInt32, context.load(i, index));
    if (!context.has_input(zero)) return value;
    return value - te::cast(DataType::kInt32, load_parameter(context, zero, context.shape(i), index, axis));
  };
  return sum_over(program, matmul.out, {matmul.inner},
                  centered(matmul.a, matmul.a_index, a_zero, row_axis(a)) *
                      centered(matmul.b, matmul.b_index, b_zero, b.size() - 1));
}

namespace {

constexpr DataType kByte = DataType::kUInt8;
constexpr TypeSet kBytes = DataType::kInt8 | kByte;
constexpr TypeSet kProducts = kFloats | DataType::kInt32 | DataType::kInt64 | DataType::kUInt32 | DataType::kUInt64;

Result<std::vector<ValueType>> infer_matmul(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  return one(context.dtype(0), matmul.out);
}

Result<te::Program> compute_matmul(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  te::Program program;
  program.outputs = {
      sum_over(program, matmul.out, {matmul.inner}, context.load(0, matmul.a_index) * context.load(1, matmul.b_index))};
  return program;
}

Result<std::vector<ValueType>> infer_matmul_integer(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  return one(DataType::kInt32, matmul.out);
}

Result<te::Program> compute_matmul_integer(const OpContext& context) {
  TRY(const Matmul matmul, matmul_of(context, 0, 1));
  te::Program program;
  TRY(const te::StageValue product, integer_product(context, program, matmul, 2, 3));
  program.outputs = {product};
  return program;
}

enum QLinear { kA, kAScale, kAZero, kB, kBScale, kBZero, kYScale, kYZero };

Result<std::vector<ValueType>> infer_qlinear_matmul(const OpContext& context) {
  for (const int i : {kA, kB, kYZero})
    if (is_minifloat(context.dtype(i))) return context.unsupported("bytes expected, {} found", name(context.dtype(i)));
  TRY(const Matmul matmul, matmul_of(context, kA, kB));
  return one(context.dtype(kYZero), matmul.out);
}

Result<te::Program> compute_qlinear_matmul(const OpContext& context) {
  TRY_VOID(infer_qlinear_matmul(context));
  TRY(const Matmul matmul, matmul_of(context, kA, kB));
  te::Program program;
  TRY(const te::StageValue product, integer_product(context, program, matmul, kAZero, kBZero));
  const Shape &a = context.shape(kA), &b = context.shape(kB);
  const size_t y_row = row_axis(matmul.out);
  TRY_VOID(check_parameter(context, kAScale, a, row_axis(a)));
  TRY_VOID(check_parameter(context, kBScale, b, b.size() - 1));
  const std::vector<te::Expr> out = te::axes(static_cast<int>(matmul.out.size()));
  const auto scale = [&](int i, const Shape& shape, const std::vector<te::Expr>& index, size_t axis) {
    return te::cast(DataType::kFloat64, load_parameter(context, i, shape, index, axis));
  };
  TRY_VOID(check_parameter(context, kYScale, matmul.out, y_row));
  TRY_VOID(check_parameter(context, kYZero, matmul.out, y_row));
  const te::Expr factor = scale(kAScale, a, matmul.a_index, row_axis(a)) *
                          scale(kBScale, b, matmul.b_index, b.size() - 1) / scale(kYScale, matmul.out, out, y_row);
  const te::Expr value =
      te::cast(DataType::kFloat32, program.load(product, out)) * te::cast(DataType::kFloat32, factor);
  program.outputs = {program.map(
      matmul.out, requantize(value, load_parameter(context, kYZero, matmul.out, out, y_row), context.dtype(kYZero)))};
  return program;
}

// Gemm: alpha * A' * B' + beta * C, with C broadcast to the product.

struct Gemm {
  bool trans_a, trans_b;
  Dim rows = 0, columns = 0, inner = 0;
  Shape out() const { return {rows, columns}; }
};

Result<Gemm> gemm_of(const OpContext& context) {
  if (context.rank(0) != 2 || context.rank(1) != 2)
    return context.invalid("matrices A and B expected, {} and {} found", text(context.shape(0)),
                           text(context.shape(1)));
  Gemm gemm{.trans_a = context.get_int("transA") != 0, .trans_b = context.get_int("transB") != 0};
  gemm.rows = context.dim(0, gemm.trans_a);
  gemm.columns = context.dim(1, !gemm.trans_b);
  const auto inner = agreed(context.dim(0, !gemm.trans_a), context.dim(1, gemm.trans_b));
  if (!inner)
    return context.invalid("A' and B' with equal inner dims expected, {}{} and {}{} found", text(context.shape(0)),
                           gemm.trans_a ? " transposed" : "", text(context.shape(1)),
                           gemm.trans_b ? " transposed" : "");
  gemm.inner = *inner;
  if (!context.has_input(2)) return gemm;
  const Shape& c = context.shape(2);
  const Shape out = gemm.out();
  bool fits = c.size() <= 2;
  for (size_t k = 0; fits && k < c.size(); ++k) fits = c[k].is(1) || agreed(c[k], out[2 - c.size() + k]).has_value();
  if (!fits) return context.invalid("C that broadcasts to {} expected, {} found", text(out), text(c));
  return gemm;
}

Result<std::vector<ValueType>> infer_gemm(const OpContext& context) {
  TRY(const Gemm gemm, gemm_of(context));
  return one(context.dtype(0), gemm.out());
}

/// value * factor; integers take whole factors only.
Result<te::Expr> scaled(const OpContext& context, te::Expr value, std::string_view name) {
  const te::Number factor(context.get_float(name));
  if (factor.equals(1)) return value;
  if (is_int(value.dtype()) && !factor.is_integer())
    return context.unsupported("a whole {} for integers expected, {} found", name, factor.to_double());
  return value * factor;
}

Result<te::Program> compute_gemm(const OpContext& context) {
  TRY(const Gemm gemm, gemm_of(context));
  const te::Expr row = te::axis(0), column = te::axis(1), k = te::reduce_axis(0);
  const auto at = [](bool transposed, te::Expr i, te::Expr j) {
    return transposed ? std::vector{j, i} : std::vector{i, j};
  };
  te::Program program;
  const te::StageValue product =
      sum_over(program, gemm.out(), {gemm.inner},
               context.load(0, at(gemm.trans_a, row, k)) * context.load(1, at(gemm.trans_b, k, column)));
  const te::Expr loaded = program.load(product, {row, column});
  TRY(te::Expr value, scaled(context, loaded, "alpha"));
  if (context.has_input(2) && context.get_float("beta") != 0) {
    TRY(const te::Expr addend, scaled(context, context.load_broadcast(2, gemm.out()), "beta"));
    value = value + addend;
  }
  program.outputs = {value == loaded ? product : program.map(gemm.out(), value)};
  return program;
}

/// The input multiplied by a factor other than 1.
Result<ValueId> emit_scaled(NodeForm& form, ValueId value, float factor, std::string_view name) {
  if (factor == 1) return value;
  const DataType dtype = form.graph().value(value).type.dtype;
  return form.emit("Mul", {value, form.scalar(dtype, factor, name)});
}

Result<void> expand_gemm(NodeForm& form) {
  if (!form.type(0).is_tensor()) return form.unsupported("A of known type expected");
  TRY(const auto trans_a, form.take_int("transA"));
  TRY(const auto trans_b, form.take_int("transB"));
  TRY(const auto alpha, form.take_float("alpha"));
  TRY(const auto beta, form.take_float("beta"));
  if (is_int(form.type(0).dtype) && (alpha.value_or(1) != 1 || beta.value_or(1) != 1))
    return form.unsupported("Gemm of integers with factors");
  const auto oriented = [&](int i, bool transposed) -> Result<ValueId> {
    if (!transposed) return form.input(i);
    return form.emit("Transpose", {form.input(i)}, {{"perm", std::vector<int64_t>{1, 0}}});
  };
  TRY(const ValueId a, oriented(0, trans_a.value_or(0) != 0));
  TRY(const ValueId b, oriented(1, trans_b.value_or(0) != 0));
  const bool adds = form.has_input(2) && beta.value_or(1) != 0;
  const bool scales = alpha.value_or(1) != 1;
  if (!adds && !scales) return form.emit_as(0, "MatMul", {a, b});
  TRY(const ValueId product, form.emit("MatMul", {a, b}));
  if (!adds) return form.emit_as(0, "Mul", {product, form.scalar(form.type(0).dtype, *alpha, "alpha")});
  TRY(const ValueId scaled_product, emit_scaled(form, product, alpha.value_or(1), "alpha"));
  TRY(const ValueId addend, emit_scaled(form, form.input(2), beta.value_or(1), "beta"));
  return form.emit_as(0, "Add", {scaled_product, addend});
}

bool is_matrix(const Graph& graph, ValueId id) {
  const ValueType& type = graph.value(id).type;
  return type.has_shape() && type.shape->size() == 2;
}

/// A * B + C with matrices A and B and a C that broadcasts to the product.
std::optional<Node> recognize_gemm(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* add = pattern.node(root, "Add");
  if (!add) return std::nullopt;
  for (const int side : {0, 1}) {
    const Node* product = pattern.producer(add->inputs[side], "MatMul");
    const ValueId c = add->inputs[1 - side];
    if (!product || !pattern.used_once(add->inputs[side]) || !is_matrix(graph, product->inputs[0]) ||
        !is_matrix(graph, product->inputs[1]))
      continue;
    const ValueType &sum = graph.value(add->outputs[0]).type, &addend = graph.value(c).type;
    if (!sum.has_shape() || sum.shape != graph.value(add->inputs[side]).type.shape || !addend.has_shape()) continue;
    return pattern.make("Gemm", {product->inputs[0], product->inputs[1], c});
  }
  return std::nullopt;
}

/// Opsets up to 10 had no Gemm without C.
Result<void> require_c(NodeForm& form) {
  if (form.has_input(2)) return {};
  if (!form.type(0).is_tensor()) return form.unsupported("A of known type expected");
  form.set_input(2, form.scalar(form.type(0).dtype, 0, "zero"));
  return {};
}

/// Up to opset 6, C broadcasts only where it is asked to, aligned at its last axes.
Version gemm_with_broadcast(int since) {
  return {since,
          [](NodeForm& form) -> Result<void> {
            form.drop("broadcast");
            return {};
          },
          [](NodeForm& form) -> Result<void> {
            TRY_VOID(require_c(form));
            const bool is_row = form.has_rank(2) && form.rank(2) == 2 && form.type(2).shape->front().is(1);
            if (is_row) {
              TRY(const ValueId row, form.emit("Reshape", {form.input(2), form.ints({-1}, "shape")}));
              form.set_input(2, row);
            }
            form.set("broadcast", int64_t{1});
            return {};
          }};
}

}  // namespace

std::vector<OpDef> product() {
  return {
      {.name = "MatMul",
       .since = 13,
       .inputs = {"A", "B"},
       .outputs = {"Y"},
       .types = {{"T", kProducts}},
       .versions = {{9}, {1}},
       .infer = infer_matmul,
       .compute = compute_matmul,
       .axioms = {{"MatMul(a,MatMul(b,c)) = MatMul(MatMul(a,b),c)", "matrices", FloatClass::kReassociated},
                  {"MatMul(a,Add(b,c)) = Add(MatMul(a,b),MatMul(a,c))", "matrices", FloatClass::kReassociated},
                  {"MatMul(Add(a,b),c) = Add(MatMul(a,c),MatMul(b,c))", "matrices", FloatClass::kReassociated},
                  {"Mul(MatMul(x,y),s) = MatMul(Mul(x,s),y) if s_rank == 0", "matrices", FloatClass::kReassociated},
                  {"Mul(MatMul(x,y),s) = MatMul(x,Mul(y,s)) if s_rank == 0", "matrices", FloatClass::kReassociated},
                  {"MatMul(x,Concat(y,z){axis=-1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=-1}", "matrices",
                   FloatClass::kReassociated},
                  {"MatMul(Concat(x,y){axis=-2},z) = Concat(MatMul(x,z),MatMul(y,z)){axis=-2}", "matrices",
                   FloatClass::kReassociated},
                  {"MatMul(Concat(x,y){axis=-1},Concat(z,w){axis=-2}) = Add(MatMul(x,z),MatMul(y,w))", "matrices",
                   FloatClass::kReassociated},
                  {"Transpose(MatMul(x,y)){perm=[1,0]} = MatMul(Transpose(y){perm=[1,0]},Transpose(x){perm=[1,0]})",
                   "matrices", FloatClass::kReassociated},
                  {"Transpose(MatMul(x,y)){perm=[0,2,1]} = "
                   "MatMul(Transpose(y){perm=[0,2,1]},Transpose(x){perm=[0,2,1]}) if x_rank == 3 && y_rank == 3",
                   "matrices", FloatClass::kReassociated},
                  {"Transpose(MatMul(x,y)){perm=[0,2,1]} = MatMul(Transpose(y){perm=[1,0]},Transpose(x){perm=[0,2,1]}) "
                   "if x_rank == 3 && y_rank == 2",
                   "matrices", FloatClass::kReassociated},
                  {"Transpose(MatMul(x,y)){perm=[0,1,3,2]} = "
                   "MatMul(Transpose(y){perm=[0,1,3,2]},Transpose(x){perm=[0,1,3,2]}) if x_rank == 4 && y_rank == 4",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(Mul(x,y),z) = Mul(MatMul(x,z),y) if y_back1 == 1", "matrices", FloatClass::kReassociated},
                  {"MatMul(x,Mul(y,z)) = Mul(MatMul(x,y),z) if z_back2 == 1", "matrices", FloatClass::kReassociated},
                  {"MatMul(x,Mul(y,z)) = Mul(MatMul(x,y),z) if z_rank == 1", "matrices", FloatClass::kReassociated},
                  {"MatMul(Mul(x,d),y) = MatMul(x,Mul(Unsqueeze(d){axes=[1]},y)) if d_rank == 1 && d_0 == x_back1",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(Add(x,b),y) = Add(MatMul(x,y),MatMul(b,y)) if b_rank == 1 && y_rank == 2 && b_0 == y_0",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(Mul(x,d),y) = MatMul(x,Mul(Transpose(d){perm=[1,0]},y)) if d_rank == 2 && d_0 == 1 && "
                   "x_rank == 2 && y_rank == 2",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(x,y) = Reshape(MatMul(Reshape(x){shape=[x_0*x_1,x_2]},y)){shape=[x_0,x_1,y_1]} if x_rank == "
                   "3 && y_rank == 2",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(Concat(x,y){axis=0},Concat(z,w){axis=0}) = Concat(MatMul(x,z),MatMul(y,w)){axis=0} if "
                   "x_rank == 3 && z_rank == 3 && x_0 == z_0",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(Concat(x,y){axis=0},z) = Concat(MatMul(x,z),MatMul(y,z)){axis=0} if x_rank == 3 && y_rank "
                   "== 3 && z_rank == 2",
                   "matrices", FloatClass::kReassociated},
                  {"MatMul(x,Expand(0){shape=[x_1,b]}) = Expand(0){shape=[x_0,b]} if x_rank == 2", "matrices",
                   FloatClass::kFinite},
                  {"MatMul(Expand(0){shape=[b,x_0]},x) = Expand(0){shape=[b,x_1]} if x_rank == 2", "matrices",
                   FloatClass::kFinite}}},

      {.name = "Gemm",
       .since = 13,
       .inputs = {"A", "B", "C?"},
       .outputs = {"Y"},
       .types = {{"T", kProducts}},
       .attributes = {with_default("alpha", 1.0), with_default("beta", 1.0), with_default("transA", 0),
                      with_default("transB", 0)},
       .versions =
           {{11}, {9, nullptr, require_c}, {7, nullptr, require_c}, gemm_with_broadcast(6), gemm_with_broadcast(1)},
       .infer = infer_gemm,
       .compute = compute_gemm,
       .expand = expand_gemm,
       .recognize = recognize_gemm,
       .axioms = {{"Gemm(x,y,c) = Add(MatMul(x,y),c) if x_rank == 2 && y_rank == 2", "broadcast",
                   FloatClass::kReassociated},
                  {"Gemm(x,y,c){transA=1,transB=t} = Gemm(Transpose(x){perm=[1,0]},y,c){transA=0,transB=t} if x_rank "
                   "== 2 && y_rank == 2",
                   "broadcast", FloatClass::kReassociated},
                  {"Gemm(x,y,c){transA=t,transB=1} = Gemm(x,Transpose(y){perm=[1,0]},c){transA=t,transB=0} if x_rank "
                   "== 2 && y_rank == 2",
                   "broadcast", FloatClass::kReassociated},
                  {"Gemm(x,y) = MatMul(x,y) if x_rank == 2 && y_rank == 2", "matrices", FloatClass::kReassociated},
                  {"Gemm(x,y){transB=1} = MatMul(x,Transpose(y){perm=[1,0]}) if x_rank == 2 && y_rank == 2", "matrices",
                   FloatClass::kReassociated}}},

      {.name = "Einsum",
       .since = 12,
       .inputs = {"Inputs*"},
       .outputs = {"Output"},
       .types = {{"T", kNumeric}},
       .attributes = {required("equation", AttributeKind::kString)},
       .infer = infer_einsum,
       .compute = compute_einsum},

      {.name = "MatMulInteger",
       .since = 10,
       .inputs = {"A:T1", "B:T2", "a_zero_point?:T1", "b_zero_point?:T2"},
       .outputs = {"Y:int32"},
       .types = {{"T1", kBytes}, {"T2", kBytes}},
       .infer = infer_matmul_integer,
       .compute = compute_matmul_integer},

      {.name = "QLinearMatMul",
       .since = 21,
       .inputs = {"a:T1", "a_scale:TS", "a_zero_point:T1", "b:T2", "b_scale:TS", "b_zero_point:T2", "y_scale:TS",
                  "y_zero_point:T3"},
       .outputs = {"y:T3"},
       .types = {{"TS", DataType::kFloat16 | DataType::kBFloat16 | DataType::kFloat32},
                 {"T1", kBytes | kFloat8s},
                 {"T2", kBytes | kFloat8s},
                 {"T3", kBytes | kFloat8s}},
       .versions = {{10}},
       .infer = infer_qlinear_matmul,
       .compute = compute_qlinear_matmul},
  };
}

}  // namespace isomer::ops
