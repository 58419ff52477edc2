// Cutting weights out of a model's bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/onnx/payloads.h"
#include "graph/onnx/wire.h"
#include "onnx/messages.h"

namespace isomer::test {
namespace {

using onnx_proto::ModelProto;
using testing::HasSubstr;

Result<CutModel> cut(const std::string& bytes, const ImportLimits& limits = {}) {
  return cut_payloads(std::as_bytes(std::span(bytes)), limits);
}

/// Tensors in every place that may hold one; each payload names its place.
const char* const kTensorsEverywhere = R"(
  ir_version: 10 opset_import { version: 21 }
  graph {
    initializer { name: "a" raw_data: "initializer" }
    sparse_initializer { values { raw_data: "values" } indices { raw_data: "indices" } }
    node { attribute { name: "t" t { raw_data: "attribute" } }
           attribute { name: "ts" tensors { raw_data: "first" } tensors { raw_data: "second" } }
           attribute { name: "s" sparse_tensor { values { raw_data: "sparse" } } }
           attribute { name: "g" g { initializer { raw_data: "body" } } } }
  }
  functions { name: "f" node { attribute { t { raw_data: "function" } } } }
  training_info { algorithm { initializer { raw_data: "training" } } })";

TEST(CutPayloads, FindsTheDataOfAllTensorsButThoseOfTraining) {
  const std::string bytes = model_message(kTensorsEverywhere).SerializeAsString();
  const auto result = cut(bytes);
  ASSERT_TRUE(result.ok()) << result.error().message();
  std::vector<std::string> found;
  for (const Payload& payload : result->payloads) found.push_back(bytes.substr(payload.offset, payload.size));
  EXPECT_THAT(found, testing::UnorderedElementsAre("initializer", "values", "indices", "attribute", "first", "second",
                                                   "sparse", "body", "function"));
  ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(result->remainder));
  EXPECT_EQ(rest.training_info(0).algorithm().initializer(0).raw_data(), "training");
  const auto& tensor = rest.graph().initializer(0);
  EXPECT_FALSE(tensor.has_raw_data());
  EXPECT_EQ(found.at(tensor.payload()), "initializer");
}

TEST(CutPayloads, KeepsEverythingElse) {
  ModelProto model = model_message(kTensorsEverywhere);
  model.mutable_graph()->mutable_unknown_fields()->AddLengthDelimited(999, "unknown");
  const auto result = cut(model.SerializeAsString());
  ASSERT_TRUE(result.ok());
  ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(result->remainder));
  const auto clear = [](auto& tensor) {
    tensor.clear_raw_data();
    tensor.clear_payload();
  };
  for (ModelProto* each : {&model, &rest}) {
    clear(*each->mutable_graph()->mutable_initializer(0));
    each->mutable_graph()->clear_sparse_initializer();
    each->mutable_graph()->clear_node();
    each->clear_functions();
  }
  EXPECT_EQ(rest.SerializeAsString(), model.SerializeAsString());
}

TEST(CutPayloads, IgnoresOurOwnMarksInAFile) {
  const char* const marked = R"(node { op_type: "Relu" opset: 7 } initializer { name: "w" payload: 3 })";
  ModelProto model = model_of_graph(marked);
  auto& training = *model.add_training_info();
  *training.mutable_initialization() = *training.mutable_algorithm() = model.graph();
  *model.add_functions()->add_node()->add_attribute()->mutable_g() = model.graph();
  const auto result = cut(model.SerializeAsString());
  ASSERT_TRUE(result.ok());
  ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(result->remainder));
  const auto& back = rest.training_info(0);
  for (const auto* graph :
       {&rest.graph(), &back.initialization(), &back.algorithm(), &rest.functions(0).node(0).attribute(0).g()}) {
    EXPECT_FALSE(graph->initializer(0).has_payload());
    EXPECT_FALSE(graph->node(0).has_opset());
  }
}

TEST(CutPayloads, OfDataGivenTwiceTakesTheLast) {
  std::string tensor;
  for (const std::string_view data : {"first", "last"}) {
    wire::append_tag(tensor, onnx_proto::TensorProto::kRawDataFieldNumber, wire::Type::kBytes);
    wire::append_varint(tensor, data.size());
    tensor += data;
  }
  ModelProto model = model_of_graph("");
  ASSERT_TRUE(model.mutable_graph()->add_initializer()->ParseFromString(tensor));
  std::string bytes = model.SerializeAsString();
  const auto result = cut(bytes);
  ASSERT_TRUE(result.ok());
  ModelProto rest;
  ASSERT_TRUE(rest.ParseFromString(result->remainder));
  const Payload& payload = result->payloads.at(rest.graph().initializer(0).payload());
  EXPECT_EQ(bytes.substr(payload.offset, payload.size), "last");
}

TEST(CutPayloads, SaysWhereBytesAreNoMessage) {
  std::string bytes = model_of_graph(R"(name: "g")").SerializeAsString();
  const size_t whole = bytes.size();
  bytes += "\xff";
  EXPECT_THAT(message_of(cut(bytes)), HasSubstr(fmt::format("no protocol buffer found at offset {}", whole)));
}

