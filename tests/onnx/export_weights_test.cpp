// Where an exported model has its weights, and what is left of a failed export.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>

#include "graph/onnx/weights_place.h"
#include "graph/text.h"
#include "onnx/export_fixture.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;
using onnx_proto::ModelProto;
using testing::ElementsAre;
using testing::HasSubstr;

/// 300 floats beside the model, 2 in it.
ModelProto external_model(const std::string& location) {
  return graph_model(fmt::format(R"(
    name: "g" node {{ input: "w" input: "i" output: "y" op_type: "Gather" }} node {{ input: "y" input: "b" output: "z" op_type: "Add" }}
    input {{ name: "i" type {{ tensor_type {{ elem_type: 7 shape {{ dim {{ dim_value: 2 }} }} }} }} }} output {{ name: "z" FLOAT2 }}
    initializer {{ name: "w" data_type: 1 dims: 300 data_location: 1 external_data {{ key: "location" value: "{0}" }} }}
    initializer {{ name: "b" data_type: 1 dims: 2 data_location: 1 external_data {{ key: "location" value: "{0}" }}
                  external_data {{ key: "offset" value: "1200" }} }})",
                                 location));
}

TEST_F(Export, PutsWeightsBesideTheModelWhereTheyWere) {
  for (const auto& [location, expected] :
       std::vector<std::pair<std::string, std::string>>{{"in.weights", "out.weights"},
                                                        {"sub/in.onnx.data", "out.onnx.data"},
                                                        {"model.onnx_data", "out.onnx_data"},
                                                        {"weights", "out.data"},
                                                        {"in.onnx", "out.onnx.data"}}) {
    ScratchFolder source;
    fs::create_directories(source.path() / "sub");
    std::string data(1208, '\0');
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i % 120);
    write_file(source.path() / location, data);
    write_message(source.path() / "the_model", external_model(location));
    const auto graph = import_model(source.path() / "the_model");
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    const auto done = export_model(*graph, path());
    ASSERT_TRUE(done.ok()) << message_of(done);
    EXPECT_THAT(files(), testing::UnorderedElementsAre("out.onnx", expected)) << location;
    const ModelProto written = read_message(path());
    const auto& large = written.graph().initializer(0);
    EXPECT_EQ(large.external_data(0).value(), expected);
    EXPECT_EQ(large.external_data(2).value(), "1200");
    EXPECT_EQ(written.graph().initializer(1).raw_data(), data.substr(1200)) << "small tensors move into the model";
    const auto back = import_model(path());
    ASSERT_TRUE(back.ok()) << message_of(back);
    EXPECT_EQ(structural_hash(*back), structural_hash(*graph));
    fs::remove(path());
    fs::remove(scratch_.path() / expected);
  }
}

/// onnx.checker refuses locations with two dots, and with a backslash; readers may want UTF-8.
TEST_F(Export, GivesWeightsANameThatOthersTake) {
  for (const auto& [model, original, expected] :
       std::vector<std::array<const char*, 3>>{{"my..model.onnx", "in.data", "my._model.data"},
                                               {"a.. .b.onnx", "in.data", "a._ .b.data"},
                                               {"a\\b.onnx", "in.data", "a_b.data"},
                                               {"a..onnx", "in.data", "a_.data"},
                                               {"a\xff\n.onnx", "in.data", "a__.data"},
                                               {"größe.onnx", "in.onnx..data", "größe.onnx._data"}}) {
    const fs::path place = scratch_.path() / model;
    EXPECT_EQ(WeightsPlace(place).free_name(original), expected) << model;
  }
  auto graph = parse_graph(
      "opset 17\ngraph g(x: float32[400]) -> (y: float32[400]) {\n  w: float32[400] = random 1\n"
      "  y = Add(x, w)\n}\n");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  graph->edit_info().external_data = "in.data";
  for (const char* weights : {"a._b.data", "a._b-2.data", "a._b.data"}) {
    ASSERT_TRUE(export_model(*graph, scratch_.path() / "a..b.onnx").ok());
    EXPECT_THAT(files(), testing::UnorderedElementsAre("a..b.onnx", weights));
  }
  EXPECT_TRUE(import_model(scratch_.path() / "a..b.onnx").ok());
}

