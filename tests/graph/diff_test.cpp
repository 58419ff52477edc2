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

Graph model_of(const std::string& text) {
  auto graph = parse_graph("opset 17\ngraph g" + text);
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

std::vector<std::string> interface_of(const Graph& before, const Graph& after, Ports ports = Ports::kByName) {
  std::vector<std::string> result;
  for (const GraphDiff::InterfaceChange& change : diff(before, after, ports).interface)
    result.push_back("~-+"[static_cast<int>(change.kind)] + (" " + change.what));
  return result;
}

TEST(Diff, InputsAndOutputsArePartOfWhatChanged) {
  const auto two = [](const std::string& outputs, const std::string& a, const std::string& b) {
    return model_of("(x: float32[4]) -> (" + outputs + ") {\n  a = " + a + "(x)\n  b = " + b + "(x)\n}\n");
  };
  const Graph before = two("a: float32[4], b: float32[4]", "Relu", "Tanh");
  EXPECT_THAT(interface_of(before, before), testing::IsEmpty());
  const Graph swapped = two("a: float32[4], b: float32[4]", "Tanh", "Relu");
  EXPECT_THAT(interface_of(before, swapped),
              testing::ElementsAre("~ output a: now what b was", "~ output b: now what a was"));
  EXPECT_FALSE(diff(before, swapped).is_empty());
  EXPECT_EQ(diff(before, swapped).same.size(), 2U);
  EXPECT_THAT(interface_of(before, two("b: float32[4], a: float32[4]", "Relu", "Tanh")),
              testing::ElementsAre("~ output b: number 1 -> 0", "~ output a: number 0 -> 1"));
  EXPECT_THAT(interface_of(before, two("b: float32[4]", "Relu", "Tanh")),
              testing::ElementsAre("- output a float32[4]"));
  EXPECT_THAT(interface_of(two("a: float32[4]", "Relu", "Tanh"), two("b: float32[4]", "Relu", "Tanh")),
              testing::ElementsAre("- output a float32[4]", "+ output b float32[4]"));
}

TEST(Diff, TypesOfInputsArePartOfWhatChanged) {
  const auto of = [](const std::string& inputs, const std::string& shape) {
    return model_of("(" + inputs + ") -> (z: float32[" + shape + "]) {\n  z = Relu(x)\n}\n");
  };
  EXPECT_THAT(interface_of(of("x: float32[4]", "4"), of("x: float32[5]", "5")),
              testing::ElementsAre("~ input x: float32[4] -> float32[5]", "~ output z: float32[4] -> float32[5]"));
  EXPECT_THAT(interface_of(of("x: float32[4]", "4"), of("x: float32[4], y: int64[2]", "4")),
              testing::ElementsAre("+ input y int64[2]"));
  const std::string dot = to_dot(of("x: float32[4]", "4"), of("x: float32[5]", "5"),
                                 diff(of("x: float32[4]", "4"), of("x: float32[5]", "5")));
  EXPECT_THAT(dot, HasSubstr("[label=\"input x: float32[4] -> float32[5]\", shape=note, fillcolor=orange"));
}

/// Equal expressions are told apart by their names, and what other nodes make of an output is a matter of nodes.
TEST(Diff, InputsAndOutputsOfEqualModelsAreEqual) {
  const auto twice = [](const char* first, const char* second) {
    return model_of(std::string("(x: float32[4]) -> (a: float32[4], b: float32[4]) {\n  ") + first + " = Relu(x)\n  " +
                    second + " = Relu(x)\n}\n");
  };
  EXPECT_TRUE(diff(twice("a", "b"), twice("b", "a")).is_empty());
  const Graph once =
      model_of("(x: float32[4]) -> (a: float32[4], b: float32[4]) {\n  a = Relu(x)\n  b = Identity(a)\n}\n");
  EXPECT_THAT(interface_of(twice("a", "b"), once), testing::IsEmpty());
  EXPECT_THAT(interface_of(once, twice("a", "b")), testing::IsEmpty());
  EXPECT_THAT(interface_of(of_body(kTwo), of_body("  a = Exp(x)\n  z = Log(a)\n")), testing::IsEmpty());
}

TEST(Diff, ABranchThatReadsAnotherValueHasChanged) {
  const auto of = [](const std::string& captured) {
    return model_of(
        "(x: float32[4], c: bool[]) -> (z: float32[4]) {\n  p = Relu(x)\n  q = Tanh(x)\n  z = If(c) captures (" +
        captured + R"() {
    then_branch = graph t() captures (a: float32[4]) -> (r) { r = Exp(a) },
    else_branch = graph e() captures (a: float32[4]) -> (s) { s = Sin(a) }
  }
}
)");
  };
  EXPECT_TRUE(diff(of("p"), of("p")).is_empty());
  const GraphDiff found = diff(of("p"), of("q"));
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_EQ(found.places[0].changed.size(), 1U);
}

/// Bodies are called with values, whatever they call them.
TEST(Diff, OfBodiesGoesByPlace) {
  const auto of = [](const std::string& x, const std::string& z, const std::string& op) {
    return model_of("(" + x + ": float32[4]) -> (" + z + ": float32[4]) {\n  " + z + " = " + op + "(" + x + ")\n}\n");
  };
  EXPECT_TRUE(diff(of("x", "z", "Relu"), of("p", "q", "Relu"), Ports::kByPlace).is_empty());
  EXPECT_FALSE(diff(of("x", "z", "Relu"), of("p", "q", "Relu")).is_empty());
  const GraphDiff found = diff(of("x", "z", "Relu"), of("p", "q", "Tanh"), Ports::kByPlace);
  EXPECT_TRUE(found.interface.empty());
  ASSERT_EQ(found.places.size(), 1U);
  EXPECT_EQ(found.places[0].added.size(), 1U);
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
