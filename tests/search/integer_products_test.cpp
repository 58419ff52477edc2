// Products of dequantized numbers become products of the integers: the same function, in fewer kinds of steps, where
// the scales allow it; and as code.
#include "search/tasks/integer_products.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "graph/interpret.h"
#include "search/code/prepare.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "support/long_run.h"
#include "support/quantized_pair.h"
#include "util/random.h"

namespace isomer::test {
namespace {

int64_t count_of(const Graph& graph, std::string_view op) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::ranges::count_if(nodes, [&](NodeId id) { return graph.node(id).op_type == op; });
}

/// A product of an input and weights of bytes, with what else is random about it.
struct Quantized {
  std::string text;
  bool is_convolution = false;
};

std::string zero_point(Random& random, const std::string& name, const std::string& type, int64_t count, bool is_known) {
  if (random.chance(0.2)) return "";
  const std::string dims = count == 1 ? "" : fmt::format("{}", count);
  if (!is_known || random.chance(0.3)) return fmt::format("  {}: {}[{}] = all 0\n", name, type, dims);
  return fmt::format("  {}: {}[{}] = random {}\n", name, type, dims, random.below(1000));
}

Quantized random_product(Random& random) {
  Quantized result;
  const std::string x_type = random.chance(0.5) ? "uint8" : "int8", w_type = random.chance(0.5) ? "uint8" : "int8";
  const int64_t batch = random.between(1, 3), in = random.between(1, 20), out = random.between(2, 24),
                size = random.between(4, 9), taps = random.between(1, 3), pad = random.between(0, 1);
  const bool by_channel = random.chance(0.5), has_bias = random.chance(0.5), quantizes = random.chance(0.5);
  const uint64_t kind = random.below(4);  // a convolution, products
  result.is_convolution = kind == 0;
  const bool is_transposed = kind == 3;
  const int64_t result_size = size + 2 * pad - taps + 1;
  const std::string x_dims = kind == 0   ? fmt::format("{},{},{},{}", batch, in, size, size)
                             : kind == 1 ? fmt::format("{},{},{}", batch, size, in)
                                         : fmt::format("{},{}", size, in),
                    w_dims = kind == 0       ? fmt::format("{},{},{},{}", out, in, taps, taps)
                             : is_transposed ? fmt::format("{},{}", out, in)
                                             : fmt::format("{},{}", in, out),
                    y_dims = kind == 0   ? fmt::format("{},{},{},{}", batch, out, result_size, result_size)
                             : kind == 1 ? fmt::format("{},{},{}", batch, size, out)
                                         : fmt::format("{},{}", size, out);
  const std::string zx = zero_point(random, "zx", x_type, 1, true),
                    zw = zero_point(random, "zw", w_type, by_channel ? out : 1, true);
  std::string& text = result.text;
  text = fmt::format("opset 21\ngraph g(x: {}[{}]) -> (y: {}[{}]) {{\n", x_type, x_dims,
                     quantizes ? "uint8" : "float32", y_dims);
  text += fmt::format("  w: {}[{}] = random 1\n  s: float32[] = {{0.0173}}\n{}{}", w_type, w_dims, zx, zw);
  text += by_channel ? fmt::format("  t0: float32[{}] = random 5\n  t = Abs(t0)\n", out)
                     : std::string("  t: float32[] = {0.0211}\n");
  if (has_bias) text += fmt::format("  b: float32[{}] = random 7\n", out);
  text += fmt::format("  a = DequantizeLinear(x, s{})\n", zx.empty() ? "" : ", zx");
  text += fmt::format("  v = DequantizeLinear(w, t{}) {{axis = {}}}\n", zw.empty() ? "" : ", zw",
                      kind == 0 || is_transposed ? 0 : 1);
  const std::string made = quantizes ? "p" : "y", bias = has_bias && kind != 1 ? ", b" : "";
  if (kind == 0) text += fmt::format("  {} = Conv(a, v{}) {{pads = [{},{},{},{}]}}\n", made, bias, pad, pad, pad, pad);
  if (kind == 1) text += fmt::format("  {} = MatMul(a, v)\n", made);
  if (kind >= 2) text += fmt::format("  {} = Gemm(a, v{}) {{transB = {}}}\n", made, bias, kind - 2);
  if (quantizes)
    text += random.chance(0.5) ? "  q: float32[] = {0.731}\n  y = QuantizeLinear(p, q)\n"
                               : "  q: float32[] = {0.731}\n  r = Relu(p)\n  y = QuantizeLinear(r, q)\n";
  text += "}\n";
  return result;
}

std::vector<te::Array> random_inputs(const Graph& graph, Random& random) {
  std::vector<te::Array> inputs;
  for (const ValueId input : graph.inputs()) {
    const ValueType& type = graph.value(input).type;
    if (is_float(type.dtype)) {
      inputs.push_back(te::Array::reals(type.dtype, {}, std::vector<double>{0.5}));
      continue;
    }
    const int64_t least = type.dtype == DataType::kInt8 ? -128 : 0;
    std::vector<int64_t> values(static_cast<size_t>(element_count(*type.shape).value()));
    for (int64_t& value : values) value = random.between(least, least + 255);
    inputs.push_back(te::Array::integers(type.dtype, *constants(*type.shape), values));
  }
  return inputs;
}

/// Of quantized results one in a thousand may lie a step apart: rounding decides it.
void expect_close(const te::Array& expected, const te::Array& found) {
  ASSERT_EQ(expected.dims(), found.dims());
  ASSERT_EQ(expected.dtype(), found.dtype());
  int64_t apart = 0;
  for (int64_t k = 0; k < expected.count(); ++k) {
    const double difference = std::abs(expected.as_double(k) - found.as_double(k));
    if (!is_float(expected.dtype())) {
      ASSERT_LE(difference, 1) << k;
      apart += difference > 0 ? 1 : 0;
    } else {
      ASSERT_LE(difference, 1e-5 * (1 + std::abs(expected.as_double(k)))) << k;
    }
  }
  EXPECT_LE(apart, 1 + expected.count() / 1000);
}

TEST(IntegerProducts, AreTheSameFunction) {
  const int count = isomer::test::is_long_run() ? 2'000 : 80;
  for (int seed = 0; seed < count; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Quantized made = random_product(random);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, made.text));
    const Graph before = parsed(made.text);
    Graph after = before;
    const auto changed = search::use_integer_products(after);
    ASSERT_TRUE(changed.ok()) << changed.error().message();
    EXPECT_EQ(count_of(after, "ConvInteger") + count_of(after, "MatMulInteger"), 1);
    EXPECT_EQ(count_of(after, "Conv") + count_of(after, "MatMul") + count_of(after, "Gemm"), 0);
    const std::vector<te::Array> inputs = random_inputs(before, random);
    const auto expected = interpret(before, inputs, {}), found = interpret(after, inputs, {});
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    ASSERT_TRUE(found.ok()) << found.error().message();
    expect_close((*expected)[0], (*found)[0]);

