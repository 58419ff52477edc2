#include "graph/hash.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/algorithms.h"
#include "graph/op_def.h"
#include "graph/sample_graphs.h"
#include "graph/shuffle.h"
#include "graph/text.h"
#include "util/random.h"

namespace isomer {
namespace {

using test::parsed;

/// A random graph of standard and unknown operators over one shape.
Graph random_graph(uint64_t seed) {
  Random random(seed);
  std::string text =
      "graph (x: float32[n,2], z: float32[n,2]) -> (v0, v1) {\n  c: float32[] = {1}\n  d: float32[2] = {1, 2}\n";
  std::vector<std::string> values = {"x", "z", "c", "d"};
  for (int i = 0; i < 12; ++i) {
    const std::string a = values[random.below(values.size())], b = values[random.below(values.size())];
    constexpr const char* kOps[] = {"Add", "Mul", "com.example::Mix", "com.example::Mux"};
    text += fmt::format("  v{} = {}({}, {})\n", i, kOps[random.below(4)], a, b);
    values.push_back(fmt::format("v{}", i));
  }
  return parsed(text + "}\n");
}

TEST(StructuralHash, IgnoresOrderIdsAndNames) {
  const Graph everything = parsed(test::kEverything);
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(structural_hash(test::shuffled(everything, seed)), structural_hash(everything)) << seed;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed);
    EXPECT_EQ(structural_hash(test::shuffled(graph, seed + 1)), structural_hash(graph)) << seed;
  }
}

TEST(StructuralHash, TellsGraphsApart) {
  std::map<Hash128, std::string> seen;
  for (const char* text : test::kNoTwoAlike) {
    const auto [known, inserted] = seen.emplace(structural_hash(parsed(text)), text);
    EXPECT_TRUE(inserted) << text << "\n" << known->second;
  }
}

TEST(StructuralHash, SeesWhoSharesWhat) {
  // Two equal nodes with three readers: two and one is not one and two of other readers.
  const Graph shared =
      parsed("graph (x) -> (p, q, r) { a = A::N(x)\n b = A::N(x)\n p = A::P(a)\n q = A::Q(a)\n r = A::R(b) }");
  const Graph other =
      parsed("graph (x) -> (p, q, r) { a = A::N(x)\n b = A::N(x)\n p = A::P(a)\n q = A::Q(b)\n r = A::R(b) }");
  const Graph once = parsed("graph (x) -> (p, q, r) { a = A::N(x)\n p = A::P(a)\n q = A::Q(a)\n r = A::R(a) }");
  EXPECT_NE(structural_hash(shared), structural_hash(other));
  EXPECT_NE(structural_hash(shared), structural_hash(once));
}

TEST(StructuralHash, TakesSymbolsByPlace) {
  const auto hash = [](const char* text) { return structural_hash(parsed(text)); };
  EXPECT_EQ(hash("graph (x: float32[a,b]) -> (x) {}"), hash("graph (x: float32[n,k]) -> (x) {}"));
  EXPECT_EQ(hash("graph (x: float32[a,b], y: float32[a + 2*b]) -> (x) {}"),
            hash("graph (x: float32[z,k], y: float32[2*k + z]) -> (x) {}"));
  EXPECT_NE(hash("graph (x: float32[a,b]) -> (x) {}"), hash("graph (x: float32[n,n]) -> (x) {}"));
}

TEST(StructuralHash, TakesAttributesAtTheirDefaultAsAbsent) {
  const auto hash = [](const char* text) { return structural_hash(parsed(text)); };
  EXPECT_EQ(hash("graph (x: float32[2,2], w: float32[2,2]) -> (y) { y = Gemm(x, w) {alpha = 1.0} }"),
            hash("graph (x: float32[2,2], w: float32[2,2]) -> (y) { y = Gemm(x, w) }"));
}

TEST(ValueHashes, AreEqualForEqualExpressions) {
  const Graph graph = parsed(
      "graph (x: float32[2]) -> (d) { c: float32[] = {1}\n e: float32[] = {1}\n f: float32[] = {2}\n"
      "a = Add(x, c)\n b = Add(x, e)\n g = Add(x, f)\n d = Sum(a, b, g) }");
  const auto hashes = value_hashes(graph);
  std::map<std::string, Hash128> by_name;
  for (const ValueId id : graph.values()) by_name[graph.value(id).name] = hashes[id.index];
  EXPECT_EQ(by_name["a"], by_name["b"]);
  EXPECT_EQ(by_name["c"], by_name["e"]);
  EXPECT_NE(by_name["a"], by_name["g"]);
}

TEST(TopologicalOrder, PutsProducersFirstAndKeepsTheOrderOfCreation) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph = test::shuffled(random_graph(seed), seed);
    const auto order = topological_order(graph);
    ASSERT_TRUE(order.ok());
    EXPECT_EQ(order->size(), static_cast<size_t>(graph.node_count()));
    std::vector<NodeId> done;
    for (const NodeId id : *order) {
      for (const ValueId input : graph.node(id).inputs) {
        const NodeId made = graph.value(input).producer;
        EXPECT_TRUE(!made.valid() || std::find(done.begin(), done.end(), made) != done.end());
      }
      done.push_back(id);
    }
  }
  const Graph built_in_order = random_graph(1);
  EXPECT_EQ(*topological_order(built_in_order), built_in_order.nodes());
}

TEST(TopologicalOrder, NamesANodeOnACycle) {
  Graph graph;
  const auto value = [&] { return graph.add_value(Value{}); };
  const ValueId x = value(), a = value(), b = value(), c = value();
  const auto add = [&](const char* name, std::vector<ValueId> inputs, ValueId output) {
    Node node;
    node.op_type = "Mix";
    node.name = name;
    node.inputs = std::move(inputs);
    node.outputs = {output};
    graph.add_node(std::move(node));
  };
  add("behind", {b}, c);
  add("one", {x, b}, a);
  add("two", {a}, b);
  const auto order = topological_order(graph);
  ASSERT_FALSE(order.ok());
  EXPECT_TRUE(order.error().where == "one (Mix)" || order.error().where == "two (Mix)") << order.error().message();
}

TEST(TopologicalOrder, TakesLongChains) {
  Graph graph;
  ValueId last = graph.add_value(Value{});
  for (int i = 0; i < 200'000; ++i) {
    const ValueId next = graph.add_value(Value{});
    Node node;
    node.op_type = "Step";
    node.inputs = {last};
    node.outputs = {next};
    graph.add_node(std::move(node));
    last = next;
  }
  EXPECT_EQ(topological_order(graph)->size(), 200'000u);
}

}  // namespace
}  // namespace isomer
