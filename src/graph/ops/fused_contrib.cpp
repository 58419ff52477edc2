// Gelu FastGelu BiasGelu QuickGelu SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization
// EmbedLayerNormalization: several nodes of transformers that ONNX Runtime's optimizer and its transformers tool make
// one of, in its domain (ContribOperators.md; SimplifiedLayerNormalization in the standard's).
#include <optional>

#include "graph/ops/common.h"
#include "graph/ops/contrib.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/sigmoid.h"
#include "graph/ops/statistics.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

// Activations of x + bias, where input 1 is a vector over the last axis.

Result<std::vector<ValueType>> infer_biased(const OpContext& context) {
  if (context.has_input(1)) {
    if (context.rank(0) == 0) return context.invalid("an input of rank at least 1 expected, a scalar found");
    TRY_VOID(expect_shape(context, 1, {context.shape(0).back()}));
  }
  return same_as_first(context);
}

Compute of_biased(Expr (*activation)(const Expr&)) {
  return [activation](const OpContext& context) -> Result<te::Program> {
    const Shape& shape = context.shape(0);
    Expr x = context.load_broadcast(0, shape);
    if (context.has_input(1)) x = x + context.load_broadcast(1, shape);
    return single_map(shape, activation(x));
  };
}

// Normalization over the last axis, of what several inputs sum up to.

/// Which inputs scale and shift; without one that may shift it is about zero instead of the mean.
struct Parameters {
  int gamma;
  std::optional<int> beta;
};

struct Normalized {
  te::StageValue y;
  te::StageValue mean, inverse;  ///< of each row, in a type of at least 32 bits; no mean where nothing is centered
};

Normalized normalized(te::Program& program, const OpContext& context, const Shape& shape, te::StageValue sum,
                      const Parameters& parameters) {
  const DataType dtype = program.dtype(sum), wide = accumulator(dtype);
  const Shape kept(shape.begin(), shape.end() - 1), reduced = {shape.back()};
  const auto rank = static_cast<int>(shape.size());
  const std::vector<Expr> rows = te::axes(rank - 1);
  const Expr neighbour = te::cast(wide, program.load(sum, joined(rows, reduce_axes(1))));
  Expr value = te::cast(wide, program.load(sum, te::axes(rank))), variance;
  Normalized result;
  if (parameters.beta) {
    const Moments statistics = moments(program, kept, reduced, neighbour);
    result.mean = statistics.mean;
    value = value - program.load(statistics.mean, rows);
    variance = program.load(statistics.variance, rows);
  } else {
    const te::StageValue squares = sum_over(program, kept, reduced, neighbour * neighbour);
    variance = program.load(squares, rows) / count_as(wide, reduced[0].expr());
  }
  result.inverse = program.map(kept, te::literal(1, wide) / te::sqrt(variance + epsilon(context, wide)));
  Expr y =
      te::cast(dtype, value * program.load(result.inverse, rows)) * context.load_broadcast(parameters.gamma, shape);
  if (parameters.beta && context.has_input(*parameters.beta)) y = y + context.load_broadcast(*parameters.beta, shape);
  result.y = program.map(shape, y);
  return result;
}

// Skip*: input + skip + bias, normalized; the sum is output 3.

constexpr int kInput = 0, kSkip = 1, kGamma = 2;

/// With a mean there is a beta between gamma and the bias.
template <bool kCenters>
constexpr Parameters kOfSkip = {kGamma, kCenters ? std::optional(3) : std::nullopt};
template <bool kCenters>
constexpr int kBias = kCenters ? 4 : 3;

template <bool kCenters>
Result<std::vector<ValueType>> infer_skip(const OpContext& context) {
  const Shape& shape = context.shape(kInput);
  if (shape.size() != 2 && shape.size() != 3)
    return context.invalid("input of rank 2 or 3 expected, {} found", text(shape));
  const Shape& skip = context.shape(kSkip);
  bool fits = skip.size() <= shape.size() && skip.size() >= 2;
  for (size_t k = 0; fits && k < skip.size(); ++k) {
    const size_t axis = k + shape.size() - skip.size();
    fits = agreed(skip[k], shape[axis]).has_value() || (axis == 0 && shape.size() == 3 && skip[k].is(1));
  }
  if (!fits) return context.invalid("skip that fits to {} expected, {} found", text(shape), text(skip));
  for (int i = kGamma; i < context.input_count(); ++i) TRY_VOID(expect_shape(context, i, {shape.back()}));
  Shape statistics = shape;
  statistics.back() = 1;
  const ValueType statistic = ValueType::tensor(DataType::kFloat32, statistics),
                  y = ValueType::tensor(context.dtype(0), shape);
  return std::vector{y, statistic, statistic, y};
}

