// Shape Size Range ConstantOfShape Constant EyeLike OneHot Trilu HannWindow HammingWindow BlackmanWindow: tensors made
// from shapes, numbers and positions.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/registry.h"
#include "graph/te/integer.h"
#include "graph/te/simplify.h"

namespace isomer::ops {
namespace {

/// The dims of input 0 from attribute start to attribute end, both clamped to its rank.
std::vector<Dim> selected_dims(const OpContext& context) {
  const int64_t rank = context.rank(0);
  const auto position = [&](int64_t value) { return std::clamp<int64_t>(value < 0 ? value + rank : value, 0, rank); };
  const int64_t first = position(context.get_int("start"));
  const int64_t last = context.has_attribute("end") ? position(context.get_int("end")) : rank;
  const Shape& shape = context.shape(0);
  return first < last ? std::vector<Dim>(shape.begin() + first, shape.begin() + last) : std::vector<Dim>();
}

Result<std::vector<ValueType>> shape_infer(const OpContext& context) {
  return one(DataType::kInt64, {Dim(static_cast<int64_t>(selected_dims(context).size()))});
}

Result<te::Program> shape_compute(const OpContext& context) {
  std::vector<te::Expr> values;
  for (const Dim& dim : selected_dims(context)) values.push_back(dim.expr());
  const Dim count(static_cast<int64_t>(values.size()));
  return single_map({count}, values.empty() ? te::index(0) : pick(te::axis(0), values));
}

Result<std::vector<ValueType>> size_infer(const OpContext&) { return one(DataType::kInt64, {}); }

Result<te::Program> size_compute(const OpContext& context) {
  return single_map({}, element_count(context.shape(0)).expr());
}

// Range

/// max(0, ceil((limit - start) / delta)); nothing when only data decide it.
Result<std::optional<Dim>> range_length(const OpContext& context) {
  for (int i = 0; i < 3; ++i) TRY_VOID(expect_scalar(context, i));
  if (is_float(context.dtype(0))) {
    const auto start = context.reals(0), limit = context.reals(1), delta = context.reals(2);
    if (delta && (*delta)[0] == 0) return context.invalid("delta other than 0 expected, 0 found");
    if (!start || !limit || !delta) return std::optional<Dim>();
    const double length = std::ceil(((*limit)[0] - (*start)[0]) / (*delta)[0]);
    if (!(length <= static_cast<double>(kMaxDim)))
      return context.invalid("at most 2^40 elements expected, {} found", length);
    return std::optional(Dim(static_cast<int64_t>(std::max(length, 0.0))));
  }
  const auto start = context.dims(0), limit = context.dims(1), delta = context.dims(2);
  const auto step = delta ? (*delta)[0].constant() : std::nullopt;
  if (step == 0) return context.invalid("delta other than 0 expected, 0 found");
  if (!start || !limit || !step) return std::optional<Dim>();
  if (const auto from = (*start)[0].constant(), to = (*limit)[0].constant(); from && to) {
    // What lies between them may be no int64.
    const __int128 span = (*step > 0 ? 1 : -1) * (static_cast<__int128>(*to) - *from);
    const __int128 size = *step > 0 ? *step : -static_cast<__int128>(*step);
    const __int128 length = span > 0 ? (span + size - 1) / size : 0;
    if (length > kMaxDim)
      return context.invalid("at most 2^40 elements expected, {} found", static_cast<double>(length));
    return std::optional(Dim(static_cast<int64_t>(length)));
  }
  const Dim span = *step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
  return std::optional(max(ceil_div(span, *step > 0 ? *step : te::saturating_sub(0, *step)), 0));
}

Result<std::vector<ValueType>> range_infer(const OpContext& context) {
  const DataType dtype = context.dtype(0);
  const int64_t stash_type = context.get_int("stash_type");  // of halves: the type of their sums
  if (sum_type(dtype) != dtype && stash_type != static_cast<int64_t>(sum_type(dtype)))
    return context.unsupported("stash_type of {}, float32, expected, {} found", static_cast<int64_t>(sum_type(dtype)),
                               stash_type);
  TRY(const auto length, range_length(context));
  return one(context.dtype(0), {length.value_or(context.fresh(0, 0))});
}

Result<te::Program> range_compute(const OpContext& context) {
  TRY_VOID(range_infer(context));
  TRY(const auto length, range_length(context));
  if (!length) return context.unsupported("known start, limit and delta expected");
  const DataType dtype = context.dtype(0), wide = sum_type(dtype);
  const te::Expr start = te::cast(wide, load_scalar(context, 0)), delta = te::cast(wide, load_scalar(context, 2));
  return single_map({*length}, te::cast(dtype, start + te::cast(wide, te::axis(0)) * delta));
}

// ConstantOfShape

Result<Tensor> fill_value(const OpContext& context) {
  if (!context.has_attribute("value")) return Tensor::scalar(DataType::kFloat32, 0);
  const Tensor& value = context.get_tensor("value");
  if (!is_computable(value.dtype())) return context.unsupported("a value of type {}", name(value.dtype()));
  if (value.count() != 1) return context.invalid("a value of one element expected, {} found", value.count());
  return value;
}

Result<std::vector<ValueType>> constant_of_shape_infer(const OpContext& context) {
  TRY(const Tensor value, fill_value(context));
  TRY(const auto target, vector_content(context, 0));
  if (!target) return std::vector<ValueType>{{ValueType::Kind::kTensor, value.dtype(), std::nullopt, {}}};
  Shape shape;
  for (size_t k = 0; k < target->size(); ++k) {
    shape.push_back((*target)[k].value_or(context.fresh(0, static_cast<int>(k))));
    if (shape.back().is_constant() && shape.back().value() < 0)
      return context.invalid("dims of at least 0 expected, {} found", shape.back().text());
  }
  return one(value.dtype(), std::move(shape));
}

te::Expr element_of(const Tensor& value, int64_t i) {
  const auto number = value.number(i);
  const te::Expr element = te::literal(number.value_or(0), value.dtype());
  return number ? element : -element;
}

Result<te::Program> constant_of_shape_compute(const OpContext& context) {
  TRY(const Tensor value, fill_value(context));
  auto shape = context.dims(0);
  if (!shape) return context.unsupported("a known shape expected");
  return single_map(*std::move(shape), element_of(value, 0));
}

// Constant

/// Larger ones are values of the graph, not nodes.
constexpr int64_t kMaxConstant = 1024;

Tensor floats(const std::vector<float>& elements) {
  return Tensor::from_doubles(DataType::kFloat32, {static_cast<int64_t>(elements.size())},
                              std::vector<double>(elements.begin(), elements.end()));
}

Result<Tensor> constant_value(const OpContext& context) {
  if (context.has_attribute("value")) {
    const Tensor& value = context.get_tensor("value");
    if (!is_computable(value.dtype())) return context.unsupported("a value of type {}", name(value.dtype()));
    return value;
  }
  if (context.has_attribute("value_int"))
    return Tensor::from_ints(DataType::kInt64, {}, std::vector{context.get_int("value_int")});
  if (context.has_attribute("value_ints")) return Tensor::int64s(context.get_ints("value_ints"));
  if (context.has_attribute("value_float")) return Tensor::scalar(DataType::kFloat32, context.get_float("value_float"));
  if (context.has_attribute("value_floats")) return floats(context.get_floats("value_floats"));
  if (context.has_attribute("value_string") || context.has_attribute("value_strings"))
    return context.unsupported("a value of strings");
  return context.invalid("one of the value attributes expected, none found");
}

Result<std::vector<ValueType>> constant_infer(const OpContext& context) {
  TRY(const Tensor value, constant_value(context));
  return one(value.dtype(), Shape(value.dims().begin(), value.dims().end()));
}

Result<te::Program> constant_compute(const OpContext& context) {
  TRY(const Tensor value, constant_value(context));
  if (value.count() > kMaxConstant)
    return context.unsupported("a constant of at most {} elements expected", kMaxConstant);
  std::vector<te::Expr> elements;
  for (int64_t i = 0; i < value.count(); ++i) elements.push_back(element_of(value, i));
  if (elements.empty()) elements.push_back(te::literal(0, value.dtype()));
  te::Expr position = te::index(0);
  for (size_t k = 0; k < value.dims().size(); ++k)
    position = position * value.dims()[k] + te::axis(static_cast<int>(k));
  return single_map(Shape(value.dims().begin(), value.dims().end()), pick(position, elements));
}

// EyeLike

Result<DataType> eye_type(const OpContext& context) {
  if (context.rank(0) != 2) return context.invalid("input of rank 2 expected, shape {} found", text(context.shape(0)));
  return context.has_attribute("dtype") ? type_attribute(context, "dtype") : context.dtype(0);
}

/// A diagonal beyond every dim is as good as any; sums with it must not overflow.
te::Expr diagonal(int64_t k) { return te::index(std::clamp(k, -2 * kMaxDim, 2 * kMaxDim)); }

Result<te::Program> eye_compute(const OpContext& context) {
  TRY(const DataType dtype, eye_type(context));
  const te::Expr on = te::equal(te::axis(1) - te::axis(0), diagonal(context.get_int("k")));
  return single_map(context.shape(0), te::select(on, te::literal(1, dtype), te::literal(0, dtype)));
}

// OneHot

Result<std::optional<Dim>> one_hot_depth(const OpContext& context) {
  TRY_VOID(expect_scalar(context, 1));
  std::optional<Dim> depth;
  if (const auto reals = is_float(context.dtype(1)) ? context.reals(1) : std::nullopt) {
    if (!(std::fabs((*reals)[0]) <= static_cast<double>(kMaxDim)))
      return context.invalid("depth in [0, 2^40] expected, {} found", (*reals)[0]);
    depth = Dim(static_cast<int64_t>((*reals)[0]));
  } else if (const auto dims = context.dims(1)) {
    depth = (*dims)[0];
  }
  if (depth && depth->is_constant() && depth->value() < 0)
    return context.invalid("depth of at least 0 expected, {} found", depth->text());
  return depth;
}

Result<std::vector<ValueType>> one_hot_infer(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0) + 1));
  TRY(const auto depth, one_hot_depth(context));
  const Dim values = element_count(context.shape(2));
  if (context.rank(2) != 1 || (values.is_constant() && !values.is(2)))
    return context.invalid("values of shape [2] expected, {} found", text(context.shape(2)));
  Shape shape = context.shape(0);
  shape.insert(shape.begin() + axis, depth.value_or(context.fresh(0, axis)));
  return one(context.dtype(2), std::move(shape));
}

