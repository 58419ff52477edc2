// Reductions of rows, and what is computed of them and the rows again, are one task however they are written out; the
// results are the interpreter's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search/expect_same.h"

namespace isomer::test {
namespace {

struct Chain {
  const char* name;
  const char* nodes;  ///< of x, with constants below; y is the output
  size_t tasks;
  const char* shape = "2,3,40";
};

void PrintTo(const Chain& chain, std::ostream* out) { *out << chain.name; }

Graph graph_of(const Chain& chain) {
  return parsed(fmt::format(R"(opset 18
graph (x: float32[{}]) -> (y) {{
  last: int64[1] = {{-1}}
  middle: int64[1] = {{1}}
  both: int64[2] = {{-2, -1}}
  two: float32[] = {{2}}
  tiny: float32[] = {{0.00001}}
  half: float32[] = {{-0.5}}
  scale: float32[40] = random 1
  bias: float32[40] = random 2
  other: float32[2,3,40] = random 3
{}
}}
)",
                            chain.shape, chain.nodes));
}

class Rows : public testing::TestWithParam<Chain> {};

TEST_P(Rows, AreOneTask) {
  const Chain& chain = GetParam();
  const Graph graph = graph_of(chain);
  const auto result = compiled(graph);
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->artifact.variants[0].steps.size(), chain.tasks);
  const Dims dims = *constants(*graph.value(graph.inputs()[0]).type.shape);
  isomer::test::expect_same(graph, graph, {{floats(dims, 7)}, {floats(dims, 8)}});
}

constexpr const char* kSoftmax = R"(
  most = ReduceMax(x, last)
  less = Sub(x, most)
  e = Exp(less)
  sum = ReduceSum(e, last)
  y = Div(e, sum))";

INSTANTIATE_TEST_SUITE_P(WrittenOut, Rows,
                         testing::Values(Chain{"softmax", kSoftmax, 1},  //
                                         Chain{"softmax of one image", kSoftmax, 1, "1,3,40"},
                                         Chain{"softmax with a tail", kSoftmax, 1, "1,5,37"},
                                         Chain{"softmax of three", kSoftmax, 1, "20,5,3"},
                                         Chain{"softmax of seventeen", kSoftmax, 1, "20,5,17"},
                                         Chain{"softmax without a maximum", R"(
  e = Exp(x)
  sum = ReduceSum(e, last)
  y = Div(e, sum))",
                                               1},
                                         Chain{"softmax by a reciprocal", R"(
  most = ReduceMax(x, last)
  less = Sub(x, most)
  e = Exp(less)
  sum = ReduceSum(e, last)
  part = Reciprocal(sum)
  y = Mul(part, e))",
                                               1},
                                         Chain{"layer normalization", R"(
  mean = ReduceMean(x, last)
  centred = Sub(x, mean)
  square = Mul(centred, centred)
  variance = ReduceMean(square, last)
  above = Add(tiny, variance)
  deviation = Sqrt(above)
  normal = Div(centred, deviation)
  scaled = Mul(scale, normal)
  y = Add(bias, scaled))",
                                               1},
                                         Chain{"root mean square normalization", R"(
  square = Pow(x, two)
  mean = ReduceMean(square, last)
  above = Add(mean, tiny)
  root = Pow(above, half)
  normal = Mul(x, root)
  y = Mul(scale, normal))",
                                               1},
                                         Chain{"what is normalized behind a map", R"(
  shifted = Mul(x, scale)
  s = Sigmoid(shifted)
  length = ReduceL2(s, last)
  least = Max(length, tiny)
  y = Div(s, least))",
                                               1},
                                         Chain{"over two axes", R"(
  mean = ReduceMean(x, both)
  y = Sub(x, mean))",
                                               1},
                                         Chain{"without a dim of one", R"(
  mean = ReduceMean(x, last) {keepdims = 0}
  wide = Unsqueeze(mean, last)
  y = Sub(x, wide))",
                                               1},
                                         Chain{"a map that is summed", R"(
  e = Tanh(x)
  y = ReduceSum(e, last))",
                                               1}));

INSTANTIATE_TEST_SUITE_P(Apart, Rows,
                         testing::Values(Chain{"along the middle axis", R"(
  mean = ReduceMean(x, middle)
  y = Sub(x, mean))",
                                               2},
                                         Chain{"rows of something else", R"(
  e = Exp(other)
  mean = ReduceMean(x, last)
  y = Sub(e, mean))",
                                               2},
                                         Chain{"the whole of a vector", R"(
  mean = ReduceMean(x, last)
  y = Sub(x, mean))",
                                               2, "40"},
                                         Chain{"rows that are too long", R"(
  mean = ReduceMean(x, last)
  y = Sub(x, mean))",
                                               2, "2,20000"},
                                         Chain{"a row that is read once more", R"(
  e = Exp(x)
  sum = ReduceSum(e, last)
  part = Div(e, sum)
  turned = Transpose(e) {perm = [1, 0, 2]}
  back = Transpose(turned) {perm = [1, 0, 2]}
  more = ReduceMax(back, middle)
  y = Add(part, more))",
                                               3}));

}  // namespace
}  // namespace isomer::test
