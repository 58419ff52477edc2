// Convolutions by Winograd's algorithm, from the operators through a file to code, against direct summation.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/compiled.h"
#include "search/through_a_file.h"

namespace isomer::test {
namespace {

/// What direct summation is off is multiplied by up to so much (reliability.md 3.6), with five taps and tiles of four
/// inputs more.
constexpr double kLoss = 15;

struct Shapes {
  int64_t batch, channels, filters;
  std::vector<int64_t> sizes, taps, tile, pads;  ///< by axis; pads on either side
};

std::string list(const std::vector<int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ",")); }
std::string dims(int64_t first, int64_t second, const std::vector<int64_t>& more) {
  return fmt::format("float32[{},{},{}]", first, second, fmt::join(more, ","));
}

/// A convolution, or its transforms, then a residual and an activation.
Graph graph_of(const Shapes& s, bool direct) {
  std::vector<int64_t> both = s.pads, out;
  both.insert(both.end(), s.pads.begin(), s.pads.end());
  for (size_t k = 0; k < s.sizes.size(); ++k) out.push_back(s.sizes[k] + 2 * s.pads[k] - s.taps[k] + 1);
  const std::string pads = list(both), taps = list(s.taps), tile = list(s.tile);
  const std::string body =
      direct ? fmt::format("a = Conv(x, w) {{pads = {}}}", pads)
             : fmt::format(
                   "u = isomer::WinogradKernel(w) {{tile = {1}}}\n  v = isomer::WinogradInput(x) {{pads = {0}, taps = "
                   "{2}, tile = {1}}}\n  m = MatMul(v, u)\n  a = isomer::WinogradOutput(m) {{sizes = {3}, taps = {2}, "
                   "tile = {1}}}",
                   pads, tile, taps, list(out));
  const std::string y = dims(s.batch, s.filters, out);
  return parsed(
      fmt::format("opset 17\nopset \"isomer\" 1\ngraph g(x: {}, r: {}) -> (y: {}) {{\n  w: {} = random 3\n  {}\n  b = "
                  "Add(a, r)\n  y = Relu(b)\n}}\n",
                  dims(s.batch, s.channels, s.sizes), y, y, dims(s.filters, s.channels, s.taps), body));
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.nodes()) names.push_back(graph.node(id).op_type);
  return names;
}

/// Squares and cubes as rules make them, axes that are left alone, and anything else.
Shapes random_shapes(Random& random) {
  Shapes s{};
  s.batch = random.between(1, 2);
  s.channels = random.between(1, 40);
  s.filters = random.chance(0.5) ? 16 * random.between(1, 3) : random.between(1, 20);
  const int64_t rank = random.chance(0.5) ? 2 : random.between(1, 3);
  const bool is_regular = random.chance(0.5);
  for (int64_t k = 0; k < rank; ++k) {
    const bool is_like_first = k > 0 && is_regular, is_alone = random.chance(0.2);
    const int64_t taps = is_alone ? 1 : random.chance(0.7) ? 3 : random.between(1, 5);
    const int64_t most = rank == 3 ? 4 : 6;  // inputs of a tile
    s.taps.push_back(is_like_first ? s.taps[0] : std::min(taps, most));
    s.tile.push_back(is_like_first ? s.tile[0] : is_alone ? 1 : random.between(1, most + 1 - s.taps.back()));
    s.pads.push_back(random.between(0, s.taps.back() / 2));
    s.sizes.push_back(s.taps.back() + random.between(0, rank == 3 ? 5 : 12));
  }
  return s;
}

TEST(Winograd, WhatAFileHoldsRunsAsTheConvolution) {
  Random random(5);
  for (int turn = 0; turn < 40; ++turn) {
    const Shapes s = random_shapes(random);
    SCOPED_TRACE(fmt::format("{} -> {}, taps {}, tiles of {}, pads {}", dims(s.batch, s.channels, s.sizes), s.filters,
                             list(s.taps), list(s.tile), list(s.pads)));
    const Graph read = through_a_file(graph_of(s, false));
    EXPECT_THAT(operators(read), testing::IsSupersetOf({"WinogradInput", "WinogradOutput"}));
    expect_same_function(graph_of(s, true), read, random, kLoss);
  }
}

/// What is computed for a tile stands in one nest, its loops written out: nothing of it goes through memory.
TEST(Winograd, TransformsStayInRegisters) {
  const auto result = compiled(through_a_file(graph_of({1, 32, 32, {16, 16}, {3, 3}, {4, 4}, {1, 1}}, false)), 1);
  ASSERT_TRUE(result.ok()) << result.error().message();
  int transforms = 0;
  for (const search::GraphTask& task : result->whole.tasks) {
    if (task.name.find("WinogradInput") == std::string::npos && task.name.find("WinogradOutput") == std::string::npos)
      continue;
    ++transforms;
    const kernel::Kernel& kernel = result->kernel_of(task).kernel;
    EXPECT_EQ(kernel.body.size(), 1) << task.name;
    for (const kernel::Buffer& buffer : kernel.buffers) {
      const bool is_used = element_count(buffer.shape).value() > 0;
      EXPECT_TRUE(!is_used || buffer.scope == kernel::Scope::kArgument || buffer.scope == kernel::Scope::kRegister)
          << task.name << ": " << buffer.name;
    }
  }
  EXPECT_EQ(transforms, 2);
}

/// Transforms read and write channels last, as the convolutions around them do; two in a row are not one task.
TEST(Winograd, StandsBetweenConvolutionsWithoutChangesOfLayout) {
  const auto result = compiled(parsed(R"(opset 17
opset "isomer" 1
graph g(x: float32[1,16,14,14]) -> (y: float32[1,16,10,10]) {
  p: float32[16,16,3,3] = random 1
  u: float32[36,16,16] = random 2
  v: float32[36,16,16] = random 3
  q: float32[16,16,3,3] = random 4
  a = Conv(x, p)
  b = isomer::WinogradInput(a) {pads = [1,1,1,1], taps = [3,3], tile = [4,4]}
  c = MatMul(b, u)
  d = isomer::WinogradOutput(c) {sizes = [12,12], taps = [3,3], tile = [4,4]}
  e = isomer::WinogradInput(d) {pads = [1,1,1,1], taps = [3,3], tile = [4,4]}
  f = MatMul(e, v)
  g = isomer::WinogradOutput(f) {sizes = [12,12], taps = [3,3], tile = [4,4]}
  y = Conv(g, q)
}
)"),
                               1);
  ASSERT_TRUE(result.ok()) << result.error().message();
  std::vector<std::string> names;
  for (const search::GraphTask& task : result->whole.tasks) names.push_back(task.name);
  EXPECT_THAT(names, testing::ElementsAre("Relayout", "Conv", "WinogradInput", "MatMul", "WinogradOutput",
                                          "WinogradInput", "MatMul", "WinogradOutput", "Conv", "Relayout"));
}

}  // namespace
}  // namespace isomer::test