Result<te::Program> one_hot_compute(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0) + 1));
  TRY(const auto depth, one_hot_depth(context));
  if (!depth) return context.unsupported("a known depth expected");
  Shape shape = context.shape(0);
  shape.insert(shape.begin() + axis, *depth);
  std::vector<te::Expr> index = te::axes(static_cast<int>(shape.size()));
  index.erase(index.begin() + axis);
  const te::Expr hot = wrapped(load_index(context, 0, std::move(index)), *depth);
  return single_map(std::move(shape), te::select(te::equal(hot, te::axis(axis)), context.load(2, {te::index(1)}),
                                                 context.load(2, {te::index(0)})));
}

// Trilu

Result<std::vector<ValueType>> trilu_infer(const OpContext& context) {
  if (context.rank(0) < 2)
    return context.invalid("input of rank at least 2 expected, shape {} found", text(context.shape(0)));
  if (context.has_input(1)) TRY_VOID(expect_scalar(context, 1));
  return one(context.dtype(0), context.shape(0));
}

Result<te::Program> trilu_compute(const OpContext& context) {
  const int rank = context.rank(0);
  const te::Expr offset = te::axis(rank - 1) - te::axis(rank - 2);
  const auto known = context.has_input(1) ? context.scalar_int(1) : 0;
  const te::Expr k = known ? diagonal(*known) : load_scalar(context, 1);
  const te::Expr kept = context.get_int("upper") != 0 ? k <= offset : offset <= k;
  return single_map(context.shape(0),
                    te::select(kept, context.load(0, te::axes(rank)), te::literal(0, context.dtype(0))));
}

