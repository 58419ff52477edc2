// What an exported file holds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "graph/bind.h"
#include "graph/onnx/kept_names.h"
#include "graph/text.h"
#include "onnx/export_fixture.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;
using onnx_proto::ModelProto;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

/// What data decide may be 0, and a loop's state before the first iteration, whatever the file calls them.
TEST_F(Export, KeepsNamesOfSizesThatMayBeZero) {
  const auto sized = [](std::string_view name) {
    return fmt::format("type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_param: '{}' }} }} }} }}", name);
  };
  const std::string count = "type { tensor_type { elem_type: 7 shape { } } }",
                    truth = "type { tensor_type { elem_type: 9 shape { } } }";
  ModelProto model = model_of_graph(fmt::format(
      R"(name: 'g' input {{ name: 'x' {0} }} input {{ name: 't' {2} }}
    node {{ input: 'x' output: 'o' op_type: 'Own' domain: 'of.nobody' }} value_info {{ name: 'o' {1} }}
    node {{ input: 't' input: '' input: 'o' output: 'y' op_type: 'Loop' attribute {{ name: 'body' type: 5 g {{
      name: 'b' input {{ name: 'i' {2} }} input {{ name: 'c' {3} }} input {{ name: 's' {1} }}
      node {{ input: 's' input: 'x' output: 'r' op_type: 'Concat' attribute {{ name: 'axis' type: 2 i: 0 }} }}
      node {{ input: 'c' output: 'd' op_type: 'Identity' }}
      output {{ name: 'd' {3} }} output {{ name: 'r' {1} }} }} }} }} output {{ name: 'y' {1} }})",
      sized("n"), sized("m"), count, truth));
  model.add_opset_import()->set_domain("of.nobody");
  model.mutable_opset_import(1)->set_version(1);
  const auto graph = import_message(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  std::vector<std::string> types;
  const auto add_types = [&](const Graph& of) {
    for (const ValueId id : of.values())
      if (const std::string& name = of.value(id).name; name == "x" || name == "o" || name == "s")
        types.push_back(of.value(id).type.text());
  };
  add_types(*graph);
  for (const NodeId id : graph->nodes())
    if (graph->node(id).op_type == "Loop") add_types(*std::get<GraphPtr>(graph->node(id).attributes.at("body")));
  std::ranges::sort(types);
  EXPECT_THAT(types, ElementsAre(R"(float32["m.?"])", R"(float32["m.?"])", "float32[n]", "float32[n]"));
  EXPECT_THAT(round_trip(model).DebugString(), Not(HasSubstr(".?")));
}

/// A size that a file names of no input is none of an input's, and none that data decide, whatever either is called.
TEST_F(Export, TellsSizesApartThatAreCalledAlike) {
  const auto sized = [](std::string_view name) {
    return fmt::format("type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_param: '{}' }} }} }} }}", name);
  };
  ModelProto model = model_of_graph(fmt::format(
      R"(name: 'g' input {{ name: 'x' {0} }}
    node {{ input: 'x' output: 'a' op_type: 'Own' domain: 'of.nobody' }} value_info {{ name: 'a' {1} }}
    node {{ input: 'a' output: 'b' op_type: 'Own' domain: 'of.nobody' }} value_info {{ name: 'b' {2} }}
    node {{ input: 'b' output: 'c' op_type: 'Own' domain: 'of.nobody' }}
    output {{ name: 'c' {0} }})",
      sized("m.?"), sized("m"), sized("y.1?")));
  model.add_opset_import()->set_domain("of.nobody");
  model.mutable_opset_import(1)->set_version(1);
  const auto graph = import_message(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  std::map<std::string, std::string> types;
  for (const ValueId id : graph->values()) types[graph->value(id).name] = graph->value(id).type.text();
  EXPECT_EQ(types["x"], R"(float32["m.?"])");
  EXPECT_EQ(types["a"], R"(float32["m.?.?"])");
  EXPECT_EQ(types["b"], R"(float32["y.1?.?"])");
  EXPECT_EQ(types["c"], types["x"]);
  EXPECT_EQ(round_trip(model).graph().DebugString(), model.graph().DebugString());
}

