// Seeded inputs: integers that index or divide something stay within what that allows.
#include "verify/check/inputs.h"

#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "verify/check/fitting_sizes.h"

namespace isomer::test {
namespace {

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_TRUE(infer(*graph).ok());
  return std::move(*graph);
}

/// The graph runs on its inputs of many seeds.
void expect_runs(std::string_view text) {
  const Graph graph = parsed(text);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto tensors = generate_inputs(graph, {.seed = seed});
    ASSERT_TRUE(tensors.ok()) << tensors.error().message();
    std::vector<te::Array> inputs;
    for (const Tensor& tensor : *tensors) inputs.push_back(te::Array::from(tensor));
    const auto outputs = interpret(graph, inputs, {});
    EXPECT_TRUE(outputs.ok()) << "seed " << seed << ": " << outputs.error().message();
  }
}

/// A branch reads what it captures.
TEST(Inputs, IndicesStayWithinWhatBodiesIndex) {
  expect_runs(R"(opset 17
graph g(c: bool[], i: int64[40]) -> (y: float32[40,2]) {
  table: float32[3,2] = {1, 2, 3, 4, 5, 6}
  y = If(c) captures (table, i) {
    then_branch = graph t() captures (a: float32[3,2], b: int64[40]) -> (r) { r = Gather(a, b) },
    else_branch = graph e() captures (a: float32[3,2], b: int64[40]) -> (r) {
      n = Gather(a, b)
      r = Neg(n)
    }
  }
}
)");
}

TEST(Inputs, DivisorsAreNotZero) {
  for (const char* op : {"Div(x, z)", "Mod(x, z)", "Mod(x, z) {fmod = 1}"})
    expect_runs(fmt::format("opset 17\ngraph g(x: int64[40], z: int64[40]) -> (y) {{ y = {} }}", op));
}

TEST(Inputs, DivisorsAreNotZeroBehindMovementAndCasts) {
  expect_runs(R"(opset 17
graph g(x: int64[8,5], z: int32[5,4], w: int32[5,4], f: float32[5,8]) -> (y, q) {
  c = Concat(z, w) {axis = 1}
  t = Transpose(c)
  d = Cast(t) {to = 7}
  y = Div(x, d)
  g = Cast(f) {to = 7}
  i = Transpose(g)
  q = Mod(x, i)
}
)");
  expect_runs(R"(opset 17
graph g(x: int64[2,20], z: int64[4,20]) -> (y, q) {
  a, b = Split(z) {num_outputs = 2}
  y = Div(x, a)
  q = Div(x, b)
}
)");
}

TEST(Inputs, AreDrawnAgainWhereAComputedDivisorIsZero) {
  expect_runs(R"(opset 17
graph g(x: int64[2], z: int64[2]) -> (y) {
  d = Sub(x, z)
  y = Div(x, d)
}
)");
  expect_runs(R"(opset 17
graph g(x: int64[500], z: int64[500], w: int64[500]) -> (y) {
  p = Mul(w, w)
  m = Neg(p)
  s = Sub(x, z)
  d = Mul(m, s)
  y = Div(x, d)
}
)");
}

TEST(Inputs, IndicesStayWithinWhatTheyUpdate) {
  expect_runs(R"(opset 17
graph g(x: float32[2,30], i: int64[2,30], u: float32[2,30]) -> (y) { y = ScatterElements(x, i, u) {axis = 0} }
)");
}

using Sizes = std::map<std::string, int64_t>;

TEST(Inputs, MayBeMasksInEveryOtherSetWhereThatIsAskedFor) {
  const Graph graph = parsed("opset 17\ngraph g(mask: int64[200], d: int64[200]) -> (y) {\n  y = Div(mask, d)\n}");
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const auto tensors = generate_inputs(graph, {.seed = seed, .masks = true});
    ASSERT_TRUE(tensors.ok()) << tensors.error().message();
    const auto largest = [](const Tensor& tensor) {
      const te::Array array = te::Array::from(tensor);
      int64_t result = 0;
      for (int64_t i = 0; i < array.count(); ++i) result = std::max(result, array.integer(i));
      return result;
    };
    EXPECT_EQ(largest((*tensors)[0]), seed % 2 == 0 ? 7 : 1);
    EXPECT_EQ(largest((*tensors)[1]), 7) << "a divisor";
    EXPECT_EQ(largest((*generate_inputs(graph, {.seed = seed}))[0]), 7);
  }
}

/// The first input's smallest and largest integers.
std::pair<int64_t, int64_t> range_of(const Graph& graph, const FillOptions& options) {
  const auto tensors = generate_inputs(graph, options);
  EXPECT_TRUE(tensors.ok()) << tensors.error().message();
  const te::Array array = te::Array::from((*tensors)[0]);
  std::pair<int64_t, int64_t> result = {array.integer(0), array.integer(0)};
  for (int64_t i = 0; i < array.count(); ++i)
    result = {std::min(result.first, array.integer(i)), std::max(result.second, array.integer(i))};
  return result;
}

