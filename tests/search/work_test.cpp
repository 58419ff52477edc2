// What models have to do, counted by hand.
#include "search/cost/work.h"

#include <gtest/gtest.h>

#include "substitutions/rewriting.h"

namespace isomer {
namespace {

TEST(Work, CountsArithmeticTrafficNodesAndWeights) {
  const Graph graph = substitutions::test::graph(R"(graph main(x: float32[2,8]) -> (z: float32[4,2]) {
    w: float32[8,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32}
    y: float32[2,4] = MatMul(x, w)
    s: int64[2] = {4, 2}
    z: float32[4,2] = Reshape(y, s)
  })");
  const auto work = search::work_of(graph);
  ASSERT_TRUE(work.ok()) << work.error().message();
  EXPECT_EQ(work->operations, 2 * 2 * 8 * 4);
  EXPECT_EQ(work->bytes, 4 * (2 * 8 + 8 * 4 + 2 * 4)) << "a Reshape moves nothing";
  EXPECT_EQ(work->nodes, 2);
  EXPECT_EQ(work->weight_bytes, 4 * 8 * 4) << "a shape is none";
}

TEST(Work, OfConstantsAloneIsDoneBeforehand) {
  const Graph graph = substitutions::test::graph(R"(graph main(x: float32[2]) -> (z: float32[2]) {
    v: float32[2] = {1, 2}
    w: float32[2] = Exp(v)
    z: float32[2] = Mul(x, w)
  })");
  const auto work = search::work_of(graph);
  ASSERT_TRUE(work.ok()) << work.error().message();
  EXPECT_EQ(work->nodes, 1);
  EXPECT_EQ(work->operations, 2);
  EXPECT_EQ(work->weight_bytes, 8);
}

TEST(Work, OfWhatIsDequantizedIsDoneAsTheModelRuns) {
  const Graph graph = substitutions::test::graph(R"(graph main(x: float32[2]) -> (z: float32[2]) {
    q: int8[2] = {1, 2}
    s: float32[] = {0.5}
    v: float32[2] = DequantizeLinear(q, s)
    w: float32[2] = Exp(v)
    z: float32[2] = Mul(x, w)
  })");
  const auto work = search::work_of(graph);
  ASSERT_TRUE(work.ok()) << work.error().message();
  EXPECT_EQ(work->nodes, 3);
  EXPECT_EQ(work->weight_bytes, 2 + 4);
}

TEST(Work, OfConstantsMayBeDoneAsTheModelRunsToo) {
  const Graph graph = substitutions::test::graph(R"(graph main(x: float32[2]) -> (z: float32[2]) {
    v: float32[2] = Constant() {value = float32[2] {1, 2}}
    w: float32[2] = Exp(v)
    z: float32[2] = Mul(x, w)
  })");
  const auto work = search::work_of(graph, search::Folded::kHeld);
  ASSERT_TRUE(work.ok()) << work.error().message();
  EXPECT_EQ(work->nodes, 2) << "what holds a constant is none";
  EXPECT_EQ(work->weight_bytes, 8);
}

TEST(Work, IsMoreWhereEitherWayToRunItShowsThat) {
  const Graph computed = substitutions::test::graph(R"(graph main(x: float32[4]) -> (z: float32[4]) {
    one: float32[1] = {1}
    four: int64[1] = {4}
    w: float32[4] = Expand(one, four)
    z: float32[4] = Mul(x, w)
  })");
  const Graph stored = substitutions::test::graph(R"(graph main(x: float32[4]) -> (z: float32[4]) {
    w: float32[4] = {1, 1, 1, 1}
    z: float32[4] = Mul(x, w)
  })");
  EXPECT_EQ(search::work_of(stored)->weight_bytes, search::work_of(computed)->weight_bytes);
  EXPECT_FALSE(*search::needs_no_more(stored, computed)) << "more weights";
  EXPECT_FALSE(*search::needs_no_more(computed, stored)) << "more nodes";
  EXPECT_TRUE(*search::needs_no_more(stored, stored));
}

TEST(Work, IsNoMoreWhereNothingIs) {
  const search::Work work{10, 10, 10, 10, 0};
  EXPECT_TRUE(is_no_more(work, work));
  EXPECT_FALSE(is_no_more({11, 0, 0, 0, 0}, work));
  EXPECT_FALSE(is_no_more({0, 11, 0, 0, 0}, work));
  EXPECT_FALSE(is_no_more({0, 0, 11, 0, 0}, work));
  EXPECT_FALSE(is_no_more({0, 0, 0, 11, 0}, work));
}

}  // namespace
}  // namespace isomer