template <bool kCenters>
Result<te::Program> compute_skip(const OpContext& context) {
  const Shape& shape = context.shape(kInput);
  Expr value = context.load_broadcast(kInput, shape) + context.load_broadcast(kSkip, shape);
  if (context.has_input(kBias<kCenters>)) value = value + context.load_broadcast(kBias<kCenters>, shape);
  te::Program program;
  program.outputs.resize(4);
  const te::StageValue sum = program.map(shape, value);
  const Normalized normal = normalized(program, context, shape, sum, kOfSkip<kCenters>);
  program.outputs[0] = normal.y;
  for (const int i : {1, 2}) {
    if (!context.wants_output(i) || (i == 1 && !kCenters)) continue;  // there is no mean then
    const te::StageValue rows = i == 1 ? normal.mean : normal.inverse;
    const Shape statistics = concatenated(Shape(shape.begin(), shape.end() - 1), {1});
    program.outputs[i] = program.map(
        statistics, te::cast(DataType::kFloat32, program.load(rows, te::axes(static_cast<int>(shape.size()) - 1))));
  }
  if (context.wants_output(3)) program.outputs[3] = sum;
  return program;
}

// EmbedLayerNormalization: rows of up to three tables, summed up and normalized.

enum Embed { kIds, kSegments, kWords, kPlaces, kSegmentTable, kEmbedGamma, kEmbedBeta, kMask, kPositions };

Result<Shape> embedded_shape(const OpContext& context) {
  for (const int i : {int{kIds}, int{kWords}, int{kPlaces}}) TRY_VOID(expect_rank(context, i, 2));
  const Dim &batch = context.dim(kIds, 0), &length = context.dim(kIds, 1), &size = context.dim(kWords, 1);
  TRY_VOID(expect_shape(context, kPlaces, {context.dim(kPlaces, 0), size}));
  if (context.has_input(kSegments) != context.has_input(kSegmentTable))
    return context.invalid("segment_ids and segment_embedding together expected, one of them found");
  TRY_VOID(expect_shape(context, kSegments, {batch, length}));
  if (context.has_input(kSegmentTable)) {
    TRY_VOID(expect_rank(context, kSegmentTable, 2));
    TRY_VOID(expect_shape(context, kSegmentTable, {context.dim(kSegmentTable, 0), size}));
  }
  for (const int i : {int{kEmbedGamma}, int{kEmbedBeta}}) TRY_VOID(expect_shape(context, i, {size}));
  TRY_VOID(expect_shape(context, kMask, {batch, length}));
  if (context.has_input(kPositions)) {
    TRY_VOID(expect_rank(context, kPositions, 2));
    const bool is_shared = context.dim(kPositions, 0).is(1);
    TRY_VOID(expect_shape(context, kPositions, {is_shared ? Dim(1) : batch, length}));
  } else if (length.is_constant() && context.dim(kPlaces, 0).is_constant() &&
             length.value() > context.dim(kPlaces, 0).value()) {
    return context.invalid("position_embedding of at least {} rows expected, {} found", length.text(),
                           text(context.shape(kPlaces)));
  }
  return Shape{batch, length, size};
}

Result<std::vector<ValueType>> infer_embed(const OpContext& context) {
  TRY(const Shape shape, embedded_shape(context));
  const ValueType y = ValueType::tensor(context.dtype(kWords), shape);
  return std::vector{y, ValueType::tensor(DataType::kInt32, {shape[0]}), y};
}

