// Convolutions of pieces of an image: of tiles with what lies around them, and of taps that are channels; from the
// operators through a file to code.
#include <fmt/ranges.h>

#include <array>

#include "search/expect_same.h"
#include "search/through_a_file.h"

namespace isomer::test {
namespace {

struct WindowedConvolution {
  int64_t batch, channels, filters;
  Dims size, taps, stride, dilation, front, behind;

  int64_t out(size_t k) const {
    return (size[k] + front[k] + behind[k] - dilation[k] * (taps[k] - 1) - 1) / stride[k] + 1;
  }
};

/// Of x and a constant w.
Graph windowed_graph(const WindowedConvolution& c, const std::string& body) {
  return parsed(
      fmt::format("opset 17\nopset \"isomer\" 1\ngraph g(x: float32[{},{},{}]) -> (y: float32[{},{},{},{}]) {{\n  w: "
                  "float32[{},{},{}] = random 3\n  {}\n}}\n",
                  c.batch, c.channels, fmt::join(c.size, ","), c.batch, c.filters, c.out(0), c.out(1), c.filters,
                  c.channels, fmt::join(c.taps, ","), body));
}

Graph directly(const WindowedConvolution& c) {
  return windowed_graph(c, fmt::format("y = Conv(x, w) {{dilations = {}, pads = [{},{}], strides = {}}}", c.dilation,
                                       fmt::join(c.front, ","), fmt::join(c.behind, ","), c.stride));
}

Graph by_tiles(const WindowedConvolution& c, const Dims& counts) {
  Dims tile, apart, sizes;
  for (size_t k = 0; k < 2; ++k) {
    tile.push_back((c.out(k) + counts[k] - 1) / counts[k]);
    apart.push_back(tile[k] * c.stride[k]);
    sizes.push_back((tile[k] - 1) * c.stride[k] + c.dilation[k] * (c.taps[k] - 1) + 1);
  }
  return windowed_graph(
      c, fmt::format("t = isomer::Windows(x) {{apart = {}, axes = [2,3], counts = {}, into = 0, pads = {}, sizes = {}, "
                     "steps = [1,1]}}\n  c = Conv(t, w) {{dilations = {}, strides = {}}}\n  y = isomer::Unwindow(c) "
                     "{{axes = [2,3], counts = {}, from = 0, sizes = [{},{}], tile = {}}}",
                     apart, counts, c.front, sizes, c.dilation, c.stride, counts, c.out(0), c.out(1), tile));
}

/// Taps of the rows as channels.
Graph by_taps(const WindowedConvolution& c) {
  return windowed_graph(
      c,
      fmt::format("t = isomer::Windows(x) {{apart = [{}], axes = [2], counts = [{}], into = 1, pads = [{}], sizes = "
                  "[{}], steps = [{}]}}\n  v = isomer::Fold(w) {{axes = [2], by = [{}], into = 1, pads = [0], sizes = "
                  "[1]}}\n  y = Conv(t, v) {{dilations = [1,{}], pads = [0,{},0,{}], strides = [1,{}]}}",
                  c.dilation[0], c.taps[0], c.front[0], c.out(0), c.stride[0], c.taps[0], c.dilation[1], c.front[1],
                  c.behind[1], c.stride[1]));
}

TEST(Windows, OfConvolutionsRunAsTheConvolution) {
  Random random(9), values(10);
  for (int turn = 0; turn < 24; ++turn) {
    WindowedConvolution c{random.between(1, 2), random.between(1, 12), random.between(1, 12), {}, {}, {}, {}, {}, {}};
    Dims counts;
    for (size_t k = 0; k < 2; ++k) {
      c.taps.push_back(random.between(2, 4));
      c.stride.push_back(random.between(1, 3));
      c.dilation.push_back(random.between(1, 2));
      c.front.push_back(random.between(0, 2));
      c.behind.push_back(random.between(0, 2));
      c.size.push_back(c.dilation[k] * (c.taps[k] - 1) + 1 + random.between(0, 12));
      counts.push_back(random.between(1 + static_cast<int64_t>(k), 4));
    }
    SCOPED_TRACE(fmt::format("turn {}: [{},{},{}] -> {}, taps {}, strides {}, dilations {}, pads {} {}, counts {}",
                             turn, c.batch, c.channels, c.size, c.filters, c.taps, c.stride, c.dilation, c.front,
                             c.behind, counts));
    expect_same_function(directly(c), through_a_file(turn % 2 == 0 ? by_tiles(c, counts) : by_taps(c)), values, 1);
  }
}

TEST(Windows, OfPoolsThatRoundUpMayReachBeyondTheEnd) {
  for (const std::string_view pool : {"MaxPool", "AveragePool"}) {
    const std::string text = fmt::format(
        "opset 20\ngraph g(x: float32[1,2,2]) -> (y) {{\n  y = {}(x) {{kernel_shape = [3], strides = [2], ceil_mode = "
        "1}}\n}}\n",
        pool);
    const Graph graph = parsed(text);
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.text(), "float32[1,2,1]");
    isomer::test::expect_same(text, {{floats({1, 2, 2}, 1)}});
  }
}

}  // namespace
}  // namespace isomer::test
