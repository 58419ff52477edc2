// Convolutions that read or write every second element, or every third, as dense ones of folded images: from the
// operators through a file to code.
#include <fmt/ranges.h>

#include <array>

#include "search/through_a_file.h"

namespace isomer::test {
namespace {

using Pair = std::array<int64_t, 2>;  ///< by axis

struct FoldedShapes {
  int64_t batch, channels, filters;
  Pair size, taps, by, pads, ends;
};

std::string list(const Pair& pair) { return fmt::format("[{},{}]", pair[0], pair[1]); }

template <class Each>
Pair each(const Each& make) {
  return {make(0), make(1)};
}

Graph of_body(const FoldedShapes& s, const Pair& out, const Pair& weight_front, const std::string& body) {
  return parsed(fmt::format(
      "opset 17\nopset \"isomer\" 1\ngraph g(x: float32[{},{},{},{}]) -> (y: float32[{},{},{},{}]) {{\n  w: "
      "float32[{},{},{},{}] = random 3\n  {}\n}}\n",
      s.batch, s.channels, s.size[0], s.size[1], s.batch, s.filters, out[0], out[1], weight_front[0], weight_front[1],
      s.taps[0], s.taps[1], body));
}

std::string pads_of(const FoldedShapes& s) {
  return fmt::format("[{},{},{},{}]", s.pads[0], s.pads[1], s.ends[0], s.ends[1]);
}

/// The same convolution directly and folded: dilated, strided, transposed.
std::pair<Graph, Graph> dilated(const FoldedShapes& s) {
  const Pair out = each([&](int k) { return s.size[k] + s.pads[k] + s.ends[k] - s.by[k] * (s.taps[k] - 1); });
  const Pair folded = each([&](int k) { return (s.size[k] + s.pads[k] + s.ends[k] + s.by[k] - 1) / s.by[k]; });
  const Pair front = {s.filters, s.channels};
  return {
      of_body(s, out, front, fmt::format("y = Conv(x, w) {{dilations = {}, pads = {}}}", list(s.by), pads_of(s))),
      of_body(s, out, front,
              fmt::format("f = isomer::Fold(x) {{axes = [2,3], by = {0}, into = 0, pads = {1}, sizes = {2}}}\n  c = "
                          "Conv(f, w)\n  y = isomer::Unfold(c) {{axes = [2,3], by = {0}, from = 0, sizes = {3}, "
                          "starts = [0,0]}}",
                          list(s.by), list(s.pads), list(folded), list(out)))};
}

std::pair<Graph, Graph> strided(const FoldedShapes& s) {
  const auto whole = [&](int k) { return (s.taps[k] + s.by[k] - 1) / s.by[k]; };
  const auto steps = [&](int k) { return (s.size[k] + s.pads[k] + s.ends[k] - s.taps[k]) / s.by[k]; };
  const Pair out = each([&](int k) { return steps(k) + 1; });
  const Pair front = {s.filters, s.channels};
  return {
      of_body(s, out, front, fmt::format("y = Conv(x, w) {{pads = {}, strides = {}}}", pads_of(s), list(s.by))),
      of_body(s, out, front,
              fmt::format("f = isomer::Fold(x) {{axes = [2,3], by = {0}, into = 1, pads = {1}, sizes = {2}}}\n  v = "
                          "isomer::Fold(w) {{axes = [2,3], by = {0}, into = 1, pads = [0,0], sizes = {3}}}\n  y = "
                          "Conv(f, v)",
                          list(s.by), list(s.pads), list(each([&](int k) { return steps(k) + whole(k); })),
                          list(each(whole))))};
}

std::pair<Graph, Graph> transposed(const FoldedShapes& s) {
  const Pair out = each([&](int k) { return (s.size[k] - 1) * s.by[k] + s.taps[k] - s.pads[k] - s.ends[k]; });
  const Pair whole = each([&](int k) { return (s.taps[k] + s.by[k] - 1) / s.by[k]; });
  const Pair front = {s.channels, s.filters}, last = each([&](int k) { return whole[k] - 1; });
  return {
      of_body(s, out, front,
              fmt::format("y = ConvTranspose(x, w) {{pads = {}, strides = {}}}", pads_of(s), list(s.by))),
      of_body(s, out, front,
              fmt::format("f = isomer::Fold(w) {{axes = [2,3], by = {0}, into = 1, pads = [0,0], sizes = {1}}}\n  t = "
                          "Transpose(f) {{perm = [1,0,2,3]}}\n  from: int64[2] = {{{2},{3}}}\n  to: int64[2] = "
                          "{{-9,-9}}\n  along: int64[2] = {{2,3}}\n  back: int64[2] = {{-1,-1}}\n  v = Slice(t, from, "
                          "to, along, back)\n  c = Conv(x, v) {{pads = [{2},{3},{2},{3}]}}\n  y = isomer::Unfold(c) "
                          "{{axes = [2,3], by = {0}, from = 1, sizes = {4}, starts = {5}}}",
                          list(s.by), list(whole), last[0], last[1], list(out), list(s.pads)))};
}

void expect_runs(const FoldedShapes& s, std::pair<Graph, Graph> (*make)(const FoldedShapes&), Random& values) {
  SCOPED_TRACE(fmt::format("[{},{},{}] -> {}, taps {}, by {}, pads {}", s.batch, s.channels, list(s.size), s.filters,
                           list(s.taps), list(s.by), pads_of(s)));
  const auto [direct, folded] = make(s);
  expect_same_function(direct, through_a_file(folded), values, 1);
}

TEST(Residues, OfConvolutionsRunAsTheConvolution) {
  Random random(7), values(8);
  for (int turn = 0; turn < 36; ++turn) {
    FoldedShapes s{random.between(1, 2), random.between(1, 20), random.between(1, 20), {}, {}, {}, {}, {}};
    for (size_t k = 0; k < 2; ++k) {
      s.by[k] = random.between(1, 3);
      s.taps[k] = random.between(1, 4);
      s.pads[k] = random.between(0, (s.taps[k] - 1) / 2);
      s.ends[k] = random.between(0, (s.taps[k] - 1) / 2);
      s.size[k] = s.by[k] * (s.taps[k] - 1) + 1 + random.between(0, 7);
    }
    // Something is folded.
    if (s.by == Pair{1, 1}) {
      s.by[1] = 2;
      s.size[1] += s.taps[1] - 1;
    }
    SCOPED_TRACE(fmt::format("turn {}", turn));
    expect_runs(s, turn % 3 == 0 ? dilated : turn % 3 == 1 ? strided : transposed, values);
  }
}

/// The default schedule of a kernel writes so much out that the generator takes loops for it.
TEST(Residues, OfFewPositionsAndManyChannelsHaveCode) {
  Random values(8);
  expect_runs({2, 11, 14, {2, 12}, {2, 3}, {1, 3}, {0, 0}, {0, 0}}, transposed, values);
}

}  // namespace
}  // namespace isomer::test