/// Before opset 12 a Constant holds a tensor.
Result<void> numbers_to_tensor(NodeForm& form) {
  TRY(const auto integer, form.take_int("value_int"));
  TRY(const auto integers, form.take_ints("value_ints"));
  TRY(const auto real, form.take_float("value_float"));
  TRY(const auto reals, form.take_floats("value_floats"));
  if (form.has("value_string") || form.has("value_strings"))
    return form.unsupported("a value of numbers expected, strings found");
  if (integer) form.set("value", Tensor::from_ints(DataType::kInt64, {}, std::vector{*integer}));
  if (integers) form.set("value", Tensor::int64s(*integers));
  if (real) form.set("value", Tensor::scalar(DataType::kFloat32, *real));
  if (reals) form.set("value", floats(*reals));
  return {};
}

Version tensors_only(int since) { return {since, nullptr, numbers_to_tensor}; }

// HannWindow HammingWindow BlackmanWindow: a - b cos(x) + c cos(2x), x = 2 pi i / n with n the size, or size - 1 where
// the window is not periodic.

struct CosineWindow {
  double a, b, c;
};

Result<Dim> window_size(const OpContext& context) {
  TRY_VOID(expect_scalar(context, 0));
  const auto size = context.dims(0);
  if (!size) return context.fresh(0, 0);
  if ((*size)[0].is_constant() && ((*size)[0].value() < 0 || (*size)[0].value() > kMaxDim))
    return context.invalid("a size in [0, 2^40] expected, {} found", (*size)[0].text());
  return (*size)[0];
}