    Graph prepared = before;
    ASSERT_TRUE(search::prepare_for_code(prepared, {.integer_products = true}).ok());
    const auto code = compiled(prepared);
    ASSERT_TRUE(code.ok()) << code.error().message();
    const auto session = opened(code->artifact);
    const auto ran = search::run_artifact(*session, inputs);
    ASSERT_TRUE(ran.ok()) << ran.error().message();
    expect_close((*expected)[0], (*ran)[0]);
    if (HasFailure()) return;
  }
}

TEST(IntegerProducts, AreNoneWhereScalesOrSizesForbid) {
  const auto changes = [](const std::string& body) {
    Graph graph = parsed(fmt::format(
        "opset 21\ngraph g(x: uint8[1,8,6,6], m: int8[4,8], long: int8[2,40000]) -> (y: float32[]) {{\n"
        "  s: float32[] = {{0.1}}\n  s8: float32[8] = random 1\n  s5: float32[5] = random 1\n  w: int8[8,8,3,3] = "
        "random 2\n  g: int8[8,1,3,3] = random 2\n  n: int8[8,5] = random 3\n  l: int8[40000,3] = random 4\n{}  y = "
        "ReduceSum(r) {{keepdims = 0}}\n}}\n",
        body));
    const auto changed = search::use_integer_products(graph);
    CHECK(changed.ok()) << changed.error().message();
    return *changed;
  };
  const std::string a = "  a = DequantizeLinear(x, s)\n", b = "  b = DequantizeLinear(m, s)\n";
  EXPECT_EQ(changes(a + "  v = DequantizeLinear(w, s8) {axis = 0}\n  r = Conv(a, v)\n"), 1);
  EXPECT_EQ(changes(a + "  v = DequantizeLinear(w, s8) {axis = 1}\n  r = Conv(a, v)\n"), 0) << "a scale a channel read";
  EXPECT_EQ(changes("  a = DequantizeLinear(x, s8) {axis = 1}\n  v = DequantizeLinear(w, s)\n  r = Conv(a, v)\n"), 0);
  EXPECT_EQ(changes(a + "  v = DequantizeLinear(g, s)\n  r = Conv(a, v) {group = 8}\n"), 0) << "groups";
  EXPECT_EQ(changes(b + "  v = DequantizeLinear(n, s5) {axis = 1}\n  r = MatMul(b, v)\n"), 1);
  EXPECT_EQ(changes(b + "  v = DequantizeLinear(n, s5) {axis = -1}\n  r = Gemm(b, v)\n"), 1);
  EXPECT_EQ(changes(b + "  v = DequantizeLinear(n, s8) {axis = 0}\n  r = MatMul(b, v)\n"), 0) << "a scale a row";
  EXPECT_EQ(changes(b + "  v = DequantizeLinear(n, s)\n  r = Gemm(b, v) {alpha = 0.5}\n"), 0);
  EXPECT_EQ(changes("  b = DequantizeLinear(long, s)\n  v = DequantizeLinear(l, s)\n  r = MatMul(b, v)\n"), 0)
      << "sums beyond int32";
  EXPECT_EQ(changes("  b = Cast(m) {to = 1}\n  v = DequantizeLinear(n, s)\n  r = MatMul(b, v)\n"), 0);
}

