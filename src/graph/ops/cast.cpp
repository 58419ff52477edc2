// Cast CastLike Identity Dropout: the same elements, at most in another type.
#include <array>
#include <utility>

#include "graph/ops/common.h"
#include "graph/ops/minifloat_casts.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

/// Output 0 in the given type.
Result<std::vector<ValueType>> infer_cast_to(const OpContext& context, DataType to) {
  if (!is_computable(to)) return context.unsupported("the output has type {}", name(to));
  return one(to, context.shape(0));
}

Result<MinifloatRounding> rounding_of(const OpContext& context) {
  using Mode = MinifloatRounding::Mode;
  static constexpr std::array<std::pair<std::string_view, Mode>, 3> kModes = {
      {{"up", Mode::kUp}, {"down", Mode::kDown}, {"nearest", Mode::kNearest}}};
  const std::string& written = context.get_string("round_mode");
  for (const auto& [name, mode] : kModes)
    if (written == name) return MinifloatRounding{context.get_int("saturate") != 0, mode};
  return context.invalid("'up', 'down' or 'nearest' expected as round_mode, '{}' found", written);
}

Result<std::vector<ValueType>> infer_cast(const OpContext& context) {
  if (const auto rounding = rounding_of(context); !rounding.ok()) return rounding.error();
  const int64_t to = context.get_int("to");
  if (!is_known_data_type(to)) return context.invalid("a data type expected as attribute 'to', {} found", to);
  return infer_cast_to(context, static_cast<DataType>(to));
}

Result<te::Program> compute_cast(const OpContext& context) {
  TRY(const auto types, context.op().infer(context));
  TRY(const MinifloatRounding rounding, rounding_of(context));
  const Shape& shape = context.shape(0);
  return single_map(shape, cast_number(types[0].dtype, context.load_broadcast(0, shape), rounding));
}

Result<std::vector<ValueType>> infer_cast_like(const OpContext& context) {
  return infer_cast_to(context, context.dtype(1));
}

Result<void> expand_cast_like(NodeForm& form) {
  if (!form.type(1).is_tensor()) return form.unsupported("target_type of known type expected");
  Attributes attributes = {{"to", static_cast<int64_t>(form.type(1).dtype)}};
  TRY(const auto saturate, form.take_int("saturate"));
  if (saturate) attributes.emplace("saturate", *saturate);
  TRY(const auto round_mode, form.take_string("round_mode"));
  if (round_mode) attributes.emplace("round_mode", *round_mode);
  return form.emit_as(0, "Cast", {form.input(0)}, std::move(attributes));
}

std::optional<Spelling> spell_cast(const ElementMap& map) {
  const DataType to = map.to.dtype;
  const bool is_plain = kPlain.contains(map.from.dtype) && kPlain.contains(to);
  if (!keeps_places(map) || map.from.dtype == to || !is_plain) return std::nullopt;
  return Spelling{.attributes = {{"to", static_cast<int64_t>(to)}}};
}

std::optional<Spelling> spell_identity(const ElementMap& map) {
  return map.from == map.to && keeps_places(map) ? std::optional(Spelling()) : std::nullopt;
}

/// Opsets before 19 have no types that saturate.
Result<void> drop_saturate(NodeForm& form) {
  form.drop("round_mode");
  form.drop("saturate");
  return {};
}

/// Of float8e8m0 only; the other types are rounded to nearest.
Result<void> drop_round_mode(NodeForm& form) {
  TRY(const auto mode, form.take_string("round_mode"));
  TRY(const auto to, form.take_int("to"));
  if (to) form.set("to", *to);
  const auto made = form.has_input(1) ? form.type(1).dtype : static_cast<DataType>(to.value_or(0));
  if (mode.value_or("up") != "up" && made == DataType::kFloat8E8M0)
    return form.unsupported("round_mode up expected, {} found", *mode);
  return {};
}