OpDef window_row(const char* name, CosineWindow window) {
  return {.name = name,
          .since = 17,
          .inputs = {"size:T1"},
          .outputs = {"output:T2"},
          .types = {{"T1", DataType::kInt32 | DataType::kInt64}, {"T2", kNumeric}},
          .attributes = {with_default("output_datatype", 1), with_default("periodic", 1)},
          .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
            TRY(const DataType dtype, type_attribute(context, "output_datatype"));
            TRY(Dim size, window_size(context));
            return one(dtype, {std::move(size)});
          },
          .compute = [window](const OpContext& context) -> Result<te::Program> {
            TRY(const DataType dtype, type_attribute(context, "output_datatype"));
            if (!context.dims(0)) return context.unsupported("a known size expected");
            TRY(const Dim size, window_size(context));
            const auto real = [](double value) { return te::literal(value, DataType::kFloat64); };
            const Dim period = context.get_int("periodic") != 0 ? size : size - 1;
            const te::Expr x = te::cast(DataType::kFloat64, te::axis(0)) * real(2 * std::numbers::pi) /
                               te::cast(DataType::kFloat64, period.expr());
            const auto cosine = [](te::Expr angle) { return te::unary(te::UnaryOp::kCos, std::move(angle)); };
            return single_map({size}, te::cast(dtype, real(window.a) - real(window.b) * cosine(x) +
                                                          real(window.c) * cosine(real(2) * x)));
          }};
}

}  // namespace