TEST_F(Export, KeepsWhatTheGraphDoesNotRead) {
  ModelProto model = model_message(with_types(R"(
    ir_version: 10 producer_name: "p" producer_version: "1" domain: "d" model_version: 7 doc_string: "doc"
    opset_import { version: 21 } opset_import { domain: "com.example" version: 3 }
    metadata_props { key: "a" value: "b" }
    configuration { name: "two" num_devices: 2 }
    training_info { update_binding { key: "w" value: "z" } }
    graph {
      name: "g" doc_string: "graph doc" metadata_props { key: "c" value: "d" }
      quantization_annotation { tensor_name: "x" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "s" } }
      node { name: "n" input: "x" output: "t" op_type: "Relu" doc_string: "node doc" metadata_props { key: "e" value: "f" } }
      node { input: "t" input: "" input: "w" output: "y" output: "" op_type: "Custom" domain: "com.example" overload: "o"
             attribute { name: "sparse" type: 11 sparse_tensor { values { data_type: 1 dims: 1 raw_data: "abcd" } dims: 3 } }
             attribute { name: "type" type: 13 tp { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } }
             attribute { name: "none" type: 7 } }
      input { name: "x" doc_string: "input doc" FLOAT2 }
      output { name: "y" FLOAT2 }
      initializer { name: "w" doc_string: "weight doc" data_type: 1 dims: 2 float_data: 1 float_data: 2 }
      initializer { name: "s" data_type: 1 raw_data: "abcd" }
      value_info { name: "t" doc_string: "value doc" FLOAT2 }
    })"));
  model.mutable_unknown_fields()->AddVarint(999, 1);
  model.mutable_graph()->mutable_unknown_fields()->AddVarint(998, 2);
  model.mutable_graph()->mutable_node(1)->mutable_unknown_fields()->AddVarint(997, 3);
  model.mutable_graph()->mutable_initializer(0)->mutable_unknown_fields()->AddVarint(996, 4);
  model.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_unknown_fields()->AddVarint(995, 5);
  model.mutable_graph()->mutable_node(1)->mutable_attribute(2)->mutable_unknown_fields()->AddVarint(12, 6);  // 2 bytes
  ModelProto written = round_trip(model);
  // The form of what is the same: raw data, no trailing omissions, attributes by name.
  model.mutable_graph()->mutable_initializer(0)->clear_float_data();
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  model.mutable_graph()->mutable_node(1)->mutable_output()->RemoveLast();
  auto& attributes = *model.mutable_graph()->mutable_node(1)->mutable_attribute();
  attributes.SwapElements(0, 2);
  attributes.SwapElements(1, 2);
  for (ModelProto* each : {&model, &written})
    for (auto& import : *each->mutable_opset_import()) import.set_domain(import.domain());
  EXPECT_EQ(written.DebugString(), model.DebugString());
}

/// Weights 'v' and 'w', of which training changes 'w' and reads 's' and 't'.
ModelProto trained_model() {
  return model_message(with_types(R"(
    ir_version: 10 opset_import { version: 21 }
    training_info {
      algorithm {
        node { input: "w" input: "s" output: "d" op_type: "Mul" } node { input: "d" input: "t" output: "z" op_type: "Add" }
        node { input: "o" output: "p" op_type: "Neg" }
        output { name: "z" } output { name: "p" } initializer { name: "o" data_type: 1 dims: 2 raw_data: "abcdefgh" } }
      update_binding { key: "w" value: "z" } update_binding { key: "o" value: "p" } }
    graph {
      name: "g"
      node { input: "x" input: "w" output: "t" op_type: "Mul" } node { input: "t" input: "v" output: "y" op_type: "Add" }
      input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
      initializer { name: "w" data_type: 1 dims: 2 raw_data: "abcdefgh" }
      initializer { name: "v" data_type: 1 dims: 2 raw_data: "ijklmnop" }
      initializer { name: "s" data_type: 1 dims: 2 raw_data: "qrstuvwx" }
      initializer { name: "unread" data_type: 1 dims: 2 raw_data: "qrstuvwx" } })"));
}

TEST_F(Export, KeepsWhatTrainingNames) {
  ModelProto expected = trained_model();
  expected.mutable_graph()->mutable_initializer()->RemoveLast();
  expected.mutable_opset_import(0)->set_domain("");
  EXPECT_EQ(round_trip(trained_model()).DebugString(), expected.DebugString());
}

/// What passes may have left of a model with training.
TEST_F(Export, KeepsTrainingThatStillChangesTheWeights) {
  const auto original = import_message(trained_model());
  ASSERT_TRUE(original.ok()) << message_of(original);
  const auto find = [](const Graph& graph, std::string_view name) {
    for (const ValueId id : graph.values())
      if (graph.value(id).name == name) return id;
    return ValueId();
  };
  struct Case {
    const char* name;
    std::function<void(Graph&)> change;
    bool keeps;
  };
  const std::vector<Case> cases = {
      {"nothing", [](Graph&) {}, true},
      {"unread constants", [&](Graph& graph) { graph.remove_value(find(graph, "s")); }, true},
      {"another of the name",
       [&](Graph& graph) {
         graph.remove_value(find(graph, "s"));
         graph.edit(find(graph, "v")).name = "s";
       },
       true},
      {"another weight", [&](Graph& graph) { graph.edit(find(graph, "v")).name = "changed"; }, true},
      {"weight", [&](Graph& graph) { graph.edit(find(graph, "w")).name = "changed"; }, false},
      {"a reader", [&](Graph& graph) { graph.replace_uses(find(graph, "w"), find(graph, "v")); }, false},
      {"one more reader", [&](Graph& graph) { graph.replace_uses(find(graph, "v"), find(graph, "w")); }, false},
      {"a value", [&](Graph& graph) { graph.edit(find(graph, "t")).name = "changed"; }, false},
  };
  for (const auto& [name, change, keeps] : cases) {
    Graph graph = *original;
    change(graph);
    EXPECT_EQ(keep_named(graph, *original), keeps) << name;
    ASSERT_TRUE(export_model(graph, path()).ok()) << name;
    const ModelProto written = read_message(path());
    EXPECT_EQ(written.training_info_size(), keeps ? 1 : 0) << name;
    int found = 0;
    for (const auto& tensor : written.graph().initializer())
      found += tensor.name() == "s" && tensor.raw_data() == "qrstuvwx";
    EXPECT_EQ(found, keeps ? 1 : 0) << name;
  }
}

TEST_F(Export, KeepsAnnotationsOfWhatIsThere) {
  const ModelProto model = graph_model(R"(
    name: "g" node { input: "x" output: "t" op_type: "Relu" } node { input: "t" output: "y" op_type: "Neg" }
    quantization_annotation { tensor_name: "t" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "s" } }
    quantization_annotation { tensor_name: "y" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "r" } }
    quantization_annotation { tensor_name: "y" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "absent" } }
    quantization_annotation { tensor_name: "absent" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "r" } }
    input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
    initializer { name: "s" data_type: 1 raw_data: "abcd" } initializer { name: "r" data_type: 1 raw_data: "abcd" })");
  const auto original = import_message(model);
  ASSERT_TRUE(original.ok()) << message_of(original);
  for (const bool is_renamed : {false, true}) {
    Graph graph = *original;
    for (const ValueId id : graph.values()) {
      if (graph.is_constant(id))
        graph.remove_value(id);
      else if (graph.value(id).name == "t" && is_renamed)
        graph.edit(id).name = "changed";
    }
    EXPECT_TRUE(keep_named(graph, *original));
    ASSERT_TRUE(export_model(graph, path()).ok());
    std::vector<std::string> values;
    const ModelProto written = read_message(path());
    for (const auto& annotation : written.graph().quantization_annotation()) values.push_back(annotation.tensor_name());
    EXPECT_EQ(values, is_renamed ? std::vector<std::string>{"y"} : (std::vector<std::string>{"t", "y"}));
    EXPECT_EQ(written.graph().initializer_size(), 2);
  }
}

