// Gather GatherElements GatherND ScatterElements Scatter ScatterND ReverseSequence: reading and writing at positions
// that data decide. Negative positions count from the end; one out of range is an error where it is evaluated.
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

/// The position along an axis of dim `dim` that element `at` of the indices (input 1) names.
te::Expr position(const OpContext& context, std::vector<te::Expr> at, const Dim& dim) {
  const auto known = context.scalar_int(1);
  return wrapped(known ? te::index(*known) : load_index(context, 1, std::move(at)), dim);
}

// Gather

Shape gather_shape(const OpContext& context, int axis) {
  Shape shape = context.shape(0);
  const Shape& indices = context.shape(1);
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, indices.begin(), indices.end());
  return shape;
}

Result<std::vector<ValueType>> gather_infer(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  return one(context.dtype(0), gather_shape(context, axis));
}

Result<te::Program> gather_compute(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  const int count = context.rank(1);
  std::vector<te::Expr> at, index;
  for (int k = 0; k < count; ++k) at.push_back(te::axis(axis + k));
  for (int k = 0; k < context.rank(0); ++k) index.push_back(te::axis(k < axis ? k : k + count - 1));
  index[axis] = position(context, std::move(at), context.dim(0, axis));
  return single_map(gather_shape(context, axis), context.load(0, std::move(index)));
}

// GatherElements

Result<int> elements_axis(const OpContext& context) {
  if (context.rank(0) != context.rank(1))
    return context.invalid("indices of rank {} expected, shape {} found", context.rank(0), text(context.shape(1)));
  return context.normalize_axis(context.get_int("axis"), context.rank(0));
}

Result<std::vector<ValueType>> gather_elements_infer(const OpContext& context) {
  TRY_VOID(elements_axis(context));
  return one(context.dtype(0), context.shape(1));
}

Result<te::Program> gather_elements_compute(const OpContext& context) {
  TRY(const int axis, elements_axis(context));
  std::vector<te::Expr> index = te::axes(context.rank(0));
  index[axis] = position(context, te::axes(context.rank(0)), context.dim(0, axis));
  return single_map(context.shape(1), context.load(0, std::move(index)));
}

// GatherND, ScatterND

/// How many axes of data a row of indices names: its last dim; nothing when that is not known.
Result<std::optional<int>> row_length(const OpContext& context, int batch) {
  if (context.rank(1) < 1 || context.rank(0) < 1)
    return context.invalid("data and indices of rank at least 1 expected, shapes {} and {} found",
                           text(context.shape(0)), text(context.shape(1)));
  const auto length = context.shape(1).back().constant();
  if (length && (*length < 1 || *length > context.rank(0) - batch))
    return context.invalid("a last dim of indices in [1, {}] expected, {} found", context.rank(0) - batch, *length);
  return length ? std::optional(static_cast<int>(*length)) : std::nullopt;
}

Result<std::optional<Shape>> gather_nd_shape(const OpContext& context) {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  const int64_t batch = context.get_int("batch_dims");
  if (batch < 0 || (batch > 0 && batch >= std::min(context.rank(0), context.rank(1))))
    return context.invalid("batch_dims below the ranks of data and indices expected, {} found", batch);
  TRY(const auto length, row_length(context, static_cast<int>(batch)));
  for (int k = 0; k < batch; ++k)
    if (!agreed(data[k], indices[k]))
      return context.invalid("equal batch dims expected, shapes {} and {} found", text(data), text(indices));
  if (!length) return std::optional<Shape>();
  return std::optional(
      concatenated(Shape(indices.begin(), indices.end() - 1), Shape(data.begin() + batch + *length, data.end())));
}

Result<std::vector<ValueType>> gather_nd_infer(const OpContext& context) {
  TRY(auto shape, gather_nd_shape(context));
  return std::vector<ValueType>{{ValueType::Kind::kTensor, context.dtype(0), std::move(shape), {}}};
}