std::vector<OpDef> shape() {
  const TypeSet without_bfloat16 = DataType::kFloat16 | DataType::kFloat32 | TypeSet(DataType::kFloat64) | kInts;
  return {
      {.name = "Shape",
       .since = 21,
       .inputs = {"data"},
       .outputs = {"shape:int64"},
       .types = {{"T", kComputable}},
       .attributes = {with_default("start", 0), optional("end", AttributeKind::kInt)},
       .versions = {{19}, {15}, without(13, {"start", "end"}), without(1, {"start", "end"})},
       .infer = shape_infer,
       .compute = shape_compute},
      {.name = "Size",
       .since = 21,
       .inputs = {"data"},
       .outputs = {"size:int64"},
       .types = {{"T", kComputable}},
       .versions = {{19}, {13}, {1}},
       .infer = size_infer,
       .compute = size_compute},
      {.name = "Range",
       .since = 27,
       .inputs = {"start", "limit", "delta"},
       .outputs = {"output"},
       .types = {{"T", kFloats | DataType::kInt16 | DataType::kInt32 | DataType::kInt64}},
       .attributes = {with_default("stash_type", 1)},
       .versions = {without(11, {"stash_type"})},
       .infer = range_infer,
       .compute = range_compute},
      {.name = "ConstantOfShape",
       .since = 21,
       .inputs = {"input:int64"},
       .outputs = {"output:T2"},
       .types = {{"T2", kComputable}},
       .attributes = {optional("value", AttributeKind::kTensor)},
       .versions = {{20}, {9}},
       .infer = constant_of_shape_infer,
       .compute = constant_of_shape_compute,
       .shape_input = 0},
      {.name = "Constant",
       .since = 21,
       .inputs = {},
       .outputs = {"output"},
       .types = {{"T", kComputable}},
       .attributes = {optional("value", AttributeKind::kTensor), optional("value_int", AttributeKind::kInt),
                      optional("value_ints", AttributeKind::kInts), optional("value_float", AttributeKind::kFloat),
                      optional("value_floats", AttributeKind::kFloats),
                      optional("value_string", AttributeKind::kString),
                      optional("value_strings", AttributeKind::kStrings)},
       .versions = {{19}, {13}, {12}, tensors_only(11), tensors_only(9), tensors_only(1)},
       .infer = constant_infer,
       .compute = constant_compute,
       .constant = constant_value},
      {.name = "EyeLike",
       .since = 22,
       .inputs = {"input:T1"},
       .outputs = {"output:T2"},
       .types = {{"T1", kPlain}, {"T2", kPlain}},
       .attributes = {optional("dtype", AttributeKind::kInt), with_default("k", 0)},
       .versions = {{9}},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY(const DataType dtype, eye_type(context));
         return one(dtype, context.shape(0));
       },
       .compute = eye_compute,
       .axioms = {{"MatMul(x,EyeLike(Expand(1){shape=[n,n]})) = x", "matrices", FloatClass::kFinite},
                  {"MatMul(EyeLike(Expand(1){shape=[n,n]}),x) = x", "matrices", FloatClass::kFinite},
                  {"Transpose(EyeLike(Expand(1){shape=[n,n]})){perm=[1,0]} = EyeLike(Expand(1){shape=[n,n]})",
                   "ranked"}}},
      {.name = "OneHot",
       .since = 11,
       .inputs = {"indices:T1", "depth:T2", "values:T3"},
       .outputs = {"output:T3"},
       .types = {{"T1", without_bfloat16}, {"T2", without_bfloat16}, {"T3", kPlain}},
       .attributes = {with_default("axis", -1)},
       .versions = {{9}},
       .infer = one_hot_infer,
       .compute = one_hot_compute},
      {.name = "Trilu",
       .since = 14,
       .inputs = {"input", "k?:int64"},
       .outputs = {"output"},
       .types = {{"T", kPlain}},
       .attributes = {with_default("upper", 1)},
       .infer = trilu_infer,
       .compute = trilu_compute},
      window_row("HannWindow", {0.5, 0.5, 0}),
      window_row("HammingWindow", {25.0 / 46, 21.0 / 46, 0}),
      window_row("BlackmanWindow", {0.42, 0.5, 0.08}),
  };
}

}  // namespace isomer::ops
