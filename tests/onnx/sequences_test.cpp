// Lists of tensors that the file says all of: what reads them reads their elements (graph/onnx/sequences.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "graph/interpret.h"
#include "graph/sequence_ops.h"
#include "graph/te/array_parts.h"
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

constexpr std::string_view kPlace = "input { name: 'k' type { tensor_type { elem_type: 7 shape { } } } } ";

/// The same where the interpreter finds out what is in a sequence, for k = `place`; an error by its sentence.
std::variant<std::vector<double>, std::string> found(const std::string& nodes, int64_t place) {
  const Graph graph = graph_of(std::string(kPlace) + nodes);
  const std::vector<double> rows = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {4, 2}, rows),
                                         te::Array::integers(DataType::kInt64, {}, {&place, 1})};
  const auto outputs = interpret(graph, inputs, {});
  if (!outputs.ok()) return message_of(outputs);
  std::vector<double> result;
  for (int64_t i = 0; i < outputs->front().count(); ++i) result.push_back(outputs->front().as_double(i));
  return result;
}

auto elements(const testing::Matcher<const std::vector<double>&>& matcher) {
  return testing::VariantWith<std::vector<double>>(matcher);
}
auto sentence(const std::string& part) { return testing::VariantWith<std::string>(testing::HasSubstr(part)); }

TEST(SequenceOps, AreInterpretedWhereDataDecide) {
  const std::string rows = node("SplitToSequence", "x", "s", integer("keepdims", 0));
  const std::string read = rows + node("SequenceAt", "s k", "y");
  EXPECT_THAT(found(read, 2), elements(ElementsAre(4, 5)));
  EXPECT_THAT(found(read, -4), elements(ElementsAre(0, 1)));
  const std::string joined = node("ConcatFromSequence", "t", "y", integer("axis", -1) + integer("new_axis", 1));
  EXPECT_THAT(found(rows + node("SequenceErase", "s k", "t") + joined, 1), elements(ElementsAre(0, 4, 6, 1, 5, 7)));
  const std::string pieces = node("SplitToSequence", "x k", "t");
  EXPECT_THAT(found(pieces + node("SequenceLength", "t", "y"), 3), elements(ElementsAre(2)));
  EXPECT_THAT(found(pieces + index("i", {-1}) + node("SequenceAt", "t i", "y"), 3), elements(ElementsAre(6, 7)));
  EXPECT_THAT(found(pieces + node("ConcatFromSequence", "t", "y", integer("axis", 0)), 3),
              elements(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  // Behind the last element, too.
  const std::string put = rows + index("i", {0}) + node("SequenceAt", "s i", "a") +
                          node("SequenceInsert", "s a k", "t") +
                          node("ConcatFromSequence", "t", "y", integer("axis", 0));
  EXPECT_THAT(found(put, 4), elements(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1)));
  EXPECT_THAT(found(put, 1), elements(ElementsAre(0, 1, 0, 1, 2, 3, 4, 5, 6, 7)));
}

TEST(SequenceOps, SayWhatDoesNotFit) {
  const std::string rows = node("SplitToSequence", "x", "s");
  EXPECT_THAT(found(rows + node("SequenceAt", "s k", "y"), 4),
              sentence("a position in [-4, 4) of a sequence of 4 elements expected, 4 found"));
  EXPECT_THAT(found(rows + node("SequenceErase", "s k", "y"), -5), sentence("-5 found"));
  EXPECT_THAT(found(node("SplitToSequence", "x k", "y"), 0), sentence("pieces of at least one position expected"));
  EXPECT_THAT(found(node("SequenceAt", "x k", "y"), 0), sentence("a sequence as input 0 expected, float32[4,2] found"));
  EXPECT_THAT(
      found(rows + node("SequenceInsert", "s k", "t") + node("ConcatFromSequence", "t", "y", integer("axis", 0)), 0),
      sentence("elements that can be concatenated along axis 0 expected"));
  EXPECT_THAT(found(rows + node("Neg", "s", "y"), 0), sentence("a tensor as X expected, something else found"));
  EXPECT_THAT(found(node("Optional", "", "o") + node("OptionalGetElement", "o", "y"), 0),
              sentence("an optional that has a value expected"));
}

TEST(SequenceOps, HoldTensorsOnly) {
  const std::string maps =
      "node { op_type: 'SequenceMap' input: 's' output: 't' attribute { name: 'body' type: 5 g { "
      "input { name: 'e' type { tensor_type { elem_type: 1 } } } node { op_type: 'SequenceConstruct' input: 'e' "
      "output: 'l' } output { name: 'l' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } } } } ";
  EXPECT_THAT(found(node("SplitToSequence", "x k", "s") + maps +
                        node("ConcatFromSequence", "t", "y", integer("axis", 0) + integer("new_axis", 1)),
                    2),
              sentence("a body that makes tensors expected, a sequence found"));
}

TEST(SequenceOps, SizesThatWrapDoNotAddUp) {
  constexpr int64_t kQuarter = int64_t{1} << 62;
  EXPECT_TRUE(add_up_to(std::vector<int64_t>{1, 0, 2}, 3));
  EXPECT_FALSE(add_up_to(std::vector<int64_t>{kQuarter, kQuarter, kQuarter, kQuarter}, 0));
  EXPECT_FALSE(add_up_to(std::vector<int64_t>{4, -1}, 3));
  EXPECT_FALSE(add_up_to(std::vector<int64_t>{1, 1}, 3));
}

/// However many positions the other axes have.
TEST(ArrayParts, OfNothingAreMadeAtOnce) {
  const auto array = te::Array::allocate(DataType::kFloat32, {int64_t{1} << 40, 3, 0});
  ASSERT_TRUE(array.ok());
  const auto part = te::slice(*array, 1, 1, 2);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->dims(), (Dims{int64_t{1} << 40, 2, 0}));
  const std::vector<te::Array> both = {*array, *part};
  const auto whole = te::concatenate(both, 1);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(whole->dims(), (Dims{int64_t{1} << 40, 5, 0}));
}

