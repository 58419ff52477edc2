// What an operator does to the places of elements is read off its expression, and spelled by a row that does the same.
#include "graph/movement.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "graph/edit.h"
#include "graph/text.h"

namespace isomer::test {
namespace {

struct Moved {
  const char* name;
  const char* graph;           ///< the last node makes y
  const char* spelled;         ///< the operator; empty: none does it by itself
  const char* constants = "";  ///< of the node that is spelled
};

constexpr Moved kMoved[] = {
    {"Flatten", "graph g(x: float32[2,3,4]) -> (y) { y = Flatten(x) {axis = 2} }", "Reshape", "[6,4]"},
    {"UnitAxesThatTradePlaces", "graph g(x: float32[2,1,4]) -> (y) { y = Transpose(x) {perm = [1,0,2]} }", "Reshape",
     "[1,2,4]"},
    {"SymbolicDimsThatStay", "graph g(x: float32[batch,6,4]) -> (y) { y = Flatten(x) {axis = 1} }", "Reshape",
     "[0,24]"},
    {"SymbolicDimsThatMerge", "graph g(x: float32[batch,seq,4]) -> (y) { y = Flatten(x) {axis = 2} }", "Reshape",
     "[-1,4]"},
    {"Permutation", "graph g(x: float32[2,3,4]) -> (y) { y = Transpose(x) {perm = [2,0,1]} }", "Transpose"},
    {"TileOfOneElement", "graph g(x: float32[2,1]) -> (y) { r: int64[2] = {1, 3} y = Tile(x, r) }", "Expand", "[2,3]"},
    {"TileOfMore", "graph g(x: float32[2,2]) -> (y) { r: int64[2] = {1, 3} y = Tile(x, r) }", ""},
    {"PartOfASplit", "graph g(x: float32[2,6]) -> (y) { s: int64[2] = {2, 4} a, y = Split(x, s) {axis = 1} }", "Slice",
     "[2] [6] [1] [1]"},
    {"BackToFront",
     "graph g(x: float32[5]) -> (y) { s: int64[1] = {-1} e: int64[1] = {-9} a: int64[1] = {0} t: int64[1] = {-2} "
     "y = Slice(x, s, e, a, t) }",
     "Slice", "[4] [-6] [0] [-2]"},
    {"OneRow", "graph g(x: float32[4,3]) -> (y) { i: int64[1] = {2} y = Gather(x, i) }", "Slice", "[2] [3] [0] [1]"},
    {"RowsInAnotherOrder", "graph g(x: float32[4,3]) -> (y) { i: int64[3] = {2, 0, 3} y = Gather(x, i) }", ""},
    {"Blocks", "graph g(x: float32[1,8,2,2]) -> (y) { y = DepthToSpace(x) {blocksize = 2} }", ""},
    {"Nothing", "graph g(x: float32[2,3]) -> (y) { y = Dropout(x) }", "Identity"},
    {"Conversion", "graph g(x: float32[2,3], t: float16[]) -> (y) { y = CastLike(x, t) }", "Cast"},
};

class Movements : public testing::TestWithParam<Moved> {};

std::string constants_of(const Graph& graph, const Node& node) {
  std::string text;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    text += fmt::format("{}[{}]", i > 1 ? " " : "", fmt::join(constant_of(graph, node.inputs[i])->integers(), ","));
  return text;
}

TEST_P(Movements, AreSpelledByAnOperatorThatDoesTheSame) {
  auto parsed = parse_graph(GetParam().graph);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  Graph graph = *std::move(parsed);
  const ValueId made = graph.outputs()[0];
  const NodeId id = graph.value(made).producer;
  const auto before = element_map_of(graph, id, graph.value(made).output_index);
  const auto spelled = before ? spell_map(*before) : std::nullopt;
  ASSERT_EQ(spelled ? spelled->op->name : "", GetParam().spelled);
  if (!spelled) return;
  Node stub;
  Value copy;
  copy.name = "copy";
  copy.type = graph.value(made).type;
  stub.outputs = {graph.add_value(std::move(copy))};
  const NodeId rewritten = graph.add_node(std::move(stub));
  const auto done = rewrite(graph, rewritten, before->source, *spelled);
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(constants_of(graph, graph.node(rewritten)), GetParam().constants);
  const auto after = element_map_of(graph, rewritten, 0);
  ASSERT_TRUE(after.has_value());
  EXPECT_TRUE(is_same_index(*before, after->index));
  EXPECT_EQ(before->to, after->to);
}

INSTANTIATE_TEST_SUITE_P(Operators, Movements, testing::ValuesIn(kMoved),
                         [](const auto& each) { return each.param.name; });

/// out[i] = in[perm(i)], with perm no permutation: both axes read the first.
TEST(Movements, ThatNoOperatorDoesAreNotSpelled) {
  const ValueType square = ValueType::tensor(DataType::kFloat32, {3, 3});
  EXPECT_FALSE(spell_map({square, square, {te::axis(0), te::axis(0)}}).has_value());
  EXPECT_TRUE(spell_map({square, square, {te::axis(1), te::axis(0)}}).has_value());
}

TEST(Movements, OfUnknownShapeKeepPlaces) {
  const ValueType unknown{ValueType::Kind::kTensor, DataType::kFloat32, std::nullopt, {}};
  EXPECT_TRUE(keeps_places(identity_map(unknown)));
  EXPECT_FALSE(only_moves(identity_map(unknown)));
}

}  // namespace
}  // namespace isomer::test