/// Opset 1 named the type by its enumerator.
constexpr std::array<std::pair<std::string_view, DataType>, 12> kTypeNames = {{
    {"FLOAT", DataType::kFloat32},
    {"UINT8", DataType::kUInt8},
    {"INT8", DataType::kInt8},
    {"UINT16", DataType::kUInt16},
    {"INT16", DataType::kInt16},
    {"INT32", DataType::kInt32},
    {"INT64", DataType::kInt64},
    {"BOOL", DataType::kBool},
    {"FLOAT16", DataType::kFloat16},
    {"DOUBLE", DataType::kFloat64},
    {"UINT32", DataType::kUInt32},
    {"UINT64", DataType::kUInt64},
}};

Result<void> type_by_number(NodeForm& form) {
  TRY(const auto written, form.take_string("to"));
  for (const auto& [name, type] : kTypeNames)
    if (written == name) form.set("to", static_cast<int64_t>(type));
  if (!form.has("to"))
    return form.invalid("the name of a data type expected as attribute 'to', '{}' found", written.value_or(""));
  return {};
}

Result<void> type_by_name(NodeForm& form) {
  TRY_VOID(drop_saturate(form));
  TRY(const auto to, form.take_int("to"));
  for (const auto& [name, type] : kTypeNames)
    if (to == static_cast<int64_t>(type)) form.set("to", std::string(name));
  if (!form.has("to")) return form.unsupported("a type that opset 1 has expected");
  return {};
}

// Dropout, as inference runs it.

Result<std::vector<ValueType>> infer_dropout(const OpContext& context) {
  if (context.has_input(2)) {
    const auto training = context.scalar_int(2);
    const auto ratio = context.has_input(1) ? context.reals(1) : std::vector<double>{0.5};
    const bool keeps_all = ratio && ratio->size() == 1 && ratio->front() == 0;
    if (training != 0 && !keeps_all) return context.unsupported("training mode drops at random");
  }
  return std::vector{ValueType::tensor(context.dtype(0), context.shape(0)),
                     ValueType::tensor(DataType::kBool, context.shape(0))};
}

Result<te::Program> compute_dropout(const OpContext& context) {
  TRY_VOID(infer_dropout(context));
  const Shape& shape = context.shape(0);
  te::Program program = single_map(shape, context.load_broadcast(0, shape));
  program.outputs.emplace_back();
  if (context.wants_output(1)) program.outputs[1] = program.map(shape, te::truth(true));
  return program;
}

/// Up to opset 11 the ratio is an attribute and the node never trains.
Result<void> ratio_to_input(NodeForm& form) {
  TRY(const auto ratio, form.take_float("ratio"));
  if (ratio) form.set_input(1, form.scalar(DataType::kFloat32, *ratio, "ratio"));
  return {};
}

Result<void> ratio_to_attribute(NodeForm& form) {
  const auto training = form.ints(2);
  if (form.has_input(2) && (!training || training->size() != 1 || training->front() != 0))
    return form.unsupported("inference mode expected");
  form.drop("seed");
  if (const Tensor* ratio = form.constant(1); ratio && ratio->count() == 1)
    form.set("ratio", static_cast<float>(ratio->real(0)));
  form.drop_inputs_from(1);
  return {};
}

/// Up to opset 9 the mask has the type of the data.
Result<void> mask_of_data_type(NodeForm& form) {
  TRY_VOID(ratio_to_input(form));
  if (!form.has_output(1)) return {};
  if (!form.type(0).is_tensor()) return form.unsupported("data of known type expected");
  const ValueId mask = form.detour(1);
  form.emit_after("Cast", {form.node().outputs[1]}, {{"to", static_cast<int64_t>(form.type(0).dtype)}}, mask);
  return {};
}

