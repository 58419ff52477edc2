// Attention is one task: scores never lie in the arena, and the results are the interpreter's at sizes with tails.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "properties/same_function.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "verify/check/inputs.h"

namespace isomer::test {
namespace {

struct Sizes {
  int heads, queries, keys, depth;
};

/// The usual way to write it: heads cut out of the last dim, a mask, scaled scores.
Graph attention(const Sizes& sizes) {
  const int width = sizes.heads * sizes.depth;
  return parsed(fmt::format(R"(opset 17
graph attention(q: float32[2,{1},{4}], k: float32[2,{2},{4}], v: float32[2,{2},{4}], mask: float32[2,1,{1},{2}]) -> (y: float32[2,{1},{4}]) {{
  split_q: int64[4] = {{2, {1}, {0}, {3}}}
  split_k: int64[4] = {{2, {2}, {0}, {3}}}
  join: int64[3] = {{2, {1}, {4}}}
  scale: float32[] = {{3}}
  q4 = Reshape(q, split_q)
  k4 = Reshape(k, split_k)
  v4 = Reshape(v, split_k)
  qt = Transpose(q4) {{perm = [0,2,1,3]}}
  kt = Transpose(k4) {{perm = [0,2,3,1]}}
  vt = Transpose(v4) {{perm = [0,2,1,3]}}
  scores = MatMul(qt, kt)
  scaled = Div(scores, scale)
  masked = Add(scaled, mask)
  p = Softmax(masked)
  o = MatMul(p, vt)
  ot = Transpose(o) {{perm = [0,2,1,3]}}
  y = Reshape(ot, join)
}}
)",
                            sizes.heads, sizes.queries, sizes.keys, sizes.depth, width));
}

TEST(Attention, ScoresAreNotInTheArena) {
  const Sizes sizes = {1, 197, 300, 32};
  for (const int threads : {1, 2}) {
    const auto result = compiled(attention(sizes), threads);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_LT(result->artifact.variants[0].arena_bytes, int64_t{4} * 2 * sizes.heads * sizes.queries * sizes.keys);
  }
}

class AttentionOfSizes : public testing::TestWithParam<Sizes> {};

Case case_of(const Graph& graph) {
  FillOptions fill;
  fill.seed = 3;
  return case_of(Sample{graph, *generate_inputs(graph, fill), std::vector<bool>(4, true)}, 3);
}

TEST(Attention, MeansTheSameWhateverIsLeftOut) {
  const Graph graph = attention({2, 37, 131, 64});
  const Case expected = case_of(graph);
  const std::vector<std::function<void(search::CompileOptions&)>> parts = {
      [](search::CompileOptions& o) { o.fuse.enabled = false; },
      [](search::CompileOptions& o) { o.fuse.attention = false; },
      [](search::CompileOptions& o) { o.assign_layouts = false; }, [](search::CompileOptions& o) { o.packing = false; },
      [](search::CompileOptions& o) { o.micro_tiles = false; }};
  for (size_t k = 0; k < parts.size(); ++k) {
    SCOPED_TRACE(k);
    search::CompileOptions options;
    options.target = kernel::host_target();
    parts[k](options);
    const auto result = compile(graph, options);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->artifact.variants[0].steps.size() > 1, k < 2);
    for (const isomer::test::Run& one : expected.runs) {
      const auto found = search::run_artifact(*opened(result->artifact), one.inputs);
      ASSERT_TRUE(found.ok()) << found.error().message();
      EXPECT_EQ(difference(graph, one, *found), "");
    }
  }
}

TEST_P(AttentionOfSizes, IsOneTask) {
  const Graph graph = attention(GetParam());
  const Case expected = case_of(graph);
  ASSERT_FALSE(expected.runs.empty());
  for (const int threads : {1, 2}) {
    const auto result = compiled(graph, threads);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_EQ(result->artifact.variants[0].steps.size(), 1);  // the views of its result are the output: no copy
    const auto session = opened(result->artifact, threads);
    for (const isomer::test::Run& one : expected.runs) {
      const auto found = search::run_artifact(*session, one.inputs);
      ASSERT_TRUE(found.ok()) << found.error().message();
      EXPECT_EQ(difference(graph, one, *found), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, AttentionOfSizes,
                         testing::Values(Sizes{1, 2, 3, 4}, Sizes{3, 7, 7, 5}, Sizes{2, 1, 65, 16},
                                         Sizes{2, 37, 131, 64}, Sizes{4, 16, 16, 8}, Sizes{1, 197, 300, 32}));

}  // namespace
}  // namespace isomer::test
