#include "graph/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/dot.h"
#include "graph/hash.h"
#include "graph/sample_graphs.h"

namespace isomer {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto parsed = parse_graph(text);
  return parsed.ok() ? "" : parsed.error().message();
}

TEST(Text, ParsesBackToTheSameGraph) {
  const auto graph = parse_graph(test::kEverything);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const std::string text = print_graph(*graph);
  const auto again = parse_graph(text, long_constants(*graph));
  ASSERT_TRUE(again.ok()) << again.error().message() << "\n" << text;
  EXPECT_EQ(print_graph(*again), text);
  EXPECT_EQ(structural_hash(*again), structural_hash(*graph));
}

TEST(Text, KeepsEveryBitOfConstants) {
  const auto graph = parse_graph(test::kEverything);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const auto again = parse_graph(print_graph(*graph, {.inline_elements = 1000}));
  ASSERT_TRUE(again.ok()) << again.error().message();
  std::map<std::string, Tensor> constants;
  for (const ValueId id : graph->values())
    if (graph->value(id).constant) constants[graph->value(id).name] = *graph->value(id).constant;
  EXPECT_EQ(constants.size(), 15u);
  for (const ValueId id : again->values()) {
    const Value& value = again->value(id);
    EXPECT_TRUE(!value.constant || value.constant->same_contents(constants.at(value.name))) << value.name;
  }
}

TEST(Text, NamesLongConstantsByTheirContent) {
  const auto graph = parse_graph("graph () -> (a) { a: float32[100] = random 1 }");
  ASSERT_TRUE(graph.ok());
  const std::string text = print_graph(*graph);
  EXPECT_THAT(text, HasSubstr("a: float32[100] = @"));
  EXPECT_THAT(error_of(text), HasSubstr("the hash of a known constant expected"));
  EXPECT_TRUE(parse_graph(text, long_constants(*graph)).ok());
}

TEST(Text, TellsValuesOfOneNameApart) {
  Graph graph;
  const ValueId a = graph.add_constant(Tensor::int64s({1}), "c"), b = graph.add_constant(Tensor::int64s({2}), "c");
  const ValueId c = graph.add_constant(Tensor::int64s({3}), "");
  graph.set_outputs({b, a, c});
  const auto again = parse_graph(print_graph(graph));
  ASSERT_TRUE(again.ok()) << print_graph(graph);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(again->value(again->outputs()[i]).constant->same_contents(*graph.value(graph.outputs()[i]).constant));
}

TEST(Text, InfersWhatItParses) {
  const auto graph = parse_graph(R"(graph (x: float32[n,3]) -> (y) { y = Neg(x) })");
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph->value(graph->outputs()[0]).type.text(), "float32[n,3]");
}

TEST(Text, SaysWhereItIsWrong) {
  EXPECT_EQ(error_of("graph (x -> (y) {}"), "line 1, column 10: ')' expected, '-> (y) {}' found");
  EXPECT_EQ(error_of("opset 17\n\nshape (x) -> (x) {}"),
            "line 3, column 1: 'graph' expected, 'shape (x) -> (x) {}' found");
  EXPECT_THAT(error_of("graph () -> (y) { y: float32[2] = {1} }"), HasSubstr("',' expected, '} }' found"));
  EXPECT_THAT(error_of("graph () -> (y) { y: float32[2] = {1, x} }"), HasSubstr("a number expected, 'x} }' found"));
  EXPECT_THAT(error_of("graph (x: float33[2]) -> (x) {}"), HasSubstr("a type expected"));
  EXPECT_THAT(error_of("graph () -> (y) { y: float32[n] = {1} }"), HasSubstr("a constant of fixed shape expected"));
  EXPECT_THAT(error_of("graph () -> (y) { y: float32[1000000000,1000000000] = all 1 }"),
              HasSubstr("at most 2^28 elements"));
  EXPECT_THAT(error_of("graph (x) -> (x) { x = A::B(x) }"), HasSubstr("a value that is not defined yet expected"));
  EXPECT_THAT(error_of("graph (x) -> (y) { y = A::B(x) {a = [1, 2.0]} }"), HasSubstr("items of one type expected"));
  EXPECT_THAT(error_of("graph (x) -> (y) { y = A::B(x) {b = graph () captures (z) -> (z) {}} }"),
              HasSubstr("as many captures as its node"));
  EXPECT_THAT(error_of("graph (x) -> (y) { y = A::B(y) }"), HasSubstr("without cycles expected"));
}

TEST(Text, NestsOnlySoDeep) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "graph () -> (y) { y = A::B() {b = ";
  EXPECT_THAT(error_of(text), HasSubstr("graphs nested at most 32 deep expected"));
}

TEST(Text, EveryPrefixOfAGraphIsAnErrorOrAGraph) {
  const std::string_view text = test::kEverything;
  for (size_t length = 0; length < text.size(); ++length) (void)parse_graph(text.substr(0, length)).ok();
}

TEST(Dot, DrawsNodesBodiesAndEscapesNames) {
  const auto graph = parse_graph(test::kEverything);
  ASSERT_TRUE(graph.ok());
  const std::string dot = to_dot(*graph);
  EXPECT_THAT(dot, HasSubstr("MatMul\\ndense/MatMul\\n1: float32[4,2]"));
  EXPECT_THAT(dot, HasSubstr("subgraph cluster_"));
  EXPECT_THAT(dot, HasSubstr("mode = x\\\"y"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

}  // namespace
}  // namespace isomer