TEST_F(Export, KeepsFunctionsOfTrainingWithTheirData) {
  const ModelProto model = model_message(with_types(R"(
    ir_version: 10 opset_import { version: 21 } opset_import { domain: "local" version: 1 }
    training_info { algorithm { node { input: "x" output: "z" op_type: "Scale" domain: "local" } } }
    functions { name: "Scale" domain: "local" input: "a" output: "b" opset_import { version: 21 }
      node { output: "c" op_type: "Constant" attribute { name: "value" type: 4 t { data_type: 1 dims: 2 raw_data: "12345678" } } }
      node { input: "a" output: "b" op_type: "If" attribute { name: "then_branch" type: 5 g {
        initializer { name: "w" data_type: 1 dims: 1 raw_data: "abcd" } } } } }
    graph { name: "g" node { input: "x" output: "y" op_type: "Relu" } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 } })"));
  const ModelProto written = round_trip(model);
  ASSERT_EQ(written.functions_size(), 1);
  EXPECT_EQ(written.functions(0).DebugString(), model.functions(0).DebugString());
}

/// What nobody reads is written wherever the model goes.
TEST_F(Export, BringsDataIntoWhatIsKeptAsItIs) {
  ScratchFolder source;
  write_file(source.path() / "w.bin", "..abcdefgh");
  const std::string tensor =
      "data_type: 1 dims: 2 data_location: 1 external_data { key: 'location' value: 'w.bin' } external_data { key: "
      "'offset' value: '2' }";
  ModelProto model = model_message(with_types(fmt::format(R"(
    ir_version: 10 opset_import {{ version: 21 }} opset_import {{ domain: "of.nobody" version: 1 }}
    training_info {{ algorithm {{ initializer {{ name: "w" {0} }} }} }}
    graph {{ name: "g" node {{ input: "x" input: "v" output: "y" op_type: "Own" domain: "of.nobody"
      attribute {{ name: "s" type: 11
        sparse_tensor {{ values {{ {0} }} indices {{ data_type: 7 dims: 2 int64_data: [0, 1] }} dims: 3 }} }} }}
      initializer {{ name: "v" data_type: 2 dims: 2048 }}
      input {{ name: "x" FLOAT2 }} output {{ name: "y" FLOAT2 }} }})",
                                                          tensor)));
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(2048, 'v'));
  write_message(source.path() / "m.onnx", model);
  const auto graph = import_model(source.path() / "m.onnx");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  for (const auto& each : {written.training_info(0).algorithm().initializer(0),
                           written.graph().node(0).attribute(0).sparse_tensor().values()}) {
    EXPECT_EQ(each.raw_data(), "abcdefgh");
    EXPECT_EQ(each.external_data_size() + each.data_location(), 0);
  }
  EXPECT_THAT(files(), ElementsAre("out.onnx"));  // the weights were inline
}

