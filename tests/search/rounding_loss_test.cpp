// How much rounding a change to a model costs, before a check judges it.
#include "search/rounding_loss.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace isomer::test {
namespace {

/// x·w, and as many times the same with numbers in between that are so much larger: float32 loses digits.
Graph product(double larger) {
  auto graph = parse_graph(fmt::format(R"(opset 17
graph g(x: float32[64,24]) -> (y) {{
  w: float32[24,40] = random 3
  large: float32[] = {{{}}}
  h = MatMul(x, w)
  a = Add(h, large)
  y = Sub(a, large)
}})",
                                       larger));
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

class Loss : public testing::Test {
 protected:
  search::RoundingLoss against(const Graph& graph) {
    const auto inputs = [&graph, this](int set) -> Result<std::vector<te::Array>> {
      ++made_;
      TRY(const std::vector<Tensor> tensors, generate_inputs(graph, {.seed = static_cast<uint64_t>(set)}));
      return std::vector{te::Array::from(tensors[0])};
    };
    return {graph, inputs, {.movements = kLeastMovements, .strictness = {.within = 0.75, .reach = 1.7}}};
  }
  static Equivalence of(search::RoundingLoss& loss, const Graph& made) {
    auto lost = loss.of(made);
    EXPECT_TRUE(lost.ok()) << lost.error().message();
    EXPECT_TRUE(*lost);
    return **std::move(lost);
  }
  int made_ = 0;
};

TEST_F(Loss, IsThatOfRoundingAndGrowsWithWhatLiesBetween) {
  const Graph model = product(0);
  search::RoundingLoss loss = against(model);
  const Equivalence itself = of(loss, model), little = of(loss, product(16)), much = of(loss, product(1e5));
  EXPECT_TRUE(itself.passed());
  EXPECT_LT(itself.max_error_over_bound, 0.5);
  EXPECT_LT(itself.max_error_over_bound, little.max_error_over_bound);
  EXPECT_TRUE(little.passed());
  EXPECT_FALSE(much.passed());
  EXPECT_GT(much.max_error_over_bound, 1);
}

TEST_F(Loss, RunsTheModelOnceForAllThatIsMadeOfIt) {
  const Graph model = product(0);
  search::RoundingLoss loss = against(model);
  EXPECT_TRUE(loss.is_new());
  const double first = of(loss, product(64)).max_error_over_bound;
  EXPECT_FALSE(loss.is_new());
  EXPECT_EQ(of(loss, product(64)).max_error_over_bound, first);
  EXPECT_EQ(made_, 1);
}

TEST_F(Loss, IsLookedAtOnInputsThatTheModelRunsOn) {
  // Seeded integers are zero now and then.
  auto model = parse_graph(R"(opset 17
graph g(x: int64[8]) -> (y) {
  ten: int64[] = {10}
  y = Div(ten, x)
})");
  ASSERT_TRUE(model.ok()) << model.error().message();
  search::RoundingLoss loss(*model,
                            [this](int set) -> Result<std::vector<te::Array>> {
                              ++made_;
                              const std::vector<int64_t> x(8, set);
                              return std::vector{te::Array::integers(DataType::kInt64, {8}, x)};
                            },
                            {});
  EXPECT_TRUE(of(loss, *model).passed());
  EXPECT_EQ(made_, 2);
  search::RoundingLoss never(*model,
                             [](int) -> Result<std::vector<te::Array>> {
                               const std::vector<int64_t> x(8, 0);
                               return std::vector{te::Array::integers(DataType::kInt64, {8}, x)};
                             },
                             {});
  const auto lost = never.of(*model);
  ASSERT_TRUE(lost.ok()) << lost.error().message();
  EXPECT_FALSE(*lost);
}

}  // namespace
}  // namespace isomer::test
