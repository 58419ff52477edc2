#include "kernel/examples.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/te/program_text.h"
#include "kernel/run_kernel.h"

namespace isomer::kernel::test {

const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"product",
       "s0 = reduce [13, 17] over [9] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
       "s1 = map [13, 17] { max(s0[i0, i1]:float32 + in2[i1]:float32, 0) }\noutput s1\n",
       {{13, 9}, {9, 17}, {17}}},
      {"padded_convolution",
       "s0 = reduce [2, 5, 7, 6] over [3, 3, 3] with sum:float32 { select(0 <= i2 + r1 - 1 && i2 + r1 - 1 < 7 && 0 <= "
       "i3 + r2 - 1 && i3 + r2 - 1 < 6, "
       "in0[i0, r0, i2 + r1 - 1, i3 + r2 - 1]:float32, 0:float32)*in1[i1, r0, r1, r2]:float32 }\noutput s0\n",
       {{2, 3, 7, 6}, {5, 3, 3, 3}}},
      {"depthwise",
       "s0 = reduce [1, 9, 8, 11] over [3, 3] with sum:float32 { select(0 <= i2*2 + r0 - 1 && i2*2 + r0 - 1 < 15 && 0 "
       "<= i3 + r1 - 1 && i3 + r1 - 1 < 11, "
       "in0[i0, i1, i2*2 + r0 - 1, i3 + r1 - 1]:float32, 0:float32)*in1[i1, r0, r1]:float32 }\n"
       "s1 = map [1, 9, 8, 11] { max(s0[i0, i1, i2, i3]:float32 + in2[i1]:float32, 0) }\noutput s1\n",
       {{1, 9, 15, 11}, {9, 3, 3}, {9}}},
      {"pooling",
       "s0 = reduce [2, 3, 5, 5] over [3, 3] with max:float32 { select(0 <= i2*2 + r0 - 1 && i2*2 + r0 - 1 < 9 && 0 <= "
       "i3*2 + r1 - 1 && i3*2 + r1 - 1 < 9, "
       "in0[i0, i1, i2*2 + r0 - 1, i3*2 + r1 - 1]:float32, -inf:float32) }\noutput s0\n",
       {{2, 3, 9, 9}}},
      {"transposed_convolution",
       "s0 = reduce [1, 6, 10, 10] over [4, 2, 2] with sum:float32 { select(0 <= (i2 + 1) floordiv 2 - r1 && (i2 + 1) "
       "floordiv 2 - r1 < 5 && "
       "0 <= (i3 + 1) floordiv 2 - r2 && (i3 + 1) floordiv 2 - r2 < 5, in0[i0, r0, (i2 + 1) floordiv 2 - r1, (i3 + 1) "
       "floordiv 2 - r2]:float32, 0:float32)"
       "*in1[r0, i1, (i2 + 1) floormod 2 + r1*2, (i3 + 1) floormod 2 + r2*2]:float32 }\noutput s0\n",
       {{1, 4, 5, 5}, {4, 6, 4, 4}}},
      {"grouped",
       "s0 = reduce [2, 16, 19] over [4] with sum:float32 { in0[i0, i1 floordiv 8*4 + r0, i2]:float32*in1[i1, "
       "r0]:float32 }\noutput s0\n",
       {{2, 8, 19}, {16, 4}}},
      {"narrow_groups",
       "s0 = reduce [1, 32, 7] over [4, 3] with sum:float32 { in0[i0, i1 floordiv 4*4 + r0, i2 + r1]:float32*in1[i1, "
       "r0, r1]:float32 }\ns1 = map [1, 32, 7] { max(s0[i0, i1, i2]:float32, 0) }\noutput s1\n",
       {{1, 32, 9}, {32, 4, 3}}},
      {"odd_groups",
       "s0 = reduce [7, 30] over [4] with sum:float32 { in0[i0, i1 floordiv 10*4 + r0]:float32*in1[i1, r0]:float32 }\n"
       "s1 = map [7, 30] { s0[i0, i1]:float32 + in2[i1]:float32 }\noutput s1\n",
       {{7, 12}, {30, 4}, {30}}},
      {"rows",
       "s0 = reduce [6] over [20] with max:float32 { in0[i0, r0]:float32 }\ns1 = map [6, 20] { in0[i0, i1]:float32 - "
       "s0[i0]:float32 }\n"
       "s2 = reduce [6] over [20] with sum:float32 { s1[i0, r0]:float32 }\ns3 = map [6, 20] { s1[i0, i1]:float32 + "
       "s2[i0]:float32 }\noutput s3\n",
       {{6, 20}}},
      {"recurrence",
       "s0 = scan 5 {\n  state [2, 12] = in1[i0, i1]:float32\n  step reduce [2, 12] over [12] with sum:float32 { "
       "state0[i0, r0]:float32*in2[r0, i1]:float32 }\n"
       "  step map [2, 12] { max(min(inner0[i0, i1]:float32 + in0[t0, i0, i1]:float32, 4), -4) }\n  next 1\n}\n"
       "s1 = map [2, 5, 12] { s0[i1, i0, i2]:float32*2 }\noutput s1\n",
       {{5, 2, 12}, {2, 12}, {12, 12}}},
      {"recurrence_of_parts",
       "s0 = scan 3 {\n  state [2, 32] = in1[i0, i1]:float32\n  step reduce [2, 32] over [32] with sum:float32 { "
       "state0[i0, r0]:float32*in2[i1, r0]:float32 }\n"
       "  step map [2, 32] { max(min(inner0[i0, i1]:float32 + in0[t0, i0, i1]:float32, 4), -4) }\n"
       "  step reduce [2, 32] over [32] with sum:float32 { inner1[i0, r0]:float32*in2[i1 + 32, r0]:float32 }\n"
       "  step map [2, 32] { max(min(inner2[i0, i1]:float32, 4), -4) }\n  next 3\n}\n"
       "s1 = map [2, 3, 32] { s0[i1, i0, i2]:float32*2 }\noutput s1\n",
       {{3, 2, 32}, {2, 32}, {64, 32}}},
      {"recurrence_of_odd_parts",
       "s0 = scan 3 {\n  state [2, 20] = in1[i0, i1]:float32\n  step reduce [2, 20] over [20] with sum:float32 { "
       "state0[i0, r0]:float32*in2[i1 + 20, r0]:float32 }\n"
       "  step map [2, 20] { max(min(inner0[i0, i1]:float32 + in0[t0, i0, i1]:float32, 4), -4) }\n  next 1\n}\n"
       "s1 = map [2, 3, 20] { s0[i1, i0, i2]:float32*2 }\noutput s1\n",
       {{3, 2, 20}, {2, 20}, {40, 20}}},
      {"running_sums",
       "s0 = scan 7 {\n  state [3, 20] = 0:float32\n  step map [3, 20] { state0[i0, i1]:float32 + in0[i0, t0, "
       "i1]:float32 }\n  next 0\n}\n"
       "s1 = map [3, 7, 20] { s0[i1, i0, i2]:float32 }\noutput s1\n",
       {{3, 7, 20}}},
      {"running_sums_backwards",
       "s0 = scan 9 {\n  state [3, 11] = in1[i0, i1]:float32\n  step map [3, 11] { state0[i0, i1]:float32 + in0[i0, "
       "i1, "
       "8 - t0]:float32 }\n  next 0\n}\n"
       "s1 = map [3, 11, 9] { s0[8 - i2, i0, i1]:float32 }\noutput s1\n",
       {{3, 11, 9}, {3, 11}}},
      {"turning_sums",
       "s0 = scan 5 {\n  state [4, 16] = 1:float32\n  step map [4, 16] { state0[3 - i0, i1]:float32 + in0[t0, i0, "
       "i1]:float32 }\n  next 0\n}\n"
       "s1 = map [4, 5, 16] { s0[i1, i0, i2]:float32 }\noutput s1\n",
       {{5, 4, 16}}},
      {"joined",
       "s0 = map [6, 40] { max(select(i1 < 9, in0[i0, i1]:float32, select(i1 < 32, in1[i0, i1 - 9]:float32, in2[i0, i1 "
       "- 32]:float32))*2, 0) }\n"
       "s1 = map [40, 3] { select(i0 < 11, in3[i0, i1]:float32, in4[i0 - 11, i1]:float32) }\noutput s0, s1\n",
       {{6, 9}, {6, 23}, {6, 8}, {11, 3}, {29, 3}}},
      {"pooled_channels",
       "s0 = reduce [24, 8, 9] over [3, 3] with max:float32 { select(0 <= i1*2 + r0 - 1 && 0 <= i2*2 + r1 - 1, "
       "in0[i1*2 + r0 - 1, i2*2 + r1 - 1, i0]:float32, -inf:float32) }\n"
       "s1 = map [8, 9, 24] { s0[i2, i0, i1]:float32*2 }\noutput s1\n",
       {{16, 18, 24}}},
      {"few_filters",
       "s0 = reduce [1, 3, 5, 19] over [32, 3, 3] with sum:float32 { select(0 <= i2 + r1 - 1 && i2 + r1 - 1 < 5 && 0 "
       "<= i3 + r2 - 1 && i3 + r2 - 1 < 19, "
       "in0[i0, i2 + r1 - 1, i3 + r2 - 1, r0]:float32, 0:float32)*in1[i1, r0, r1, r2]:float32 }\n"
       "s1 = map [1, 5, 19, 3] { max(s0[i0, i3, i1, i2]:float32 + in2[i3]:float32, 0) }\noutput s1\n",
       {{1, 5, 19, 32}, {3, 32, 3, 3}, {3}}},
      {"few_transposed_filters",
       "s0 = reduce [1, 2, 10, 14] over [16, 2, 2] with sum:float32 { select(0 <= (i2 + 1) floordiv 2 - r1 && (i2 + 1) "
       "floordiv 2 - r1 < 5 && "
       "0 <= (i3 + 1) floordiv 2 - r2 && (i3 + 1) floordiv 2 - r2 < 7, in0[i0, (i2 + 1) floordiv 2 - r1, (i3 + 1) "
       "floordiv 2 - r2, r0]:float32, 0:float32)"
       "*in1[r0, i1, (i2 + 1) floormod 2 + r1*2, (i3 + 1) floormod 2 + r2*2]:float32 }\n"
       "s1 = map [1, 10, 14, 2] { max(s0[i0, i3, i1, i2]:float32, 0) }\noutput s1\n",
       {{1, 5, 7, 16}, {16, 2, 4, 4}}},
      {"movement",
       "s0 = map [4, 6, 5] { in0[i1, i2, i0]:float32*3 }\ns1 = map [24, 5] { s0[i0 floordiv 6, i0 floormod 6, "
       "i1]:float32 + 1 }\noutput s1\n",
       {{6, 5, 4}}},
      {"passed_rows",
       "s0 = reduce [1, 20, 6, 9] over [3, 3] with sum:float32 { select(0 <= i2 + r0 - 1 && i2 + r0 - 1 < 6 && 0 <= "
       "i3 + r1 - 1 && i3 + r1 - 1 < 9, in0[i0, i2 + r0 - 1, i3 + r1 - 1, i1]:float32, 0:float32)*in1[i1, r0, "
       "r1]:float32 }\n"
       "s1 = map [1, 20, 6, 9] { max(s0[i0, i1, i2, i3]:float32, 0) }\n"
       "s2 = reduce [1, 6, 9, 24] over [20] with sum:float32 { s1[i0, r0, i1, i2]:float32*in2[i3, r0]:float32 }\n"
       "output s2\n",
       {{1, 6, 9, 20}, {20, 3, 3}, {24, 20}}},
      {"row_with_long_epilogue",
       "s0 = reduce [1, 40] over [12] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
       "s1 = map [1, 40] { max(min(max(min(s0[i0, i1]:float32*2 + 1, 9)*3 - 4, -5)*2 + 3, 7)*2 - 1, -8)*2 + 1 }\n"
       "output s1\n",
       {{1, 12}, {12, 40}}},
      {"mapped_rows",
       "s0 = map [40, 20] { max(in0[i0, i1]:float32*2 + 1, 0)*in0[i0, i1]:float32 }\n"
       "s1 = reduce [40, 24] over [20] with sum:float32 { s0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s1\n",
       {{40, 20}, {20, 24}}},
      {"bytes",
       "s0 = reduce [13, 33] over [21] with sum:int32 { (int32(in0[i0, r0]:uint8) - int32(in2[]:uint8))*"
       "(int32(in1[r0, i1]:int8) - int32(in3[i1]:int8)) }\n"
       "s1 = map [13, 33] { float32(s0[i0, i1]:int32)*in4[i1]:float32 }\noutput s1\n",
       {{13, 21}, {21, 33}, {}, {33}, {33}},
       {},
       {DataType::kUInt8, DataType::kInt8, DataType::kUInt8, DataType::kInt8, DataType::kFloat32}},
      {"padded_bytes",
       "s0 = reduce [1, 20, 6, 7] over [6, 3, 3] with sum:int32 { select(0 <= i2 + r1 - 1 && i2 + r1 - 1 < 6 && 0 <= "
       "i3 + r2 - 1 && i3 + r2 - 1 < 7, int32(in0[i0, i2 + r1 - 1, i3 + r2 - 1, r0]:uint8) - int32(in2[]:uint8), "
       "0:int32)*int32(in1[i1, r0, r1, r2]:int8) }\noutput s0\n",
       {{1, 6, 7, 6}, {20, 6, 3, 3}, {}},
       {},
       {DataType::kUInt8, DataType::kInt8, DataType::kUInt8}},
      {"table",
       "s0 = map [23, 70] { floor(float32(in0[i0, i1]:int8)/2)*2 + floor(float32(in0[i0, i1]:int8)/4) - "
       "floor(float32(in0[i0, i1]:int8)/8) + in1[i1]:float32 }\noutput s0\n",
       {{23, 70}, {70}},
       {},
       {DataType::kInt8, DataType::kFloat32}},
      {"table_of_results",
       "s0 = reduce [13, 33] over [21] with sum:int32 { int32(in0[i0, r0]:uint8)*int32(in1[r0, i1]:int8) }\n"
       "s1 = map [13, 33] { uint8(min(max(s0[i0, i1]:int32 floordiv 512 + 128, 0), 255)) }\n"
       "s2 = map [13, 33] { uint8(min(max(floor(float32(s1[i0, i1]:uint8)/2) + floor(float32(s1[i0, i1]:uint8)/4) + "
       "floor(float32(s1[i0, i1]:uint8)/8), 0), 255)) }\noutput s2\n",
       {{13, 21}, {21, 33}},
       {},
       {DataType::kUInt8, DataType::kInt8}},
  };
  return all;
}

