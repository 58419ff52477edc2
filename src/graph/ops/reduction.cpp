// ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare.
#include <algorithm>
#include <optional>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

/// Which axes are reduced, as far as known. None given means all of them, or none of them where
/// noop_with_empty_axes says so.
Result<std::optional<std::vector<int>>> reduced_axes(const OpContext& context) {
  const int rank = context.rank(0);
  const bool none_given = !context.has_input(1) || (context.rank(1) == 1 && context.dim(1, 0).is(0));
  std::vector<int> axes;
  if (none_given) {
    for (int k = 0; k < rank && context.get_int("noop_with_empty_axes") == 0; ++k) axes.push_back(k);
    return std::optional(axes);
  }
  if (context.rank(1) > 1) return context.invalid("axes of rank 1 expected, {} found", context.rank(1));
  const auto written = context.ints(1);
  if (!written) return std::optional<std::vector<int>>();
  TRY(axes, context.normalize_axes(*written, rank));
  return std::optional(axes);
}

bool keeps_dims(const OpContext& context) { return context.get_int("keepdims") != 0; }

/// The result where only the number of axes is known, if that.
Result<std::vector<ValueType>> infer_with_unknown_axes(const OpContext& context) {
  const int rank = context.rank(0);
  const DataType dtype = context.dtype(0);
  const Dim removed = keeps_dims(context) ? 0 : context.rank(1) == 0 ? 1 : context.dim(1, 0);
  if (!removed.is_constant()) return std::vector{ValueType{ValueType::Kind::kTensor, dtype, std::nullopt, {}}};
  if (removed.value() > rank) return context.invalid("at most {} axes expected, {} found", rank, removed.value());
  Shape shape;
  for (int k = 0; k < rank - removed.value(); ++k) shape.push_back(context.fresh(0, k));
  return one(dtype, std::move(shape));
}

Result<std::vector<ValueType>> infer_reduction(const OpContext& context) {
  TRY(const auto axes, reduced_axes(context));
  if (!axes) return infer_with_unknown_axes(context);
  Shape shape;
  for (int k = 0; k < context.rank(0); ++k) {
    const bool reduced = std::find(axes->begin(), axes->end(), k) != axes->end();
    if (reduced && keeps_dims(context)) shape.push_back(1);
    if (!reduced) shape.push_back(context.dim(0, k));
  }
  return one(context.dtype(0), std::move(shape));
}

/// A reduction being written: its output's shape, what it runs over, and the input's element in it.
struct Reduction {
  te::Program program;
  Shape shape, over;
  Expr element;
  DataType dtype;

  te::StageValue combine(const te::Monoid& monoid, Expr body) {
    return over.empty() ? program.map(shape, std::move(body)) : program.reduce(shape, over, monoid, std::move(body));
  }
  te::StageValue map(Expr body) { return program.map(shape, std::move(body)); }
  Expr load(te::StageValue value) const { return program.load(value, te::axes(static_cast<int>(shape.size()))); }
  Expr sum(Expr body) {
    const te::Monoid monoid = te::sum(body.dtype());
    return load(combine(monoid, std::move(body)));
  }
};

/// `finish` appends the stages and gives the output's.
Compute reduce_by(std::function<te::StageValue(Reduction&)> finish) {
  return [finish = std::move(finish)](const OpContext& context) -> Result<te::Program> {
    TRY(const auto axes, reduced_axes(context));
    if (!axes) return context.unsupported("the axes are not known");
    Reduction reduction;
    std::vector<Expr> place;
    for (int k = 0; k < context.rank(0); ++k) {
      const bool reduced = std::find(axes->begin(), axes->end(), k) != axes->end();
      place.push_back(reduced ? te::reduce_axis(static_cast<int>(reduction.over.size()))
                              : te::axis(static_cast<int>(reduction.shape.size())));
      if (reduced) reduction.over.push_back(context.dim(0, k));
      if (reduced && keeps_dims(context)) reduction.shape.push_back(1);
      if (!reduced) reduction.shape.push_back(context.dim(0, k));
    }
    reduction.element = context.load(0, place);
    reduction.dtype = context.dtype(0);
    reduction.program.outputs = {finish(reduction)};
    return std::move(reduction.program);
  };
}

Compute combine_by(std::function<te::Monoid(DataType)> monoid) {
  return reduce_by([monoid = std::move(monoid)](Reduction& r) { return r.combine(monoid(r.dtype), r.element); });
}

