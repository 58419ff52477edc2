// MaxPool AveragePool LpPool GlobalMaxPool GlobalAveragePool GlobalLpPool: reductions over windows of spatial axes.
#include <algorithm>
#include <cmath>

#include "graph/ops/common.h"
#include "graph/ops/contrib.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"
#include "graph/ops/window.h"

namespace isomer::ops {
namespace {

/// Taps that one output may read; keeps hostile kernels from running for hours over padding.
constexpr int64_t kMaxTaps = int64_t{1} << 26;

struct Pool {
  Window window;
  Shape out;
};

Result<Pool> pool_of(const OpContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 3) return context.invalid("X of rank at least 3 expected, {} found", text(x));
  const auto& kernel = context.get_ints("kernel_shape");
  TRY_VOID(check_values(context, "kernel_shape", kernel, x.size() - 2, 1));
  if (element_count(Shape(kernel.begin(), kernel.end())).value() > kMaxTaps)
    return context.invalid("kernel_shape of at most 2^26 elements expected, a larger one found");
  const bool ceil = context.get_int("ceil_mode") != 0;
  Pool pool;
  TRY(pool.window, window_of(context, {x.begin() + 2, x.end()}, {kernel.begin(), kernel.end()},
                             ceil ? Rounding::kCeil : Rounding::kFloor));
  pool.out = concatenated({x[0], x[1]}, out_dims(pool.window));
  return pool;
}

te::Expr out_axis(size_t k) { return te::axis(static_cast<int>(k) + 2); }
te::Expr tap(size_t k) { return te::reduce_axis(static_cast<int>(k)); }

/// What the pool reads at axis(…), reduce_axis(…): index into X, and whether it lies inside.
struct Tap {
  std::vector<te::Expr> index = {te::axis(0), te::axis(1)};
  te::Expr inside = te::truth(true);
};

Tap tap_of(const Pool& pool) {
  Tap result;
  for (size_t k = 0; k < pool.window.size(); ++k) {
    result.inside = result.inside && pool.window[k].inside(out_axis(k), tap(k));
    result.index.push_back(pool.window[k].position(out_axis(k), tap(k)));
  }
  return result;
}

te::Expr flat_index(const Shape& shape, const std::vector<te::Expr>& index) {
  te::Expr flat = te::index(0);
  for (size_t k = 0; k < shape.size(); ++k) flat = flat * shape[k].expr() + index[k];
  return flat;
}

/// The row-major index of an element of `shape` as one that is column-major in the spatial axes.
te::Expr column_major(const Shape& shape, const te::Expr& row_major) {
  te::Expr rest = row_major, offset = te::index(0);
  std::vector<te::Expr> position(shape.size());
  for (size_t k = shape.size(); k-- > 2;) {
    position[k] = te::floor_mod(rest, shape[k].expr());
    rest = te::floor_div(rest, shape[k].expr());
  }
  for (size_t k = shape.size(); k-- > 2;) offset = offset * shape[k].expr() + position[k];
  return rest * element_count(Shape(shape.begin() + 2, shape.end())).expr() + offset;
}

// MaxPool: padding is never the maximum; of equal elements the first one in row-major order gives the index.

Result<std::vector<ValueType>> infer_max_pool(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  return std::vector{ValueType::tensor(context.dtype(0), pool.out), ValueType::tensor(DataType::kInt64, pool.out)};
}

Result<te::Program> compute_max_pool(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  const Shape& x = context.shape(0);
  const Shape kernel = kernel_dims(pool.window);
  const Tap tap = tap_of(pool);
  const te::Monoid largest = te::maximum(context.dtype(0));
  const te::Expr value = te::select(tap.inside, context.load(0, tap.index), largest.identity[0]);
  te::Program program;
  program.outputs = {program.reduce(pool.out, kernel, largest, value), {}};
  if (!context.wants_output(1)) return program;
  const te::Expr at = te::select(tap.inside, flat_index(x, tap.index), te::index(-1));
  te::StageValue where = program.reduce(pool.out, kernel, te::argmax(context.dtype(0), false), {value, at});
  where.component = 1;
  if (context.get_int("storage_order") == 1)
    where = program.map(pool.out, column_major(x, program.load(where, te::axes(static_cast<int>(pool.out.size())))));
  program.outputs[1] = where;
  return program;
}

// AveragePool: the mean over the elements of the window, or over the elements and the padding (but not what lies beyond
// the padding, where the last window overhangs).

/// How many taps of output `out` lie before input position `limit`.
te::Expr taps_before(const WindowAxis& axis, const te::Expr& out, const te::Expr& limit) {
  const te::Expr distance = limit - axis.position(out, te::index(0));
  const te::Expr taps = te::floor_div(distance + (axis.dilation - 1), te::index(axis.dilation));
  return te::min(te::max(taps, 0), axis.kernel.expr());
}

te::Expr tap_count(const OpContext& context, const Pool& pool) {
  const bool count_padding = context.get_int("count_include_pad") != 0;
  te::Expr count = te::index(1);
  for (size_t k = 0; k < pool.window.size(); ++k) {
    const WindowAxis& axis = pool.window[k];
    const bool passes_end = axis.overhangs || (!count_padding && !axis.pad_end.is(0));
    te::Expr along = axis.kernel.expr();
    if (passes_end) along = taps_before(axis, out_axis(k), (count_padding ? axis.in + axis.pad_end : axis.in).expr());
    if (!count_padding && !axis.pad_begin.is(0)) along = along - taps_before(axis, out_axis(k), te::index(0));
    count = count * along;
  }
  return count;
}

Result<std::vector<ValueType>> infer_pool(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  return one(context.dtype(0), pool.out);
}

Result<te::Program> compute_average_pool(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Tap tap = tap_of(pool);
  te::Program program;
  const te::StageValue sum =
      sum_over(program, pool.out, kernel_dims(pool.window),
               te::select(tap.inside, te::cast(wide, context.load(0, tap.index)), te::literal(0, wide)));
  const te::Expr loaded = program.load(sum, te::axes(static_cast<int>(pool.out.size())));
  program.outputs = {program.map(pool.out, te::cast(dtype, loaded / count_as(wide, tap_count(context, pool))))};
  return program;
}

/// QLinearAveragePool: of quantized numbers, from which zero points are subtracted.
Result<std::vector<ValueType>> infer_quantized_average(const OpContext& context) {
  TRY_VOID(check_scalars(context, {1, 2, 3, 4}));
  return infer_pool(context);
}

Result<te::Program> compute_quantized_average(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  const Tap tap = tap_of(pool);
  const te::Expr zero = te::literal(0, DataType::kInt32);
  const te::Expr difference =
      te::cast(DataType::kInt32, context.load(0, tap.index)) - scalar(context, 2, DataType::kInt32);
  te::Program program;
  const te::StageValue sum =
      sum_over(program, pool.out, kernel_dims(pool.window), te::select(tap.inside, difference, zero));
  const te::Expr total = te::cast(DataType::kFloat32, program.load(sum, te::axes(static_cast<int>(pool.out.size()))));
  const te::Expr mean = total / count_as(DataType::kFloat32, tap_count(context, pool));
  const te::Expr value = mean * scalar(context, 1, DataType::kFloat32);
  program.outputs = {program.map(pool.out, quantized(context, value, 3, context.dtype(0)))};
  return program;
}

// Lp pools: (Σ |x|^p)^(1/p).

te::Expr power_of_magnitude(const te::Expr& x, int64_t p) {
  if (p == 1) return te::abs(x);
  return p == 2 ? x * x : te::pow(te::abs(x), te::literal(p, x.dtype()));
}

te::Expr root(const te::Expr& sum, int64_t p) {
  if (p == 1) return sum;
  return p == 2 ? te::sqrt(sum) : te::pow(sum, te::literal(te::Number::fraction(1, p), sum.dtype()));
}

Result<int64_t> norm_of(const OpContext& context) {
  const int64_t p = context.get_int("p");
  if (p < 1) return context.invalid("p of at least 1 expected, {} found", p);
  return p;
}

Result<std::vector<ValueType>> infer_lp_pool(const OpContext& context) {
  TRY_VOID(norm_of(context));
  return infer_pool(context);
}

Result<te::Program> compute_lp_pool(const OpContext& context) {
  TRY(const Pool pool, pool_of(context));
  TRY(const int64_t p, norm_of(context));
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Tap tap = tap_of(pool);
  const te::Expr value = power_of_magnitude(te::cast(wide, context.load(0, tap.index)), p);
  te::Program program;
  const te::StageValue sum =
      sum_over(program, pool.out, kernel_dims(pool.window), te::select(tap.inside, value, te::literal(0, wide)));
  program.outputs = {
      program.map(pool.out, te::cast(dtype, root(program.load(sum, te::axes(static_cast<int>(pool.out.size()))), p)))};
  return program;
}

// Global pools: one window over all spatial axes, which stay as 1.

struct GlobalPool {
  Shape out, spatial;
  std::vector<te::Expr> index;  ///< into X
};

Result<GlobalPool> global_of(const OpContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 3) return context.invalid("X of rank at least 3 expected, {} found", text(x));
  GlobalPool pool{{x[0], x[1]}, {x.begin() + 2, x.end()}, {te::axis(0), te::axis(1)}};
  for (size_t k = 0; k < pool.spatial.size(); ++k) {
    pool.out.push_back(1);
    pool.index.push_back(tap(k));
  }
  return pool;
}