Result<te::Program> gather_nd_compute(const OpContext& context) {
  TRY(auto shape, gather_nd_shape(context));
  if (!shape) return context.unsupported("a known last dim of indices expected");
  const int rows = context.rank(1) - 1;
  const int batch = static_cast<int>(context.get_int("batch_dims"));
  const int length = static_cast<int>(context.shape(1).back().value());
  std::vector<te::Expr> index;
  for (int k = 0; k < context.rank(0); ++k) {
    if (k < batch || k >= batch + length) {
      index.push_back(te::axis(k < batch ? k : rows + k - batch - length));
      continue;
    }
    std::vector<te::Expr> at = te::axes(rows);
    at.push_back(te::index(k - batch));
    index.push_back(position(context, std::move(at), context.dim(0, k)));
  }
  return single_map(*std::move(shape), context.load(0, std::move(index)));
}

/// What attribute reduction makes of two values that meet; no components: the later one stays. On bool, sum and maximum
/// are "or", product and minimum "and".
Result<te::Monoid> reduction(const OpContext& context) {
  const std::string& name = context.get_string("reduction");
  const DataType dtype = context.dtype(0);
  if (name == "none") return te::Monoid{};
  if (name == "max" || (name == "add" && dtype == DataType::kBool)) return te::maximum(dtype);
  if (name == "min" || (name == "mul" && dtype == DataType::kBool)) return te::minimum(dtype);
  if (name == "add") return te::sum(sum_type(dtype));
  if (name == "mul") return te::product(sum_type(dtype));
  return context.invalid("reduction none, add, mul, max or min expected, '{}' found", name);
}

/// What is combined is rounded to a narrow type at the end.
te::Program scattered(const OpContext& context, Shape updates, std::vector<te::Expr> index, te::Monoid combine) {
  const DataType dtype = context.dtype(0), kept = combine.arity() == 0 ? dtype : combine.identity[0].dtype();
  const std::vector<te::Expr> point = te::axes(context.rank(0));
  te::Program program;
  const te::StageValue result =
      program.update({context.shape(0), te::cast(kept, context.load(0, point)), std::move(updates), std::move(index),
                      te::cast(kept, context.load(2, reduce_axes(context.rank(2)))), std::move(combine)});
  program.outputs = {kept == dtype ? result
                                   : program.map(context.shape(0), te::cast(dtype, program.load(result, point)))};
  return program;
}

Result<Shape> scatter_nd_updates(const OpContext& context) {
  const Shape& data = context.shape(0);
  const Shape& indices = context.shape(1);
  TRY(const auto length, row_length(context, 0));
  if (!length) return context.shape(2);
  const Shape updates =
      concatenated(Shape(indices.begin(), indices.end() - 1), Shape(data.begin() + *length, data.end()));
  TRY_VOID(expect_shape(context, 2, updates));
  return updates;
}

Result<std::vector<ValueType>> scatter_nd_infer(const OpContext& context) {
  TRY_VOID(reduction(context));
  TRY_VOID(scatter_nd_updates(context));
  return same_as_first(context);
}

Result<te::Program> scatter_nd_compute(const OpContext& context) {
  TRY(te::Monoid combine, reduction(context));
  TRY(Shape updates, scatter_nd_updates(context));
  if (!context.shape(1).back().is_constant()) return context.unsupported("a known last dim of indices expected");
  const int rows = context.rank(1) - 1;
  const int length = static_cast<int>(context.shape(1).back().value());
  std::vector<te::Expr> index;
  for (int k = 0; k < context.rank(0); ++k) {
    if (k >= length) {
      index.push_back(te::reduce_axis(rows + k - length));
      continue;
    }
    std::vector<te::Expr> at = reduce_axes(rows);
    at.push_back(te::index(k));
    index.push_back(position(context, std::move(at), context.dim(0, k)));
  }
  return scattered(context, std::move(updates), std::move(index), std::move(combine));
}

// ScatterElements

Result<std::vector<ValueType>> scatter_elements_infer(const OpContext& context) {
  TRY_VOID(elements_axis(context));
  TRY_VOID(expect_shape(context, 2, context.shape(1)));
  return same_as_first(context);
}

Result<te::Program> scatter_elements_over(const OpContext& context, te::Monoid combine) {
  TRY(const int axis, elements_axis(context));
  std::vector<te::Expr> index = reduce_axes(context.rank(0));
  index[axis] = position(context, index, context.dim(0, axis));
  return scattered(context, context.shape(1), std::move(index), std::move(combine));
}