/// Sums of halves are wider than these, as a mean of numbers that they hold is one. Integer means truncate; an empty
/// one is 0.
te::StageValue mean(Reduction& r) {
  const Dim count = element_count(r.over);
  const DataType wide = accumulator(r.dtype);
  const Expr number = count_as(wide, (is_float(r.dtype) ? count : isomer::max(count, 1)).expr());
  return r.map(te::cast(r.dtype, r.sum(te::cast(wide, r.element)) / number));
}

Expr magnitude(Expr x) { return is_unsigned_int(x.dtype()) ? x : te::abs(x); }

/// The type that roots and logarithms of elements are taken in.
DataType real_type(DataType dtype) { return is_float(dtype) ? accumulator(dtype) : DataType::kFloat64; }

/// As sums are made of it: halves are wider.
Expr summand(const Reduction& r) { return te::cast(accumulator(r.dtype), r.element); }

te::StageValue l2(Reduction& r) {
  const Expr squares = r.sum(summand(r) * summand(r));
  return r.map(te::cast(r.dtype, te::sqrt(te::cast(real_type(r.dtype), squares))));
}

te::StageValue log_sum(Reduction& r) {
  const Expr total = r.sum(summand(r));
  return r.map(te::cast(r.dtype, te::log(te::cast(real_type(r.dtype), total))));
}

/// With the maximum subtracted first, unless that is infinite, no exponential overflows.
te::StageValue log_sum_exp(Reduction& r) {
  const DataType type = real_type(r.dtype);
  const Expr x = te::cast(type, r.element);
  const Expr greatest = r.load(r.combine(te::maximum(type), x));
  const Expr infinite = te::equal(greatest, Number::infinity()) || te::equal(greatest, Number::infinity(true));
  const te::StageValue shift = r.map(te::select(infinite, te::literal(0, type), greatest));
  const Expr total = r.sum(te::exp(x - r.load(shift)));
  return r.map(te::cast(r.dtype, te::log(total) + r.load(shift)));
}

/// Up to opset 17 (12 for ReduceSum) the axes are an attribute.
Version axes_as_attribute(int since) {
  Version version = ints_attribute_to_input(since, "axes", 1);
  version.to_newest =
      in_turn({[](NodeForm& form) -> Result<void> {
                 TRY(const auto noop, form.take_int("noop_with_empty_axes"));
                 if (form.has_input(1) || noop.value_or(0) != 0)
                   return form.invalid("axes as an attribute expected, the form of a newer opset found");
                 return {};
               },
               version.to_newest});
  const Reform axes_back = version.from_newest;
  version.from_newest = [axes_back, since](NodeForm& form) -> Result<void> {
    TRY(const auto noop, form.take_int("noop_with_empty_axes"));
    const auto axes = form.ints(1);
    if (noop.value_or(0) != 0 && (!form.has_input(1) || !axes || axes->empty()))
      return form.unsupported("axes expected where the opset reduces all if there are none");
    TRY_VOID(axes_back(form));
    if (axes && axes->empty()) form.drop("axes");
    return since < 11 ? count_from_front("axes")(form) : Result<void>();
  };
  return version;
}

constexpr TypeSet kReduced = kFloats | kIndices | DataType::kUInt32 | DataType::kUInt64;

OpDef row(const char* name, Compute compute) {
  return {.name = name,
          .since = 18,
          .inputs = {"data", "axes?:int64"},
          .outputs = {"reduced"},
          .types = {{"T", kReduced}},
          .attributes = {zero_or_one("keepdims", 1), zero_or_one("noop_with_empty_axes", 0)},
          .versions = {axes_as_attribute(13), axes_as_attribute(11), axes_as_attribute(1)},
          .infer = infer_reduction,
          .compute = std::move(compute)};
}