Result<std::vector<ValueType>> infer_global(const OpContext& context) {
  TRY(const GlobalPool pool, global_of(context));
  return one(context.dtype(0), pool.out);
}

Result<te::Program> compute_global_max(const OpContext& context) {
  TRY(const GlobalPool pool, global_of(context));
  te::Program program;
  program.outputs = {
      program.reduce(pool.out, pool.spatial, te::maximum(context.dtype(0)), context.load(0, pool.index))};
  return program;
}

/// out = finish(Σ term(x)), both in the accumulator's type.
template <class Term, class Finish>
Result<te::Program> global_sum(const OpContext& context, Term term, Finish finish) {
  TRY(const GlobalPool pool, global_of(context));
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  te::Program program;
  const te::StageValue sum = program.reduce(pool.out, pool.spatial, te::sum(wide),
                                            te::Expr(term(te::cast(wide, context.load(0, pool.index)))));
  const te::Expr loaded = program.load(sum, te::axes(static_cast<int>(pool.out.size())));
  program.outputs = {program.map(pool.out, te::cast(dtype, finish(loaded, element_count(pool.spatial))))};
  return program;
}

Result<te::Program> compute_global_average(const OpContext& context) {
  return global_sum(
      context, [](te::Expr x) { return x; },
      [](te::Expr sum, const Dim& count) { return sum / count_as(sum.dtype(), count.expr()); });
}