TEST_F(Export, PutsWeightsOfBodiesBesideTheModelWhereTheyWere) {
  ScratchFolder source;
  write_file(source.path() / "in.weights", std::string(4800, '\1'));
  const auto weights = [](std::string_view name, int offset) {
    return fmt::format(R"(initializer {{ name: "{}" data_type: 1 dims: 300 dims: 2 data_location: 1
      external_data {{ key: "location" value: "in.weights" }} external_data {{ key: "offset" value: "{}" }} }}
      initializer {{ name: "{}s" data_type: 1 dims: 2 float_data: [1, 2] }})",
                       name, offset, name);
  };
  write_message(source.path() / "m.onnx", graph_model(fmt::format(R"(
    name: "g" node {{ input: "c" output: "y" op_type: "If"
      attribute {{ name: "then_branch" type: 5 g {{ name: "then" {}
        node {{ input: "x" input: "v" output: "t" op_type: "Add" }} node {{ input: "t" input: "vs" output: "u" op_type: "Add" }}
        output {{ name: "u" }} }} }}
      attribute {{ name: "else_branch" type: 5 g {{ name: "else" {}
        node {{ input: "x" input: "w" output: "e" op_type: "Mul" }} node {{ input: "e" input: "ws" output: "f" op_type: "Mul" }}
        output {{ name: "f" }} }} }} }}
    input {{ name: "x" FLOAT2 }} input {{ name: "c" type {{ tensor_type {{ elem_type: 9 shape {{ }} }} }} }} output {{ name: "y" }})",
                                                                  weights("v", 0), weights("w", 2400))));
  const auto graph = import_model(source.path() / "m.onnx");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  for (const bool has_file : {false, true}) {
    Graph placed = *graph;
    if (!has_file) placed.edit_info().external_data.clear();
    ASSERT_TRUE(export_model(placed, path()).ok());
    const ModelProto written = read_message(path());
    for (const auto& attribute : written.graph().node(0).attribute()) {
      const auto& large = attribute.g().initializer(0);
      EXPECT_EQ(large.data_location() == onnx_proto::TensorProto::EXTERNAL, has_file);
      EXPECT_EQ(large.raw_data().size(), has_file ? 0U : 2400U);
      EXPECT_EQ(attribute.g().initializer(1).raw_data().size(), 8U) << "small tensors move into the model";
      EXPECT_FALSE(large.has_payload());
    }
    const auto back = import_model(path());
    ASSERT_TRUE(back.ok()) << message_of(back);
    EXPECT_EQ(structural_hash(*back), structural_hash(*graph));
    EXPECT_EQ(files().size(), has_file ? 2U : 1U);
  }
}

TEST_F(Export, PutsElementsOfLessThanAByteBesideTheModel) {
  auto graph = parse_graph(R"(opset 21
graph g(x: float32[1,64]) -> (y: float32[1,64]) {
  q: int4[64,64] = random 1
  s: float32[] = {0.5}
  w = DequantizeLinear(q, s)
  y = MatMul(x, w)
}
)");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  graph->edit_info().external_data = "in.weights";
  const auto done = export_model(*graph, path());
  ASSERT_TRUE(done.ok()) << message_of(done);
  const ModelProto written = read_message(path());
  const auto& weights = written.graph().initializer(0);
  ASSERT_EQ(weights.external_data_size(), 3);
  EXPECT_EQ(weights.external_data(2).value(), "2048");
  const auto back = import_model(path());
  ASSERT_TRUE(back.ok()) << message_of(back);
  const auto elements = [](const Graph& one) {
    for (const ValueId id : one.values())
      if (one.value(id).name == "q") return one.value(id).constant->integers();
    return std::vector<int64_t>();
  };
  EXPECT_EQ(elements(*back).size(), 4096U);
  EXPECT_EQ(elements(*back), elements(*graph));
}