TEST(Inputs, MayBeAnyBytesInEveryOtherSetWhereThatIsAskedFor) {
  const Graph moved = parsed("opset 17\ngraph g(x: int8[3000]) -> (y) {\n  m = Abs(x)\n  y = Cast(m) {to = 1}\n}");
  EXPECT_EQ(range_of(moved, {.seed = 0, .bytes = true}), (std::pair<int64_t, int64_t>(0, 7)));
  EXPECT_EQ(range_of(moved, {.seed = 1, .bytes = true}), (std::pair<int64_t, int64_t>(-128, 127)));
  EXPECT_EQ(range_of(moved, {.seed = 1}), (std::pair<int64_t, int64_t>(0, 7)));
  const Graph summed =
      parsed("opset 17\ngraph g(x: uint8[50,60], w: uint8[60,2]) -> (y) {\n  y = MatMulInteger(x, w)\n}");
  EXPECT_EQ(range_of(summed, {.seed = 1, .bytes = true}), (std::pair<int64_t, int64_t>(0, 255)));
}

TEST(Inputs, BytesThatMayBecomeIndicesAreSmall) {
  for (const char* text :
       {"opset 17\ngraph g(x: uint8[3000]) -> (y) {\n  m = Max(x)\n  y = Cast(m) {to = 7}\n}",
        "opset 17\ngraph g(x: uint8[3000], t: uint8[3000]) -> (y) {\n  y = BitShift(t, x) {direction = \"LEFT\"}\n}",
        "opset 17\ngraph g(x: uint8[3000]) -> (y) {\n  f = Cast(x) {to = 1}\n  h = Sqrt(f)\n  y = Cast(h) {to = 7}\n}"})
    EXPECT_EQ(range_of(parsed(text), {.seed = 1, .bytes = true}), (std::pair<int64_t, int64_t>(0, 7))) << text;
}

TEST(FittingSizes, AreThoseThatWeightsHave) {
  const Graph graph = parsed(R"(opset 17
graph g(x: float32[n,c,h,w], z: float32[n,k]) -> (y, q) {
  f: float32[1,7,1,1] = {1, 2, 3, 4, 5, 6, 7}
  m: float32[9,1] = {1, 2, 3, 4, 5, 6, 7, 8, 9}
  y = Conv(x, f)
  q = MatMul(z, m)
}
)");
  EXPECT_EQ(fitting_sizes(graph), (Sizes{{"n", 2}, {"c", 7}, {"h", 4}, {"w", 5}, {"k", 9}}));
}

TEST(FittingSizes, AreEqualWhereTheyMustBe) {
  const Graph graph = parsed("opset 17\ngraph g(x: float32[a], z: float32[b]) -> (y) { y = MatMul(x, z) }");
  EXPECT_EQ(fitting_sizes(graph), (Sizes{{"a", 2}, {"b", 2}}));
}

TEST(FittingSizes, AreNoneWhereNoneFit) {
  const Graph graph = parsed(R"(opset 17
graph g(x: float32[a]) -> (y, q) {
  m: float32[2] = {1, 2}
  n: float32[3] = {1, 2, 3}
  y = MatMul(x, m)
  q = MatMul(x, n)
}
)");
  EXPECT_EQ(fitting_sizes(graph), std::nullopt);
}

TEST(Inputs, ParametersThatDecideShapesAreOnesThatAreAllowed) {
  for (const char* node :
       {"Unsqueeze(x, p)", "Squeeze(x, p)", "ReduceSum(x, p)", "CumSum(x, s)", "TopK(x, p)", "Expand(x, p)"})
    expect_runs(
        fmt::format("opset 17\ngraph g(x: float32[1,3,1,1], p: int64[1], s: int64[]) -> (y) {{ y = {} }}", node));
  expect_runs(R"(opset 17
graph g(x: float32[2,3], p: int32[2]) -> (y) {
  a, b = Split(p) {num_outputs = 2}
  c = Cast(a) {to = 7}
  y = Unsqueeze(x, c)
}
)");
}

TEST(Inputs, ZerosThatAreAskedForStay) {
  const Graph graph = parsed("opset 17\ngraph g(x: int64[3], z: int64[3]) -> (y) { y = Div(x, z) }");
  const auto tensors = generate_inputs(graph, {.fill = Fill::kZeros});
  ASSERT_TRUE(tensors.ok());
  EXPECT_EQ((*tensors)[1].integers(), (std::vector<int64_t>{0, 0, 0}));
}

}  // namespace
}  // namespace isomer::test
