// Composites that are written out are recognized and proved however their products and sums are written.
#include <gtest/gtest.h>

#include "graph/edit.h"
#include "graph/node_form.h"
#include "graph/passes/contract.h"
#include "graph/text.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/rewrite/theory.h"
#include "util/random.h"

namespace isomer::substitutions::test {
namespace {

constexpr int kWays = 12;  ///< to write each

class Composites : public testing::TestWithParam<const char*> {
 protected:
  /// The node written out as its row does, then each node in one of the ways that mean the same.
  Graph written_out(uint64_t seed) const {
    auto graph = parse_graph(std::string("opset 24\n"
                                         "graph (x: float32[2,3,8]) -> (y) {\n"
                                         "  scale: float32[8] = random 1\n"
                                         "  bias: float32[8] = random 2\n"
                                         "  y = ") +
                             GetParam() + "\n}\n");
    CHECK(graph.ok()) << graph.error().message();
    const NodeId composite = graph->value(graph->outputs()[0]).producer;
    auto made = reform_node(*graph, composite, graph->node(composite).op->expand);
    CHECK(made.ok()) << made.error().message();
    Random random(seed);
    for (const NodeId id : *made) {
      const auto mixed = reform_node(*graph, id, [&](NodeForm& form) { return mixed_up(form, random); });
      CHECK(mixed.ok()) << mixed.error().message();
    }
    CHECK(simplify_lightly(*graph).ok());
    return *std::move(graph);
  }

  static Result<void> mixed_up(NodeForm& form, Random& random) {
    const std::string_view op = form.node().op->name;
    if (random.chance(0.5)) return {};
    if (op == "Add" || op == "Mul") return form.emit_as(0, op, {form.input(1), form.input(0)});
    if (op == "Div" && !form.constant(1)) {
      TRY(const ValueId inverse, form.emit("Reciprocal", {form.input(1)}));
      return form.emit_as(0, "Mul", {inverse, form.input(0)});
    }
    const bool is_square = op == "Pow" && form.constant(1) && form.constant(1)->real(0) == 2;
    return is_square ? form.emit_as(0, "Mul", {form.input(0), form.input(0)}) : Result<void>();
  }
};

TEST_P(Composites, AreFoundInAnyOrderAndProved) {
  for (uint64_t seed = 0; seed < kWays; ++seed) {
    const Graph graph = written_out(seed);
    SCOPED_TRACE(print_graph(graph));
    Theory theory;
    const auto made = derived(graph, {}, theory);
    ASSERT_TRUE(made.ok()) << made.error().message();
    ASSERT_EQ(made->graph.node_count(), 1) << print_graph(made->graph);
    EXPECT_TRUE(std::string_view(GetParam()).starts_with(made->graph.node(made->graph.nodes()[0]).op_type));
    Theory anew;
    const auto proof = proof_of(graph, {}, made->graph, anew);
    ASSERT_TRUE(proof.ok()) << proof.error().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Composites,
                         testing::Values("LayerNormalization(x, scale, bias)", "LayerNormalization(x, scale)",
                                         "RMSNormalization(x, scale)", "Softmax(x)", "LogSoftmax(x)", "Gelu(x)",
                                         "Gelu(x) {approximate = \"tanh\"}", "HardSwish(x)", "Mish(x)", "Swish(x)"));

}  // namespace
}  // namespace isomer::substitutions::test