TEST_F(Export, PutsMuchWeightBesideTheModel) {
  const auto graph = import_message(graph_model(R"(
    name: "g" node { input: "x" input: "w" output: "y" op_type: "Mul" } node { input: "y" input: "v" output: "z" op_type: "Add" }
    input { name: "x" FLOAT2 } output { name: "z" }
    initializer { name: "w" data_type: 1 dims: 200 dims: 2 raw_data: "" } initializer { name: "v" data_type: 1 dims: 100 dims: 1 dims: 2 raw_data: "" })"));
  EXPECT_THAT(message_of(graph), HasSubstr("raw_data of 1600 bytes"));
  ModelProto model = graph_model(R"(
    name: "g" node { input: "x" input: "w" output: "y" op_type: "Mul" }
    input { name: "x" FLOAT2 } output { name: "y" } initializer { name: "w" data_type: 1 dims: 200 dims: 2 })");
  model.mutable_graph()->mutable_initializer(0)->set_raw_data(std::string(1600, '\1'));
  const auto heavy = import_message(model);
  ASSERT_TRUE(heavy.ok()) << message_of(heavy);
  ASSERT_TRUE(export_model(*heavy, path(), {.inline_bytes = 1600}).ok());
  EXPECT_THAT(files(), ElementsAre("out.onnx"));
  ASSERT_TRUE(export_model(*heavy, path(), {.inline_bytes = 1599}).ok());
  EXPECT_THAT(files(), testing::UnorderedElementsAre("out.onnx", "out.data"));
}

TEST_F(Export, ReplacesItsOwnInput) {
  write_file(scratch_.path() / "out.weights", std::string(1208, '\1'));
  write_message(path(), external_model("out.weights"));
  const auto graph = import_model(path());
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  const Hash128 before = structural_hash(*graph);
  for (const char* weights : {"out-2.weights", "out.weights"}) {
    ASSERT_TRUE(export_model(*graph, path()).ok());
    EXPECT_THAT(files(), testing::UnorderedElementsAre("out.onnx", weights));
    const auto back = import_model(path());
    ASSERT_TRUE(back.ok()) << message_of(back);
    EXPECT_EQ(structural_hash(*back), before);
  }
}

TEST_F(Export, LeavesNothingWhereWeightsChangedMeanwhile) {
  ScratchFolder source;
  write_file(source.path() / "w.data", std::string(1208, '\1'));
  write_message(source.path() / "m.onnx", external_model("w.data"));
  const auto graph = import_model(source.path() / "m.onnx");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  fs::resize_file(source.path() / "w.data", 5000);
  EXPECT_THAT(message_of(export_model(*graph, path())), HasSubstr("a file that changed"));
  EXPECT_THAT(files(), testing::IsEmpty());
}

TEST_F(Export, LeavesNothingWhereItFails) {
  const auto graph = import_message(graph_model(R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 })"));
  ASSERT_TRUE(graph.ok());
  EXPECT_FALSE(export_model(*graph, scratch_.path() / "missing/out.onnx").ok());
  fs::create_directory(path());
  EXPECT_THAT(message_of(export_model(*graph, path())), HasSubstr("a regular file to replace expected"));
  EXPECT_THAT(files(), ElementsAre("out.onnx"));
  EXPECT_THAT(message_of(export_model(*graph, "/dev/null")), HasSubstr("a regular file to replace expected"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(Export, FollowsALinkAndKeepsPermissions) {
  const auto graph = import_message(graph_model(R"(
    name: "g" node { input: "x" output: "y" op_type: "Relu" } input { name: "x" FLOAT2 } output { name: "y" FLOAT2 })"));
  ASSERT_TRUE(graph.ok());
  write_file(scratch_.path() / "real.onnx", "old");
  fs::permissions(scratch_.path() / "real.onnx", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("real.onnx", path());
  ASSERT_TRUE(export_model(*graph, path()).ok());
  EXPECT_TRUE(fs::is_symlink(path()));
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(import_model(scratch_.path() / "real.onnx").ok());
}

}  // namespace
}  // namespace isomer::test