const Example& example_of(std::string_view name) {
  const auto found =
      std::find_if(examples().begin(), examples().end(), [&](const Example& each) { return each.name == name; });
  CHECK(found != examples().end()) << name;
  return *found;
}

std::vector<Tensor> integers(const Example& example, Random& random) {
  std::vector<Tensor> tensors;
  for (size_t input = 0; input < example.inputs.size(); ++input) {
    const Dims& dims = example.inputs[input];
    const DataType type = example.type_of(input);
    const auto [least, most] = type == DataType::kUInt8  ? std::pair(0, 255)
                               : type == DataType::kInt8 ? std::pair(-128, 127)
                                                         : std::pair(-4, 4);
    std::vector<double> values(static_cast<size_t>(element_count(dims)));
    for (double& value : values) value = static_cast<double>(random.between(least, most));
    tensors.push_back(Tensor::from_doubles(type, dims, values));
  }
  return tensors;
}

namespace {

Kernel finished_like_lowered(const Kernel& kernel) { return Schedule(kernel).finish(); }

/// A window along one axis: how many elements it reads of an axis of `size`, and where.
struct Window {
  int64_t size, kernel, stride, dilation, pad;
  int64_t results() const { return (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1; }
  std::string index(int axis, int reduce) const {
    return fmt::format("i{}*{} + r{}*{} - {}", axis, stride, reduce, dilation, pad);
  }
  std::string inside(int axis, int reduce) const {
    return fmt::format("0 <= {0} && {0} < {1}", index(axis, reduce), size);
  }
};

Window random_window(Random& random) {
  Window window;
  window.kernel = random.between(1, 4);
  window.stride = random.between(1, 2);
  window.dilation = random.between(1, 2);
  window.pad = random.between(0, 2);
  window.size = window.dilation * (window.kernel - 1) + random.between(1, 20);
  return window;
}

Example random_product(Random& random) {
  const int64_t m = random.between(1, 40), n = random.between(1, 70), k = random.between(1, 50);
  return {
      "product",
      fmt::format("s0 = reduce [{0}, {1}] over [{2}] with sum:float32 {{ in0[i0, r0]:float32*in1[r0, i1]:float32 }}\n"
                  "s1 = map [{0}, {1}] {{ max(s0[i0, i1]:float32 + in2[{3}]:float32, 0) }}\noutput s1\n",
                  m, n, k, random.chance(0.5) ? "i0, i1" : "0, i1"),
      {{m, k}, {k, n}, {m, n}}};
}

Example random_convolution(Random& random) {
  const int64_t groups = random.chance(0.3) ? random.between(2, 3) : 1, in = random.between(1, 6),
                out = groups * random.between(1, 20);
  const Window down = random_window(random), across = random_window(random);
  const std::string channel = fmt::format("i1 floordiv {}*{} + r0", out / groups, in);
  return {
      "convolution",
      fmt::format("s0 = reduce [2, {}, {}, {}] over [{}, {}, {}] with sum:float32 {{ select({} && {}, in0[i0, {}, {}, "
                  "{}]:float32, 0:float32)*in1[i1, r0, r1, r2]:float32 }}\noutput s0\n",
                  out, down.results(), across.results(), in, down.kernel, across.kernel, down.inside(2, 1),
                  across.inside(3, 2), channel, down.index(2, 1), across.index(3, 2)),
      {{2, groups * in, down.size, across.size}, {out, in, down.kernel, across.kernel}}};
}

Example random_pooling(Random& random) {
  const int64_t channels = random.between(1, 20);
  const Window down = random_window(random), across = random_window(random);
  return {"pooling",
          fmt::format(
              "s0 = reduce [{}, {}, {}] over [{}, {}] with max:float32 {{ select({} && {}, in0[{}, {}, "
              "i0]:float32, -inf:float32) }}\ns1 = map [{}, {}, {}] {{ s0[i2, i0, i1]:float32*2 }}\noutput s1\n",
              channels, down.results(), across.results(), down.kernel, across.kernel, down.inside(1, 0),
              across.inside(2, 1), down.index(1, 0), across.index(2, 1), down.results(), across.results(), channels),
          {{down.size, across.size, channels}}};
}

Example random_movement(Random& random) {
  const int64_t a = random.between(1, 40), b = random.between(1, 40), c = random.between(1, 9);
  return {"movement",
          fmt::format("s0 = map [{0}, {1}, {2}] {{ in0[i1, i2, i0]:float32*3 }}\ns1 = map [{2}, {3}] {{ s0[i1 floordiv "
                      "{1}, i1 floormod {1}, i0]:float32 + in1[i0, i1]:float32 }}\noutput s1\n",
                      a, b, c, a * b),
          {{b, c, a}, {c, a * b}}};
}

Example random_rows(Random& random) {
  const int64_t rows = random.between(1, 12), length = random.between(1, 90);
  return {
      "rows",
      fmt::format("s0 = reduce [{0}] over [{1}] with max:float32 {{ in0[i0, r0]:float32 }}\ns1 = map [{0}, {1}] {{ "
                  "in0[i0, i1]:float32 - s0[i0]:float32 }}\ns2 = reduce [{0}] over [{1}] with sum:float32 {{ s1[i0, "
                  "r0]:float32 }}\ns3 = map [{0}, {1}] {{ s1[i0, i1]:float32 + s2[i0]:float32 }}\noutput s3\n",
                  rows, length),
      {{rows, length}}};
}

/// Few columns of long sums along memory.
Example random_inner_product(Random& random) {
  const int64_t rows = random.between(1, 40), columns = random.between(1, 6), steps = 16 * random.between(1, 12);
  return {"inner_product",
          fmt::format("s0 = reduce [{0}, {1}] over [{2}] with sum:float32 {{ in0[i0, r0]:float32*in1[r0, i1]:float32 "
                      "}}\ns1 = map [{1}, {0}] {{ max(s0[i1, i0]:float32, 0) }}\noutput {3}\n",
                      rows, columns, steps, random.chance(0.5) ? "s0" : "s1"),
          {{rows, steps}, {steps, columns}}};
}

Example random_attention(Random& random) {
  const int64_t heads = random.between(1, 3), rows = random.between(1, 30), keys = random.between(2, 40),
                width = random.between(2, 20);
  return {
      "attention",
      fmt::format("s0 = reduce [{0}, {1}, {2}] over [{3}] with sum:float32 {{ in0[i0, i1, r0]:float32*in1[i0, i2, "
                  "r0]:float32 }}\ns1 = reduce [{0}, {1}] over [{2}] with max:float32 {{ s0[i0, i1, r0]:float32 }}\n"
                  "s2 = map [{0}, {1}, {2}] {{ s0[i0, i1, i2]:float32 - s1[i0, i1]:float32 }}\ns3 = reduce [{0}, {1}, "
                  "{3}] over [{2}] with sum:float32 {{ s2[i0, i1, r0]:float32*in2[i0, r0, i2]:float32 }}\noutput "
                  "s3\n",
                  heads, rows, keys, width),
      {{heads, rows, width}, {heads, keys, width}, {heads, keys, width}}};
}

Example random_parts(Random& random) {
  const int64_t rows = random.between(1, 12), a = random.between(1, 40), b = random.between(1, 40);
  return {"parts",
          fmt::format("s0 = map [{}, {}] {{ max(select(i1 < {}, in0[i0, i1]:float32, in1[i0, i1 - {}]:float32)*2, 0) "
                      "}}\noutput s0\n",
                      rows, a + b, a, a),
          {{rows, a}, {rows, b}}};
}

/// A byte as int32, less an offset: none, a number, or elements of inputs with these indices.
std::string byte_factor(Random& random, Example& example, const std::string& load, const std::string& type,
                        const std::vector<std::pair<std::string, Dims>>& offsets) {
  const std::string value = fmt::format("int32({}:{})", load, type);
  const uint64_t kind = random.below(offsets.size() + 2);
  if (kind == 0 && random.chance(0.3)) return fmt::format("({} - {})", value, random.between(-70'000, 70'000));
  if (kind == 0) return value;
  const size_t input = example.inputs.size();
  if (kind == 1 && random.chance(0.3)) {
    example.inputs.emplace_back();
    example.dtypes.push_back(DataType::kInt32);
    return fmt::format("({} - in{}[]:int32)", value, input);
  }
  if (kind == 1) return fmt::format("({} - int32({}:{}))", value, random.between(0, 127), type);
  const auto& [index, dims] = offsets[kind - 2];
  example.inputs.push_back(dims);
  example.dtypes.push_back(example.dtypes[load.starts_with("in0") ? 0 : 1]);
  return fmt::format("({} - int32(in{}[{}]:{}))", value, input, index, type);
}

Example random_byte_product(Random& random) {
  const int64_t m = random.between(1, 40), n = random.between(1, 70), k = random.between(1, 70);
  const std::string types[] = {random.chance(0.5) ? "int8" : "uint8", random.chance(0.5) ? "int8" : "uint8"};
  Example example{"bytes", "", {{m, k}, {k, n}}, {}, {parse_data_type(types[0]), parse_data_type(types[1])}};
  const std::string left = byte_factor(random, example, "in0[i0, r0]", types[0], {{"", {}}, {"i0", {m}}});
  const std::string right = byte_factor(random, example, "in1[r0, i1]", types[1], {{"", {}}, {"i1", {n}}});
  example.program = fmt::format(
      "s0 = reduce [{0}, {1}] over [{2}] with sum:int32 {{ {3}*{4} }}\ns1 = map [{0}, {1}] {{ "
      "float32(s0[i0, i1]:int32)*2 }}\noutput {5}\n",
      m, n, k, left, right, random.chance(0.5) ? "s0" : "s1");
  return example;
}

Example random_byte_convolution(Random& random) {
  const int64_t in = random.between(1, 12), out = random.between(1, 40);
  const Window down = random_window(random), across = random_window(random);
  const std::string types[] = {random.chance(0.5) ? "int8" : "uint8", random.chance(0.5) ? "int8" : "uint8"};
  Example example{"byte_convolution",
                  "",
                  {{2, down.size, across.size, in}, {out, in, down.kernel, across.kernel}},
                  {},
                  {parse_data_type(types[0]), parse_data_type(types[1])}};
  const std::string load = fmt::format("in0[i0, {}, {}, r0]", down.index(2, 1), across.index(3, 2));
  const std::string left = byte_factor(random, example, load, types[0], {{"", {}}});
  const std::string right = byte_factor(random, example, "in1[i1, r0, r1, r2]", types[1], {{"", {}}, {"i1", {out}}});
  example.program = fmt::format(
      "s0 = reduce [2, {}, {}, {}] over [{}, {}, {}] with sum:int32 {{ select({} && {}, {}, 0:int32)*{} }}\noutput "
      "s0\n",
      out, down.results(), across.results(), in, down.kernel, across.kernel, down.inside(2, 1), across.inside(3, 2),
      left, right);
  return example;
}

}  // namespace

Example random_byte_sum(Random& random) {
  return random.chance(0.5) ? random_byte_product(random) : random_byte_convolution(random);
}

Example random_example(Random& random) {
  constexpr Example (*kinds[])(Random&) = {random_product,  random_convolution,   random_pooling,
                                           random_movement, random_rows,          random_attention,
                                           random_parts,    random_inner_product, random_byte_sum};
  return kinds[random.below(std::size(kinds))](random);
}

Kernel lowered(const Example& example, const std::set<size_t>& constants) {
  const auto program = te::parse_program(example.program);
  CHECK(program.ok()) << program.error().message();
  std::vector<TaskType> types;
  for (size_t input = 0; input < example.inputs.size(); ++input)
    types.push_back({example.type_of(input), Shape(example.inputs[input].begin(), example.inputs[input].end())});
  auto kernel = lower(*program, types);
  CHECK(kernel.ok()) << kernel.error().message();
  for (const size_t input : constants)
    if (const int buffer = kernel->inputs[input]; buffer >= 0)
      kernel->buffers[static_cast<size_t>(buffer)].is_constant = true;
  return *std::move(kernel);
}

const std::vector<OpenExample>& open_examples() {
  const Dim n = Dim::symbol("n");
  static const std::vector<OpenExample> examples = {
      {"product",
       "s0 = reduce [n,6] over [5] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
       {{n, 5}, {5, 6}}},
      {"square",
       "s0 = reduce [n,n] over [5] with sum:float32 { in0[i0, r0]:float32*in0[i1, r0]:float32 }\noutput s0\n",
       {{n, 5}}},
      {"sum",
       "s0 = reduce [3,4] over [n] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
       {{3, n}, {n, 4}}},
      {"filter",
       "s0 = reduce [4,n] over [2,3] with sum:float32 { select(0 <= i1 + r1 - 1 && i1 + r1 - 1 < n, in0[r0, i1 + r1 - "
       "1]:float32, 0)*in1[i0, r0, r1]:float32 }\noutput s0\n",
       {{2, n}, {4, 2, 3}}},
      {"rows",
       "s0 = reduce [3] over [n] with max:float32 { in0[i0, r0]:float32 }\n"
       "s1 = map [3,n] { in0[i0, i1]:float32 - s0[i0]:float32 }\noutput s1\n",
       {{3, n}}},
      {"total", "s0 = reduce [] over [n] with sum:float32 { in0[r0]:float32 }\noutput s0\n", {{n}}},
      {"total_of_rows", "s0 = reduce [] over [n,5] with sum:float32 { in0[r0, r1]:float32 }\noutput s0\n", {{n, 5}}},
      {"largest_of_all", "s0 = reduce [1] over [n] with max:float32 { in0[r0, i0]:float32 }\noutput s0\n", {{n, 1}}},
      {"long_rows", "s0 = reduce [n] over [37] with sum:float32 { in0[i0, r0]:float32 }\noutput s0\n", {{n, 37}}},
      {"images", "s0 = reduce [2] over [n,7] with sum:float32 { in0[i0, r0, r1]:float32 }\noutput s0\n", {{2, n, 7}}},
      {"places", "s0 = reduce [n] over [37] with argmax:float32 { in0[i0, r0]:float32, r0 }\noutput s0.1\n", {{n, 37}}},
      {"means", "s0 = reduce [2] over [n,n] with sum:float32 { in0[i0, r0, r1]:float32 }\noutput s0\n", {{2, n, n}}},
      {"movement", "s0 = map [n,3] { in0[i1, n - 1 - i0]:float32*2 }\noutput s0\n", {{3, n}}}};
  return examples;
}

Kernel lowered_open(const OpenExample& example) {
  const auto program = te::parse_program(example.program);
  CHECK(program.ok()) << program.error().message();
  std::vector<TaskType> types;
  for (const Shape& shape : example.inputs) types.push_back({DataType::kFloat32, shape});
  auto kernel = lower(*program, types, {{"n"}});
  CHECK(kernel.ok()) << kernel.error().message();
  return *std::move(kernel);
}

void expect_same_meaning(const Example& example, const Schedule& schedule, const Kernel& kernel,
                         const CpuTarget& target) {
  SCOPED_TRACE(fmt::format("{}\n{}", print(schedule.trace()), print(schedule.finish())));
  Random random(7);
  const std::vector<Tensor> inputs = integers(example, random);
  const auto expected = run(finished_like_lowered(kernel), inputs, host_target());
  const auto found = run(schedule.finish(), inputs, target);
  ASSERT_TRUE(expected.ok()) << expected.error().message();
  ASSERT_TRUE(found.ok()) << found.error().message();
  for (size_t k = 0; k < expected->outputs.size(); ++k)
    EXPECT_TRUE(expected->outputs[k].same_contents(found->outputs[k].reshaped(expected->outputs[k].dims())))
        << "output " << k;
}

void expect_replays(const Schedule& schedule, const Kernel& kernel) {
  const auto parsed = parse_trace(print(schedule.trace()));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message();
  EXPECT_EQ(*parsed, schedule.trace());
  const auto again = replay(*parsed, kernel);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(structural_hash(again->finish()), structural_hash(schedule.finish()));
  EXPECT_EQ(hash(again->trace()), hash(schedule.trace()));
}

}  // namespace isomer::kernel::test
