// What changed between two graphs, as people would say it.
#include "graph/diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/dot.h"
#include "graph/text.h"

namespace isomer {
namespace {

using testing::HasSubstr;

Graph of_body(const std::string& body) {
  auto graph = parse_graph("opset 17\ngraph main(x: float32[1,4,8,8]) -> (z: float32[1,4,8,8]) {\n" + body + "}\n");
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

/// Operators, changed ones in brackets: "- Relu", "+ Sigmoid", "[Conv]".
std::vector<std::vector<std::string>> places(const Graph& before, const Graph& after) {
  std::vector<std::vector<std::string>> result;
  for (const GraphDiff::Place& place : diff(before, after).places) {
    auto& list = result.emplace_back();
    for (const auto& pair : place.changed) list.push_back("[" + after.node(pair.after).op_type + "]");
    for (const NodeId id : place.removed) list.push_back("- " + before.node(id).op_type);
    for (const NodeId id : place.added) list.push_back("+ " + after.node(id).op_type);
  }
  return result;
}
using Places = std::vector<std::vector<std::string>>;

constexpr const char* kTwo = R"(
  w: float32[4,4,1,1] = random 1
  a = Conv(x, w)
  b = Relu(a)
  c = Sigmoid(b)
  z = Tanh(c)
)";

TEST(Diff, OfEqualGraphsIsEmptyWhateverTheyAreCalled) {
  const Graph before = of_body(kTwo), after = of_body(R"(
  other: float32[4,4,1,1] = random 1
  p = Conv(x, other)
  q = Relu(p)
  r = Sigmoid(q)
  z = Tanh(r)
)");
  EXPECT_TRUE(diff(before, after).is_empty());
  EXPECT_EQ(diff(before, after).same.size(), 4u);
}

/// What follows is as it was, though all of its numbers are others.
TEST(Diff, SaysWhatChangedAndNotWhatFollows) {
  const Graph before = of_body(kTwo);
  EXPECT_EQ(places(before, of_body(R"(
  w: float32[4,4,1,1] = random 2
  a = Conv(x, w)
  b = Relu(a)
  c = Sigmoid(b)
  z = Tanh(c)
)")),
            Places{{"[Conv]"}});
  EXPECT_EQ(places(before, of_body(R"(
  w: float32[4,4,1,1] = random 1
  a = Conv(x, w)
  b = LeakyRelu(a) {alpha = 0.5}
  c = Sigmoid(b)
  z = Tanh(c)
)")),
            (Places{{"- Relu", "+ LeakyRelu"}}));
  EXPECT_EQ(places(before, of_body(R"(
  w: float32[4,4,3,3] = random 1
  a = Conv(x, w) {pads = [1,1,1,1]}
  b = Relu(a)
  c = Sigmoid(b)
  z = Tanh(c)
)")),
            Places{{"[Conv]"}});
}

TEST(Diff, DoesNotMindHowAttributesAreSpelled) {
  const Graph spelled = of_body(R"(
  w: float32[4,4,1,1] = random 1
  a = Conv(x, w) {auto_pad = "NOTSET", dilations = [1,1], group = 1, kernel_shape = [1,1], strides = [1,1]}
  b = Relu(a)
  c = Sigmoid(b)
  z = Tanh(c)
)");
  EXPECT_TRUE(diff(of_body(kTwo), spelled).is_empty());
}

TEST(Diff, KeepsPlacesApart) {
  EXPECT_EQ(places(of_body(kTwo), of_body(R"(
  w: float32[4,4,1,1] = random 1
  a = Conv(x, w)
  n = Neg(a)
  m = Neg(n)
  b = Relu(m)
  c = Sigmoid(b)
  t = Exp(c)
  z = Log(t)
)")),
            (Places{{"[Relu]", "+ Neg", "+ Neg"}, {"- Tanh", "+ Exp", "+ Log"}}));
}

TEST(Diff, AsAPictureHasWhatIsGoneAndWhatIsNew) {
  const Graph before = of_body(kTwo), after = of_body(R"(
  w: float32[4,4,1,1] = random 1
  a = Conv(x, w)
  b = Elu(a)
  c = Sigmoid(b)
  z = Tanh(c)
)");
  const std::string dot = to_dot(before, after, diff(before, after));
  EXPECT_THAT(dot, HasSubstr("[label=\"Relu\", fillcolor=lightcoral"));
  EXPECT_THAT(dot, HasSubstr("[label=\"Elu\", fillcolor=palegreen"));
  EXPECT_THAT(dot, testing::Not(HasSubstr("Tanh")));
}

}  // namespace
}  // namespace isomer
