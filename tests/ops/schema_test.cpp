// Rows against the operator schemas of the packaged libonnx (opsets up to 17): versions, parameters, attributes, types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "graph/onnx/arity.h"
#include "graph/op_def.h"

namespace isomer {
namespace {

constexpr int kNewestOpset = 17;  ///< of the packaged libonnx
constexpr int kOldestOpset = 6;   ///< from which on no version may be missing

/// A standard operator's schemas by version.
using History = std::map<int, onnx::OpSchema>;

const History& history(std::string_view name) {
  static const auto all = [] {
    std::map<std::string, History, std::less<>> result;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
      if (schema.domain().empty()) result[schema.Name()].emplace(schema.SinceVersion(), schema);
    return result;
  }();
  static const History none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

std::string arity(Parameter::Arity arity) {
  switch (arity) {
    case Parameter::Arity::kRequired: return "required";
    case Parameter::Arity::kOptional: return "optional";
    case Parameter::Arity::kVariadic: return "variadic";
  }
  return "";
}

std::string arity(onnx::OpSchema::FormalParameterOption option) {
  switch (option) {
    case onnx::OpSchema::Single: return arity(Parameter::Arity::kRequired);
    case onnx::OpSchema::Optional: return arity(Parameter::Arity::kOptional);
    case onnx::OpSchema::Variadic: return arity(Parameter::Arity::kVariadic);
  }
  return "";
}

std::vector<std::string> texts(const std::vector<Parameter>& parameters) {
  std::vector<std::string> result;
  for (const Parameter& p : parameters) result.push_back(fmt::format("{} {}", arity(p.arity), p.name));
  return result;
}

std::vector<std::string> texts(const std::vector<onnx::OpSchema::FormalParameter>& parameters) {
  std::vector<std::string> result;
  for (const auto& p : parameters) result.push_back(fmt::format("{} {}", arity(p.GetOption()), p.GetName()));
  return result;
}

/// "axis: int = 1", "kernel_shape: ints, required", "pads: ints"
std::string text(std::string_view kind, std::string_view name, bool required, const std::string& fallback) {
  return fmt::format("{}: {}{}{}", name, kind, required ? ", required" : "", fallback.empty() ? "" : " = " + fallback);
}

template <class Range>
std::string joined(const Range& range) {
  return fmt::format("[{}]", fmt::join(range, ","));
}

std::string text(const AttributeDef& def) {
  static const std::map<AttributeKind, std::string> kinds = {
      {AttributeKind::kInt, "int"},       {AttributeKind::kFloat, "float"},    {AttributeKind::kString, "string"},
      {AttributeKind::kTensor, "tensor"}, {AttributeKind::kGraph, "graph"},    {AttributeKind::kInts, "ints"},
      {AttributeKind::kFloats, "floats"}, {AttributeKind::kStrings, "strings"}};
  std::string fallback;
  if (def.fallback)
    fallback = std::visit(
        [](const auto& value) -> std::string {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, float> || std::is_same_v<T, std::string>)
            return fmt::format("{}", value);
          else if constexpr (std::is_same_v<T, std::vector<int64_t>> || std::is_same_v<T, std::vector<float>> ||
                             std::is_same_v<T, std::vector<std::string>>)
            return joined(value);
          else
            return "a default that schemas do not have";
        },
        *def.fallback);
  return text(kinds.at(def.kind), def.name, def.required, fallback);
}

std::string text(const onnx::OpSchema::Attribute& attribute) {
  using onnx::AttributeProto;
  static const std::map<int, std::string> kinds = {
      {AttributeProto::INT, "int"},       {AttributeProto::FLOAT, "float"},    {AttributeProto::STRING, "string"},
      {AttributeProto::TENSOR, "tensor"}, {AttributeProto::GRAPH, "graph"},    {AttributeProto::INTS, "ints"},
      {AttributeProto::FLOATS, "floats"}, {AttributeProto::STRINGS, "strings"}};
  const AttributeProto& value = attribute.default_value;
  std::string fallback;
  switch (value.type()) {
    case AttributeProto::INT: fallback = fmt::format("{}", value.i()); break;
    case AttributeProto::FLOAT: fallback = fmt::format("{}", value.f()); break;
    case AttributeProto::STRING: fallback = value.s(); break;
    case AttributeProto::INTS: fallback = joined(value.ints()); break;
    case AttributeProto::FLOATS: fallback = joined(value.floats()); break;
    case AttributeProto::STRINGS: fallback = joined(value.strings()); break;
    default: break;
  }
  const auto kind = kinds.find(attribute.type);
  return text(kind == kinds.end() ? "another" : kind->second, attribute.name, attribute.required, fallback);
}

std::vector<std::string> attribute_texts(const OpDef& op) {
  std::vector<std::string> result;
  for (const AttributeDef& def : op.attributes) result.push_back(text(def));
  return result;
}

/// Those of kinds that we read.
std::vector<std::string> attribute_texts(const onnx::OpSchema& schema) {
  std::vector<std::string> result;
  for (const auto& [name, attribute] : schema.attributes())
    if (attribute.type != onnx::AttributeProto::SPARSE_TENSOR && attribute.type != onnx::AttributeProto::TYPE_PROTO)
      result.push_back(text(attribute));
  return result;
}

TypeSet types_of(const OpDef& op, std::string_view variable) {
  for (const TypeVariable& known : op.types)
    if (known.name == variable) return known.types;
  return parse_data_type(variable);
}

/// "tensor(float)" as ours; kUndefined for what is no tensor.
DataType element_type(std::string text) {
  if (!text.starts_with("tensor(")) return DataType::kUndefined;
  text = text.substr(7, text.size() - 8);
  return parse_data_type(text == "float" ? "float32" : text == "double" ? "float64" : text);
}

void expect_types(const OpDef& op, const onnx::OpSchema& schema) {
  for (size_t i = 0; i < op.inputs.size() && i < schema.inputs().size(); ++i)
    for (const auto* type : schema.inputs()[i].GetTypes()) {
      const DataType dtype = element_type(*type);
      EXPECT_TRUE(!is_computable(dtype) || types_of(op, op.inputs[i].type).contains(dtype))
          << op.inputs[i].name << " may have type " << name(dtype) << " from opset " << schema.SinceVersion() << " on";
    }
}

class Schema : public testing::TestWithParam<const OpDef*> {
 protected:
  const OpDef& op() const { return *GetParam(); }
  const History& standard() const { return history(op().name); }
};

TEST_P(Schema, ListsEveryVersionOfTheStandard) {
  std::vector<int> listed;
  for (const Version& version : op().versions) listed.insert(listed.begin(), version.since);
  listed.push_back(op().since);
  EXPECT_THAT(listed, testing::WhenSorted(testing::ElementsAreArray(listed)));
  std::vector<int> expected;
  for (const auto& [since, schema] : standard()) {
    const auto next = std::next(standard().find(since));
    const bool in_use = next == standard().end() || next->first > kOldestOpset;
    if (in_use && !schema.Deprecated()) expected.push_back(since);
  }
  for (const int since : expected) EXPECT_THAT(listed, testing::Contains(since));
  for (const int since : listed)
    EXPECT_TRUE(since > kNewestOpset || standard().contains(since))
        << "version " << since << " is unknown to the standard";
}

TEST_P(Schema, NewestFormIsTheStandards) {
  if (op().since > kNewestOpset) return;
  const onnx::OpSchema& schema = standard().at(op().since);
  EXPECT_EQ(texts(op().inputs), texts(schema.inputs()));
  EXPECT_EQ(texts(op().outputs), texts(schema.outputs()));
  EXPECT_THAT(attribute_texts(op()), testing::UnorderedElementsAreArray(attribute_texts(schema)));
  expect_types(op(), schema);
}

/// What an older form has and the newest lacks needs `to_newest`; what it lacks needs `from_newest` and must be
/// optional.
TEST_P(Schema, FormsCalledTheSameAreTheSame) {
  for (const Version& version : op().versions) {
    if (version.since > kNewestOpset || version.to_newest) continue;
    SCOPED_TRACE(fmt::format("version {}", version.since));
    const onnx::OpSchema& schema = standard().at(version.since);
    const std::vector<std::string> old_inputs = texts(schema.inputs()), inputs = texts(op().inputs);
    const std::vector<std::string> old_outputs = texts(schema.outputs()), outputs = texts(op().outputs);
    EXPECT_LE(old_inputs.size(), inputs.size());
    EXPECT_LE(old_outputs.size(), outputs.size());
    for (size_t i = old_inputs.size(); i < inputs.size(); ++i) EXPECT_THAT(inputs[i], testing::StartsWith("optional"));
    const std::vector<std::string> attributes = attribute_texts(op());
    for (const std::string& attribute : attribute_texts(schema)) {
      const std::string relaxed = attribute.substr(0, attribute.find(", required"));
      EXPECT_THAT(attributes, testing::Contains(testing::AnyOf(attribute, relaxed)));
    }
    bool lacks_something = inputs.size() > old_inputs.size() || outputs.size() > old_outputs.size();
    for (const AttributeDef& def : op().attributes) {
      if (schema.attributes().contains(std::string(def.name))) continue;
      lacks_something = true;
      EXPECT_FALSE(def.required) << def.name;
    }
    EXPECT_TRUE(!lacks_something || version.from_newest);
    expect_types(op(), schema);
  }
}

/// A file of any version lists the outputs that its schema demands: those of the newest form are demanded by all.
TEST_P(Schema, EveryVersionDemandsTheSameOutputs) {
  Node node;
  node.op = &op();
  node.outputs.resize(1);
  for (const auto& [since, schema] : standard()) {
    const auto next = standard().upper_bound(since);
    if (next != standard().end() && next->first <= kOldestOpset) continue;
    SCOPED_TRACE(fmt::format("version {}", since));
    EXPECT_EQ(least_outputs(node), schema.min_output());
    for (size_t i = 0; i < schema.outputs().size() && i < op().outputs.size(); ++i)
      EXPECT_EQ(must_be_named(node, i), schema.outputs()[i].GetOption() != onnx::OpSchema::Optional) << i;
  }
}

/// As many inputs as its schema has at least, and at most.
TEST_P(Schema, NewestFormTakesAsManyInputs) {
  if (op().since > kNewestOpset) return;
  const onnx::OpSchema& schema = standard().at(op().since);
  const std::vector<Parameter>& inputs = op().inputs;
  int least = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].arity == Parameter::Arity::kRequired ||
        (inputs[i].arity == Parameter::Arity::kVariadic && !inputs[i].heterogeneous))
      least = static_cast<int>(i) + 1;
  EXPECT_EQ(least, schema.min_input());
  const bool endless = !inputs.empty() && inputs.back().arity == Parameter::Arity::kVariadic;
  EXPECT_EQ(endless, schema.max_input() == std::numeric_limits<int>::max());
  if (!endless) {
    EXPECT_EQ(static_cast<int>(inputs.size()), schema.max_input());
  }
}

std::vector<const OpDef*> standard_rows() {
  std::vector<const OpDef*> rows;
  for (const OpDef* op : all_ops())
    if (op->domain.empty() && op->name != "SimplifiedLayerNormalization") rows.push_back(op);  // ONNX Runtime's
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Rows, Schema, testing::ValuesIn(standard_rows()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace isomer