/// Opset 16 did not have reductions max and min; opsets before had none.
Version scatter_version(int since) {
  return {since, nullptr, [=](NodeForm& form) -> Result<void> {
            const auto found = form.node().attributes.find("reduction");
            if (found == form.node().attributes.end()) return {};
            const std::string& name = std::get<std::string>(found->second);
            if (name != "none" && (since < 16 || name == "max" || name == "min"))
              return form.unsupported("reduction '{}' is newer than the opset", name);
            if (since < 16) form.drop("reduction");
            return {};
          }};
}

// ReverseSequence

Result<std::vector<ValueType>> reverse_sequence_infer(const OpContext& context) {
  const int64_t time = context.get_int("time_axis"), batch = context.get_int("batch_axis");
  if (context.rank(0) < 2)
    return context.invalid("input of rank at least 2 expected, shape {} found", text(context.shape(0)));
  if (time + batch != 1 || time < 0 || batch < 0)
    return context.invalid("0 and 1 as time_axis and batch_axis expected, {} and {} found", time, batch);
  TRY_VOID(expect_shape(context, 1, {context.dim(0, static_cast<int>(batch))}));
  return same_as_first(context);
}

Result<te::Program> reverse_sequence_compute(const OpContext& context) {
  const int time = static_cast<int>(context.get_int("time_axis"));
  std::vector<te::Expr> index = te::axes(context.rank(0));
  const te::Expr length = context.load(1, {te::axis(1 - time)});
  index[time] = te::select(te::axis(time) < length, length - 1 - te::axis(time), te::axis(time));
  return single_map(context.shape(0), context.load(0, std::move(index)));
}

}  // namespace

std::vector<OpDef> gathering() {
  const std::vector<TypeVariable> indexed = {{"T", kPlain}, {"Tind", kIndices}};
  const std::vector<TypeVariable> any = {{"T", kPlain}};
  return {
      {.name = "Gather",
       .since = 13,
       .inputs = {"data", "indices:Tind"},
       .outputs = {"output"},
       .types = indexed,
       .attributes = {with_default("axis", 0)},
       .versions = {{11}, {1, nullptr, count_from_front("axis")}},
       .infer = gather_infer,
       .compute = gather_compute},
      {.name = "GatherElements",
       .since = 13,
       .inputs = {"data", "indices:Tind"},
       .outputs = {"output"},
       .types = indexed,
       .attributes = {with_default("axis", 0)},
       .versions = {{11}},
       .infer = gather_elements_infer,
       .compute = gather_elements_compute},
      {.name = "GatherND",
       .since = 13,
       .inputs = {"data", "indices:int64"},
       .outputs = {"output"},
       .types = any,
       .attributes = {with_default("batch_dims", 0)},
       .versions = {{12}, without(11, {"batch_dims"})},
       .infer = gather_nd_infer,
       .compute = gather_nd_compute},
      {.name = "ScatterElements",
       .since = 18,
       .inputs = {"data", "indices:Tind", "updates"},
       .outputs = {"output"},
       .types = indexed,
       .attributes = {with_default("axis", 0), with_default("reduction", "none")},
       .versions = {scatter_version(16), scatter_version(13), scatter_version(11)},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY_VOID(reduction(context));
         return scatter_elements_infer(context);
       },
       .compute = [](const OpContext& context) -> Result<te::Program> {
         TRY(te::Monoid combine, reduction(context));
         return scatter_elements_over(context, std::move(combine));
       }},
      {.name = "Scatter",
       .since = 9,
       .inputs = {"data", "indices:Tind", "updates"},
       .outputs = {"output"},
       .types = indexed,
       .attributes = {with_default("axis", 0)},
       .infer = scatter_elements_infer,
       .compute = [](const OpContext& context) { return scatter_elements_over(context, {}); }},
      {.name = "ScatterND",
       .since = 18,
       .inputs = {"data", "indices:int64", "updates"},
       .outputs = {"output"},
       .types = any,
       .attributes = {with_default("reduction", "none")},
       .versions = {scatter_version(16), scatter_version(13), scatter_version(11)},
       .infer = scatter_nd_infer,
       .compute = scatter_nd_compute},
      {.name = "ReverseSequence",
       .since = 10,
       .inputs = {"input", "sequence_lens:int64"},
       .outputs = {"Y"},
       .types = any,
       .attributes = {with_default("batch_axis", 1), with_default("time_axis", 0)},
       .infer = reverse_sequence_infer,
       .compute = reverse_sequence_compute},
  };
}

}  // namespace isomer::ops
