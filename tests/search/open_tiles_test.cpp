// Tasks of sizes that data decide: tiles and lanes of whatever size there is, against the interpreter.
#include <algorithm>

#include "search/expect_same.h"

namespace isomer::test {
namespace {

struct Case {
  const char* name;
  Dims shape;        ///< of x, of which an axis is cut
  int axis;          ///< that `r` has `count` elements of
  const char* text;  ///< y of r
};

/// Around the widths of vectors and of tiles of them.
std::vector<int64_t> counts(int64_t most) {
  std::vector<int64_t> result;
  for (const int64_t count : {0, 1, 2, 5, 8, 9, 15, 16, 17, 24, 31, 32, 33, 47, 48, 50, 64, 70})
    if (count <= most) result.push_back(count);
  return result;
}

class OpenTiles : public testing::TestWithParam<Case> {};

TEST_P(OpenTiles, GiveTheSameForAnyCount) {
  const Case& tried = GetParam();
  std::string dims;
  for (const int64_t dim : tried.shape) dims += fmt::format("{}{}", dims.empty() ? "" : ",", dim);
  const std::string text = fmt::format(R"(opset 18
graph g(x: float32[{}], count: int64[1]) -> (y) {{
  from: int64[1] = {{0}}
  axis: int64[1] = {{{}}}
  first: int64[1] = {{0}}
  last: int64[1] = {{-1}}
  two: int64[2] = {{2,3}}
  r = Slice(x, from, count, axis)
  {}
}}
)",
                                       dims, tried.axis, tried.text);
  std::vector<Arrays> inputs;
  for (const int64_t count : counts(tried.shape[static_cast<size_t>(tried.axis)]))
    inputs.push_back({floats(tried.shape, 1), Array::integers(DataType::kInt64, {1}, {&count, 1})});
  expect_same(text, inputs);
}

INSTANTIATE_TEST_SUITE_P(
    Tasks, OpenTiles,
    testing::Values(
        Case{"columns of a product",
             {70, 9},
             0,
             "a: float32[30,9] = random 1\n  t = Transpose(r) {perm = [1,0]}\n  y = MatMul(a, t)"},
        Case{"rows and columns", {70, 9}, 0, "t = Transpose(r) {perm = [1,0]}\n  y = MatMul(r, t)"},
        Case{"steps of a product", {70, 9}, 0, "t = Transpose(r) {perm = [1,0]}\n  y = MatMul(t, r)"},
        Case{"heads",
             {3, 70, 20},
             1,
             "t = Transpose(r) {perm = [0,2,1]}\n  s = MatMul(r, t)\n  p = Softmax(s)\n  y = MatMul(p, r)"},
        Case{"rows that are read apart",
             {12, 70},
             1,
             "w: float32[70,5] = random 2\n  v = Slice(w, from, count, first)\n  y = MatMul(r, v)"},
        Case{"softmax along", {6, 70}, 1, "y = Softmax(r) {axis = 1}"},
        Case{"softmax across", {70, 6}, 0, "y = Softmax(r) {axis = 0}"},
        Case{"largest", {4, 70}, 1, "pads: int64[4] = {0,0,0,1}\n  one = Pad(r, pads)\n  y = ReduceMax(one, last)"},
        Case{"places of the largest",
             {4, 70},
             1,
             "pads: int64[4] = {0,0,0,1}\n  one = Pad(r, pads)\n  y = ArgMax(one) {axis = 1, select_last_index = 1}"},
        Case{"sums of both axes", {3, 8, 70}, 2, "both: int64[2] = {1,2}\n  y = ReduceSum(r, both) {keepdims = 0}"},
        Case{"sums of the other axis", {3, 8, 70}, 2, "axes: int64[1] = {1}\n  y = ReduceSum(r, axes)"},
        Case{"squares", {5, 70}, 1, "y = ReduceSumSquare(r, last)"},
        Case{"maps", {3, 70}, 1, "b: float32[3,1] = random 3\n  e = Exp(r)\n  y = Add(e, b)"},
        Case{"bytes", {3, 70}, 1, "s: float32[] = {0.02}\n  z: uint8[] = {128}\n  y = QuantizeLinear(r, s, z)"},
        Case{"truths", {3, 70}, 1, "zero: float32[] = {0}\n  y = Greater(r, zero)"},
        Case{"places of the largest of rows", {70, 40}, 0, "y = ArgMax(r) {axis = 1, select_last_index = 1}"},
        Case{"means of rows", {70, 3, 37}, 0, "y = ReduceMean(r, last)"},
        Case{"total", {70, 9}, 0, "both: int64[2] = {0,1}\n  y = ReduceSum(r, both) {keepdims = 0}"},
        Case{"means of images of any height",
             {2, 3, 70, 6},
             2,
             "pads: int64[8] = {0,0,0,0,0,0,1,0}\n  q = Pad(r, pads)\n  y = GlobalAveragePool(q)"},
        Case{"channels of one element", {70, 9, 1, 1}, 0, "y = Sigmoid(r)"},
        Case{"boxes", {70, 4}, 0, "y = Sigmoid(r)"},
        Case{"small images", {70, 5, 7, 7}, 0, "b: float32[5,1,1] = random 3\n  e = Exp(r)\n  y = Add(e, b)"},
        Case{"rows to columns", {70, 40}, 0, "y = Transpose(r) {perm = [1,0]}"},
        Case{"columns to rows", {40, 70}, 1, "y = Transpose(r) {perm = [1,0]}"},
        Case{"transposed", {17, 70}, 1, "y = Transpose(r) {perm = [1,0]}"},
        Case{"pairs", {2, 70}, 1, "y = Transpose(r) {perm = [1,0]}"},
        Case{"filters",
             {1, 7, 70},
             2,
             "w: float32[19,7,3] = random 1\n  b: float32[19] = random 2\n  y = Conv(r, w, b) {pads = [1,1]}"},
        Case{"filters far apart",
             {2, 5, 70},
             2,
             "w: float32[8,5,3] = random 1\n  y = Conv(r, w) {pads = [3,3], dilations = [3]}"},
        Case{"filters in steps",
             {1, 5, 70},
             2,
             "w: float32[9,5,3] = random 1\n  y = Conv(r, w) {pads = [1,2], strides = [2]}"},
        Case{"filters of channels",
             {1, 9, 70},
             2,
             "w: float32[9,1,5] = random 1\n  y = Conv(r, w) {pads = [2,2], group = 9}"},
        Case{"filters in groups",
             {1, 8, 70},
             2,
             "w: float32[12,4,3] = random 1\n  y = Conv(r, w) {pads = [1,1], group = 2}"},
        Case{"transposed filters",
             {1, 6, 70},
             2,
             "w: float32[6,5,4] = random 1\n  y = ConvTranspose(r, w) {strides = [2], pads = [1,1]}"},
        Case{"windows", {1, 3, 70}, 2, "y = MaxPool(r) {kernel_shape = [3], pads = [1,1], strides = [2]}"},
        Case{"means of windows", {1, 3, 70}, 2, "y = AveragePool(r) {kernel_shape = [3], pads = [1,1]}"},
        Case{"columns of images",
             {1, 5, 11, 50},
             3,
             "w: float32[9,5,3,3] = random 1\n  y = Conv(r, w) {pads = [1,1,1,1]}"},
        Case{
            "rows of images", {1, 5, 50, 11}, 2, "w: float32[9,5,3,3] = random 1\n  y = Conv(r, w) {pads = [1,1,1,1]}"},
        Case{"rows and columns of images",
             {1, 5, 50, 50},
             2,
             "columns: int64[1] = {3}\n  q = Slice(r, from, count, columns)\n  w: float32[9,5,3,3] = random 1\n  c = "
             "Conv(q, w) {pads = [1,1,1,1]}\n  y = GlobalAveragePool(c)"},
        Case{"every second row and column",
             {1, 5, 50, 50},
             2,
             "columns: int64[1] = {3}\n  q = Slice(r, from, count, columns)\n  w: float32[40,5,3,3] = random 1\n  y = "
             "Conv(q, w) {pads = [1,1,1,1], strides = [2,2]}"},
        Case{"images twice as large",
             {1, 5, 50, 50},
             2,
             "columns: int64[1] = {3}\n  q = Slice(r, from, count, columns)\n  w: float32[5,20,4,4] = random 1\n  y = "
             "ConvTranspose(q, w) {pads = [1,1,1,1], strides = [2,2]}"},
        Case{"steps of a recurrence",
             {70, 9},
             0,
             "s = Unsqueeze(r, last)\n  t = Transpose(s) {perm = [0,2,1]}\n  w: float32[1,64,9] = random 1\n  v: "
             "float32[1,64,16] = random 2\n  y, _, _ = LSTM(t, w, v) {hidden_size = 16}"},
        Case{"recurrences side by side",
             {70, 5, 9},
             0,
             "t = Transpose(r) {perm = [1,0,2]}\n  w: float32[1,64,9] = random 1\n  v: float32[1,64,16] = random 2\n  "
             "y, _, _ = LSTM(t, w, v) {hidden_size = 16}"},
        Case{"running sums side by side", {70, 5, 3}, 0, "y = CumSum(r, along)\n  along: int64[] = {1}"},
        Case{"running sums across", {5, 70}, 1, "y = CumSum(r, along)\n  along: int64[] = {0}"},
        Case{"products of integers",
             {9, 70},
             1,
             "s: float32[] = {0.02}\n  z: uint8[] = {128}\n  a: int8[6,9] = random 4\n  q = QuantizeLinear(r, s, z)\n  "
             "none: int8[] = {0}\n  y = MatMulInteger(a, q, none, z)"},
        Case{"halves", {9, 70}, 1, "h = Cast(r) {to = 10}\n  w: float16[6,9] = random 1\n  y = MatMul(w, h)"},
        Case{"doubles", {9, 70}, 1, "h = Cast(r) {to = 11}\n  w: float64[6,9] = random 1\n  y = MatMul(w, h)"},
        Case{
            "norms",
            {4, 70},
            1,
            "s: float32[70] = random 1\n  t = Slice(s, from, count, first)\n  y = LayerNormalization(r, t) {axis = 1}"},
        Case{"images of any width to twice that",
             {1, 2, 3, 50},
             3,
             "scales: float32[4] = {1,1,2,2}\n  y = Resize(r, _, scales) {mode = \"linear\"}"}),
    [](const auto& info) {
      std::string name = info.param.name;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

}  // namespace
}  // namespace isomer::test
