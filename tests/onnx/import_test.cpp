// From the text of a graph to a Graph, or to one sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bind.h"
#include "graph/text.h"
#include "onnx/messages.h"

namespace isomer::test {
namespace {

using onnx_proto::ModelProto;
using testing::HasSubstr;

std::string with_types(std::string text) {
  const std::pair<std::string, std::string> shorthands[] = {
      {"FLOAT2", "type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } }"},
      {"FLOAT3", "type { tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } }"},
      {"INT2", "type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } }"},
      {"BOOL", "type { tensor_type { elem_type: 9 shape { } } }"},
  };
  for (const auto& [name, type] : shorthands)
    for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), type);
  return text;
}

struct GraphCase {
  const char* name;
  const char* text;
  const char* sentence;  ///< "" for a graph that is accepted
};

class Graphs : public testing::TestWithParam<GraphCase> {};

TEST_P(Graphs, AreAcceptedOrRefusedInOneSentence) {
  const auto graph = import_message(model_of_graph(with_types(GetParam().text)));
  if (*GetParam().sentence == '\0')
    EXPECT_TRUE(graph.ok()) << message_of(graph);
  else
    EXPECT_THAT(message_of(graph), HasSubstr(GetParam().sentence));
}

#define XY "input { name: 'x' FLOAT2 } output { name: 'y' FLOAT2 } "
#define W "initializer { name: 'w' data_type: 1 dims: 2 float_data: 1 float_data: 2 } "

