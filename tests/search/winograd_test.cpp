// Convolutions by Winograd's algorithm, from the operators through a file to code, against direct summation.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/node_form.h"
#include "search/compiled.h"
#include "search/prepare.h"
#include "search/run_artifact.h"
#include "util/random.h"
#include "verify/check/equivalence.h"

namespace isomer::test {
namespace {

/// What direct summation is off is multiplied by up to so much (reliability.md 3.6), with five taps and tiles of four
/// inputs more.
constexpr double kLoss = 15;

struct Shapes {
  int64_t batch, channels, filters, height, width, taps, tile, pad;
  int64_t out(int64_t size) const { return size + 2 * pad - taps + 1; }
  int64_t inputs() const { return taps + tile - 1; }
};

/// A convolution, or its transforms, then a residual and an activation.
Graph graph_of(const Shapes& s, bool direct) {
  const std::string pads = fmt::format("[{0},{0},{0},{0}]", s.pad);
  const std::string body = direct ? fmt::format("a = Conv(x, w) {{pads = {}}}", pads)
                                  : fmt::format(
                                        "u = isomer::WinogradKernel(w) {{tile = {1}}}\n  v = isomer::WinogradInput(x) "
                                        "{{pads = {0}, taps = {2}, tile = {1}}}\n  m = MatMul(v, u)\n"
                                        "  a = isomer::WinogradOutput(m) {{sizes = [{3},{4}], tile = {1}}}",
                                        pads, s.tile, s.taps, s.out(s.height), s.out(s.width));
  return parsed(
      fmt::format("opset 17\nopset \"isomer\" 1\ngraph g(x: float32[{0},{1},{2},{3}], r: float32[{0},{4},{5},{6}]) -> "
                  "(y: float32[{0},{4},{5},{6}]) {{\n"
                  "  w: float32[{4},{1},{7},{7}] = random 3\n  {8}\n  b = Add(a, r)\n  y = Relu(b)\n}}\n",
                  s.batch, s.channels, s.height, s.width, s.filters, s.out(s.height), s.out(s.width), s.taps, body));
}

/// As a file holds it, on its way to code.
Graph through_a_file(Graph graph) {
  CHECK(lower_to_opset(graph, 17).ok());
  for (const NodeId id : graph.nodes()) CHECK(graph.node(id).domain.empty());
  CHECK(prepare_for_code(graph, {.level = 2, .threads = 1}).ok());
  return graph;
}

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> names;
  for (const NodeId id : graph.nodes()) names.push_back(graph.node(id).op_type);
  return names;
}

Shapes random_shapes(Random& random) {
  Shapes s{};
  s.batch = random.between(1, 2);
  s.channels = random.between(1, 40);
  s.filters = random.chance(0.5) ? 16 * random.between(1, 3) : random.between(1, 20);
  s.taps = random.chance(0.7) ? 3 : random.between(2, 5);
  s.tile = random.between(2, 7 - s.taps);
  s.pad = random.between(0, s.taps / 2);
  s.height = s.taps + random.between(0, 12);
  s.width = s.taps + random.between(0, 12);
  return s;
}

TEST(Winograd, WhatAFileHoldsRunsAsTheConvolution) {
  Random random(5);
  for (int turn = 0; turn < 40; ++turn) {
    const Shapes s = random_shapes(random);
    SCOPED_TRACE(fmt::format("[{},{},{},{}] -> {}, {} taps, tiles of {}, pad {}", s.batch, s.channels, s.height,
                             s.width, s.filters, s.taps, s.tile, s.pad));
    const Graph direct = graph_of(s, true), read = through_a_file(graph_of(s, false));
    EXPECT_THAT(operators(read), testing::IsSupersetOf({"WinogradInput", "WinogradOutput"}));
    const auto result = compiled(read);
    ASSERT_TRUE(result.ok()) << result.error().message();
    const auto session = opened(result->artifact);
    std::vector<std::vector<te::Array>> inputs(1);
    for (const ValueId input : direct.inputs()) {
      std::vector<double> values(static_cast<size_t>(element_count(*direct.value(input).type.shape).value()));
      for (double& value : values) value = round_to(DataType::kFloat32, random.normal());
      inputs[0].push_back(te::Array::reals(DataType::kFloat32, *constants(*direct.value(input).type.shape), values));
    }
    const auto same = compare_with(
        direct, [&](std::span<const te::Array> given) { return run_artifact(*session, given); }, inputs, 1);
    ASSERT_TRUE(same.ok()) << same.error().message();
    EXPECT_LE(same->max_error_over_bound, kLoss) << same->difference->text();
  }
}

/// What is computed for a tile stands in one nest, its loops written out: nothing of it goes through memory.
TEST(Winograd, TransformsStayInRegisters) {
  const auto result = compiled(through_a_file(graph_of({1, 32, 32, 16, 16, 3, 4, 1}, false)), 1);
  ASSERT_TRUE(result.ok()) << result.error().message();
  int transforms = 0;
  for (const RegionTask& task : result->whole.tasks) {
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
graph g(x: float32[1,16,12,12]) -> (y: float32[1,16,12,12]) {
  p: float32[16,16,1,1] = random 1
  u: float32[36,16,16] = random 2
  v: float32[36,16,16] = random 3
  q: float32[16,16,1,1] = random 4
  a = Conv(x, p)
  b = isomer::WinogradInput(a) {pads = [1,1,1,1], tile = 4}
  c = MatMul(b, u)
  d = isomer::WinogradOutput(c) {sizes = [12,12], tile = 4}
  e = isomer::WinogradInput(d) {pads = [1,1,1,1], tile = 4}
  f = MatMul(e, v)
  g = isomer::WinogradOutput(f) {sizes = [12,12], tile = 4}
  y = Conv(g, q)
}
)"),
                               1);
  ASSERT_TRUE(result.ok()) << result.error().message();
  std::vector<std::string> names;
  for (const RegionTask& task : result->whole.tasks) names.push_back(task.name);
  EXPECT_THAT(names, testing::ElementsAre("Relayout", "Conv", "WinogradInput", "MatMul", "WinogradOutput",
                                          "WinogradInput", "MatMul", "WinogradOutput", "Conv", "Relayout"));
}

}  // namespace
}  // namespace isomer::test