Result<te::Program> compute_embed(const OpContext& context) {
  TRY(const Shape shape, embedded_shape(context));
  const Expr batch = te::axis(0), place = te::axis(1), element = te::axis(2);
  const auto row_of = [&](int table, const Expr& row) {
    return context.load(table, {wrapped(row, context.dim(table, 0)), element});
  };
  Expr position = place;
  if (context.has_input(kPositions)) {
    const Expr own = context.dim(kPositions, 0).is(1) ? te::index(0) : batch;
    position = wrapped(load_index(context, kPositions, {own, place}), context.dim(kPlaces, 0));
  }
  Expr value = row_of(kWords, load_index(context, kIds, {batch, place})) + context.load(kPlaces, {position, element});
  if (context.has_input(kSegments))
    value = value + row_of(kSegmentTable, load_index(context, kSegments, {batch, place}));
  te::Program program;
  program.outputs.resize(3);
  const te::StageValue sum = program.map(shape, value);
  program.outputs[0] = normalized(program, context, shape, sum, {kEmbedGamma, kEmbedBeta}).y;
  if (context.wants_output(1)) {
    const Expr seen = context.has_input(kMask)
                          ? te::select(te::equal(context.load(kMask, {batch, te::reduce_axis(0)}), 1),
                                       te::literal(1, DataType::kInt32), te::literal(0, DataType::kInt32))
                          : te::literal(0, DataType::kInt32);
    program.outputs[1] = sum_over(program, {shape[0]}, {shape[1]}, seen);
  }
  if (context.wants_output(2)) program.outputs[2] = sum;
  return program;
}

// SimplifiedLayerNormalization: RMSNormalization before it was the standard's.

Result<std::vector<ValueType>> infer_simplified(const OpContext& context) {
  return find_op("RMSNormalization")->infer(context);
}

Result<te::Program> compute_simplified(const OpContext& context) {
  return find_op("RMSNormalization")->compute(context);
}

OpDef activation_row(std::string_view name, std::vector<Parameter> inputs, Expr (*activation)(const Expr&)) {
  return {.domain = kContribDomain,
          .name = name,
          .since = 1,
          .inputs = std::move(inputs),
          .outputs = {"Y"},
          .types = {{"T", kFloats}},
          .infer = infer_biased,
          .compute = of_biased(activation)};
}

}  // namespace

std::vector<OpDef> fused_contrib() {
  constexpr float kFine = 1e-12f, kRough = 1e-5f;
  return {
      activation_row("Gelu", {"X"}, gelu_of),
      activation_row("BiasGelu", {"A", "B"}, gelu_of),
      activation_row("FastGelu", {"X", "bias?"}, tanh_gelu_of),
      {.domain = kContribDomain,
       .name = "QuickGelu",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("alpha", 1.702f)},
       .infer = same_as_first,
       .compute = pointwise_with(
           [](const OpContext& context, Expr x) { return x * sigmoid_of(x * Number(context.get_float("alpha"))); })},
      {.name = "SimplifiedLayerNormalization",
       .since = 1,
       .inputs = {"X", "scale:V"},
       .outputs = {"Y:V"},
       .types = {{"T", kFloats}, {"V", kFloats}},
       .attributes = {with_default("axis", -1), with_default("epsilon", kRough), with_default("stash_type", 1)},
       .infer = infer_simplified,
       .compute = compute_simplified},
      {.domain = kContribDomain,
       .name = "SkipLayerNormalization",
       .since = 1,
       .inputs = {"input", "skip", "gamma", "beta?", "bias?"},
       .outputs = {"output", "mean?:U", "inv_std_var?:U", "input_skip_bias_sum?"},
       .types = {{"T", kContribFloats}, {"U", DataType::kFloat32}},
       .attributes = {with_default("epsilon", kFine)},
       .infer = infer_skip<true>,
       .compute = compute_skip<true>},
      {.domain = kContribDomain,
       .name = "SkipSimplifiedLayerNormalization",
       .since = 1,
       .inputs = {"input", "skip", "gamma", "bias?"},
       .outputs = {"output", "?:U", "inv_std_var?:U", "input_skip_bias_sum?"},
       .types = {{"T", kContribFloats}, {"U", DataType::kFloat32}},
       .attributes = {with_default("epsilon", kFine)},
       .infer = infer_skip<false>,
       .compute = compute_skip<false>},
      {.domain = kContribDomain,
       .name = "EmbedLayerNormalization",
       .since = 1,
       .inputs = {"input_ids:int32", "segment_ids?:int32", "word_embedding", "position_embedding", "segment_embedding?",
                  "gamma", "beta", "mask?:int32", "position_ids?:int32"},
       .outputs = {"output", "mask_index?:int32", "embedding_sum?"},
       .types = {{"T", DataType::kFloat16 | DataType::kFloat32}},
       .attributes = {with_default("epsilon", kFine), optional("mask_index_type", AttributeKind::kInt)},
       .infer = infer_embed,
       .compute = compute_embed},
  };
}

}  // namespace isomer::ops
