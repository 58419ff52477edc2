// Surroundings are equal where a model repeats itself, as far as one looks, and tell all that a search may read.
#include "substitutions/rewrite/neighbourhood.h"

#include <gtest/gtest.h>

#include "substitutions/rewriting.h"

namespace isomer::substitutions::test {
namespace {

/// Layers of a product and a Relu, one after the other, by the applications' order.
std::string layers(std::string_view last = "c") {
  return fmt::format(R"(graph main(x: float32[4]) -> (y: float32[4]) {{
    c: float32[4] = random 1
    d: float32[1] = random 2
    half: float32[] = {{0.5}}
    third: float32[] = {{0.25}}
    a0: float32[4] = Mul(x, c)
    b0: float32[4] = Relu(a0)
    a1: float32[4] = Mul(b0, c)
    b1: float32[4] = Relu(a1)
    a2: float32[4] = Mul(b1, c)
    b2: float32[4] = Relu(a2)
    a3: float32[4] = Mul(b2, {})
    y: float32[4] = Relu(a3)
  }})",
                     last);
}

struct Around {
  explicit Around(const std::string& text) : there(program(graph(text), theory)), uses(there.uses()) {}
  std::optional<Hash128> hash(int application, int radius) {
    return Neighbourhood(there, uses, is_kept, application).hash(radius);
  }

  Theory theory;
  Program there;
  Program::Uses uses;
  std::function<bool(NodeId)> is_kept = [](NodeId) { return false; };
};

TEST(Neighbourhoods, AreEqualAsFarAsLayersAre) {
  Around model(layers());
  const std::vector<int> order = *model.there.order();
  const int second = order[2], third = order[4];
  EXPECT_EQ(model.hash(second, 1), model.hash(third, 1));
  EXPECT_EQ(model.hash(second, 2), model.hash(third, 2));
  // The second is nearer to the input, the third to the output.
  EXPECT_NE(model.hash(second, 3), model.hash(third, 3));
  EXPECT_NE(model.hash(second, 0), model.hash(order[3], 0));
}

TEST(Neighbourhoods, TellTypesAndNumbersAndWhatIsKept) {
  Around numbers(layers("half")), others(layers("third")), lists(layers("d"));
  const int last = (*numbers.there.order())[6];
  EXPECT_NE(numbers.hash(last, 0), others.hash(last, 0));
  Around same(layers());
  const std::vector<int> order = *same.there.order();
  const auto before = same.hash(order[2], 1);
  EXPECT_NE(same.hash(order[6], 0), lists.hash(order[6], 0));
  same.is_kept = [&](NodeId node) { return node == same.there.application(order[3]).node; };
  EXPECT_NE(same.hash(order[2], 1), before);
  EXPECT_EQ(same.hash(order[2], 0), same.hash(order[4], 0));
}

/// What all read makes neighbours of all.
TEST(Neighbourhoods, OfVeryManyHaveNoHash) {
  std::string text = "graph main(x: float32[4]) -> (y: float32[4]) {\n  a0: float32[4] = Relu(x)\n";
  constexpr int kNodes = 1200;
  for (int k = 1; k < kNodes; ++k) text += fmt::format("  a{}: float32[4] = Add(a{}, x)\n", k, k - 1);
  Around model(text + fmt::format("  y: float32[4] = Relu(a{})\n}}", kNodes - 1));
  const int first = (*model.there.order())[0];
  EXPECT_TRUE(model.hash(first, 0));
  EXPECT_FALSE(model.hash(first, 1));
  EXPECT_EQ(Neighbourhood(model.there, model.uses, model.is_kept, first).distance(kNodes), 2);
}

TEST(Neighbourhoods, SayHowFarItIs) {
  Around model(layers());
  const std::vector<int> order = *model.there.order();
  Neighbourhood around(model.there, model.uses, model.is_kept, order[2]);
  EXPECT_EQ(around.distance(order[2]), 0);
  EXPECT_EQ(around.distance(order[0]), 2);
  EXPECT_EQ(around.distance(order[7]), 5);
}

TEST(Neighbourhoods, DoNotReachOverConstants) {
  Around model(R"(graph main(x: float32[4], z: float32[4]) -> (y: float32[4], w: float32[4]) {
    c: float32[4] = random 1
    y: float32[4] = Mul(x, c)
    w: float32[4] = Mul(z, c)
  })");
  const std::vector<int> order = *model.there.order();
  EXPECT_EQ(Neighbourhood(model.there, model.uses, model.is_kept, order[0]).distance(order[1]), -1);
}

}  // namespace
}  // namespace isomer::substitutions::test