/// A list that a loop makes longer, which starts empty.
TEST(SequenceOps, AreStatesOfLoops) {
  const std::string loop =
      "node { op_type: 'SequenceEmpty' output: 'e' } initializer { name: 'go' data_type: 9 int32_data: 1 } "
      "node { op_type: 'Loop' input: 'k' input: 'go' input: 'e' output: 't' attribute { name: 'body' type: 5 g { "
      "input { name: 'i' type { tensor_type { elem_type: 7 shape { } } } } "
      "input { name: 'c' type { tensor_type { elem_type: 9 shape { } } } } "
      "input { name: 'list' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } "
      "node { op_type: 'Gather' input: 'x' input: 'i' output: 'row' } "
      "node { op_type: 'SequenceInsert' input: 'list' input: 'row' output: 'longer' } "
      "node { op_type: 'Identity' input: 'c' output: 'goes_on' } "
      "output { name: 'goes_on' type { tensor_type { elem_type: 9 } } } "
      "output { name: 'longer' type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } } } } ";
  const std::string joined = node("ConcatFromSequence", "t", "y", integer("axis", 0) + integer("new_axis", 1));
  EXPECT_THAT(found(loop + joined, 3), elements(ElementsAre(0, 1, 2, 3, 4, 5)));
  EXPECT_THAT(found(loop + node("SequenceLength", "t", "y"), 0), elements(ElementsAre(0)));
  EXPECT_THAT(found(loop + joined, 0), sentence("at least one element expected, an empty sequence found"));
}

TEST(SequenceOps, TellWhetherAnOptionalHasAValue) {
  EXPECT_THAT(found(node("OptionalHasElement", "x", "y"), 0), elements(ElementsAre(1)));
  EXPECT_THAT(found(node("Optional", "", "o") + node("OptionalHasElement", "o", "y"), 0), elements(ElementsAre(0)));
  EXPECT_THAT(found(node("Optional", "k", "o") + node("OptionalGetElement", "o", "y"), 5), elements(ElementsAre(5)));
}

}  // namespace
}  // namespace isomer::test
