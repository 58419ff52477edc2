#include "search/tasks/layouts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "search/compiled.h"
#include "search/tasks/fuse.h"

namespace isomer::test {
namespace {

/// "Conv+Relu in 0:2:3:1 out 0:2:3:1": a line a task.
std::vector<std::string> laid_out(std::string_view text) {
  const Graph graph = parsed(text);
  auto fused = search::fuse(graph);
  CHECK(fused.ok()) << fused.error().message();
  const auto tasks = assign_layouts(graph, *std::move(fused));
  CHECK(tasks.ok()) << tasks.error().message();
  std::vector<std::string> lines;
  for (const search::Task& task : *tasks) {
    std::string line = task.name(graph);
    if (task.is_laid_out()) line += " " + task.input_layout(0) + "->" + task.output_layout(0);
    lines.push_back(std::move(line));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(Layouts, ChannelsComeLastBetweenConvolutions) {
  EXPECT_EQ(laid_out(R"(opset 17
graph chain(x: float32[1,8,10,10]) -> (y: float32[1,8,5,5]) {
  v: float32[8,8,1,1] = random 1
  w: float32[8,8,1,1] = random 2
  a = Conv(x, v)
  b = MaxPool(a) {kernel_shape = [2,2], strides = [2,2]}
  y = Conv(b, w)
}
)"),
            (Lines{"Relayout ->0:2:3:1", "Conv 0:2:3:1->0:2:3:1", "MaxPool 0:2:3:1->0:2:3:1", "Conv 0:2:3:1->0:2:3:1",
                   "Relayout 0:2:3:1->"}));
}

TEST(Layouts, ATransposeReadsWhatTheConvolutionLeft) {
  EXPECT_EQ(laid_out(R"(opset 17
graph last(x: float32[1,8,12,12]) -> (y: float32[1,10,10,8]) {
  w: float32[8,8,3,3] = random 1
  a = Conv(x, w)
  y = Transpose(a) {perm = [0,2,3,1]}
}
)"),
            (Lines{"Relayout ->0:2:3:1", "Conv 0:2:3:1->0:2:3:1", "Transpose 0:2:3:1->"}));
}

TEST(Layouts, GlobalPoolingReadsWhatTheConvolutionLeft) {
  EXPECT_EQ(laid_out(R"(opset 17
graph squeeze(x: float32[1,8,12,12]) -> (y: float32[1,8,10,10]) {
  w: float32[8,8,3,3] = random 1
  v: float32[8,8,1,1] = random 2
  a = Conv(x, w)
  b = GlobalAveragePool(a)
  c = Conv(b, v)
  y = Mul(a, c)
}
)"),
            (Lines{"Relayout ->0:2:3:1", "Conv 0:2:3:1->0:2:3:1", "GlobalAveragePool 0:2:3:1->", "Conv",
                   "Relayout 0:2:3:1->", "Mul"}));
}

TEST(Layouts, ShuffledChannelsLieAsTheConvolutionsTakeThem) {
  EXPECT_EQ(laid_out(R"(opset 17
graph shuffle(x: float32[1,8,12,12]) -> (y: float32[1,8,8,8]) {
  v: float32[8,8,3,3] = random 1
  w: float32[8,8,3,3] = random 2
  apart: int64[5] = {1, 2, 4, 10, 10}
  again: int64[4] = {1, 8, 10, 10}
  a = Conv(x, v)
  b = Reshape(a, apart)
  c = Transpose(b) {perm = [0,2,1,3,4]}
  d = Reshape(c, again)
  y = Conv(d, w)
}
)"),
            (Lines{"Relayout ->0:2:3:1", "Conv 0:2:3:1->0:2:3:1", "Reshape+Transpose+Reshape 0:2:3:1->0:2:3:1",
                   "Conv 0:2:3:1->0:2:3:1", "Relayout 0:2:3:1->"}));
}

TEST(Layouts, MapsBetweenTransposesThatCancelStayAsTheyAre) {
  EXPECT_EQ(laid_out(R"(opset 17
graph there_and_back(x: float32[2,20,32]) -> (y: float32[2,20,32]) {
  a = Transpose(x) {perm = [0,2,1]}
  b = Tanh(a)
  y = Transpose(b) {perm = [0,2,1]}
}
)"),
            (Lines{"Transpose+Tanh+Transpose"}));
}

/// A convolution alone, of so many channels to so many filters of a size, between row-major values.
Lines alone(int channels, int filters, int groups, int kernel, int stride = 1) {
  return laid_out(fmt::format(R"(opset 17
graph alone(x: float32[1,{0},48,48]) -> (y: float32[1,{1},{5},{5}]) {{
  w: float32[{1},{2},{3},{3}] = random 1
  y = Conv(x, w) {{group = {6}, strides = [{4},{4}]}}
}}
)",
                              channels, filters, channels / groups, kernel, stride, (48 - kernel) / stride + 1,
                              groups));
}

TEST(Layouts, WhatRowsOfPixelsComputeAsWellStaysRowMajor) {
  const Lines row_major = {"Conv"}, last = {"Relayout ->0:2:3:1", "Conv 0:2:3:1->0:2:3:1", "Relayout 0:2:3:1->"};
  EXPECT_EQ(alone(128, 64, 1, 1), row_major) << "a product";
  EXPECT_EQ(alone(32, 64, 1, 3), last) << "windows of all channels";
  EXPECT_EQ(alone(32, 3, 1, 3), row_major) << "few filters";
  EXPECT_EQ(alone(64, 64, 64, 3), row_major) << "depthwise, by rows of 46 pixels";
  EXPECT_EQ(alone(64, 64, 64, 3, 2), last) << "depthwise, every other pixel";
  EXPECT_EQ(alone(128, 128, 32, 3), last) << "groups of four";
  EXPECT_EQ(alone(100, 4, 4, 3), row_major) << "one result of 25 channels";
  EXPECT_EQ(alone(64, 32, 16, 3), row_major) << "groups of two";
}

TEST(Layouts, AFilterOfEveryOtherPixelReadsChannelsLast) {
  EXPECT_EQ(alone(32, 1, 1, 3, 2), (Lines{"Relayout ->0:2:3:1", "Conv 0:2:3:1->"}));
}

/// What is sampled at places that data say lies channels last, what says the places as it does; few channels leave
/// lanes idle.
TEST(Layouts, SampledImagesLieChannelsLast) {
  const auto sampled = [](int channels) {
    return laid_out(fmt::format(R"(opset 20
graph sampled(x: float32[2,{0},20,20], g: float32[2,30,4,2]) -> (y: float32[2,{0},30,4]) {{
  y = GridSample(x, g)
}}
)",
                                channels));
  };
  EXPECT_EQ(sampled(32), (Lines{"Relayout ->0:2:3:1", "GridSample 0:2:3:1->0:2:3:1", "Relayout 0:2:3:1->"}));
  EXPECT_EQ(sampled(3), (Lines{"GridSample"}));
  EXPECT_EQ(laid_out(R"(opset 16
graph regions(x: float32[1,16,20,20], r: float32[5,4], b: int64[5]) -> (y: float32[5,16,7,7]) {
  y = RoiAlign(x, r, b) {output_height = 7, output_width = 7, sampling_ratio = 2}
}
)"),
            (Lines{"Relayout ->0:2:3:1", "RoiAlign 0:2:3:1->0:2:3:1", "Relayout 0:2:3:1->"}));
}

/// A filter reads what is transposed on its way in as it lies: channels come last there.
TEST(Layouts, TransposedInputsStayAsTheyAre) {
  EXPECT_EQ(laid_out(R"(opset 17
graph turned(x: float32[1,14,14,64]) -> (y: float32[1,14,14,64]) {
  w: float32[64,1,3,3] = random 1
  a = Transpose(x) {perm = [0,3,1,2]}
  b = Conv(a, w) {group = 64, pads = [1,1,1,1]}
  y = Transpose(b) {perm = [0,2,3,1]}
}
)"),
            (Lines{"Transpose+Conv ->0:2:3:1", "Transpose 0:2:3:1->"}));
}

TEST(Layouts, WithoutConvolutionsNothingChanges) {
  EXPECT_EQ(laid_out(R"(opset 17
graph rows(x: float32[2,3,4,8]) -> (y: float32[2,3,4,8]) {
  w: float32[8,8] = random 1
  a = MatMul(x, w)
  y = Softmax(a)
}
)"),
            (Lines{"MatMul", "Softmax"}));
}

}  // namespace
}  // namespace isomer::test