OpDef sum_row() {
  OpDef sum = row("ReduceSum", combine_by(te::sum));
  sum.since = 13;
  sum.versions = {axes_as_attribute(11), axes_as_attribute(1)};
  sum.axioms = {
      {"ReduceSum(Add(x,y)){..p} = Add(ReduceSum(x){..p},ReduceSum(y){..p})", "equal", FloatClass::kReassociated},
      {"ReduceSum(Mul(x,s)){..p} = Mul(ReduceSum(x){..p},s) if s_rank == 0", "ranked", FloatClass::kReassociated},
      {"ReduceSum(Concat(x,y){axis=a}){axes=[a],..p} = Add(ReduceSum(x){axes=[a],..p},ReduceSum(y){axes=[a],..p})",
       "ranked", FloatClass::kReassociated},
      {"ReduceSum(ReduceSum(x){axes=[a],keepdims=1}){axes=[b],keepdims=1} = ReduceSum(x){axes=[a,b],keepdims=1}",
       "ranked", FloatClass::kReassociated},
      {"ReduceSum(x){axes=[a],keepdims=1} = x", "ranked", FloatClass::kSignOfZero},
      {"ReduceSum(Transpose(x){perm=[1,0]}){axes=[0],keepdims=1} = "
       "Transpose(ReduceSum(x){axes=[1],keepdims=1}){perm=[1,0]}",
       "ranked", FloatClass::kReassociated},
      {"ReduceSum(Concat(x,y){axis=a}){axes=[b],keepdims=1} = "
       "Concat(ReduceSum(x){axes=[b],keepdims=1},ReduceSum(y){axes=[b],keepdims=1}){axis=a} if 0 <= a && a < b",
       "ranked", FloatClass::kReassociated},
      {"ReduceSum(Concat(x,y){axis=a}){axes=[b],keepdims=1} = "
       "Concat(ReduceSum(x){axes=[b],keepdims=1},ReduceSum(y){axes=[b],keepdims=1}){axis=a} if 0 <= b && b < a",
       "ranked", FloatClass::kReassociated},
      {"ReduceSum(x){axes=[1],keepdims=1} = MatMul(x,Expand(1){shape=[x_1,1]}) if x_rank == 2", "matrices",
       FloatClass::kReassociated},
      {"ReduceSum(x){axes=[2],keepdims=1} = MatMul(x,Expand(1){shape=[x_2,1]}) if x_rank == 3", "matrices",
       FloatClass::kReassociated}};
  return sum;
}

OpDef mean_row() {
  OpDef result = row("ReduceMean", reduce_by(mean));
  result.axioms = {{"ReduceMean(x){axes=[a],keepdims=1} = "
                    "Div(ReduceSum(x){axes=[a],keepdims=1},ReduceSum(Expand(1){shape=[x_0,x_1]}){axes=[a],keepdims=1}) "
                    "if x_rank == 2",
                    "ranked", FloatClass::kReassociated},
                   {"ReduceMean(x){axes=[a],keepdims=1} = "
                    "Div(ReduceSum(x){axes=[a],keepdims=1},ReduceSum(Expand(1){shape=[x_0,x_1,x_2]}){axes=[a],keepdims="
                    "1}) if x_rank == 3",
                    "ranked", FloatClass::kReassociated},
                   {"ReduceMean(Mul(x,s)){..p} = Mul(ReduceMean(x){..p},s) if s_rank == 0", "ranked of floats",
                    FloatClass::kReassociated}};
  return result;
}

/// Monotone functions pass through a maximum.
OpDef maximum_row(OpDef maximum) {
  maximum.axioms = {
      {"ReduceMax(Concat(x,y){axis=a}){axes=[a],..p} = Max(ReduceMax(x){axes=[a],..p},ReduceMax(y){axes=[a],..p})",
       "ranked", FloatClass::kFinite},
      {"ReduceMax(Max(x,y)){..p} = Max(ReduceMax(x){..p},ReduceMax(y){..p})", "equal", FloatClass::kSignOfZero},
      {"ReduceMax(Relu(x)){..p} = Relu(ReduceMax(x){..p})", "equal", FloatClass::kSignOfZero}};
  return maximum;
}

/// ReduceMax and ReduceMin took bytes from opset 12 on, bools from 20 on.
OpDef extreme_row(const char* name, std::function<te::Monoid(DataType)> monoid) {
  OpDef extreme = row(name, combine_by(std::move(monoid)));
  extreme.since = 20;
  extreme.types = {{"T", kReduced | DataType::kInt8 | DataType::kUInt8 | kBoolean}};
  extreme.versions = {{18}, axes_as_attribute(13), axes_as_attribute(12), axes_as_attribute(11), axes_as_attribute(1)};
  return extreme;
}

}  // namespace

std::vector<OpDef> reduction() {
  return {
      sum_row(),
      mean_row(),
      maximum_row(extreme_row("ReduceMax", te::maximum)),
      extreme_row("ReduceMin", te::minimum),
      row("ReduceProd", combine_by(te::product)),
      row("ReduceL1", reduce_by([](Reduction& r) { return r.combine(te::sum(r.dtype), magnitude(r.element)); })),
      row("ReduceL2", reduce_by(l2)),
      row("ReduceLogSum", reduce_by(log_sum)),
      row("ReduceLogSumExp", reduce_by(log_sum_exp)),
      row("ReduceSumSquare",
          reduce_by([](Reduction& r) { return r.combine(te::sum(r.dtype), r.element * r.element); })),
  };
}

}  // namespace isomer::ops
