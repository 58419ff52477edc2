// ArgMax ArgMin CumSum CumProd: along one axis.
#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

Result<std::vector<ValueType>> infer_arg(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  Shape shape = context.shape(0);
  shape[axis] = 1;
  if (context.get_int("keepdims") == 0) shape.erase(shape.begin() + axis);
  return one(DataType::kInt64, std::move(shape));
}

Compute arg_by(te::Monoid (*monoid)(DataType, bool)) {
  return [monoid](const OpContext& context) -> Result<te::Program> {
    TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
    TRY(const auto types, infer_arg(context));
    const bool keeps = context.get_int("keepdims") != 0;
    std::vector<Expr> place;
    for (int k = 0; k < context.rank(0); ++k)
      place.push_back(k == axis ? te::reduce_axis(0) : te::axis(k - (!keeps && k > axis)));
    te::Program program;
    const bool last = context.get_int("select_last_index") != 0;
    te::StageValue index = program.reduce(*types[0].shape, {context.dim(0, axis)}, monoid(context.dtype(0), last),
                                          {context.load(0, place), te::reduce_axis(0)});
    index.component = 1;
    program.outputs = {index};
    return program;
  };
}

OpDef arg_row(const char* name, te::Monoid (*monoid)(DataType, bool)) {
  const Reform no_last_index = drop_neutral("select_last_index", 0);
  return {.name = name,
          .since = 13,
          .inputs = {"data"},
          .outputs = {"reduced:int64"},
          .types = {{"T", kNumeric}},
          .attributes = {with_default("axis", 0), zero_or_one("keepdims", 1), with_default("select_last_index", 0)},
          .versions = {{12},
                       {11, nullptr, no_last_index},
                       {1, nullptr, in_turn({no_last_index, count_from_front("axis")})}},
          .infer = infer_arg,
          .compute = arg_by(monoid)};
}

Result<std::vector<ValueType>> infer_cumulative(const OpContext& context) {
  if (const Dim count = element_count(context.shape(1)); count.is_constant() && !count.is(1))
    return context.invalid("axis with one element expected, {} found", text(context.shape(1)));
  if (const auto axis = context.scalar_int(1)) TRY_VOID(context.normalize_axis(*axis, context.rank(0)));
  return same_as_first(context);
}

/// A scan of running sums or products from the first element, or the last where reversed; exclusive ones are read one
/// step earlier. They are rounded to a narrow type where they are read.
Compute cumulative(te::BinaryOp op, int neutral) {
  return [op, neutral](const OpContext& context) -> Result<te::Program> {
    const auto written = context.scalar_int(1);
    if (!written) return context.unsupported("an axis that is known expected, one that data decide found");
    TRY(const int axis, context.normalize_axis(*written, context.rank(0)));
    const DataType dtype = context.dtype(0), running = sum_type(dtype);
    const Dim& length = context.dim(0, axis);
    const bool reverse = context.get_int("reverse") != 0, exclusive = context.get_int("exclusive") != 0;
    const auto step_of = [&](Expr position) { return reverse ? length.expr() - 1 - position : position; };

    Shape rest = context.shape(0);
    rest.erase(rest.begin() + axis);
    std::vector<Expr> added = te::axes(static_cast<int>(rest.size()));
    const Expr before = te::load_state(0, running, added);
    added.insert(added.begin() + axis, step_of(te::time_step()));

    te::Program program;
    te::MapReduce step{rest, {}, {}, {te::binary(op, before, te::cast(running, context.load(0, added)))}};
    const te::StageValue results =
        program.scan({length, {{rest, te::literal(neutral, running)}}, {std::move(step)}, {0}});

    const Expr read = step_of(te::axis(axis)) - te::index(exclusive);
    std::vector<Expr> place = te::axes(context.rank(0));
    place.erase(place.begin() + axis);
    place.insert(place.begin(), read);
    Expr result = te::cast(dtype, program.load(results, place));
    if (exclusive) result = te::select(read < 0, te::literal(neutral, dtype), result);
    program.outputs = {program.map(context.shape(0), result)};
    return program;
  };
}

OpDef cumulative_row(const char* name, int since, std::vector<Version> versions, te::BinaryOp op, int neutral) {
  return {.name = name,
          .since = since,
          .inputs = {"x", "axis:T2"},
          .outputs = {"y"},
          .types = {{"T", kFloats | kIndices | DataType::kUInt32 | DataType::kUInt64}, {"T2", kIndices}},
          .attributes = {zero_or_one("exclusive", 0), zero_or_one("reverse", 0)},
          .versions = std::move(versions),
          .infer = infer_cumulative,
          .compute = cumulative(op, neutral)};
}

}  // namespace

std::vector<OpDef> one_axis() {
  OpDef argmax = arg_row("ArgMax", te::argmax);
  argmax.axioms = {{"ArgMax(Neg(a)){..p} = ArgMin(a){..p}", "ranked of floats", FloatClass::kFinite}};
  return {
      std::move(argmax),
      arg_row("ArgMin", te::argmin),
      cumulative_row("CumSum", 14, {{11}}, te::BinaryOp::kAdd, 0),
      cumulative_row("CumProd", 26, {}, te::BinaryOp::kMul, 1),
  };
}

}  // namespace isomer::ops