/// Of constants, wherever they came from, and of tensors of attributes.
TEST_F(Export, KeepsWhatIsSaidOfTensors) {
  const ModelProto model = graph_model(R"(
    name: "g"
    node { input: "x" output: "a" op_type: "Own" domain: "of.nobody"
      attribute { name: "alone" doc_string: "attribute doc" type: 4 t { name: "t" doc_string: "tensor doc" data_type: 1 dims: 1 raw_data: "abcd" } }
      attribute { name: "list" type: 9 tensors { name: "u" data_type: 1 dims: 1 raw_data: "abcd" metadata_props { key: "a" value: "b" } } } }
    node { input: "a" input: "w" output: "b" op_type: "Mul" }
    node { input: "b" input: "s" output: "y" op_type: "Add" }
    input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
    initializer { name: "w" data_type: 1 dims: 2 raw_data: "12345678" }
    sparse_initializer { dims: 2000 dims: 1
      values { name: "s" data_type: 1 dims: 1 raw_data: "abcd" doc_string: "sparse doc" } indices { data_type: 7 dims: 1 raw_data: "\x07\x00\x00\x00\x00\x00\x00\x00" } }
    value_info { name: "w" doc_string: "weight's value" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } })");
  ModelProto imported = model;
  imported.add_opset_import()->set_domain("of.nobody");
  imported.mutable_opset_import(1)->set_version(1);
  EXPECT_EQ(round_trip(imported).graph().DebugString(), model.graph().DebugString());
  const ModelProto made = round_trip(graph_model(R"(
    name: "g" node { output: "w" op_type: "Constant" doc_string: "node doc" metadata_props { key: "a" value: "b" }
      attribute { name: "value_floats" type: 6 floats: 1 floats: 2 } }
    node { input: "x" input: "w" output: "y" op_type: "Mul" } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 })"));
  EXPECT_EQ(made.graph().initializer(0).doc_string(), "node doc");
  EXPECT_EQ(made.graph().initializer(0).metadata_props(0).value(), "b");
}

TEST_F(Export, SaysTypesThatTheFileSaidOrNobodyInfers) {
  const auto graph = parse_graph(R"(opset 17
opset "com.example" 1
graph g(x: float32[2]) -> (y: float32[2]) {
  a = Neg(x)
  b: float32[2] = com.example::Mix(a)
  y = Relu(b)
}
)");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  ASSERT_EQ(written.graph().value_info_size(), 1);
  EXPECT_EQ(written.graph().value_info(0).name(), "b");
}

TEST_F(Export, WritesOutWhatTheOpsetLacksUnlessTheModelHadIt) {
  for (const bool early : {false, true}) {
    const auto graph = parse_graph(fmt::format(R"(opset 11
{}graph g(x: float32[2,4], s: float32[4]) -> (y: float32[2,4]) {{ y = LayerNormalization(x, s) }}
)",
                                               early ? "early\n" : ""));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    ASSERT_TRUE(export_model(*graph, path()).ok());
    const ModelProto written = read_message(path());
    EXPECT_EQ(written.graph().node(0).op_type() == "LayerNormalization", early) << written.DebugString();
    EXPECT_EQ(written.graph().node_size() == 1, early);
  }
}

TEST_F(Export, WritesOldFormsAsTheyCame) {
  const std::vector<std::pair<int, std::string>> nodes = {
      {18, R"(input: "x" input: "s" input: "b" output: "y" op_type: "GroupNormalization" attribute { name: "num_groups"
           type: 2 i: 2 })"},
      {18, R"(input: "x" input: "k" input: "k" output: "y" op_type: "GroupNormalization" attribute { name: "num_groups"
           type: 2 i: 2 })"},
      {11, R"(input: "x" output: "y" op_type: "Softmax" attribute { name: "axis" type: 2 i: 1 })"},
      {11, R"(input: "open" output: "y" op_type: "LogSoftmax" attribute { name: "axis" type: 2 i: 1 })"},
      {11, R"(input: "unknown" output: "y" op_type: "Hardmax" attribute { name: "axis" type: 2 i: 2 })"}};
  for (const auto& [opset, node] : nodes) {
    ModelProto model = model_of_graph(fmt::format(R"(
      name: "g" node {{ {} }} initializer {{ name: "k" data_type: 1 dims: 2 float_data: 1 float_data: 2 }}
      input {{ name: "x" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 2 }} dim {{ dim_value: 4 }}
        dim {{ dim_value: 3 }} }} }} }} }}
      input {{ name: "s" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 2 }} }} }} }} }}
      input {{ name: "b" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_value: 2 }} }} }} }} }}
      input {{ name: "open" type {{ tensor_type {{ elem_type: 1 shape {{ dim {{ dim_param: "N" }}
        dim {{ dim_param: "C" }} dim {{ dim_param: "D" }} }} }} }} }}
      input {{ name: "unknown" type {{ tensor_type {{ elem_type: 1 }} }} }}
      output {{ name: "y" type {{ tensor_type {{ elem_type: 1 }} }} }})",
                                                  node));
    model.mutable_opset_import(0)->set_version(opset);
    const ModelProto written = round_trip(model);
    ASSERT_EQ(written.graph().node_size(), 1) << written.DebugString();
    EXPECT_EQ(written.graph().node(0).op_type(), model.graph().node(0).op_type());
    EXPECT_EQ(written.graph().node(0).attribute(0).i(), model.graph().node(0).attribute(0).i());
    for (int k = 0; k < model.graph().node(0).input_size(); ++k)
      EXPECT_EQ(written.graph().node(0).input(k), model.graph().node(0).input(k));
  }
}

TEST_F(Export, WritesDimsAsTheyCame) {
  const char* graph = R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" }
    input { name: "x" type { denotation: "IMAGE" tensor_type { elem_type: 1 shape {
      dim { dim_param: "batch size" denotation: "DATA_BATCH" } dim { } dim { dim_value: 3 } dim { dim_param: "?" }
      dim { dim_param: "?" } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 shape {
      dim { } dim { dim_param: "k" } dim { } dim { dim_param: "None" } dim { dim_param: "None" } } } } })";
  const ModelProto model = model_of_graph(graph);
  const ModelProto written = round_trip(model);
  EXPECT_EQ(written.graph().input(0).DebugString(), model.graph().input(0).DebugString());
  EXPECT_EQ(written.graph().output(0).DebugString(), model.graph().output(0).DebugString());
}