/// The way back: the node that mask_of_data_type put behind the mask goes, or another one makes a bool of it.
Result<void> mask_to_data_type(NodeForm& form) {
  TRY_VOID(ratio_to_attribute(form));
  if (!form.has_output(1)) return {};
  if (!form.type(0).is_tensor()) return form.unsupported("data of known type expected");
  Graph& graph = form.graph();
  const Pattern pattern(graph);
  const ValueId mask = form.node().outputs[1];
  const std::vector<NodeId> readers = graph.consumers()[mask.index];
  const Node* cast = readers.size() == 1 && pattern.used_once(mask) ? pattern.node(readers[0], "Cast") : nullptr;
  if (cast && graph.value(cast->outputs[0]).type.dtype == form.type(0).dtype) {
    const ValueId number = cast->outputs[0];
    graph.remove_node(readers[0]);
    form.node().outputs[1] = number;
    return {};
  }
  const ValueId original = form.detour(1);
  graph.edit(form.node().outputs[1]).type = form.type(0);
  form.emit_after("Cast", {form.node().outputs[1]}, {{"to", static_cast<int64_t>(DataType::kBool)}}, original);
  return {};
}

/// Up to opset 6 the node trains unless is_test is set.
Result<void> only_in_test(NodeForm& form) {
  form.drop("consumed_inputs");
  TRY(const auto is_test, form.take_int("is_test"));
  if (is_test.value_or(0) == 0) return form.unsupported("training mode drops at random");
  return mask_of_data_type(form);
}

Result<void> mark_as_test(NodeForm& form) {
  TRY_VOID(mask_to_data_type(form));
  form.set("is_test", int64_t{1});
  return {};
}

}  // namespace

std::vector<OpDef> cast() {
  return {
      {.name = "Cast",
       .since = 24,
       .inputs = {"input:T1"},
       .outputs = {"output:T2"},
       .types = {{"T1", kComputable}, {"T2", kComputable}},
       .attributes = {with_default("round_mode", "up"), with_default("saturate", 1),
                      required("to", AttributeKind::kInt)},
       .versions = {{21, nullptr, drop_round_mode},
                    {19, nullptr, drop_round_mode},
                    {13, nullptr, drop_saturate},
                    {9, nullptr, drop_saturate},
                    {6, nullptr, drop_saturate},
                    {1, type_by_number, type_by_name}},
       .infer = infer_cast,
       .compute = compute_cast,
       .spell = spell_cast},

      {.name = "CastLike",
       .since = 24,
       .inputs = {"input:T1", "target_type:T2"},
       .outputs = {"output:T2"},
       .types = {{"T1", kComputable}, {"T2", kComputable}},
       .attributes = {with_default("round_mode", "up"), with_default("saturate", 1)},
       .versions = {{21, nullptr, drop_round_mode}, {19, nullptr, drop_round_mode}, {15, nullptr, drop_saturate}},
       .infer = infer_cast_like,
       .compute = compute_cast,
       .expand = expand_cast_like},

      {.name = "Identity",
       .since = 21,
       .inputs = {"input:V"},
       .outputs = {"output:V"},
       .types = {{"V", kComputable}},
       .versions = {{19}, {16}, {14}, {13}, {1}},
       .infer = same_as_first,
       .compute = pointwise([](te::Expr x) { return x; }),
       .spell = spell_identity},

      {.name = "Dropout",
       .since = 22,
       .inputs = {"data", "ratio?:T1", "training_mode?:T2"},
       .outputs = {"output", "mask?:T2"},
       .types = {{"T", kFloats | kFloat8s}, {"T1", kFloats | kFloat8s}, {"T2", kBoolean}},
       .attributes = {optional("seed", AttributeKind::kInt)},
       .versions = {{13},
                    {12},
                    {10, ratio_to_input, ratio_to_attribute},
                    {7, mask_of_data_type, mask_to_data_type},
                    {6, only_in_test, mark_as_test},
                    {1, only_in_test, mark_as_test}},
       .infer = infer_dropout,
       .compute = compute_dropout},
  };
}

}  // namespace isomer::ops