TEST(IntegerProducts, BytesMoveAsTheyAre) {
  // What stands between a value of bytes and its quantization by q, and how many nodes dequantize or quantize then.
  const auto left = [](const std::string& body) {
    Graph graph = parsed(fmt::format(
        "opset 21\ngraph g(x: uint8[1,4,6,6], d: float32[]) -> (y: uint8[1,36,4]) {{\n  s: float32[] = {{0.0173}}\n  "
        "t: "
        "float32[] = {{0.0174}}\n  z: uint8[] = {{3}}\n  n: uint8[] = {{0}}\n  shape: int64[3] = {{1,4,36}}\n{}}}\n",
        body));
    const Graph before = graph;
    CHECK(search::use_integer_products(graph).ok());
    Random random(1);
    const std::vector<te::Array> inputs = random_inputs(before, random);
    const auto expected = interpret(before, inputs, {}), found = interpret(graph, inputs, {});
    CHECK(expected.ok() && found.ok());
    EXPECT_TRUE(te::to_tensor((*expected)[0]).same_contents(te::to_tensor((*found)[0]))) << body;
    CHECK(search::prepare_for_code(graph, {}).ok());
    return count_of(graph, "DequantizeLinear") + count_of(graph, "QuantizeLinear");
  };
  const auto moved = [&](const std::string& from, const std::string& to) {
    return left("  a = DequantizeLinear(x, " + from + ")\n  b = Reshape(a, shape)\n  c = QuantizeLinear(b, " + to +
                ")\n  e = DequantizeLinear(c, " + to +
                ")\n  f = Transpose(e) {perm = [0,2,1]}\n  y = QuantizeLinear(f, " + to + ")\n");
  };
  EXPECT_EQ(moved("s, z", "s, z"), 0);
  EXPECT_EQ(moved("s", "s, n"), 0);
  EXPECT_EQ(moved("s, z", "t, z"), 2);
  EXPECT_EQ(moved("s, z", "s, n"), 2);
  EXPECT_EQ(moved("d, z", "d, z"), 4) << "a scale that is not known";
  const auto pooled = [&](const std::string& attributes) {
    return left("  a = DequantizeLinear(x, s, z)\n  b = MaxPool(a) {" + attributes +
                "}\n  c = Reshape(b, shape)\n  f = Transpose(c) {perm = [0,2,1]}\n  y = QuantizeLinear(f, s, z)\n");
  };
  EXPECT_EQ(pooled("kernel_shape = [3,3], pads = [1,1,1,1]"), 0);
}