INSTANTIATE_TEST_SUITE_P(
    All, Graphs,
    testing::Values(
        GraphCase{"plain", XY "node { input: 'x' output: 'y' op_type: 'Relu' }", ""},
        GraphCase{"unsorted",
                  XY "node { input: 't' output: 'y' op_type: 'Relu' } node { input: 'x' output: 't' op_type: 'Neg' }",
                  ""},
        GraphCase{
            "cycle",
            XY
            "node { name: 'a' input: 't' output: 'y' op_type: 'Relu' } node { input: 'y' output: 't' op_type: 'Neg' }",
            "a (Relu): a graph without cycles expected"},
        GraphCase{"cycle_through_a_body",
                  XY "input { name: 'c' BOOL } node { name: 'a' input: 'c' output: 'y' op_type: 'If' attribute { name: "
                     "'then_branch' type: 5 "
                     "g { node { input: 'y' output: 'z' op_type: 'Relu' } output { name: 'z' } } } attribute { name: "
                     "'else_branch' type: 5 "
                     "g { node { input: 'x' output: 'z' op_type: 'Relu' } output { name: 'z' } } } }",
                  "a (If): a graph without cycles expected"},
        GraphCase{"dangling", XY "node { name: 'a' input: 'q' output: 'y' op_type: 'Relu' }",
                  "a (Relu): inputs that a node, an initializer or a graph input gives expected, 'q' found"},
        GraphCase{"two_producers",
                  XY "node { input: 'x' output: 'y' op_type: 'Relu' } node { input: 'x' output: 'y' op_type: 'Neg' }",
                  "node 1 (Neg): outputs that nothing else makes expected, 'y' found"},
        GraphCase{"output_twice_of_a_node",
                  XY "node { input: 'x' output: 'y' output: 'y' op_type: 'Split' attribute { name: 'num_outputs' i: 2 "
                     "type: 2 } }",
                  "outputs that nothing else makes expected, 'y' found"},
        GraphCase{"input_made_by_a_node",
                  XY "node { input: 'x' output: 'x' op_type: 'Relu' } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  "x"},
        GraphCase{"initializer_made_by_a_node",
                  XY W
                  "node { input: 'x' output: 'w' op_type: 'Relu' } node { input: 'w' output: 'y' op_type: 'Relu' }",
                  "w"},
        GraphCase{"two_initializers", XY W W "node { input: 'x' input: 'w' output: 'y' op_type: 'Add' }",
                  "w: a name that nothing else has expected"},
        GraphCase{"two_inputs", XY "input { name: 'x' FLOAT2 } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  "x: inputs of different names expected"},
        GraphCase{"nameless_input", XY "input { FLOAT2 } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  "graph input: a name expected"},
        GraphCase{"nameless_initializer",
                  XY "initializer { data_type: 1 float_data: 1 } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  "initializer: a name expected"},
        GraphCase{"output_nobody_makes", XY, "y: an output that a node makes expected"},
        GraphCase{"output_that_is_the_input", "input { name: 'x' FLOAT2 } output { name: 'x' FLOAT2 }", ""},
        GraphCase{
            "output_of_another_type",
            "input { name: 'x' FLOAT2 } output { name: 'y' INT2 } node { input: 'x' output: 'y' op_type: 'Relu' }",
            "y: "},
        GraphCase{
            "output_of_another_shape",
            "input { name: 'x' FLOAT2 } output { name: 'y' FLOAT3 } node { input: 'x' output: 'y' op_type: 'Relu' }",
            ""},
        GraphCase{"value_of_another_type",
                  XY "value_info { name: 't' INT2 } node { input: 'x' output: 't' op_type: 'Relu' } node { input: 't' "
                     "output: 'y' op_type: 'Relu' }",
                  "t: "},
        GraphCase{"negative_dim",
                  "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: -2 } } } } } output { "
                  "name: 'y' } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  ""},
        GraphCase{
            "large_dim",
            "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 1099511627777 } } } } } "
            "output { name: 'y' } node { input: 'x' output: 'y' op_type: 'Relu' }",
            "x: dim 0 of at most 2^40 expected, 1099511627777 found"},
        GraphCase{"input_without_type",
                  "input { name: 'x' } output { name: 'y' FLOAT2 } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  "x: a type expected"},
        GraphCase{"no_op_type", XY "node { input: 'x' output: 'y' }", "node 0 (): an op_type expected"},
        GraphCase{"unknown_operator", XY "node { input: 'x' output: 'y' op_type: 'Frobnicate' }", ""},
        GraphCase{"domain_without_import",
                  XY "node { name: 'a' input: 'x' output: 'y' op_type: 'Foo' domain: 'com.example' }",
                  "a (Foo): an import of domain 'com.example' expected, none found"},
        GraphCase{"place_of_a_node_among_constants",
                  XY "node { output: 'c' op_type: 'Constant' attribute { name: 'value_int' type: 2 i: 1 } } node { "
                     "output: 'd' op_type: 'Constant' attribute { name: 'value_int' type: 2 i: 1 } } node { input: 'x' "
                     "output: 'y' op_type: 'Softmax' attribute { name: 'axis' type: 2 i: 7 } }",
                  "node 2 (Softmax): axis"},
        GraphCase{"place_of_a_node_with_bodies",
                  XY "input { name: 'c' BOOL } node { input: 'x' output: 'k' op_type: 'Abs' } node { output: 'd' "
                     "op_type: 'Constant' attribute { name: 'value_int' type: 2 i: 1 } } "
                     "node { input: 'c' output: 'y' op_type: 'If' attribute { name: 'then_branch' type: 5 g { node { "
                     "input: 'q' output: 't' op_type: 'Neg' } output { name: 't' } } } }",
                  "node 2 (If): node 0 (Neg): inputs"},
        GraphCase{"attribute_twice",
                  XY "node { name: 'a' input: 'x' output: 'y' op_type: 'LeakyRelu' attribute { name: 'alpha' f: 1 "
                     "type: 1 } attribute { name: 'alpha' f: 1 type: 1 } }",
                  "a (LeakyRelu): attributes of different names expected, 'alpha' found twice"},
        GraphCase{"attribute_reference",
                  XY "node { name: 'a' input: 'x' output: 'y' op_type: 'LeakyRelu' attribute { name: 'alpha' "
                     "ref_attr_name: 'b' type: 1 } }",
                  "outside of a function"},
        GraphCase{"output_without_name",
                  XY "initializer { name: 'k' data_type: 7 dims: 1 int64_data: 2 } node { input: 'x' input: 'k' "
                     "output: '' output: 'i' op_type: 'TopK' } node { input: 'x' output: 'y' op_type: 'Relu' }",
                  ""},
        GraphCase{"optional_output_left_out", XY "node { input: 'x' output: 'y' output: '' op_type: 'Dropout' }", ""},
        GraphCase{"unnamed_of_a_list",
                  "input { name: 'x' FLOAT2 } output { name: 'y' type { tensor_type { elem_type: 1 shape { dim { "
                  "dim_value: 1 } } } } } node { input: 'x' output: 'y' output: '' op_type: 'Split' attribute { name: "
                  "'num_outputs' i: 2 type: 2 } }",
                  ""},
        GraphCase{"shadowing_in_a_body",
                  XY "input { name: 'c' BOOL } node { input: 'x' output: 't' op_type: 'Abs' } node { input: 'c' "
                     "output: 'y' op_type: 'If' attribute { name: 'then_branch' type: 5 "
                     "g { node { input: 'x' output: 't' op_type: 'Relu' } output { name: 't' } } } attribute { name: "
                     "'else_branch' type: 5 "
                     "g { node { input: 't' output: 'z' op_type: 'Relu' } output { name: 'z' } } } }",
                  ""},
        GraphCase{"initializer_that_shadows",
                  XY W
                  "input { name: 'c' BOOL } node { input: 'c' output: 'y' op_type: 'If' attribute { name: "
                  "'then_branch' type: 5 g { initializer { name: 'w' data_type: 1 dims: 2 float_data: 5 "
                  "float_data: 5 } node { input: 'w' output: 't' op_type: 'Neg' } output { name: 't' } } } attribute "
                  "{ name: 'else_branch' type: 5 g { node { input: 'x' output: 'z' op_type: 'Relu' } output { name: "
                  "'z' } } } }",
                  "w: an initializer of a body with a name of its own expected"},
        GraphCase{"initializer_that_stands_there_twice",
                  XY W
                  "input { name: 'c' BOOL } node { input: 'c' output: 'y' op_type: 'If' attribute { name: "
                  "'then_branch' type: 5 g { " W
                  "node { input: 'w' output: 't' op_type: 'Neg' } output { name: 't' } } } attribute { name: "
                  "'else_branch' type: 5 g { node { input: 'x' output: 'z' op_type: 'Relu' } output { name: 'z' } } "
                  "} }",
                  ""}),
    [](const auto& info) { return info.param.name; });

struct ModelCase {
  const char* name;
  const char* text;
  const char* sentence;
};

class Models : public testing::TestWithParam<ModelCase> {};

TEST_P(Models, AreAcceptedOrRefusedInOneSentence) {
  const auto graph = import_message(model_message(with_types(GetParam().text)));
  if (*GetParam().sentence == '\0')
    EXPECT_TRUE(graph.ok()) << message_of(graph);
  else
    EXPECT_THAT(message_of(graph), HasSubstr(GetParam().sentence));
}

#define G "graph { name: 'g' " XY "node { input: 'x' output: 'y' op_type: 'Relu' } } "
#define CALL(attributes)                                                                                        \
  "graph { name: 'g' " XY "node { name: 'call' input: 'x' output: 'y' op_type: 'F' domain: 'local' " attributes \
  " } "                                                                                                         \
  "} "
#define HEAD "ir_version: 10 opset_import { version: 21 } opset_import { domain: 'local' version: 1 } "

INSTANTIATE_TEST_SUITE_P(
    All, Models,
    testing::Values(
        ModelCase{"no_graph", "ir_version: 10 opset_import { version: 21 }",
                  "a model with a graph expected, none found"},
        ModelCase{"no_ir", "opset_import { version: 21 } " G, "ir_version: a number expected, none found"},
        ModelCase{"ir_0", "ir_version: 0 opset_import { version: 21 } " G, "ir_version: 1 to 14 expected, 0 found"},
        ModelCase{"ir_huge", "ir_version: 9223372036854775807 opset_import { version: 21 } " G,
                  "ir_version: 1 to 14 expected"},
        ModelCase{"ir_14", "ir_version: 14 opset_import { version: 28 } " G, ""},
        ModelCase{"no_opset", "ir_version: 10 " G, "opset_import: at least one expected"},
        ModelCase{"opset_0", "ir_version: 10 opset_import { version: 0 } " G,
                  "opset of ai.onnx: 1 to 28 expected, 0 found"},
        ModelCase{"opset_9999", "ir_version: 10 opset_import { version: 9999 } " G,
                  "opset of ai.onnx: 1 to 28 expected, 9999 found"},
        ModelCase{"opset_negative", "ir_version: 10 opset_import { version: -1 } " G,
                  "opset of ai.onnx: 1 to 28 expected, -1 found"},
        ModelCase{"opset_of_ml",
                  "ir_version: 10 opset_import { version: 21 } opset_import { domain: 'ai.onnx.ml' version: 7 } " G,
                  "opset of ai.onnx.ml: 1 to 6 expected, 7 found"},
        ModelCase{"opset_0_of_another",
                  "ir_version: 10 opset_import { version: 21 } opset_import { domain: 'local' } " G, ""},
        ModelCase{"opset_0_of_ml",
                  "ir_version: 10 opset_import { version: 21 } opset_import { domain: 'ai.onnx.ml' } " G,
                  "opset of ai.onnx.ml: 1 to 6 expected, 0 found"},
        ModelCase{"opset_twice",
                  "ir_version: 10 opset_import { version: 21 } opset_import { domain: 'ai.onnx' version: 20 } " G,
                  "one version a domain expected"},
        ModelCase{"function",
                  HEAD CALL("") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { version: "
                                "21 } node { input: 'a' output: 'b' op_type: 'Relu' } }",
                  ""},
        ModelCase{
            "function_of_another_opset",
            HEAD CALL(
                "") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { version: 12 } "
                    "node { input: 'a' output: 't' op_type: 'Unsqueeze' attribute { name: 'axes' type: 7 ints: 0 } } "
                    "node { input: 't' output: 'b' op_type: 'Squeeze' attribute { name: 'axes' type: 7 ints: 0 } } }",
            ""},
        ModelCase{
            "function_that_calls_itself",
            HEAD CALL("") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { version: 21 } "
                          "opset_import { domain: 'local' version: 1 } node { input: 'a' output: 'b' op_type: 'F' "
                          "domain: 'local' } }",
            "function local.F: a function that does not call itself expected"},
        ModelCase{"function_twice",
                  HEAD CALL("") "functions { name: 'F' domain: 'local' } functions { name: 'F' domain: 'local' }",
                  "function local.F: one definition expected, two found"},
        ModelCase{
            "function_with_a_default",
            HEAD CALL("") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { version: 21 } "
                          "attribute_proto { name: 'slope' type: 1 f: 0.5 } node { input: 'a' output: 'b' op_type: "
                          "'LeakyRelu' attribute { name: 'alpha' type: 1 ref_attr_name: 'slope' } } }",
            ""},
        ModelCase{"function_attribute",
                  HEAD CALL("attribute { name: 'slope' type: 1 f: 0.25 }") "functions { name: 'F' domain: 'local' "
                                                                           "input: 'a' output: 'b' attribute: 'slope' "
                                                                           "opset_import { version: 21 } "
                                                                           "node { input: 'a' output: 'b' op_type: "
                                                                           "'LeakyRelu' attribute { name: 'alpha' "
                                                                           "type: 1 ref_attr_name: 'slope' } } }",
                  ""},
        ModelCase{"function_with_too_many_inputs",
                  HEAD CALL("input: 'x'") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { "
                                          "version: 21 } node { input: 'a' output: 'b' op_type: 'Relu' } }",
                  "call (F): at most 1 inputs and 1 outputs expected, 2 and 1 found"}),
    [](const auto& info) { return info.param.name; });

/// An inner value that is called as the inner value of a call beside it would be.
TEST(Import, KeepsInnerNamesOfNestedCallsApart) {
  const std::string inner =
      "functions { name: 'Inner' domain: 'local' input: 'a' output: 'b' opset_import { version: 21 } "
      "node { input: 'a' output: 't' op_type: 'Neg' } node { input: 't' output: 'b' op_type: 'Exp' } } ";
  const std::string outer =
      "functions { name: 'F' domain: 'local' input: 'a' input: 'c' output: 'b' opset_import { version: 21 } "
      "opset_import { domain: 'local' version: 1 } node { input: 'a' input: 'a' output: 'inner/1/t' op_type: 'Add' } ";
  const std::string call = "node { name: 'inner' input: 'a' output: 'u' op_type: 'Inner' domain: 'local' } ",
                    product = "node { input: 'inner/1/t' input: 'u' output: 'b' op_type: 'Mul' } ",
                    other = "g { node { input: 'a' output: 'e' op_type: 'Identity' } output { name: 'e' } } ";
  const std::string in_body =
      "node { input: 'c' output: 'b' op_type: 'If' attribute { name: 'then_branch' type: 5 g { " + call + product +
      "output { name: 'b' } } } attribute { name: 'else_branch' type: 5 " + other + "} } ";
  for (const std::string& body : {call + product, in_body}) {
    const auto graph = import_message(model_message(
        with_types("ir_version: 10 opset_import { version: 21 } opset_import { domain: 'local' version: 1 } graph { "
                   "name: 'g' " XY "input { name: 'c' BOOL } node { name: 'f' input: 'x' input: 'c' output: 'y' "
                   "op_type: 'F' domain: 'local' } } " +
                   inner + outer + body + "}")));
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    const std::string text = print_graph(*graph);
    EXPECT_THAT(text, HasSubstr("f/0/inner/1/t: float32[2] = Add(x, x)"));
    EXPECT_THAT(text, HasSubstr("f/0/inner/2/t: float32[2] = Neg(x)"));
  }
}

TEST(Import, CallsLiftedNodesAsTheFileDoes) {
  ModelProto model = model_of_graph(with_types(
      XY
      "node { output: 'c' op_type: 'Constant' attribute { name: 'value_float' type: 1 f: 1 } } node { input: 'x' "
      "output: 'y' op_type: 'Softmax' attribute { name: 'axis' type: 2 i: 7 } }"));
  model.mutable_opset_import(0)->set_version(11);
  EXPECT_THAT(message_of(import_message(model)), testing::StartsWith("node 1 (Softmax): axis"));
}

TEST(Import, TakesZerosThatWereNotWritten) {
  const std::pair<const char*, int> attributes[] = {{"name: 'value_int' type: 2", 7},
                                                    {"name: 'value_float' type: 1", 1}};
  for (const auto& [attribute, type] : attributes) {
    const auto graph = import_message(model_of_graph(
        fmt::format("output {{ name: 'c' type {{ tensor_type {{ elem_type: {} }} }} }} node {{ output: 'c' op_type: "
                    "'Constant' attribute {{ {} }} }}",
                    type, attribute)));
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    EXPECT_EQ(graph->value(graph->outputs()[0]).constant->real(0), 0);
  }
}

TEST(Import, RefusesWhatIsNoModel) {
  EXPECT_THAT(message_of(import_bytes("")), HasSubstr("an empty file found"));
  EXPECT_THAT(message_of(import_bytes("x")), HasSubstr("no protocol buffer found at offset 0"));
  EXPECT_THAT(message_of(import_bytes("Just some text, no model at all.")), HasSubstr("an ONNX model expected"));
}

TEST(Import, LiftsOlderFormsAndKnowsShapes) {
  ModelProto model =
      model_of_graph(with_types("name: 'g' input { name: 'x' FLOAT2 } output { name: 'y' } node { input: 'x' output: "
                                "'y' op_type: 'Unsqueeze' attribute { name: 'axes' type: 7 ints: 0 ints: 2 } }"));
  model.mutable_opset_import(0)->set_version(11);
  const auto graph = import_message(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->value(graph->outputs()[0]).type.text(), "float32[1,2,1]");
}

TEST(Import, TakesLayerNormalizationBeforeItsOpset) {
  ModelProto model = model_of_graph(with_types(
      "name: 'g' input { name: 'x' FLOAT2 } input { name: 's' FLOAT2 } output { name: 'y' } node { input: 'x' input: "
      "'s' output: 'y' op_type: 'LayerNormalization' }"));
  model.mutable_opset_import(0)->set_version(11);
  const auto graph = import_message(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_TRUE(graph->info().has_early);
  EXPECT_FALSE(graph->node(graph->nodes()[0]).is_opaque()) << graph->node(graph->nodes()[0]).opaque_reason;
  const auto again = parse_graph(print_graph(*graph));
  ASSERT_TRUE(again.ok()) << message_of(again);
  EXPECT_TRUE(again->info().has_early);
}

/// There may be many bodies, and much that the model says of itself.
TEST(Import, HasWhatTheModelSaysOnceForAllBodies) {
  ModelProto model = model_of_graph(with_types(
      XY
      "node { input: 'x' output: 'y' op_type: 'Relu' } node { input: 'x' output: 'z' op_type: 'F' domain: 'local' }"));
  model.mutable_opset_import(0)->set_version(16);
  model.set_doc_string(std::string(100, 'd'));
  auto& import = *model.add_opset_import();
  import.set_domain("local");
  import.set_version(1);
  auto& bodies = *model.mutable_graph()->mutable_node(1)->add_attribute();
  bodies.set_name("bodies");
  bodies.set_type(onnx_proto::AttributeProto::GRAPHS);
  for (int i = 0; i < 3; ++i)
    *bodies.add_graphs() = model_of_graph(with_types(R"(
      node { input: 'x' input: 's' output: 'n' op_type: 'LayerNormalization' }
      initializer { name: 's' data_type: 1 dims: 2 float_data: [1, 2] } output { name: 'n' FLOAT2 })"))
                               .graph();
  const auto graph = import_message(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_TRUE(graph->info().has_early);
  for (const NodeId id : graph->nodes())
    for (const auto& [name, attribute] : graph->node(id).attributes)
      for (const GraphPtr& body : std::get<std::vector<GraphPtr>>(attribute)) EXPECT_EQ(&body->info(), &graph->info());
}

TEST(Import, PassesNodesOfNewerFormsOfOtherDomainsThrough) {
  const auto opaque_reason = [](const char* fields) {
    ModelProto model = model_of_graph(
        with_types(fmt::format("name: 'g' input {{ name: 'x' FLOAT2 }} output {{ name: 'y' }} node {{ input: 'x' "
                               "output: 'y' op_type: 'QuickGelu' domain: 'com.microsoft' {} }}",
                               fields)));
    model.add_opset_import()->set_domain("com.microsoft");
    model.mutable_opset_import(1)->set_version(1);
    const auto graph = import_message(model);
    return graph.ok() ? graph->node(graph->nodes()[0]).opaque_reason : message_of(graph);
  };
  EXPECT_EQ(opaque_reason("attribute { name: 'alpha' type: 1 f: 1 }"), "");
  EXPECT_THAT(opaque_reason("attribute { name: 'beta' type: 1 f: 1 }"), HasSubstr("'beta' found"));
  EXPECT_THAT(opaque_reason("input: 'x'"), HasSubstr("at most 1 inputs expected"));
  EXPECT_THAT(opaque_reason("output: 'z'"), HasSubstr("at most 1 outputs expected"));
}

TEST(Import, TakesNamesThatSayNothingForDimsOfTheirOwn) {
  const auto graph = import_message(model_of_graph(R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" }
    input { name: "x" type { tensor_type { elem_type: 1 shape {
      dim { dim_param: "?" } dim { dim_param: "?" } dim { dim_param: "None" } dim { dim_param: "unk__7" }
      dim { dim_param: "unk__7" } dim { dim_param: " " } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 } } })"));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->value(graph->inputs()[0]).type.text(), R"(float32["x.0","x.1","x.2",unk__7,unk__7,"x.5"])");
  Graph bound = *graph;
  EXPECT_TRUE(bind_inputs(bound, {}, {{"x", {2, 3, 4, 5, 5, 6}}}).ok());
}

TEST(Import, TellsSizesWithoutANameFromThoseThatHaveTheirs) {
  const auto graph = import_message(model_of_graph(R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_param: "?" } dim { } } } } }
    input { name: "z" type { tensor_type { elem_type: 1 shape { dim { dim_param: "x.0" } dim { dim_param: "x_.1" } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 } } })"));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->value(graph->inputs()[0]).type.text(), R"(float32["x__.0","x__.1"])");
  EXPECT_EQ(graph->value(graph->inputs()[1]).type.text(), R"(float32["x.0","x_.1"])");
}

TEST(Import, MakesConstantsOfConstantNodes) {
  for (const char* attribute : {"name: 'value' type: 4 t { data_type: 1 dims: 2 float_data: 1 float_data: 2 }",
                                "name: 'value_floats' type: 6 floats: 1 floats: 2",
                                "name: 'sparse_value' type: 11 sparse_tensor { dims: 2 values { data_type: 1 dims: 2 "
                                "float_data: 1 float_data: 2 } "
                                "indices { data_type: 7 dims: 2 int64_data: 0 int64_data: 1 } }"}) {
    const auto graph = import_message(
        model_of_graph(with_types(fmt::format("name: 'g' {} node {{ output: 'c' op_type: 'Constant' attribute {{ {} }} "
                                              "}} node {{ input: 'x' input: 'c' output: 'y' op_type: 'Add' }}",
                                              XY, attribute))));
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    EXPECT_EQ(graph->node_count(), 1);
    const ValueId constant = graph->node(graph->nodes()[0]).inputs[1];
    ASSERT_TRUE(graph->is_constant(constant));
    EXPECT_EQ(graph->value(constant).constant->real(1), 2);
  }
}

/// Names in bodies may look like those that inner values of calls get.
TEST(Import, TellsInnerValuesOfCallsFromWhatBodiesHave) {
  for (const char* inputs :
       {"input { name: 'F/0/t' }", "input { name: 'i' } initializer { name: 'F/0/t' data_type: 1 float_data: 3 }",
        "input { name: 'i' } sparse_initializer { values { name: 'F/0/t' data_type: 1 dims: 1 float_data: 3 } indices "
        "{ data_type: 7 dims: 1 int64_data: 0 } dims: 1 }"}) {
    const auto graph = import_message(model_message(with_types(fmt::format(R"(
      ir_version: 10 opset_import {{ version: 21 }} opset_import {{ domain: 'local' version: 1 }}
      functions {{ name: 'F' domain: 'local' input: 'a' output: 'b' opset_import {{ version: 21 }}
        node {{ input: 'a' output: 't' op_type: 'Neg' }} node {{ input: 't' output: 'b' op_type: 'Exp' }} }}
      graph {{ name: 'g' input {{ name: 't' BOOL }} input {{ name: 'x' FLOAT2 }} output {{ name: 'y' FLOAT2 }}
        node {{ input: '' input: 't' input: 'x' output: 'y' op_type: 'Loop' attribute {{ name: 'body' type: 5 g {{
          name: 'b' {} input {{ name: 'c' BOOL }} input {{ name: 'F/1/t' FLOAT2 }}
          output {{ name: 'd' }} output {{ name: 'r' }}
          node {{ input: 'c' output: 'd' op_type: 'Identity' }}
          node {{ input: 'F/1/t' output: 'e' op_type: 'F' domain: 'local' }}
          node {{ input: 'e' input: 'F/1/t' output: 'r' op_type: 'Sub' }} }} }} }} }})",
                                                                           inputs))));
    EXPECT_TRUE(graph.ok()) << message_of(graph);
  }
}

TEST(Import, CountsWhatStandsInTheFile) {
  ImportReport report;
  const auto graph = import_message(model_message(with_types(HEAD CALL(
                                        "") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import "
                                            "{ version: 21 } node { input: 'a' output: 'b' op_type: 'Relu' } }")),
                                    {.limits = {}, .folder = {}, .report = &report});
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(report.nodes, 1);
  EXPECT_EQ(report.functions, 1);
  EXPECT_EQ(report.operators.at("local.F"), 1);
}

/// Each node of a call has what is said of the call.
TEST(Import, CountsWhatIsSaidOfCalls) {
  ModelProto model = model_message(with_types(
      HEAD CALL("") "functions { name: 'F' domain: 'local' input: 'a' output: 'b' opset_import { version: 21 } }"));
  auto& said = *model.mutable_graph()->mutable_node(0)->add_metadata_props();
  said.set_key("long");
  said.set_value(std::string(10000, 'x'));
  auto& function = *model.mutable_functions(0);
  for (int k = 0; k < 20000; ++k) {
    auto& node = *function.add_node();
    node.set_op_type("Relu");
    node.add_input("a");
    node.add_output(k == 0 ? "b" : fmt::format("b{}", k));
  }
  EXPECT_THAT(message_of(import_message(model)), HasSubstr("functions: nodes that take at most"));
}

TEST(Import, CountsExpandedCallsBeforeItMakesThem) {
  ModelProto model = model_message(with_types(HEAD CALL("")));
  const auto add_function = [&](const std::string& name, const std::string& body) {
    auto& function = *model.add_functions();
    function.set_name(name);
    function.set_domain("local");
    function.add_input("a");
    function.add_output("b");
    auto& standard = *function.add_opset_import();
    standard.set_version(21);
    auto& own = *function.add_opset_import();
    own.set_domain("local");
    own.set_version(1);
    for (const bool first : {true, false}) {
      auto& node = *function.add_node();
      node.set_op_type(body);
      if (body != "Relu") node.set_domain("local");
      node.add_input(first ? "a" : "t");
      node.add_output(first ? "t" : "b");
    }
  };
  add_function("F", "F1");
  for (int i = 1; i < 30; ++i) add_function(fmt::format("F{}", i), fmt::format("F{}", i + 1));
  add_function("F30", "Relu");
  EXPECT_THAT(message_of(import_message(model)),
              HasSubstr("functions: at most 1000000 nodes after expansion expected"));
}

}  // namespace
}  // namespace isomer::test
