// Sums of many halves are kept in float32 wherever they are taken, and rounded in the end: 3,000 times a half is 1,500,
// not the 1,024 at which halves stop.
#include "search/expect_same.h"

namespace isomer::test {
namespace {

class Halves : public testing::TestWithParam<const char*> {};

TEST_P(Halves, AreSummedInFloat32) {
  for (const int type : {10, 16}) {
    const std::string text = fmt::format(R"(opset 20
graph g(x: float32[3000,2], kept: bool[3000]) -> (y) {{
  axis: int64[1] = {{0}}
  first: int64[] = {{0}}
  rows: int64[2] = {{3000, 2}}
  once: int64[2] = {{1, 2}}
  zero: float32[1] = {{0}}
  h = Cast(x){{to={0}}}
  {1}
  y = Cast(z){{to=1}}
}})",
                                         type, GetParam());
    SCOPED_TRACE(text);
    const std::vector<double> all(6000, 0.5);
    const std::vector<int64_t> every(3000, 1);
    isomer::test::expect_same(
        text, {{Array::reals(DataType::kFloat32, {3000, 2}, all), Array::integers(DataType::kBool, {3000}, every)}});
  }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Halves,
                         testing::Values("z = CumSum(h, first)", "z = CumSum(h, first){exclusive=1,reverse=1}",
                                         "some = Compress(h, kept){axis=0}\n  z = ReduceSum(some, axis)",
                                         "some = Compress(h, kept){axis=0}\n  across = Transpose(some){perm=[1,0]}\n"
                                         "  z = MatMul(across, some)",
                                         "at = ConstantOfShape(rows){value=int64[1]{0}}\n"
                                         "  none = ConstantOfShape(once)\n"
                                         "  short = CastLike(none, h)\n"
                                         "  z = ScatterElements(short, at, h){axis=0,reduction=\"add\"}"));

TEST(Sums, OfManyHalvesInsideOfARecurrence) {
  const std::string text = R"(opset 20
graph g(x: float32[3,1,4], w: float32[1,8,4], r: float32[1,8,8]) -> (y) {
  xh = Cast(x){to=10}
  wh = Cast(w){to=10}
  rh = Cast(r){to=10}
  z = RNN(xh, wh, rh){hidden_size=8}
  y = Cast(z){to=1}
})";
  isomer::test::expect_same(text, {{floats({3, 1, 4}, 1), floats({1, 8, 4}, 2), floats({1, 8, 8}, 3)}});
}

TEST(Gelu, OfLargeNumbersIsFinite) {
  for (const char* approximate : {"none", "tanh"}) {
    const std::string text =
        fmt::format("opset 20\ngraph g(x: float32[8]) -> (y) {{\n  y = Gelu(x){{approximate=\"{}\"}}\n}}", approximate);
    isomer::test::expect_same(text, {{Array::reals(DataType::kFloat32, {8}, std::vector<double>(8, 3e38f))}});
  }
}

TEST(Range, BetweenEndsFurtherApartThanAnInt64) {
  const std::string text = R"(opset 20
graph g(x: int64[1]) -> (y) {
  start: int64[] = {-4611686018427387909}
  limit: int64[] = {4611686018427387909}
  delta: int64[] = {2305843009213693952}
  range = Range(start, limit, delta)
  y = Add(range, x)
})";
  const std::vector<int64_t> none = {0};
  const Graph graph = parsed(text);
  const auto outputs = interpret(graph, Arrays{Array::integers(DataType::kInt64, {1}, none)}, {});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  EXPECT_EQ((*outputs)[0].dims(), Dims{5});
  isomer::test::expect_same(text, {{Array::integers(DataType::kInt64, {1}, none)}});
}

}  // namespace
}  // namespace isomer::test