TEST(IntegerProducts, NormalizationsAreFactorsAndShifts) {
  const Graph before = parsed(R"(opset 21
graph g(x: uint8[2,3,4,4]) -> (y: uint8[2,3,4,4], r: float32[2,3,4,4]) {
  s: float32[] = {0.1}
  q: float32[] = {0.37}
  g: float32[3] = {1.5,-0.25,2}
  b: float32[3] = {40,50,-3}
  m: float32[3] = {12,3,7}
  v: float32[3] = {4,0.5,0}
  a = DequantizeLinear(x, s)
  n = BatchNormalization(a, g, b, m, v) {epsilon = 0.25}
  y = QuantizeLinear(n, q)
  r = Sigmoid(n)
}
)");
  Graph graph = before;
  ASSERT_TRUE(search::use_integer_products(graph).ok());
  EXPECT_EQ(count_of(graph, "BatchNormalization"), 0);
  Random random(3);
  const std::vector<te::Array> inputs = random_inputs(before, random);
  const auto expected = interpret(before, inputs, {}), found = interpret(graph, inputs, {});
  ASSERT_TRUE(expected.ok() && found.ok());
  for (size_t k = 0; k < 2; ++k) expect_close((*expected)[k], (*found)[k]);
}

TEST(IntegerProducts, MapsReadBytesApart) {
  Graph graph = parsed(R"(opset 21
graph g(x: uint8[2,8]) -> (y: float32[2,8]) {
  s: float32[] = {0.1}
  a = DequantizeLinear(x, s)
  b = Sigmoid(a)
  y = Mul(a, b)
}
)");
  ASSERT_TRUE(search::prepare_for_code(graph, {.integer_products = true}).ok());
  EXPECT_EQ(count_of(graph, "DequantizeLinear"), 2);
}

TEST(IntegerProducts, EmbeddingsAreDecodedForTheProductBeside) {
  Graph graph = parsed(R"(opset 21
graph g(i: int64[3], x: float32[5,16]) -> (y: float32[3,16], p: float32[5,40]) {
  w: int8[40,16] = random 1
  s: float32[] = {0.1}
  e = Gather(w, i)
  y = DequantizeLinear(e, s)
  t = Transpose(w) {perm = [1,0]}
  v = DequantizeLinear(t, s)
  p = MatMul(x, v)
}
)");
  ASSERT_TRUE(search::prepare_for_code(graph, {.integer_products = true}).ok());
  EXPECT_EQ(count_of(graph, "DequantizeLinear"), 1) << print_graph(graph);
  EXPECT_EQ(count_of(graph, "Transpose"), 0);
}

TEST(IntegerProducts, FactorsOfQuotientsGoIntoConstants) {
  Graph graph = parsed(R"(opset 21
graph g(x: uint8[1,8,6,6], z: uint8[1,8,6,6]) -> (y: uint8[1,8,6,6]) {
  s: float32[] = {0.1}
  q: float32[] = {0.7}
  w: int8[8,8,1,1] = random 2
  b: float32[8] = random 3
  a = DequantizeLinear(x, s)
  v = DequantizeLinear(w, s)
  c = Conv(a, v, b)
  r = Relu(c)
  d = DequantizeLinear(z, s)
  e = Add(r, d)
  y = QuantizeLinear(e, q)
}
)");
  ASSERT_TRUE(search::prepare_for_code(graph, {.integer_products = true}).ok());
  EXPECT_EQ(count_of(graph, "Mul"), 1) << print_graph(graph);
  EXPECT_EQ(count_of(graph, "DequantizeLinear"), 1) << print_graph(graph);
}

/// Code multiplies floats, the interpreter doubles: with scales of which ties are many, on all pairs of bytes.
TEST(QuantizedOperators, AreTheSameInCodeToTheBit) {
  const std::vector<te::Array> pairs = all_pairs_of_bytes();
  for (const auto& [op, a, b, c] : {std::array{"QLinearAdd", "0.03", "0.02", "0.04"},
                                    {"QLinearAdd", "0.1", "0.1", "0.2"},
                                    {"QLinearMul", "0.1", "0.1", "0.2"},
                                    {"QLinearMul", "0.02", "0.00390625", "0.02"}}) {
    const Graph graph = parsed(quantized_pair(op, a, b, c));
    const auto made = compiled(graph, 1);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const auto found = search::run_artifact(*opened(made->artifact, 1), pairs), expected = interpret(graph, pairs, {});
    ASSERT_TRUE(found.ok() && expected.ok());
    int differing = 0;
    for (int64_t i = 0; i < 256 * 256; ++i) differing += (*found)[0].integer(i) != (*expected)[0].integer(i);
    EXPECT_EQ(differing, 0) << op << " " << a << " " << b << " " << c;
  }
}

}  // namespace
}  // namespace isomer::test