Result<std::vector<ValueType>> infer_global_lp(const OpContext& context) {
  TRY_VOID(norm_of(context));
  return infer_global(context);
}

Result<te::Program> compute_global_lp(const OpContext& context) {
  TRY(const int64_t p, norm_of(context));
  return global_sum(
      context, [&](te::Expr x) { return power_of_magnitude(x, p); },
      [&](te::Expr sum, const Dim&) { return root(sum, p); });
}

Result<void> expand_global_average(NodeForm& form) {
  if (!form.has_rank(0)) return form.unsupported("a known rank expected");
  std::vector<int64_t> spatial;
  for (int k = 2; k < form.rank(0); ++k) spatial.push_back(k);
  return form.emit_as(0, "ReduceMean", {form.input(0), form.ints(std::move(spatial), "axes")},
                      {{"keepdims", int64_t{1}}});
}

/// ReduceMean with keepdims over axes 2… of a tensor of floats.
std::optional<Node> recognize_global_average(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Node* mean = pattern.node(root, "ReduceMean");
  if (!mean || mean->inputs.size() < 2) return std::nullopt;
  const ValueType& type = graph.value(mean->inputs[0]).type;
  auto axes = pattern.ints(mean->inputs[1]);
  const auto keep = mean->attributes.find("keepdims");
  if (!type.has_shape() || type.shape->size() < 3 || !axes || !is_float(type.dtype) ||
      (keep != mean->attributes.end() && std::get<int64_t>(keep->second) != 1))
    return std::nullopt;
  const auto rank = static_cast<int64_t>(type.shape->size());
  std::vector<bool> reduced(type.shape->size());
  for (const int64_t axis : *axes)
    if (axis >= -rank && axis < rank) reduced[axis < 0 ? axis + rank : axis] = true;
  for (int64_t k = 0; k < rank; ++k)
    if (reduced[k] != (k >= 2)) return std::nullopt;
  return pattern.make("GlobalAveragePool", {mean->inputs[0]});
}

// Forms of older opsets.

/// LpPool and GlobalLpPool 1 had p as a float.
Result<void> float_p_to_int(NodeForm& form) {
  TRY(const auto p, form.take_float("p"));
  if (!p) return {};
  if (*p != std::floor(*p) || !(*p >= 1 && *p <= 0x1p30f)) return form.unsupported("a whole p expected, {} found", *p);
  form.set("p", static_cast<int64_t>(*p));
  return {};
}

