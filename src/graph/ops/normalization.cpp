// BatchNormalization InstanceNormalization GroupNormalization: channels scaled by their statistics.
#include <algorithm>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"
#include "graph/ops/statistics.h"

namespace isomer::ops {
namespace {

// BatchNormalization with the statistics that training left.

Result<std::vector<ValueType>> infer_batch(const OpContext& context) {
  if (const int64_t mode = context.get_int("training_mode"); mode != 0)
    return context.unsupported("training_mode 0 expected, {} found", mode);
  if (context.wants_output(1) || context.wants_output(2))
    return context.unsupported("one output expected, running statistics found");
  TRY_VOID(require_rank(context, 1));
  const Dim channels = context.rank(0) > 1 ? context.dim(0, 1) : Dim(1);
  for (int i = 1; i <= 4; ++i) TRY_VOID(expect_shape(context, i, {channels}));
  const ValueType none{};
  return std::vector{ValueType::tensor(context.dtype(0), context.shape(0)), none, none};
}

Result<te::Program> compute_batch(const OpContext& context) {
  const DataType dtype = context.dtype(0);
  DataType wide = accumulator(dtype);
  for (int i = 1; i <= 4; ++i)
    if (bit_width(context.dtype(i)) > bit_width(wide)) wide = context.dtype(i);
  const auto parameter = [&](int i) {
    return te::cast(wide, context.load(i, {context.rank(0) > 1 ? te::axis(1) : te::index(0)}));
  };
  const te::Expr x = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr normal = (x - parameter(3)) / te::sqrt(parameter(4) + epsilon(context, wide));
  te::Program program = single_map(context.shape(0), te::cast(dtype, normal * parameter(1) + parameter(2)));
  program.outputs.resize(3);
  return program;
}

/// Opsets 7 to 13 had mean, var, saved_mean and saved_var as outputs of training.
Result<void> require_inference(NodeForm& form) {
  for (int i = 1; i < 5; ++i)
    if (form.has_output(i)) return form.unsupported("outputs of training");
  form.node().outputs.resize(1);
  return {};
}

/// spatial = 0: one scale, bias, mean and variance an element instead of a channel.
Result<void> normalize_each_element(NodeForm& form) {
  TRY(const auto eps, form.take_float("epsilon"));
  if (!form.has_input(4) || !is_float(form.type(4).dtype))
    return form.unsupported("a variance of known float type expected");
  TRY(const ValueId centered, form.emit("Sub", {form.input(0), form.input(3)}));
  TRY(const ValueId variance,
      form.emit("Add", {form.input(4), form.scalar(form.type(4).dtype, eps.value_or(kEpsilon), "epsilon")}));
  TRY(const ValueId deviation, form.emit("Sqrt", {variance}));
  TRY(const ValueId normal, form.emit("Div", {centered, deviation}));
  TRY(const ValueId scaled, form.emit("Mul", {normal, form.input(1)}));
  return form.emit_as(0, "Add", {scaled, form.input(2)});
}

Result<void> lift_spatial(NodeForm& form) {
  TRY_VOID(require_inference(form));
  TRY(const auto spatial, form.take_int("spatial"));
  return spatial.value_or(1) != 0 ? Result<void>() : normalize_each_element(form);
}

/// Opset 6 said by is_test that it does not train; files leave it out too.
Result<void> lift_is_test(NodeForm& form) {
  TRY_VOID(drop_consumed_inputs(form));
  TRY(const auto is_test, form.take_int("is_test"));
  if (is_test.value_or(1) == 0) return form.unsupported("is_test = 0");
  return lift_spatial(form);
}

Result<void> lower_is_test(NodeForm& form) {
  form.drop("training_mode");
  form.set("is_test", int64_t{1});
  return {};
}

Result<void> lower_consumed_inputs(NodeForm& form) {
  form.set("consumed_inputs", std::vector<int64_t>(5));
  return lower_is_test(form);
}

// InstanceNormalization, GroupNormalization: statistics of the channel, or of a group of channels, of one instance.

Result<std::vector<ValueType>> infer_instance(const OpContext& context) {
  TRY_VOID(require_rank(context, 3));
  for (int i = 1; i <= 2; ++i) TRY_VOID(expect_shape(context, i, {context.dim(0, 1)}));
  return same_as_first(context);
}

/// (x - mean) * (1 / sqrt(variance + epsilon)), with the statistics of instance axis(0) and group `group`, in their
/// type.
te::Expr standardized(const OpContext& context, const te::Program& program, const Moments& statistics,
                      const te::Expr& group) {
  const DataType wide = program.dtype(statistics.mean);
  const te::Expr x = te::cast(wide, context.load(0, te::axes(context.rank(0))));
  const te::Expr deviation = te::sqrt(program.load(statistics.variance, {te::axis(0), group}) + epsilon(context, wide));
  return (x - program.load(statistics.mean, {te::axis(0), group})) * (te::literal(1, wide) / deviation);
}

Result<te::Program> compute_instance(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Shape spatial = tail_of(x, 2);
  te::Program program;
  const Moments statistics =
      moments(program, {x[0], x[1]}, spatial,
              te::cast(wide, context.load(0, joined({te::axis(0), te::axis(1)}, reduce_axes(spatial.size())))));
  const auto parameter = [&](int i) { return te::cast(wide, context.load(i, {te::axis(1)})); };
  const te::Expr normal = standardized(context, program, statistics, te::axis(1));
  program.outputs = {program.map(x, te::cast(dtype, normal * parameter(1) + parameter(2)))};
  return program;
}

Result<std::vector<ValueType>> infer_group(const OpContext& context) {
  TRY_VOID(require_rank(context, 2));
  TRY_VOID(stash_type(context));
  const int64_t groups = context.get_int("num_groups");
  const Dim& channels = context.dim(0, 1);
  if (groups < 1 || (channels.is_constant() && channels.value() % groups != 0))
    return context.invalid("num_groups that divides {} channels expected, {} found", channels.text(), groups);
  for (int i = 1; i <= 2; ++i) TRY_VOID(expect_shape(context, i, {channels}));
  return same_as_first(context);
}

Result<te::Program> compute_group(const OpContext& context) {
  const Shape& x = context.shape(0);
  const DataType dtype = context.dtype(0);
  TRY(const DataType wide, stash_type(context));
  const Dim groups = context.get_int("num_groups");
  const Dim per_group = floor_div(x[1], groups);
  const Shape reduced = concatenated({per_group}, tail_of(x, 2));
  std::vector<te::Expr> index = joined({te::axis(0)}, reduce_axes(reduced.size()));
  index[1] = te::axis(1) * per_group.expr() + index[1];
  te::Program program;
  const Moments statistics = moments(program, {x[0], groups}, reduced, te::cast(wide, context.load(0, index)));
  const te::Expr group = te::floor_div(te::axis(1), per_group.expr());
  const te::Expr normal = te::cast(dtype, standardized(context, program, statistics, group));
  program.outputs = {program.map(x, normal * context.load(1, {te::axis(1)}) + context.load(2, {te::axis(1)}))};
  return program;
}

Result<ValueId> emit_reshape(NodeForm& form, ValueId value, std::vector<int64_t> shape) {
  return form.emit("Reshape", {value, form.ints(std::move(shape), "shape")});
}

/// Scale and bias of opset 18 have one element a group: repeated for each channel of it.
Result<void> repeat_for_channels(NodeForm& form) {
  const auto* groups =
      form.has("num_groups") ? std::get_if<int64_t>(&form.node().attributes.at("num_groups")) : nullptr;
  const bool known = form.has_rank(0) && form.rank(0) >= 2 && (*form.type(0).shape)[1].is_constant();
  if (!groups || *groups < 1 || !known) return form.unsupported("a known number of channels expected");
  const int64_t per_group = (*form.type(0).shape)[1].value() / *groups;
  for (const int i : {1, 2}) {
    TRY(const ValueId column, emit_reshape(form, form.input(i), {-1, 1}));
    TRY(const ValueId repeated, form.emit("Expand", {column, form.ints({1, per_group}, "shape")}));
    TRY(const ValueId vector, emit_reshape(form, repeated, {-1}));
    form.set_input(i, vector);
  }
  return {};
}

Result<void> expand_group(NodeForm& form) {
  TRY(const auto groups, form.take_int("num_groups"));
  TRY(const auto eps, form.take_float("epsilon"));
  TRY(const DataType wide, take_stash_type(form));
  if (!form.has_rank(0)) return form.unsupported("a known rank expected");
  const DataType dtype = form.type(0).dtype;
  TRY(const ValueId x, emit_cast(form, form.input(0), wide));
  TRY(const ValueId grouped, emit_reshape(form, x, {0, groups.value_or(1), -1}));
  TRY(const Standardized normal, emit_standardized(form, grouped, {2}, eps.value_or(kEpsilon)));
  TRY(const ValueId shape, form.emit("Shape", {form.input(0)}));
  TRY(const ValueId restored, form.emit("Reshape", {normal.value, shape}));
  TRY(const ValueId narrow, emit_cast(form, restored, dtype));
  std::vector<int64_t> per_channel(form.rank(0) - 1, 1);
  per_channel[0] = -1;
  TRY(const ValueId scale, emit_reshape(form, form.input(1), per_channel));
  TRY(const ValueId bias, emit_reshape(form, form.input(2), per_channel));
  TRY(const ValueId scaled, form.emit("Mul", {narrow, scale}));
  return form.emit_as(0, "Add", {scaled, bias});
}

/// What repeat_for_channels repeated.
ValueId before_repeating(const Graph& graph, ValueId vector, const Shape& groups) {
  const Pattern pattern(graph);
  ValueId source = vector;
  for (const std::string_view op_type : {"Reshape", "Expand", "Reshape"}) {
    const Node* node = pattern.producer(source, op_type);
    if (!node) return {};
    source = node->inputs[0];
  }
  return graph.value(source).type.shape == groups ? source : ValueId();
}

/// The first element of each group, where the others have the same bytes.
std::optional<Tensor> first_of_groups(const Tensor& vector, int64_t groups) {
  const auto size = static_cast<int64_t>(vector.bytes().size()) / vector.count();
  const int64_t per_group = vector.count() / groups;
  std::vector<std::byte> first;
  for (int64_t k = 0; k < vector.count(); ++k) {
    const auto element = vector.bytes().subspan(k * size, size);
    if (k % per_group == 0) first.insert(first.end(), element.begin(), element.end());
    if (!std::ranges::equal(element, std::span(first).last(size))) return std::nullopt;
  }
  return Tensor(vector.dtype(), {groups}, std::move(first));
}

/// The way back, where scale and bias are the same for all channels of a group.
Result<void> one_for_each_group(NodeForm& form) {
  const auto groups = std::get<int64_t>(form.node().attributes.at("num_groups"));
  const bool known = form.has_rank(1) && form.type(1).shape->front().is_constant();
  const int64_t channels = known ? form.type(1).shape->front().value() : 0;
  NodeForm lowered = form;
  TRY(const DataType wide, take_stash_type(lowered));
  if (channels == 0 || wide != accumulator(form.type(0).dtype)) return expand_group(form);
  for (const int i : {1, 2}) {
    if (channels == groups) break;
    if (const ValueId source = before_repeating(form.graph(), form.input(i), {groups}); source.valid()) {
      lowered.set_input(i, source);
      continue;
    }
    const auto first = form.constant(i) ? first_of_groups(*form.constant(i), groups) : std::nullopt;
    if (!first) return expand_group(form);
    lowered.set_input(i, form.constant(*first, i == 1 ? "scale" : "bias"));
  }
  form.node() = lowered.node();
  return {};
}

}  // namespace

std::vector<OpDef> normalization() {
  return {
      {.name = "BatchNormalization",
       .since = 15,
       .inputs = {"X", "scale:T1", "B:T1", "input_mean:T2", "input_var:T2"},
       .outputs = {"Y", "running_mean?:T2", "running_var?:T2"},
       .types = {{"T", kFloats}, {"T1", kFloats}, {"T2", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon), with_default("momentum", 0.9f),
                      with_default("training_mode", 0)},
       .versions = {{14},
                    {9, require_inference, without(9, {"training_mode"}).from_newest},
                    {7, lift_spatial, without(7, {"training_mode"}).from_newest},
                    {6, lift_is_test, lower_is_test},
                    {1, lift_is_test, lower_consumed_inputs}},
       .infer = infer_batch,
       .compute = compute_batch,
       // A scale and a shift of each channel: what it makes of ones, unshifted, and of zeros.
       .axioms = {{"BatchNormalization(x,s,b,m,v){..p} = Add(Mul(x,BatchNormalization(Unsqueeze(Add(Mul(s,0),1"
                   ")){axes=[0]},s,Mul(s,0),Mul(s,0),v){..p}),BatchNormalization(Unsqueeze(Mul(s,0)){axes=[0]}"
                   ",s,b,m,v){..p}) if x_rank == 2 && s_rank == 1 && b_rank == 1 && m_rank == 1 && v_rank == 1",
                   "ranked", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = Add(Mul(x,BatchNormalization(Unsqueeze(Add(Mul(s,0),1"
                   ")){axes=[0,2]},s,Mul(s,0),Mul(s,0),v){..p}),BatchNormalization(Unsqueeze(Mul(s,0)){axes=[0"
                   ",2]},s,b,m,v){..p}) if x_rank == 3 && s_rank == 1 && b_rank == 1 && m_rank == 1 && v_rank "
                   "== 1",
                   "images", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = Add(Mul(x,BatchNormalization(Unsqueeze(Add(Mul(s,0),1"
                   ")){axes=[0,2,3]},s,Mul(s,0),Mul(s,0),v){..p}),BatchNormalization(Unsqueeze(Mul(s,0)){axes="
                   "[0,2,3]},s,b,m,v){..p}) if x_rank == 4 && s_rank == 1 && b_rank == 1 && m_rank == 1 && v_r"
                   "ank == 1",
                   "images", FloatClass::kReassociated},
                  {"BatchNormalization(x,s,b,m,v){..p} = Add(Mul(x,BatchNormalization(Unsqueeze(Add(Mul(s,0),1"
                   ")){axes=[0,2,3,4]},s,Mul(s,0),Mul(s,0),v){..p}),BatchNormalization(Unsqueeze(Mul(s,0)){axe"
                   "s=[0,2,3,4]},s,b,m,v){..p}) if x_rank == 5 && s_rank == 1 && b_rank == 1 && m_rank == 1 &&"
                   " v_rank == 1",
                   "images", FloatClass::kReassociated}}},

      {.name = "InstanceNormalization",
       .since = 22,
       .inputs = {"input", "scale", "B"},
       .outputs = {"output"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon)},
       .versions = {{6}, {1, drop_consumed_inputs}},
       .infer = infer_instance,
       .compute = compute_instance},

      {.name = "GroupNormalization",
       .since = 21,
       .inputs = {"X", "scale", "bias"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("epsilon", kEpsilon), required("num_groups", AttributeKind::kInt),
                      with_default("stash_type", 1)},
       .versions = {{18, repeat_for_channels, one_for_each_group}},
       .infer = infer_group,
       .compute = compute_group,
       .expand = expand_group},
  };
}

}  // namespace isomer::ops
