// NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss: how far scores of classes are from their labels.
#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

constexpr int kScores = 0, kLabels = 1, kWeights = 2;

/// The type of the loss; the labels have the dims of the scores but the second, which are the classes.
Result<ValueType> loss_type(const OpContext& context) {
  const Shape& scores = context.shape(kScores);
  if (scores.size() < 2) return context.invalid("scores of rank at least 2 expected, {} found", text(scores));
  Shape places = scores;
  places.erase(places.begin() + 1);
  TRY_VOID(expect_shape(context, kLabels, places));
  TRY_VOID(expect_shape(context, kWeights, {scores[1]}));
  const std::string& reduction = context.get_string("reduction");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return context.invalid("reduction none, sum or mean expected, '{}' found", reduction);
  return ValueType::tensor(context.dtype(kScores), reduction == "none" ? places : Shape());
}

/// Of each place the negative of what `log_of(class)` gives for its label, times the weight of that class; 0 where the
/// label is to be ignored. The mean is by the sum of those weights.
te::StageValue loss_of(te::Program& program, const OpContext& context, const std::function<Expr(Expr)>& log_of) {
  const DataType dtype = context.dtype(kScores), wide = accumulator(dtype);
  Shape places = context.shape(kScores);
  places.erase(places.begin() + 1);
  const auto rank = static_cast<int>(places.size());
  const Expr label = te::cast(DataType::kInt64, context.load(kLabels, te::axes(rank)));
  const bool ignores = context.has_attribute("ignore_index"), weighs = context.has_input(kWeights);
  const auto unless_ignored = [&](const Expr& value) {
    if (!ignores) return value;
    return te::select(te::equal(label, context.get_int("ignore_index")), te::literal(0, wide), value);
  };
  const Expr weight = weighs ? te::cast(wide, context.load(kWeights, {label})) : te::literal(1, wide);
  const Expr log = te::cast(wide, log_of(label));
  const Expr loss = unless_ignored(weighs ? -log * weight : -log);
  const std::string& reduction = context.get_string("reduction");
  if (reduction == "none") return program.map(places, te::cast(dtype, loss));
  const te::StageValue losses = program.map(places, loss);
  const te::StageValue total = sum_over(program, {}, places, program.load(losses, reduce_axes(places.size())));
  if (reduction == "sum") return program.map({}, te::cast(dtype, program.load(total, {})));
  Expr count = count_as(wide, element_count(places).expr());
  if (weighs || ignores) {
    const te::StageValue weights = program.map(places, unless_ignored(weight));
    count = program.load(sum_over(program, {}, places, program.load(weights, reduce_axes(places.size()))), {});
  }
  return program.map({}, te::cast(dtype, program.load(total, {}) / count));
}

/// axis(0), class, axis(1), …: a place of the scores for one of the labels.
std::vector<Expr> scores_at(const OpContext& context, const Expr& label) {
  std::vector<Expr> at = te::axes(context.rank(kScores) - 1);
  at.insert(at.begin() + 1, label);
  return at;
}

Result<std::vector<ValueType>> infer_likelihood(const OpContext& context) {
  TRY(ValueType loss, loss_type(context));
  return std::vector{std::move(loss)};
}

Result<te::Program> compute_likelihood(const OpContext& context) {
  te::Program program;
  program.outputs = {
      loss_of(program, context, [&](const Expr& label) { return context.load(kScores, scores_at(context, label)); })};
  return program;
}

Result<std::vector<ValueType>> infer_cross_entropy(const OpContext& context) {
  TRY(ValueType loss, loss_type(context));
  return std::vector{std::move(loss), ValueType::tensor(context.dtype(kScores), context.shape(kScores))};
}

Result<te::Program> compute_cross_entropy(const OpContext& context) {
  const DataType dtype = context.dtype(kScores), wide = accumulator(dtype);
  const Shape& shape = context.shape(kScores);
  Shape places = shape;
  places.erase(places.begin() + 1);
  const auto rank = static_cast<int>(places.size());
  te::Program program;
  const auto along_classes = [&](const Expr& label) { return scores_at(context, label); };
  std::vector<Expr> place = te::axes(rank + 1);
  place.erase(place.begin() + 1);
  const te::StageValue greatest =
      program.reduce(places, {shape[1]}, te::maximum(dtype), context.load(kScores, along_classes(te::reduce_axis(0))));
  const te::StageValue shifted = program.map(
      shape, te::cast(wide, context.load(kScores, te::axes(rank + 1))) - te::cast(wide, program.load(greatest, place)));
  const te::StageValue sum =
      sum_over(program, places, {shape[1]}, te::exp(program.load(shifted, along_classes(te::reduce_axis(0)))));
  const te::StageValue logs = program.map(
      shape, te::cast(dtype, program.load(shifted, te::axes(rank + 1)) - te::log(program.load(sum, place))));
  program.outputs.resize(2);
  program.outputs[0] =
      loss_of(program, context, [&](const Expr& label) { return program.load(logs, along_classes(label)); });
  if (context.wants_output(1)) program.outputs[1] = logs;
  return program;
}

}  // namespace

std::vector<OpDef> loss() {
  const std::vector<TypeVariable> types = {{"T", kFloats}, {"Tind", kIndices}};
  const std::vector<AttributeDef> attributes = {optional("ignore_index", AttributeKind::kInt),
                                                with_default("reduction", "mean")};
  return {
      {.name = "NegativeLogLikelihoodLoss",
       .since = 22,
       .inputs = {"input", "target:Tind", "weight?"},
       .outputs = {"loss"},
       .types = types,
       .attributes = attributes,
       .versions = {{13}, {12}},
       .infer = infer_likelihood,
       .compute = compute_likelihood},

      {.name = "SoftmaxCrossEntropyLoss",
       .since = 13,
       .inputs = {"scores", "labels:Tind", "weights?"},
       .outputs = {"output", "log_prob?"},
       .types = types,
       .attributes = attributes,
       .versions = {{12}},
       .infer = infer_cross_entropy,
       .compute = compute_cross_entropy},
  };
}

}  // namespace isomer::ops
