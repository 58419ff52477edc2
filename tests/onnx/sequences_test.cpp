// Lists of tensors that the file says all of: what reads them reads their elements (graph/onnx/sequences.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "onnx/messages.h"

namespace isomer::test {
namespace {

using testing::ElementsAre;

constexpr std::string_view kInput =
    "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 4 } dim { dim_value: 2 } } } } } "
    "output { name: 'y' } ";

/// A constant of int64, a scalar or a list.
std::string index(std::string_view name, const std::vector<int>& numbers, bool is_list = false) {
  std::string text = fmt::format("initializer {{ name: '{}' data_type: 7 ", name);
  for (const int number : numbers) text += fmt::format("int64_data: {} ", number);
  return text + (is_list ? fmt::format("dims: {} }} ", numbers.size()) : "} ");
}

std::string node(std::string_view op, std::string_view inputs, std::string_view output,
                 std::string_view attributes = "") {
  std::string text = fmt::format("node {{ op_type: '{}' output: '{}' {} ", op, output, attributes);
  for (size_t at = 0; at < inputs.size();) {
    const size_t end = std::min(inputs.find(' ', at), inputs.size());
    text += fmt::format("input: '{}' ", inputs.substr(at, end - at));
    at = end + 1;
  }
  return text + "} ";
}

std::string integer(std::string_view name, int value) {
  return fmt::format("attribute {{ name: '{}' type: 2 i: {} }} ", name, value);
}

Graph graph_of(const std::string& nodes) {
  auto graph = import_message(model_of_graph(std::string(kInput) + nodes));
  EXPECT_TRUE(graph.ok()) << message_of(graph);
  return graph.ok() ? *std::move(graph) : Graph();
}

/// What the graph makes of rows (0, 1), (2, 3), (4, 5), (6, 7).
std::vector<double> made(const std::string& nodes) {
  const Graph graph = graph_of(nodes);
  for (const NodeId id : graph.nodes()) EXPECT_FALSE(graph.node(id).is_opaque()) << graph.node(id).op_type;
  const std::vector<double> rows = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {4, 2}, rows)};
  const auto outputs = interpret(graph, inputs, {});
  EXPECT_TRUE(outputs.ok()) << message_of(outputs);
  std::vector<double> result;
  if (outputs.ok())
    for (int64_t i = 0; i < outputs->front().count(); ++i) result.push_back(outputs->front().as_double(i));
  return result;
}

bool stays(const std::string& nodes, std::string_view op) {
  const Graph graph = graph_of(nodes);
  for (const NodeId id : graph.nodes())
    if (graph.node(id).op_type == op) return graph.node(id).is_opaque();
  return false;
}

TEST(Sequences, AreSplitIntoElementsPiecesAndSizes) {
  EXPECT_THAT(made(index("i", {2}) + node("SplitToSequence", "x", "s", integer("keepdims", 0)) +
                   node("SequenceAt", "s i", "y")),
              ElementsAre(4, 5));
  EXPECT_THAT(
      made(index("i", {-1}) + index("n", {3}) + node("SplitToSequence", "x n", "s") + node("SequenceAt", "s i", "y")),
      ElementsAre(6, 7));
  EXPECT_THAT(made(index("i", {1}) + index("n", {1, 2, 1}, true) + node("SplitToSequence", "x n", "s") +
                   node("SequenceAt", "s i", "y")),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(
      made(index("i", {1}) + node("SplitToSequence", "x", "s", integer("axis", -1)) + node("SequenceAt", "s i", "y")),
      ElementsAre(1, 3, 5, 7));
}

TEST(Sequences, AreBuiltChangedAndJoined) {
  const std::string parts = index("zero", {0}) + index("one", {1}) +
                            node("SplitToSequence", "x", "s", integer("keepdims", 0)) +
                            node("SequenceAt", "s zero", "a") + node("SequenceAt", "s one", "b");
  EXPECT_THAT(
      made(parts + node("SequenceConstruct", "b a", "t") + node("ConcatFromSequence", "t", "y", integer("axis", 0))),
      ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(made(parts + node("SequenceConstruct", "b a", "t") +
                   node("ConcatFromSequence", "t", "y", integer("axis", 1) + integer("new_axis", 1))),
              ElementsAre(2, 0, 3, 1));
  EXPECT_THAT(
      made(parts + node("SequenceEmpty", "", "e") + node("SequenceInsert", "e a", "t") +
           node("SequenceInsert", "t b zero", "u") + node("Identity", "u", "v") + node("SequenceInsert", "v a", "w") +
           node("SequenceErase", "w one", "z") + node("ConcatFromSequence", "z", "y", integer("axis", 0))),
      ElementsAre(2, 3, 0, 1));
  EXPECT_THAT(made(parts + node("SequenceConstruct", "b a b", "t") + node("SequenceErase", "t", "u") +
                   node("SequenceLength", "u", "y")),
              ElementsAre(2));
}

TEST(Sequences, StayWhereTheFileDoesNotSayWhatIsInThem) {
  const std::string place = "input { name: 'k' type { tensor_type { elem_type: 7 shape { } } } } ";
  EXPECT_TRUE(stays(place + node("SplitToSequence", "x", "s") + node("SequenceAt", "s k", "y"), "SequenceAt"));
  EXPECT_TRUE(stays(place + node("SplitToSequence", "x", "s") + node("SequenceAt", "s k", "y"), "SplitToSequence"));
  EXPECT_TRUE(stays(node("SequenceConstruct", "x x", "y"), "SequenceConstruct"));
  EXPECT_TRUE(
      stays(index("i", {2}) + node("SequenceConstruct", "x x", "s") + node("SequenceAt", "s i", "y"), "SequenceAt"));
  EXPECT_TRUE(stays(node("SequenceEmpty", "", "s") + node("ConcatFromSequence", "s", "y", integer("axis", 0)),
                    "ConcatFromSequence"));
}

}  // namespace
}  // namespace isomer::test