TEST_F(Export, KeepsDenotationsOfBoundInputs) {
  const auto graph = import_message(model_of_graph(R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" }
    input { name: "x" type { denotation: "IMAGE" tensor_type { elem_type: 1 shape {
      dim { dim_param: "N" denotation: "DATA_BATCH" } dim { dim_value: 3 denotation: "DATA_CHANNEL" } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 } } })"));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  Graph bound = *graph;
  ASSERT_TRUE(bind_inputs(bound, {{"N", 2}}, {}).ok());
  ASSERT_TRUE(export_model(bound, path()).ok());
  const auto type = read_message(path()).graph().input(0).type();
  EXPECT_EQ(type.denotation(), "IMAGE");
  EXPECT_EQ(type.tensor_type().shape().dim(0).dim_value(), 2);
  EXPECT_EQ(type.tensor_type().shape().dim(0).denotation(), "DATA_BATCH");
  EXPECT_EQ(type.tensor_type().shape().dim(1).denotation(), "DATA_CHANNEL");
}

TEST_F(Export, NamesEveryValueOnce) {
  auto graph = import_message(graph_model(R"(
    name: "g" node { input: "x" output: "t" op_type: "Relu" } node { input: "t" output: "y" op_type: "Relu" }
    input { name: "x" FLOAT2 } output { name: "y" FLOAT2 })"));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  for (const ValueId id : graph->values())
    if (graph->value(id).name == "t") graph->edit(id).name = "y";
  for (const NodeId id : graph->nodes()) graph->edit(id).name = "same";
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  EXPECT_EQ(written.graph().node(0).output(0), "y_1");
  EXPECT_EQ(written.graph().node(1).output(0), "y");
  EXPECT_EQ(written.graph().node(0).name(), "same");
  EXPECT_EQ(written.graph().node(1).name(), "same_1");
}

TEST_F(Export, NamesUnreadOutputsWhoseNumberCounts) {
  const auto graph = parse_graph(R"(ir_version 10
opset 21
graph g(x: float32[3]) -> (y: float32[1]) {
  sizes: int64[3] = {1, 1, 1}
  _, y, _ = Split(x, sizes)
}
)");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  ASSERT_EQ(written.graph().node(0).output_size(), 3);
  for (const std::string& name : written.graph().node(0).output()) EXPECT_NE(name, "");
  const auto back = import_model(path());
  EXPECT_TRUE(back.ok()) << message_of(back);
}

TEST_F(Export, NamesUnreadOutputsThatTheSchemaDemands) {
  for (const char* outputs : {"y", "y, _", "_, i"}) {
    const auto graph = parse_graph(fmt::format(R"(ir_version 10
opset 21
graph g(x: float32[3]) -> (z: float32[3]) {{
  k: int64[1] = {{1}}
  {} = TopK(x, k)
  z = Relu(x)
}}
)",
                                               outputs));
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    ASSERT_TRUE(export_model(*graph, path()).ok());
    const ModelProto written = read_message(path());
    ASSERT_EQ(written.graph().node(0).output_size(), 2) << outputs;
    for (const std::string& name : written.graph().node(0).output()) EXPECT_NE(name, "") << outputs;
  }
}

/// What is not known about a node came in the form of the model's opset, and goes back to it.
TEST_F(Export, WritesFormsOfOldOpsetsWhereSizesAreUnknown) {
  const std::string free = "type { tensor_type { elem_type: 1 shape { dim { dim_param: 'n' } } } }",
                    any = "type { tensor_type { elem_type: 1 } }", byte = "type { tensor_type { elem_type: 2 } }";
  const struct {
    int64_t opset;
    std::string x, y, node;
  } cases[] = {
      {13, free, any, "input: 'x' output: 'y' output: 'z' op_type: 'Split'"},
      {11, any, any, "input: 'x' output: 'y' output: 'z' op_type: 'Split'"},
      {11, any, any, "input: 'x' output: 'y' op_type: 'Softmax'"},
      {9, any, any, "input: 'x' output: 'y' op_type: 'LogSoftmax' attribute { name: 'axis' i: 2 type: 2 }"},
      {10, any, any, "input: 'x' input: 's' output: 'y' op_type: 'Resize'"},
      {10, any, any,
       "input: 'x' input: 's' output: 'y' op_type: 'Resize' attribute { name: 'mode' s: 'linear' type: 3 }"},
      {10, any, byte, "input: 'x' input: 's' output: 'y' op_type: 'QuantizeLinear'"},
      {16, any, any, "input: 'x' input: 's' output: 'y' op_type: 'GridSample'"},
  };
  for (const auto& [opset, x, y, node] : cases) {
    SCOPED_TRACE(node);
    ModelProto model = model_of_graph(fmt::format(
        "name: 'g' node {{ {} }} input {{ name: 'x' {} }} input {{ name: 's' {} }} output {{ name: 'y' {} }}", node, x,
        any, y));
    model.mutable_opset_import(0)->set_version(opset);
    const auto graph = import_message(model);
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    const auto written = export_model(*graph, path());
    ASSERT_TRUE(written.ok()) << message_of(written);
    const std::string op = model.graph().node(0).op_type();
    const ModelProto read = read_message(path());
    for (const auto& each : read.graph().node())
      if (each.op_type() == op) {
        EXPECT_EQ(each.input_size(), model.graph().node(0).input_size());
      }
    EXPECT_TRUE(import_model(path()).ok());
  }
}

/// A file's own node can be said in its opset, whatever is known of its operands.
TEST_F(Export, WritesNodesOfOldOpsetsAsTheyCame) {
  const std::string axis = "attribute { name: 'axis' i: -1 type: 2 }",
                    axes = "attribute { name: 'axes' ints: -1 type: 7 }";
  const std::pair<int64_t, std::string> nodes[] = {
      {7, "input: 'p' input: 'q' output: 'y' op_type: 'Max'"},
      {7, "input: 'p' input: 'q' output: 'y' op_type: 'Min'"},
      {7, "input: 'a' input: 'b' output: 'y' op_type: 'Max'"},
      {7, "input: 'a' input: 'b' output: 'y' op_type: 'Concat' " + axis},
      {9, "input: 'a' output: 'y' op_type: 'Softmax' " + axis},
      {7, "input: 'a' output: 'y' op_type: 'LogSoftmax' " + axis},
      {7, "input: 'a' output: 'y' op_type: 'Hardmax' " + axis},
      {7, "input: 'a' output: 'y' op_type: 'Flatten' " + axis},
      {7, "input: 'a' output: 'y' output: 'z' op_type: 'Split' " + axis},
      {7, "input: 'a' input: 'i' output: 'y' op_type: 'Gather' " + axis},
      {7, "input: 'a' output: 'y' op_type: 'ReduceMean' " + axes},
      {7, "input: 'a' output: 'y' op_type: 'Squeeze' " + axes},
      {7, "input: 'a' output: 'y' op_type: 'Unsqueeze' " + axes},
      {9, "input: 'p' output: 'y' output: 'm' op_type: 'Dropout'"},
      {6,
       "input: 'r' input: 'c' output: 'y' op_type: 'Mul' attribute { name: 'axis' i: 1 type: 2 } "
       "attribute { name: 'broadcast' i: 1 type: 2 }"},
      {6, "input: 'a' input: 'b' output: 'y' op_type: 'Add' attribute { name: 'broadcast' i: 1 type: 2 }"},
      {6, "input: 'a' input: 'b' input: 'b' output: 'y' op_type: 'Gemm' attribute { name: 'broadcast' i: 1 type: 2 }"},
  };
  const auto sized = [](std::string_view name, const std::vector<std::string_view>& dims) {
    std::string shape;
    for (const std::string_view dim : dims) shape += fmt::format("dim {{ dim_param: '{}' }} ", dim);
    return fmt::format("input {{ name: '{}' type {{ tensor_type {{ elem_type: 1 shape {{ {} }} }} }} }} ", name, shape);
  };
  for (const auto& [opset, node] : nodes) {
    SCOPED_TRACE(node);
    ModelProto model = model_of_graph("name: 'g' node { " + node + " } " + sized("p", {"?", "K"}) +
                                      sized("q", {"?", "K"}) + sized("r", {"N", "C", "H"}) + sized("c", {"C"}) +
                                      "input { name: 'a' type { tensor_type { elem_type: 1 } } } input { name: 'b' "
                                      "type { tensor_type { elem_type: 1 } } } "
                                      "input { name: 'i' type { tensor_type { elem_type: 7 } } } output { name: 'y' "
                                      "type { tensor_type { elem_type: 1 } } }");
    model.mutable_opset_import(0)->set_version(opset);
    if (model.graph().node(0).output_size() == 2) {
      *model.mutable_graph()->add_output() = model.graph().output(0);
      model.mutable_graph()->mutable_output(1)->set_name(model.graph().node(0).output(1));
    }
    const ModelProto written = round_trip(model);
    ASSERT_EQ(written.graph().node_size(), 1) << written.DebugString();
    EXPECT_EQ(written.graph().node(0).DebugString(), model.graph().node(0).DebugString());
  }
}

TEST_F(Export, WritesNothingThatAnImporterRefuses) {
  auto graph = parse_graph(R"(ir_version 10
opset 21
graph g(x: float32[2,3]) -> (y: float32[2,3]) {
  y = Relu(x)
}
)");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  graph->edit(graph->nodes()[0]).attributes.emplace("alpha", 1.0f);
  EXPECT_THROW((void)export_model(*graph, path()), Bug);
  EXPECT_TRUE(fs::is_empty(path().parent_path()));
}

TEST_F(Export, ListsInitializersAsInputsBeforeIr4) {
  ModelProto model = graph_model(R"(
    name: "g" node { input: "x" input: "w" output: "y" op_type: "Add" }
    input { name: "w" FLOAT2 } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
    initializer { name: "w" data_type: 1 dims: 2 float_data: 1 float_data: 2 })");
  model.set_ir_version(3);
  const ModelProto written = round_trip(model);
  EXPECT_EQ(written.ir_version(), 3);
  ASSERT_EQ(written.graph().input_size(), 2);
  EXPECT_EQ(written.graph().input(0).name(), "x");
  EXPECT_EQ(written.graph().input(1).name(), "w");
  EXPECT_EQ(written.graph().initializer(0).name(), "w");
}

/// Of a body they would be inputs that its operator does not give, and the reader of either must find a constant.
TEST_F(Export, WritesConstantsOfBodiesAsNodesBeforeIr4) {
  for (const std::string_view made :
       {"node { output: 'w' op_type: 'Constant' attribute { name: 'value' type: 4 t { data_type: 1 dims: 2 float_data: "
        "[1, 2] } } } value_info { name: 'w' doc_string: 'said' FLOAT2 }",
        "input { name: 'w' doc_string: 'said' FLOAT2 } initializer { name: 'w' data_type: 1 dims: 2 float_data: [1, 2] "
        "}"}) {
    ModelProto model = graph_model(fmt::format(R"(
      name: "g" node {{ input: "c" output: "y" op_type: "If"
        attribute {{ name: "then_branch" type: 5 g {{ name: "then" {}
          node {{ input: "x" input: "w" output: "t" op_type: "Add" }} output {{ name: "t" FLOAT2 }} }} }}
        attribute {{ name: "else_branch" type: 5 g {{ name: "else" node {{ input: "x" output: "e" op_type: "Neg" }}
          output {{ name: "e" FLOAT2 }} }} }} }}
      input {{ name: "x" FLOAT2 }} input {{ name: "c" type {{ tensor_type {{ elem_type: 9 shape {{ }} }} }} }}
      output {{ name: "y" FLOAT2 }})",
                                               made));
    model.set_ir_version(3);
    model.mutable_opset_import(0)->set_version(8);
    const ModelProto written = round_trip(model);
    const auto& body = written.graph().node(0).attribute(1).g();
    ASSERT_EQ(body.name(), "then");
    EXPECT_EQ(body.input_size(), 0);
    EXPECT_EQ(body.initializer_size(), 0);
    EXPECT_EQ(body.node(0).op_type(), "Constant");
    EXPECT_EQ(body.node(1).input(1), body.node(0).output(0));
    ASSERT_EQ(body.value_info_size(), 1);
    EXPECT_EQ(body.value_info(0).doc_string(), "said");
  }
}

TEST_F(Export, WritesConstantsOfBodiesAsInitializersSinceIr4) {
  const auto graph = parse_graph(R"(opset 21
ir_version 10
graph g(x: float32[2], c: bool[]) -> (y: float32[2]) {
  y: float32[2] = If(c) captures (x) {
    then_branch = graph then() captures (x: float32[2]) -> (t: float32[2]) {
      w: float32[2] = {1, 2}
      t = Add(x, w)
    },
    else_branch = graph else() captures (x: float32[2]) -> (e: float32[2]) {
      e = Neg(x)
    }
  }
}
)");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  for (const auto& attribute : written.graph().node(0).attribute())
    EXPECT_EQ(attribute.g().initializer_size(), attribute.name() == "then_branch" ? 1 : 0);
}

/// What is omitted before a list is counted: the list begins behind it.
TEST_F(Export, ListsOmittedInputsBeforeAList) {
  const char* const kTypes[] = {"type { tensor_type { elem_type: 7 shape { } } }",
                                "type { tensor_type { elem_type: 9 shape { } } }"};
  for (const int opset : {11, 21}) {
    ModelProto model = model_of_graph(with_types(fmt::format(R"(
      name: "g" node {{ input: "m" input: "" output: "s" op_type: "Loop" attribute {{ name: "body" type: 5 g {{
        name: "b" input {{ name: "i" {0} }} input {{ name: "c" {1} }}
        node {{ input: "c" output: "d" op_type: "Identity" }} node {{ input: "x" output: "r" op_type: "Neg" }}
        output {{ name: "d" {1} }} output {{ name: "r" FLOAT2 }} }} }} }}
      input {{ name: "m" {0} }} input {{ name: "x" FLOAT2 }} output {{ name: "s" }})",
                                                             kTypes[0], kTypes[1])));
    model.mutable_opset_import(0)->set_version(opset);
    EXPECT_THAT(round_trip(model).graph().node(0).input(), ElementsAre("m", ""));
  }
}

