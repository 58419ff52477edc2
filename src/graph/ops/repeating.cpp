// Tile Expand: the same elements again along an axis.
#include "graph/infer.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

/// A type of the given shape, or of unknown rank.
std::vector<ValueType> shaped(DataType dtype, std::optional<Shape> shape) {
  return {{ValueType::Kind::kTensor, dtype, std::move(shape), {}}};
}

// Tile

Result<std::optional<Shape>> tile_shape(const OpContext& context) {
  TRY(const auto repeats, vector_content(context, 1, true));
  Shape shape = fresh_shape(context, 0, context.rank(0));
  if (!repeats) return std::optional<Shape>(std::move(shape));
  if (repeats->size() != shape.size())
    return context.invalid("{} repeats, one an axis, expected, {} found", shape.size(), repeats->size());
  for (size_t k = 0; k < shape.size(); ++k) {
    if (!(*repeats)[k]) continue;
    if ((*repeats)[k]->is_constant() && (*repeats)[k]->value() < 0)
      return context.invalid("repeats of at least 0 expected, {} found", (*repeats)[k]->text());
    shape[k] = context.dim(0, static_cast<int>(k)) * *(*repeats)[k];
  }
  return std::optional(std::move(shape));
}

Result<te::Program> tile_compute(const OpContext& context) {
  if (!context.dims(1)) return context.unsupported("known repeats expected");
  TRY(auto shape, tile_shape(context));
  std::vector<te::Expr> index;
  for (int k = 0; k < context.rank(0); ++k)
    index.push_back(simplified(te::floor_mod(te::axis(k), context.dim(0, k).expr()), *shape));
  return single_map(*std::move(shape), context.load(0, std::move(index)));
}

/// Opset 1 repeated along one axis, both given as scalars of T.
Result<void> tile_repeats(NodeForm& form) {
  const Tensor* tiles = form.constant(1);
  const Tensor* axis = form.constant(2);
  if (!form.has_rank(0) || !tiles || !axis || tiles->count() != 1 || axis->count() != 1)
    return form.unsupported("a known rank and constant tiles and axis expected");
  const double at = axis->real(0), times = tiles->real(0);
  if (!(at >= 0 && at < form.rank(0)) || !(times >= 0 && times <= static_cast<double>(kMaxDim)))
    return form.invalid("tiles of at least 0 and axis in [0, {}) expected, {} and {} found", form.rank(0), times, at);
  std::vector<int64_t> repeats(form.rank(0), 1);
  repeats[static_cast<size_t>(at)] = static_cast<int64_t>(times);
  form.set_input(1, form.ints(std::move(repeats), "repeats"));
  form.drop_inputs_from(2);
  return {};
}

Result<void> refuse_repeats(NodeForm& form) { return form.unsupported("opset 6 or newer expected"); }

// Expand

Result<std::optional<Shape>> expand_shape(const OpContext& context) {
  TRY(const auto target, vector_content(context, 1, true));
  if (!target) return std::optional<Shape>();
  const Shape& from = context.shape(0);
  Shape shape = fresh_shape(context, 0, static_cast<int64_t>(std::max(from.size(), target->size())));
  for (size_t k = 0; k < shape.size(); ++k) {
    const size_t from_axis = k + from.size() - shape.size(), target_axis = k + target->size() - shape.size();
    const Dim dim = k + from.size() >= shape.size() ? from[from_axis] : Dim(1);
    const std::optional<Dim> wanted = k + target->size() >= shape.size() ? (*target)[target_axis] : Dim(1);
    if (wanted && wanted->is_constant() && wanted->value() < 0)
      return context.invalid("dims of at least 0 in shape expected, {} found", wanted->text());
    if (!wanted) {
      if (dim.is_constant() && !dim.is(1)) shape[k] = dim;
      continue;
    }
    const auto common = broadcast_dim(dim, *wanted);
    if (!common)
      return context.invalid("a shape that {} broadcasts to expected, dim {} at axis {} found", text(from),
                             wanted->text(), k);
    shape[k] = *common;
  }
  return std::optional(std::move(shape));
}

Result<std::vector<ValueType>> expand_infer(const OpContext& context) {
  TRY(auto shape, expand_shape(context));
  return shaped(context.dtype(0), std::move(shape));
}

Result<te::Program> expand_compute(const OpContext& context) {
  if (!context.dims(1)) return context.unsupported("a known shape expected");
  TRY(const auto shape, expand_shape(context));
  return single_map(*shape, context.load_broadcast(0, *shape));
}

std::optional<Spelling> spell_expand(const ElementMap& map) {
  if (!only_moves(map)) return std::nullopt;
  const Shape &from = *map.from.shape, &to = *map.to.shape;
  const auto dims = constants(to);
  if (!dims || from.size() > to.size()) return std::nullopt;
  const size_t offset = to.size() - from.size();
  for (size_t k = 0; k < from.size(); ++k) {
    const bool is_kept = axis_of(map.index[k]) == static_cast<int>(k + offset) && from[k] == to[k + offset];
    if (!is_kept && !(from[k].is(1) && te::as_constant(map.index[k]) == 0)) return std::nullopt;
  }
  return Spelling{.lists = {*dims}};
}

}  // namespace

std::vector<OpDef> repeating() {
  const std::vector<TypeVariable> any = {{"T", kPlain}};
  return {
      {.name = "Tile",
       .since = 13,
       .inputs = {"input", "repeats:T1"},
       .outputs = {"output"},
       .types = {{"T", kPlain}, {"T1", DataType::kInt64}},
       .versions = {{6}, {1, tile_repeats, refuse_repeats}},
       .infer = [](const OpContext& context) -> Result<std::vector<ValueType>> {
         TRY(auto shape, tile_shape(context));
         return shaped(context.dtype(0), std::move(shape));
       },
       .compute = tile_compute},
      {.name = "Expand",
       .since = 13,
       .inputs = {"input", "shape:int64"},
       .outputs = {"output"},
       .types = any,
       .versions = {{8}},
       .infer = expand_infer,
       .compute = expand_compute,
       .spell = spell_expand,
       .shape_input = 1,
       .axioms = {{"Mul(x,Expand(1){shape=[x_0,x_1]}) = x if x_rank == 2", "ranked"},
                  {"Mul(x,Expand(1){shape=[x_0,x_1,x_2]}) = x if x_rank == 3", "ranked"},
                  {"Mul(x,Expand(1){shape=[x_0,x_1,x_2,x_3]}) = x", "ranked"},
                  {"Add(x,Expand(y){..p}) = Add(x,y)", "broadcast"},
                  {"Mul(x,Expand(y){..p}) = Mul(x,y)", "broadcast"},
                  {"Transpose(Expand(1){shape=[a,b]}){perm=[1,0]} = Expand(1){shape=[b,a]}", "ranked"},
                  {"Expand(x){shape=[x_0,x_1]} = x", "ranked"},
                  {"Expand(x){shape=[x_0,x_1,x_2]} = x", "ranked"},
                  {"Expand(x){shape=[x_0,x_1,x_2,x_3]} = x", "ranked"},
                  {"Expand(Relu(x)){..p} = Relu(Expand(x){..p})", "equal", FloatClass::kSignOfZero},
                  {"Expand(Add(x,y)){..p} = Add(Expand(x){..p},Expand(y){..p})", "equal"},
                  {"Expand(Mul(x,y)){..p} = Mul(Expand(x){..p},Expand(y){..p})", "equal"}}},
  };
}

}  // namespace isomer::ops