TEST(CutPayloads, SaysInWhichMessage) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"graph { node { } node { name: 'n' op_type: 'Op' attribute { name: 'a' ref_attr_name: 'longer than 9' } } }",
       "n (Op): attribute 'a': AttributeProto.ref_attr_name of at most 9 bytes expected, 13 found"},
      {"graph { node { op_type: 'Op' attribute { name: 'a' g { node { op_type: 'longer than 9' } } } } }",
       "node 0 (Op): attribute 'a'.g: node 0 (): NodeProto.op_type of"},
      {"graph { initializer { name: 'w' external_data { } } initializer { name: 'longer than 9' } }",
       "initializer[1]: TensorProto.name of"},
      {"graph { name: 'longer than 9' }", "graph: GraphProto.name of"},
      {"training_info { } training_info { algorithm { name: 'longer than 9' } }",
       "training_info[1].algorithm: GraphProto.name of"},
      {"producer_name: 'longer than 9'", "ModelProto.producer_name of"},
  };
  ImportLimits limits;
  limits.name_bytes = 9;
  for (const auto& [text, sentence] : cases)
    EXPECT_THAT(message_of(cut(model_message(text).SerializeAsString(), limits)), testing::StartsWith(sentence));
}

TEST(CutPayloads, TakesAttributesOfManyElements) {
  ModelProto model = model_of_graph("node { name: 'trees' attribute { name: 'modes' } attribute { name: 'weights' } }");
  auto& node = *model.mutable_graph()->mutable_node(0);
  for (int64_t k = 0; k < 2'000'000; ++k) {
    node.mutable_attribute(0)->add_strings("LEAF");
    node.mutable_attribute(1)->add_floats(1);
  }
  EXPECT_EQ(message_of(cut(model.SerializeAsString())), "");
}

TEST(CutPayloads, TakesAsManyNodesAsItsLimitSays) {
  const std::string node =
      model_of_graph("node { input: 'a' output: 'b' op_type: 'Relu' }").graph().SerializeAsString();
  std::string graph;
  for (int64_t k = 0; k < ImportLimits().nodes; ++k) graph += node;
  std::string bytes = model_of_graph("").SerializeAsString();
  wire::append_tag(bytes, ModelProto::kGraphFieldNumber, wire::Type::kBytes);
  wire::append_varint(bytes, graph.size());
  const auto result = cut(bytes + graph);
  EXPECT_TRUE(result.ok()) << message_of(result);
}

struct LimitCase {
  std::string name;
  std::function<void(ImportLimits&)> set;
  std::string within, beyond;  ///< graphs at the limit and one past it
  std::string sentence;
};

std::string repeated(int count, std::string_view text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// `depth` bodies within one another.
std::string nested(int depth) {
  std::string text = R"(name: "innermost")";
  for (int i = 0; i < depth; ++i) text = fmt::format("node {{ attribute {{ g {{ {} }} }} }}", text);
  return text;
}

class Limits : public testing::TestWithParam<LimitCase> {};

TEST_P(Limits, HoldExactly) {
  ImportLimits limits;
  GetParam().set(limits);
  const auto within = cut(model_of_graph(GetParam().within).SerializeAsString(), limits);
  EXPECT_TRUE(within.ok()) << within.error().message();
  EXPECT_THAT(message_of(cut(model_of_graph(GetParam().beyond).SerializeAsString(), limits)),
              HasSubstr(GetParam().sentence));
}

INSTANTIATE_TEST_SUITE_P(
    All, Limits,
    testing::Values(LimitCase{"nodes", [](ImportLimits& l) { l.nodes = 5; }, repeated(5, "node { }"),
                              repeated(6, "node { }"), "at most 5 nodes expected"},
                    LimitCase{"bodies", [](ImportLimits& l) { l.body_depth = 4; }, nested(4), nested(5),
                              "bodies nested at most 4 deep expected"},
                    LimitCase{"default_bodies", [](ImportLimits&) {}, nested(32), nested(33),
                              "bodies nested at most 32 deep expected"},
                    LimitCase{"names", [](ImportLimits& l) { l.name_bytes = 8; }, R"(name: "12345678")",
                              R"(name: "123456789")", "GraphProto.name of at most 8 bytes expected, 9 found"},
                    LimitCase{"attributes", [](ImportLimits& l) { l.attributes_per_node = 3; },
                              "node { " + repeated(3, "attribute { }") + " }",
                              "node { " + repeated(4, "attribute { }") + " }", "at most 3 attributes"},
                    LimitCase{"ints",
                              [](ImportLimits& l) {
                                l.memory_bytes = 20000;
                                l.memory_factor = 0;
                              },
                              "node { attribute { " + repeated(500, "ints: 1 ") + " } }",
                              "node { name: 'n' attribute { name: 'a' " + repeated(1500, "ints: 1 ") + " } }",
                              "n (): attribute 'a': a model that takes at most 0 MiB"},
                    LimitCase{"inputs", [](ImportLimits& l) { l.list_elements = 3; },
                              "node { " + repeated(3, "input: 'x' ") + " }",
                              "node { " + repeated(4, "input: 'x' ") + " }",
                              "node 0 (): lists of at most 3 elements expected, a longer one found: input"},
                    LimitCase{"memory",
                              [](ImportLimits& l) {
                                l.memory_bytes = 20000;
                                l.memory_factor = 0;
                              },
                              repeated(5, "initializer { }"), repeated(500, "initializer { }"),
                              "that takes at most 0 MiB"},
                    // Their number limits what they take.
                    LimitCase{"memory_beside_nodes",
                              [](ImportLimits& l) {
                                l.nodes = 500;
                                l.memory_bytes = 20000;
                                l.memory_factor = 0;
                              },
                              repeated(500, "node { }"), repeated(501, "node { }"), "at most 500 nodes expected"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace isomer::test