TEST_F(Export, KeepsDefaultsOfInputs) {
  const ModelProto written = round_trip(graph_model(R"(
    name: "g" node { input: "x" input: "w" output: "y" op_type: "Add" }
    input { name: "w" FLOAT2 } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
    initializer { name: "w" data_type: 1 dims: 2 float_data: 1 float_data: 2 })"));
  EXPECT_EQ(written.graph().input(0).name(), "w");
  EXPECT_EQ(written.graph().input(1).name(), "x");
  EXPECT_EQ(written.graph().initializer(0).name(), "w");
}

TEST_F(Export, MakesConstantOutputsByNodes) {
  const ModelProto written = round_trip(graph_model(R"(
    name: "g" node { input: "c" output: "y" op_type: "Relu" }
    output { name: "y" FLOAT2 } output { name: "c" FLOAT2 }
    initializer { name: "c" data_type: 1 dims: 2 float_data: 1 float_data: 2 })"));
  EXPECT_EQ(written.graph().initializer_size(), 0);
  EXPECT_EQ(written.graph().node(0).op_type(), "Constant");
  EXPECT_EQ(written.graph().node(0).output(0), "c");
}

TEST_F(Export, KeepsNamesOfConstantNodesThatStay) {
  const std::string constant =
      R"(op_type: "Constant" attribute { name: "value" type: 4 t { name: "of a tensor" data_type: 1 dims: 2 raw_data: "abcdefgh" } })";
  const ModelProto written = round_trip(graph_model(fmt::format(R"(
    name: "g" node {{ name: "first" output: "c" {0} }} node {{ name: "second" output: "d" {0} }}
    node {{ input: "c" input: "d" output: "y" op_type: "Add" }}
    output {{ name: "y" FLOAT2 }} output {{ name: "c" FLOAT2 }})",
                                                                constant)));
  EXPECT_EQ(written.graph().node(0).name(), "first");
  EXPECT_FALSE(written.graph().node(0).attribute(0).t().has_name());
  ASSERT_EQ(written.graph().initializer_size(), 1);
  EXPECT_EQ(written.graph().initializer(0).name(), "d");
}

TEST_F(Export, SaysOfNodesOfACallWhatIsSaidOfIt) {
  const ModelProto written = round_trip(model_message(with_types(R"(
    ir_version: 10 opset_import { version: 21 } opset_import { domain: "local" version: 1 }
    graph { name: "g" input { name: "x" FLOAT2 } output { name: "y" FLOAT2 }
      node { input: "x" output: "y" op_type: "F" domain: "local"
        metadata_props { key: "of call" value: "1" } metadata_props { key: "both" value: "2" } } }
    functions { name: "F" domain: "local" input: "a" output: "b" opset_import { version: 21 }
      opset_import { domain: "local" version: 1 }
      node { input: "a" output: "t" op_type: "Relu" metadata_props { key: "both" value: "3" } }
      node { input: "t" output: "b" op_type: "G" domain: "local" } }
    functions { name: "G" domain: "local" input: "a" output: "b" opset_import { version: 21 }
      node { input: "a" output: "b" op_type: "Neg" } })")));
  std::vector<std::string> said;
  for (const auto& node : written.graph().node())
    for (const auto& entry : node.metadata_props())
      said.push_back(node.op_type() + " " + entry.key() + " " + entry.value());
  EXPECT_THAT(said, ElementsAre("Relu both 3", "Relu of call 1", "Neg of call 1", "Neg both 2"));
}

TEST_F(Export, WritesSparseInitializersSparse) {
  const ModelProto written = round_trip(model_of_graph(R"(
    name: "g" node { input: "x" input: "w" output: "y" op_type: "Add" }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 100 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 100 } } } } }
    sparse_initializer { dims: 100 values { name: "w" data_type: 1 dims: 1 float_data: 5 } indices { data_type: 7 dims: 1 int64_data: 42 } })"));
  EXPECT_EQ(written.graph().initializer_size(), 0);
  ASSERT_EQ(written.graph().sparse_initializer_size(), 1);
  EXPECT_EQ(written.graph().sparse_initializer(0).values().name(), "w");
}