Result<void> int_p_to_float(NodeForm& form) {
  TRY(const auto p, form.take_int("p"));
  if (p) form.set("p", static_cast<float>(*p));
  return {};
}

Result<void> require_no_indices(NodeForm& form) {
  if (form.has_output(1)) return form.unsupported("MaxPool without Indices expected");
  return {};
}

/// MaxPool 1 gave no Indices.
Version max_pool_of_values(int since) {
  const Version lacks = without(since, {"dilations", "ceil_mode", "storage_order"});
  return {since, nullptr, in_turn({require_no_indices, lacks.from_newest})};
}

Version lp_pool_of_float(int since) {
  const Version lacks = without(since, {"dilations", "ceil_mode"});
  return {since, float_p_to_int, in_turn({int_p_to_float, lacks.from_newest})};
}

std::vector<AttributeDef> pool_attributes(std::vector<AttributeDef> further) {
  std::vector<AttributeDef> defs = {
      with_default("auto_pad", "NOTSET"),          zero_or_one("ceil_mode", 0),
      optional("dilations", AttributeKind::kInts), required("kernel_shape", AttributeKind::kInts),
      optional("pads", AttributeKind::kInts),      optional("strides", AttributeKind::kInts)};
  defs.insert(defs.end(), further.begin(), further.end());
  return defs;
}

}  // namespace

