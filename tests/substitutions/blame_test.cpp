#include "substitutions/derivation/blame.h"

#include <gtest/gtest.h>

#include "graph/passes/remove_dead.h"
#include "substitutions/derivations.h"

namespace isomer::substitutions::test {
namespace {

/// Stands for a check by numbers: a rule that is wrong has no proof, so no step by one can be made here. What nobody
/// reads changes no number.
Differ counts(std::string_view op) {
  const auto count = [op](const Graph& graph) {
    Graph read = graph;
    const PassOptions options;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    CHECK(remove_dead(read, context).ok());
    const std::vector<NodeId> nodes = read.nodes();
    return std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) { return read.node(id).op_type == op; });
  };
  return [count](const Graph& before, const Graph& after) { return Result<bool>(count(before) != count(after)); };
}

TEST(Blame, NamesTheStepAndCutsTheModelBehindIt) {
  Walker walker;
  const Graph model = graph(R"(graph main(x: float32[3], y: float32[3]) -> (z: float32[3]) {
    n: float32[3] = Neg(x)
    t: float32[3] = Tanh(n)
    a: float32[3] = Add(t, y)
    s: float32[3] = Sin(a)
    z: float32[3] = Cos(s)
  })");
  const Walk walk = walker.walk(model, {{"Tanh(Neg(a)) = Neg(Tanh(a))", true},
                                        {"Add(x,y) = Sub(Add(Add(x,x),y),x)", true},
                                        {"Tanh(a) = Sub(Mul(Sigmoid(Mul(a,2)),2),1)", true}});
  Theory theory;
  const auto found = blame(model, walk.derivation, theory, counts("Sub"));
  ASSERT_TRUE(found.ok()) << found.error().message();
  ASSERT_TRUE(*found);
  EXPECT_TRUE((*found)->what.starts_with("step 2 (add-add_add_sub-")) << (*found)->what;
  EXPECT_TRUE(*counts("Sub")((*found)->before, (*found)->after));
  for (const Graph* graph : {&(*found)->before, &(*found)->after}) {
    EXPECT_FALSE(*counts("Sin")(model, *graph));
    EXPECT_TRUE(*counts("Cos")(model, *graph)) << "it is behind the first reader";
  }
}

TEST(Blame, NamesThePass) {
  const Graph model = graph(
      "graph main(x: float32[3]) -> (z: float32[3]) {\n y: float32[3] = Identity(x)\n z: float32[3] = Relu(y)\n}");
  Theory theory;
  const auto found = blame(model, {}, theory, counts("Identity"));
  ASSERT_TRUE(found.ok()) << found.error().message();
  ASSERT_TRUE(*found);
  EXPECT_NE((*found)->what.find("(remove identities)"), std::string::npos) << (*found)->what;
}

/// Also where it runs on what written-out composites uncover, behind all the others.
TEST(Blame, NamesThePassThatRunsOnceMore) {
  const Graph model =
      graph(R"(graph main(a: float32[3], b: float32[3], c: float32[3], d: float32[3]) -> (y: float32[3]) {
    s: float32[3] = Sum(a, b, c)
    y: float32[3] = Add(s, d)
  })");
  Theory theory;
  const auto found = blame(model, {}, theory, counts("Add"));
  ASSERT_TRUE(found.ok()) << found.error().message();
  ASSERT_TRUE(*found) << "written out and contracted again it is one Sum";
  EXPECT_EQ((*found)->pass, "spell out");
  EXPECT_FALSE(*counts("Add")(model, (*found)->before));
  EXPECT_TRUE(*counts("Add")(model, (*found)->after));
}

TEST(Blame, FindsNothingWhereNothingDiffers) {
  Walker walker;
  const Graph model =
      graph("graph main(x: float32[3], y: float32[3]) -> (z: float32[3]) {\n z: float32[3] = Add(x, y)\n}");
  const Walk walk = walker.walk(model, {{"Add(x,y) = Sub(Add(Add(x,x),y),x)", true}});
  Theory theory;
  const auto found = blame(model, walk.derivation, theory, counts("Tanh"));
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_FALSE(*found);
}

}  // namespace
}  // namespace isomer::substitutions::test
