// Rows against ONNX's schemas: versions, parameters, attributes, types. Those of opsets up to 17 are the packaged
// libonnx's, the newer ones a file's (schemas.txt, which scripts/generate_schemas.py writes).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "graph/onnx/arity.h"
#include "graph/onnx/versions.h"
#include "graph/op_def.h"
#include "support/files.h"

namespace isomer {
namespace {

constexpr int kNewestPackaged = 17;  ///< opset of the packaged libonnx
constexpr int kOldestOpset = 6;      ///< from which on no version may be missing

/// What a schema says, in the words of this test.
struct Form {
  bool deprecated = false;
  int least_inputs = 0, most_inputs = 0, least_outputs = 0;
  std::vector<std::string> inputs, outputs;  ///< "optional bias"
  std::vector<TypeSet> input_types;          ///< those that we compute with
  std::vector<std::string> attributes;       ///< "axis: int = 1"; those of kinds that we read
};

/// A standard operator's forms by version.
using History = std::map<int, Form>;

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

/// "tensor(float)" as ours; kUndefined for what is no tensor.
DataType element_type(std::string text) {
  if (!text.starts_with("tensor(")) return DataType::kUndefined;
  text = text.substr(7, text.size() - 8);
  return parse_data_type(text == "float" ? "float32" : text == "double" ? "float64" : text);
}

void add_type(TypeSet& types, const std::string& text) {
  if (const DataType dtype = element_type(text); is_computable(dtype)) types = types | dtype;
}

Form form_of(const onnx::OpSchema& schema) {
  Form form{.deprecated = schema.Deprecated(),
            .least_inputs = schema.min_input(),
            .most_inputs = schema.max_input(),
            .least_outputs = schema.min_output(),
            .inputs = texts(schema.inputs()),
            .outputs = texts(schema.outputs()),
            .input_types = {},
            .attributes = {}};
  for (const auto& input : schema.inputs()) {
    form.input_types.emplace_back();
    for (const auto* type : input.GetTypes()) add_type(form.input_types.back(), *type);
  }
  for (const auto& [name, attribute] : schema.attributes())
    if (attribute.type != onnx::AttributeProto::SPARSE_TENSOR && attribute.type != onnx::AttributeProto::TYPE_PROTO)
      form.attributes.push_back(text(attribute));
  return form;
}

/// The file's forms, in the place of those that are there.
void read_newer_forms(std::map<std::string, History, std::less<>>& all) {
  std::istringstream file(test::read_file(test::source_path("tests/ops/schemas.txt")));
  Form* form = nullptr;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, arity, name;
    words >> kind;
    if (kind == "form") {
      int version = 0;
      words >> name >> version;
      form = &all[name][version];
      *form = {};
      words >> form->least_inputs >> form->most_inputs >> form->least_outputs;
      if (form->most_inputs < 0) form->most_inputs = std::numeric_limits<int>::max();
    } else if (kind == "deprecated") {
      form->deprecated = true;
    } else if (kind == "attribute") {
      form->attributes.push_back(line.substr(kind.size() + 1));
    } else if (kind == "input" || kind == "output") {
      words >> arity >> name;
      (kind == "input" ? form->inputs : form->outputs).push_back(fmt::format("{} {}", arity, name));
      if (kind == "output") continue;
      form->input_types.emplace_back();
      for (std::string type; words >> type;) add_type(form->input_types.back(), type);
    }
  }
}

const History& history(std::string_view name) {
  static const auto all = [] {
    std::map<std::string, History, std::less<>> result;
    for (const onnx::OpSchema& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history())
      if (schema.domain().empty() && schema.SinceVersion() <= kNewestPackaged)
        result[schema.Name()].emplace(schema.SinceVersion(), form_of(schema));
    read_newer_forms(result);
    return result;
  }();
  static const History none;
  const auto found = all.find(name);
  return found == all.end() ? none : found->second;
}

std::vector<std::string> attribute_texts(const OpDef& op) {
  std::vector<std::string> result;
  for (const AttributeDef& def : op.attributes) result.push_back(text(def));
  return result;
}

TypeSet types_of(const OpDef& op, std::string_view variable) {
  for (const TypeVariable& known : op.types)
    if (known.name == variable) return known.types;
  return parse_data_type(variable);
}

void expect_types(const OpDef& op, const Form& form) {
  for (size_t i = 0; i < op.inputs.size() && i < form.inputs.size(); ++i)
    for (int code = 1; is_known_data_type(code); ++code)
      if (const auto dtype = static_cast<DataType>(code); form.input_types[i].contains(dtype)) {
        EXPECT_TRUE(types_of(op, op.inputs[i].type).contains(dtype))
            << op.inputs[i].name << " may have type " << name(dtype);
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
  for (const auto& [since, form] : standard()) {
    const auto next = std::next(standard().find(since));
    const bool in_use = next == standard().end() || next->first > kOldestOpset;
    if (in_use && since <= kNewestRowOpset && !form.deprecated) expected.push_back(since);
  }
  for (const int since : expected) EXPECT_THAT(listed, testing::Contains(since));
  for (const int since : listed)
    EXPECT_TRUE(standard().contains(since)) << "version " << since << " is unknown to the standard";
}

TEST_P(Schema, NewestFormIsTheStandards) {
  const Form& form = standard().at(op().since);
  EXPECT_EQ(texts(op().inputs), form.inputs);
  EXPECT_EQ(texts(op().outputs), form.outputs);
  EXPECT_THAT(attribute_texts(op()), testing::UnorderedElementsAreArray(form.attributes));
  expect_types(op(), form);
}

/// What an older form has and the newest lacks needs `to_newest`; what it lacks needs `from_newest` and must be
/// optional.
TEST_P(Schema, FormsCalledTheSameAreTheSame) {
  for (const Version& version : op().versions) {
    if (version.to_newest) continue;
    SCOPED_TRACE(fmt::format("version {}", version.since));
    const Form& form = standard().at(version.since);
    const std::vector<std::string> inputs = texts(op().inputs), outputs = texts(op().outputs);
    EXPECT_LE(form.inputs.size(), inputs.size());
    EXPECT_LE(form.outputs.size(), outputs.size());
    for (size_t i = form.inputs.size(); i < inputs.size(); ++i) EXPECT_THAT(inputs[i], testing::StartsWith("optional"));
    const std::vector<std::string> attributes = attribute_texts(op());
    for (const std::string& attribute : form.attributes) {
      const std::string relaxed = attribute.substr(0, attribute.find(", required"));
      EXPECT_THAT(attributes, testing::Contains(testing::AnyOf(attribute, relaxed)));
    }
    bool lacks_something = inputs.size() > form.inputs.size() || outputs.size() > form.outputs.size();
    for (const AttributeDef& def : op().attributes) {
      const auto is_it = [&](const std::string& text) { return text.starts_with(fmt::format("{}:", def.name)); };
      if (std::ranges::any_of(form.attributes, is_it)) continue;
      lacks_something = true;
      EXPECT_FALSE(def.required) << def.name;
    }
    EXPECT_TRUE(!lacks_something || version.from_newest);
    expect_types(op(), form);
  }
}

/// A file of any version lists the outputs that its schema demands: those of the newest form are demanded by all.
TEST_P(Schema, EveryVersionDemandsTheSameOutputs) {
  Node node;
  node.op = &op();
  node.outputs.resize(1);
  for (const auto& [since, form] : standard()) {
    const auto next = standard().upper_bound(since);
    if (next != standard().end() && next->first <= kOldestOpset) continue;
    SCOPED_TRACE(fmt::format("version {}", since));
    EXPECT_EQ(least_outputs(node), form.least_outputs);
    for (size_t i = 0; i < form.outputs.size() && i < op().outputs.size(); ++i)
      EXPECT_EQ(must_be_named(node, i), !form.outputs[i].starts_with("optional")) << i;
  }
}

/// As many inputs as its schema has at least, and at most.
TEST_P(Schema, NewestFormTakesAsManyInputs) {
  const Form& form = standard().at(op().since);
  const std::vector<Parameter>& inputs = op().inputs;
  int least = 0;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].arity != Parameter::Arity::kOptional) least = static_cast<int>(i) + 1;
  // The values that a body starts with may be none.
  if (inputs.empty() || !inputs.back().heterogeneous) {
    EXPECT_EQ(least, form.least_inputs);
  }
  const bool endless = !inputs.empty() && inputs.back().arity == Parameter::Arity::kVariadic;
  EXPECT_EQ(endless, form.most_inputs == std::numeric_limits<int>::max());
  if (!endless) {
    EXPECT_EQ(static_cast<int>(inputs.size()), form.most_inputs);
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