std::vector<OpDef> pooling() {
  return {
      {.name = "MaxPool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y", "Indices?:int64"},
       .types = {{"T", kFloats | DataType::kInt8 | DataType::kUInt8}},
       .attributes = pool_attributes({zero_or_one("storage_order", 0)}),
       .versions = {{12}, {11}, {10}, without(8, {"dilations", "ceil_mode"}), max_pool_of_values(1)},
       .infer = infer_max_pool,
       .compute = compute_max_pool,
       .axioms = {{"MaxPool(Concat(x,y){axis=0}){..p} = Concat(MaxPool(x){..p},MaxPool(y){..p}){axis=0}", "images",
                   FloatClass::kSignOfZero},
                  {"MaxPool(Concat(x,y){axis=1}){..p} = Concat(MaxPool(x){..p},MaxPool(y){..p}){axis=1}", "images",
                   FloatClass::kSignOfZero},
                  {"Max(MaxPool(x){..p},MaxPool(y){..p}) = MaxPool(Max(x,y)){..p} if x_0 == y_0 && x_1 == y_1 && x_2 "
                   "== y_2 && x_3 == y_3 && x_4 == y_4",
                   "images", FloatClass::kSignOfZero},
                  {"MaxPool(Relu(x)){dilations=[1,1],kernel_shape=[a,b],pads=[c,d,e,f],..p} = "
                   "Relu(MaxPool(x){dilations=[1,1],kernel_shape=[a,b],pads=[c,d,e,f],..p}) if c < a && d < b && e < a "
                   "&& f < b",
                   "images", FloatClass::kFinite},
                  {"MaxPool(x){kernel_shape=[a,b],pads=[c,d,e,f],strides=[1,1]} = "
                   "MaxPool(MaxPool(x){kernel_shape=[a,1],pads=[c,0,e,0],strides=[1,1]}){kernel_shape=[1,b],pads=[0,d,"
                   "0,f],strides=[1,1]}",
                   "images", FloatClass::kSignOfZero},
                  {"MaxPool(MaxPool(x){kernel_shape=[a,b]}){kernel_shape=[c,d]} = MaxPool(x){kernel_shape=[a + c - 1,b "
                   "+ d - 1]}",
                   "images", FloatClass::kSignOfZero},
                  {"MaxPool(Sigmoid(x)){kernel_shape=[a,b],strides=[c,d]} = "
                   "Sigmoid(MaxPool(x){kernel_shape=[a,b],strides=[c,d]})",
                   "images", FloatClass::kReassociated},
                  {"MaxPool(Pad(x,-inf){pads=[0,0,a,b,0,0,c,d]}){ceil_mode=0,kernel_shape=[k,l],pads=[0,0,0,0],..p} = "
                   "MaxPool(x){ceil_mode=0,kernel_shape=[k,l],pads=[a,b,c,d],..p} if a < k && b < l && c < k && d < l",
                   "images of floats", FloatClass::kFinite}}},

      {.name = "AveragePool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = pool_attributes({with_default("count_include_pad", 0)}),
       .versions = {{19},
                    without(11, {"dilations"}),
                    without(10, {"dilations"}),
                    without(7, {"dilations", "ceil_mode"}),
                    without(1, {"dilations", "ceil_mode", "count_include_pad"})},
       .infer = infer_pool,
       .compute = compute_average_pool,
       .axioms = {{"AveragePool(Concat(x,y){axis=0}){..p} = Concat(AveragePool(x){..p},AveragePool(y){..p}){axis=0}",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(Concat(x,y){axis=1}){..p} = Concat(AveragePool(x){..p},AveragePool(y){..p}){axis=1}",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(Add(x,y)){..p} = Add(AveragePool(x){..p},AveragePool(y){..p}) if x_0 == y_0 && x_1 == "
                   "y_1 && x_2 == y_2 && x_3 == y_3 && x_4 == y_4",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(Mul(x,s)){..p} = Mul(AveragePool(x){..p},s) if s_rank == 0", "images",
                   FloatClass::kReassociated},
                  {"AveragePool(Mul(x,s)){..p} = Mul(AveragePool(x){..p},s) if x_rank == 4 && s_rank == 3 && s_0 == "
                   "x_1 && s_1 == 1 && s_2 == 1",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(x){ceil_mode=0,count_include_pad=1,kernel_shape=[a,b],pads=[c,d,e,f],strides=[g,h]} = "
                   "Conv(x,Expand(Reciprocal(ReduceSum(Expand(1){shape=[a,b]}){keepdims=0})){shape=[x_1,1,a,b]}){group="
                   "x_1,pads=[c,d,e,f],strides=[g,h]}",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(Conv(x,w){dilations=[1,1],group=g,pads=[0,0,0,0],strides=[1,1]}){count_include_pad=c,"
                   "kernel_shape=[a,b],pads=[0,0,0,0],strides=[1,1]} = "
                   "Conv(AveragePool(x){count_include_pad=c,kernel_shape=[a,b],pads=[0,0,0,0],strides=[1,1]},w){"
                   "dilations=[1,1],group=g,pads=[0,0,0,0],strides=[1,1]}",
                   "images", FloatClass::kReassociated},
                  {"AveragePool(Pad(x){pads=[0,0,a,b,0,0,c,d]}){ceil_mode=0,count_include_pad=i,kernel_shape=[k,l],"
                   "pads=[0,0,0,0],..p} = "
                   "AveragePool(x){ceil_mode=0,count_include_pad=1,kernel_shape=[k,l],pads=[a,b,c,d],..p} if a < k && "
                   "b < l && c < k && d < l",
                   "images", FloatClass::kReassociated}}},

      {.domain = kContribDomain,
       .name = "QLinearAveragePool",
       .since = 1,
       .inputs = {"X", "x_scale:float32", "x_zero_point?", "y_scale:float32", "y_zero_point?"},
       .outputs = {"Y"},
       .types = {{"T", kContribBytes}},
       .attributes = pool_attributes({with_default("count_include_pad", 0), only("channels_last", 0)}),
       .infer = infer_quantized_average,
       .compute = compute_quantized_average},

      {.name = "LpPool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = pool_attributes({with_default("p", 2)}),
       .versions =
           {{18}, without(11, {"dilations", "ceil_mode"}), without(2, {"dilations", "ceil_mode"}), lp_pool_of_float(1)},
       .infer = infer_lp_pool,
       .compute = compute_lp_pool},

      {.name = "GlobalMaxPool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{1}},
       .infer = infer_global,
       .compute = compute_global_max},

      {.name = "GlobalAveragePool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .versions = {{1}},
       .infer = infer_global,
       .compute = compute_global_average,
       .expand = expand_global_average,
       .recognize = recognize_global_average,
       .axioms = {{"GlobalAveragePool(x) = ReduceMean(x){axes=[2,3],keepdims=1}", "images", FloatClass::kReassociated},
                  {"GlobalAveragePool(x) = AveragePool(x){kernel_shape=[x_2,x_3]}", "images",
                   FloatClass::kReassociated}}},

      {.name = "GlobalLpPool",
       .since = 22,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("p", 2)},
       .versions = {{2}, {1, float_p_to_int, int_p_to_float}},
       .infer = infer_global_lp,
       .compute = compute_global_lp},
  };
}

}  // namespace isomer::ops