TEST_F(Export, KeepsCapturesOfBodies) {
  const auto graph = import_message(graph_model(R"(
    name: "g"
    node { input: "x" output: "outer" op_type: "Relu" }
    node { input: "c" output: "y" op_type: "If"
           attribute { name: "then_branch" type: 5 g { name: "then" output { name: "outer" } } }
           attribute { name: "else_branch" type: 5 g { name: "else" node { input: "outer" input: "w" output: "e" op_type: "Add" }
                                                        output { name: "e" FLOAT2 } } } }
    input { name: "x" FLOAT2 } input { name: "c" type { tensor_type { elem_type: 9 shape { } } } }
    output { name: "y" FLOAT2 } initializer { name: "w" data_type: 1 dims: 2 float_data: 1 float_data: 2 })"));
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  ASSERT_TRUE(export_model(*graph, path()).ok());
  const ModelProto written = read_message(path());
  const auto& node = written.graph().node(1);
  ASSERT_EQ(node.attribute(0).name(), "else_branch");
  const auto& otherwise = node.attribute(0).g();
  EXPECT_THAT(otherwise.node(0).input(), ElementsAre("outer", "w"));
  EXPECT_EQ(otherwise.initializer_size(), 0);
  const auto& then = node.attribute(1).g();
  ASSERT_EQ(then.node_size(), 1) << "a captured value can't be returned directly";
  EXPECT_EQ(then.node(0).op_type(), "Identity");
  EXPECT_EQ(then.node(0).input(0), "outer");
}

TEST_F(Export, RenamesWhatWouldHideACapture) {
  const ModelProto written = round_trip(graph_model(R"(
    name: "g"
    node { input: "x" output: "t" op_type: "Relu" }
    node { input: "c" output: "y" op_type: "If"
           attribute { name: "then_branch" type: 5 g { name: "then" node { input: "x" output: "t" op_type: "Neg" } output { name: "t" } } }
           attribute { name: "else_branch" type: 5 g { name: "else" node { input: "t" output: "e" op_type: "Abs" } output { name: "e" } } } }
    input { name: "x" FLOAT2 } input { name: "c" type { tensor_type { elem_type: 9 shape { } } } } output { name: "y" FLOAT2 })"));
  const auto& node = written.graph().node(1);
  EXPECT_EQ(node.attribute(0).g().node(0).input(0), "t");
  EXPECT_EQ(node.attribute(1).g().output(0).name(), "t_1");
}

}  // namespace
}  // namespace isomer::test
