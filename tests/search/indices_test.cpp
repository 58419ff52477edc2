// Indices that nothing proves to be inside of an axis are looked at by machine code, whatever they are made of: numbers
// that the model holds, and what loops count, too.
#include <gmock/gmock.h>

#include "search/expect_same.h"

namespace isomer::test {
namespace {

/// Empty, or why a run on zeros ends.
std::string error_of(std::string_view text) {
  const Graph graph = parsed(text);
  const auto made = compiled(graph, 1);
  if (!made.ok()) return "not compiled: " + made.error().message();
  const auto session = opened(made->artifact, 1);
  Arrays inputs;
  for (const ValueId id : graph.inputs()) {
    Dims dims;
    for (const Dim& dim : *graph.value(id).type.shape) dims.push_back(dim.value());
    inputs.push_back(floats(dims, 1));
  }
  const auto outputs = search::run_artifact(*session, inputs);
  const auto expected = interpret(graph, inputs, {});
  EXPECT_EQ(outputs.ok(), expected.ok()) << text;
  return outputs.ok() ? "" : outputs.error().message();
}

struct Case {
  const char* operation;
  const char* index;
};

class Indices : public testing::TestWithParam<Case> {};

TEST_P(Indices, OutsideEndTheRun) {
  for (const char* number : {"3", "-4", "1000000000", "9223372036854775807", "-9223372036854775808"}) {
    const std::string text = fmt::format(R"(opset 20
graph g(x: float32[3,4], u: float32[1,4]) -> (y) {{
  i: int64{} = {{{}}}
  {}
}})",
                                         GetParam().index, number, GetParam().operation);
    EXPECT_THAT(error_of(text), testing::HasSubstr("an index inside of its axis expected")) << text;
  }
}

TEST_P(Indices, InsideAreAsTheyWere) {
  for (const char* number : {"0", "2", "-1", "-3"}) {
    const std::string text = fmt::format(R"(opset 20
graph g(x: float32[3,4], u: float32[1,4]) -> (y) {{
  i: int64{} = {{{}}}
  {}
}})",
                                         GetParam().index, number, GetParam().operation);
    isomer::test::expect_same(text, {{floats({3, 4}, 1), floats({1, 4}, 2)}});
  }
}

INSTANTIATE_TEST_SUITE_P(All, Indices,
                         testing::Values(Case{"y = Gather(x, i)", "[1]"}, Case{"y = Gather(x, i)", "[]"},
                                         Case{"y = GatherND(x, i)", "[1,1]"}, Case{"y = GatherElements(x, i)", "[1,1]"},
                                         Case{"y = ScatterND(x, i, u)", "[1,1]"},
                                         Case{"t = Gather(x, i)\n  y = Relu(t)", "[1]"},
                                         Case{"t = Gather(x, i)\n  p: int64[4] = {1, 1, 1, 1}\n  y = Pad(t, p)", "[1]"},
                                         Case{"t = Gather(x, i)\n  c = Greater(u, t)\n  y = Where(c, t, u)", "[1]"}));

TEST(Indices, OfWhatLoopsCountAreLookedAt) {
  const auto counted = [](std::string_view made) {
    return fmt::format(R"(opset 20
graph g(x: float32[200000,1]) -> (y) {{
  zero: int64[] = {{0}}
  one: int64[] = {{1}}
  many: int64[] = {{200000}}
  five: int64[] = {{5}}
  r = Range(zero, many, one)
  {}
  y = Gather(x, i)
}})",
                       made);
  };
  EXPECT_NE(error_of(counted("i = Add(r, five)")), "");
  EXPECT_NE(error_of(counted("i = Mul(r, r)")), "");
  EXPECT_EQ(error_of(counted("last: int64[] = {199999}\n  i = Sub(last, r)")), "");
}

}  // namespace
}  // namespace isomer::test
