// Compiled models against the interpreter, on random graphs of all rows; and what fusion makes of common forms.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/bind.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "properties/same_function.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "search/expect_same.h"
#include "support/long_run.h"
#include "util/random.h"
#include "util/stop.h"

namespace isomer::test {
namespace {

std::vector<std::string> task_names(std::string_view text, bool fused) {
  const auto result = compiled(parsed(text), 2, fused);
  CHECK(result.ok()) << result.error().message();
  std::vector<std::string> names;
  for (const search::GraphTask& task : result->whole.tasks) names.push_back(task.name);
  return names;
}

constexpr std::string_view kBlock = R"(opset 17
graph block(x: float32[1,8,10,10], r: float32[1,16,10,10]) -> (y: float32[16,100]) {
  w: float32[16,8,3,3] = random 1
  b: float32[16] = random 2
  c = Conv(x, w, b) {pads = [1,1,1,1]}
  a = Add(c, r)
  e = Relu(a)
  s: int64[2] = {16, 100}
  f = Reshape(e, s)
  y = Softmax(f)
}
)";

TEST(Fuse, EpiloguesJoinTheirAnchor) {
  EXPECT_EQ(task_names(kBlock, true),
            (std::vector<std::string>{"Relayout", "Conv+Add+Relu", "Relayout", "Reshape", "Softmax"}));
  EXPECT_EQ(task_names(kBlock, false),
            (std::vector<std::string>{"Conv", "Relayout", "Add", "Relu", "Reshape", "Softmax"}));
}

TEST(Compile, EqualTasksAreOneKernelAndPackedWeightsArePerTask) {
  const auto result = compiled(parsed(R"(opset 17
graph twice(x: float32[4,32]) -> (y: float32[4,32]) {
  v: float32[32,32] = random 1
  w: float32[32,32] = random 2
  a = MatMul(x, v)
  y = MatMul(a, w)
}
)"));
  ASSERT_TRUE(result.ok()) << result.error().message();
  EXPECT_EQ(result->artifact.kernels.size(), 1);
  EXPECT_EQ(result->artifact.variants[0].steps.size(), 2);
}

/// Rounding to minifloats compares with each of their numbers; that what is rounded takes many terms itself does not
/// make the operator too long.
TEST(Compile, EveryMinifloatIsQuantizedTo) {
  const std::vector<Arrays> inputs = {{floats({4, 16}, 1), floats({4, 4}, 2)}, {floats({4, 16}, 3), floats({4, 4}, 4)}};
  for (const DataType type : {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
                              DataType::kFloat8E5M2FNUZ, DataType::kFloat4E2M1})
    for (const int saturate : {0, 1}) {
      SCOPED_TRACE(fmt::format("{} {}", name(type), saturate));
      test::expect_same(fmt::format(R"(opset 23
graph g(x: float32[4,16], s: float32[4,4]) -> (y: {0}[4,16], u: {0}[4,16]) {{
  y = QuantizeLinear(x, s) {{axis = 1, block_size = 4, output_dtype = {1}, saturate = {2}}}
  h: float32[] = {{0.0001}}
  b = Mul(x, h)
  z = Cast(s) {{to = {1}, saturate = {2}}}
  u = QuantizeLinear(b, s, z) {{axis = 1, block_size = 4, saturate = {2}}}
}}
)",
                                    name(type), static_cast<int>(type), saturate),
                        inputs);
    }
}

/// Code of many kernels takes seconds: a stop is seen to between them, in each target's way.
TEST(Compile, EndsWhereItIsStopped) {
  std::string text = "opset 17\ngraph chain(x: float32[4,8]) -> (y) {\n  a8 = Relu(x)\n";
  for (int n = 9; n <= 40; ++n)
    text += fmt::format("  w{0}: float32[{1},{0}] = random {0}\n  m{0} = MatMul(a{1}, w{0})\n  a{0} = Tanh(m{0})\n", n,
                        n - 1);
  const Graph graph = parsed(text + "  y = Relu(a40)\n}\n");
  for (const bool is_gpu : {false, true}) {
    search::CompileOptions options;
    if (is_gpu) {
      options.target = kernel::CudaTarget{"sm_80"};
      for_gpu(options);
    }
    const std::atomic<int> requests = 1;
    const StopsBy stops(requests);
    const auto made = compile(graph, options);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().kind, ErrorKind::kStopped) << made.error().message();
  }
  // Between modules of kernels, too, whoever asked for them.
  search::CompileOptions options;
  const auto whole = compile(graph, options);
  ASSERT_TRUE(whole.ok()) << whole.error().message();
  std::vector<const kernel::Kernel*> kernels;
  for (const kernel::ScheduledKernel& each : whole->kernels) kernels.push_back(&each.kernel);
  const std::atomic<int> requests = 1;
  const StopsBy stops(requests);
  const auto code = kernel::compile(kernels, kernel::host_target());
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::kStopped);
  // What is tried is one kernel, in processes that inherit what was asked of their parent.
  EXPECT_TRUE(kernel::compile(*kernels[0], kernel::host_target()).ok());
}

/// More kernels than a module takes: each part is called where it lies.
TEST(Compile, ManyKernelsStandInOneImage) {
  std::string text = "opset 17\ngraph chain(x: float32[4,8]) -> (y) {\n  a8 = Relu(x)\n";
  for (int n = 9; n <= 30; ++n)
    text += fmt::format("  w{0}: float32[{1},{0}] = random {0}\n  m{0} = MatMul(a{1}, w{0})\n  a{0} = Tanh(m{0})\n", n,
                        n - 1);
  test::expect_same(text + "  y = Relu(a30)\n}\n", {{floats({4, 8}, 1)}, {floats({4, 8}, 2)}});
}

/// Small windows whose tiles have borders and columns left, in vectors of all widths: the code stays short enough.
TEST(Compile, DepthwiseWindowsAreShortCodeOnEveryCpu) {
  for (const auto& [channels, kernel, stride] : std::vector<std::array<int, 3>>{{72, 5, 2}, {120, 5, 1}, {40, 3, 2}}) {
    const Graph graph = parsed(fmt::format(R"(opset 17
graph window(x: float32[1,{0},56,56]) -> (y: float32[1,{0},{3},{3}]) {{
  w: float32[{0},1,{1},{1}] = random 1
  b: float32[{0}] = random 2
  c = Conv(x, w, b) {{group = {0}, pads = [{4},{4},{4},{4}], strides = [{2},{2}]}}
  y = Relu(c)
}}
)",
                                           channels, kernel, stride, (56 - 1) / stride + 1, kernel / 2));
    for (const char* cpu : {"x86-64", "haswell", "skylake-avx512", "icelake-server", "sapphirerapids", "znver4"}) {
      search::CompileOptions options;
      options.target = *kernel::parse_cpu_target(fmt::format("cpu={}", cpu));
      const auto made = compile(graph, options);
      EXPECT_TRUE(made.ok()) << cpu << ", " << channels << " channels: " << made.error().message();
    }
  }
}

/// Windows over padding that read one element again and again: the copy of it has no loops.
TEST(Compile, WindowsOfOneElementSpreadOut) {
  const Graph graph = parsed(R"(opset 17
graph spread(x: float32[3,3]) -> (y: float32[4,1,3,3]) {
  a: int64[2] = {0, 1}
  r = ReduceSum(x, a) {keepdims = 0}
  d: int64[4] = {4, 1, 3, 3}
  e = Expand(r, d)
  y = AveragePool(e) {kernel_shape = [3,3], pads = [1,1,1,1], count_include_pad = 1}
}
)");
  const auto result = compiled(graph, 1);
  ASSERT_TRUE(result.ok()) << result.error().message();
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {3, 3}, std::vector<double>(9, 2.0 / 9))};
  const auto found = search::run_artifact(*opened(result->artifact, 1), inputs);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_NEAR((*found)[0].real(4), 2, 1e-6);
  EXPECT_NEAR((*found)[0].real(0), 8.0 / 9, 1e-6);
}

TEST(Compile, ElementsOfAByteOrLessAreTakenDecodedAndGiven) {
  const Graph graph = parsed(R"(opset 21
graph narrow(x: float32[3,64], u: uint4[3,64], f: float8e4m3fn[3,64]) -> (y: float32[3,16], z: int4[3,64], e: float8e5m2[3,64]) {
  q: int4[64,16] = random 1
  s: float32[2,16] = random 2
  w = DequantizeLinear(q, s) {axis = 0, block_size = 32}
  y = MatMul(x, w)
  z = Cast(u) {to = 22}
  e = Cast(f) {to = 19}
}
)");
  const auto result = compiled(graph);
  ASSERT_TRUE(result.ok()) << result.error().message();
  Random random(3);
  std::vector<double> reals;
  std::vector<int64_t> nibbles, codes;
  for (int i = 0; i < 3 * 64; ++i) {
    reals.push_back(random.uniform(-1, 1));
    nibbles.push_back(random.between(0, 15));
    codes.push_back(random.between(0, 255));
  }
  const Dims dims = {3, 64};
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, dims, reals),
                                         te::Array::integers(DataType::kUInt4, dims, nibbles),
                                         te::Array::integers(DataType::kFloat8E4M3FN, dims, codes)};
  const auto expected = interpret(graph, inputs, {}), found = search::run_artifact(*opened(result->artifact), inputs);
  ASSERT_TRUE(expected.ok() && found.ok());
  for (int64_t i = 0; i < (*expected)[0].count(); ++i) EXPECT_NEAR((*found)[0].real(i), (*expected)[0].real(i), 1e-5);
  for (const size_t k : {1, 2})
    for (int64_t i = 0; i < 3 * 64; ++i)
      EXPECT_EQ((*found)[k].integer(i), (*expected)[k].integer(i)) << "output " << k << " element " << i;
}

TEST(Compile, FloatsBecomeTheNearestIntegerOfFourOrTwoBits) {
  const Graph graph = parsed(R"(opset 25
graph narrow(x: float32[13]) -> (a: int4[13], b: uint4[13], c: int2[13], d: uint2[13], e: int8[13]) {
  a = Cast(x) {to = 22}
  b = Cast(x) {to = 21}
  c = Cast(x) {to = 26}
  d = Cast(x) {to = 25}
  e = Cast(x) {to = 3}
}
)");
  const auto result = compiled(graph);
  ASSERT_TRUE(result.ok()) << result.error().message();
  const std::vector<double> reals = {0.5, 1.5, 2.5, -0.5, -1.5, 0.75, -0.75, 1.25, -1.625, 7.5, -8.5, 15.75, -9.75};
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {13}, reals)};
  const auto expected = interpret(graph, inputs, {}), found = search::run_artifact(*opened(result->artifact), inputs);
  ASSERT_TRUE(expected.ok() && found.ok());
  const std::vector<std::vector<int64_t>> integers = {{0, 2, 2, 0, -2, 1, -1, 1, -2, -8, -8, 0, 6},
                                                      {0, 2, 2, 0, 14, 1, 15, 1, 14, 8, 8, 0, 6},
                                                      {0, -2, -2, 0, -2, 1, -1, 1, -2, 0, 0, 0, -2},
                                                      {0, 2, 2, 0, 2, 1, 3, 1, 2, 0, 0, 0, 2},
                                                      {0, 1, 2, 0, -1, 0, 0, 1, -1, 7, -8, 15, -9}};
  for (size_t k = 0; k < integers.size(); ++k)
    for (int64_t i = 0; i < 13; ++i) {
      EXPECT_EQ((*expected)[k].integer(i), integers[k][i]) << "output " << k << " of " << reals[i];
      EXPECT_EQ((*found)[k].integer(i), integers[k][i]) << "output " << k << " of " << reals[i];
    }
}

TEST(Compile, PowersOfNegativeNumbersHaveTheSignOfGreatOddExponents) {
  const Graph graph = parsed(R"(opset 15
graph powers(x: float32[4], h: float16[4], n: int64[4], k: int16[4]) -> (y: float32[4], z: float16[4], w: float32[4]) {
  c: int64[4] = {1, 2, -3, 16777217}
  y = Pow(x, n)
  z = Pow(h, k)
  w = Pow(x, c)
}
)");
  const auto result = compiled(graph);
  ASSERT_TRUE(result.ok()) << result.error().message();
  const std::vector<double> bases = {-1, -1, -1, -1};
  const std::vector<int64_t> longs = {16777217, 2147483646, 4503599627370497, -33554431};
  const std::vector<int64_t> shorts = {2049, 2050, 32767, -4097};
  const std::vector<te::Array> inputs = {
      te::Array::reals(DataType::kFloat32, {4}, bases), te::Array::reals(DataType::kFloat16, {4}, bases),
      te::Array::integers(DataType::kInt64, {4}, longs), te::Array::integers(DataType::kInt16, {4}, shorts)};
  const auto expected = interpret(graph, inputs, {}), found = search::run_artifact(*opened(result->artifact), inputs);
  ASSERT_TRUE(expected.ok() && found.ok());
  const std::vector<std::vector<double>> signs = {{-1, 1, -1, -1}, {-1, 1, -1, -1}, {-1, 1, -1, -1}};
  for (size_t k = 0; k < signs.size(); ++k)
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ((*expected)[k].real(i), signs[k][i]) << "output " << k << " element " << i;
      EXPECT_EQ((*found)[k].real(i), signs[k][i]) << "output " << k << " element " << i;
    }
}

/// A graph at the sizes of some inputs.
Result<Graph> bound(Graph graph, const std::vector<te::Array>& inputs) {
  std::map<std::string, Dims> shapes;
  for (size_t k = 0; k < inputs.size(); ++k) shapes[graph.value(graph.inputs()[k]).name] = inputs[k].dims();
  TRY_VOID(bind_inputs(graph, {}, shapes));
  return graph;
}

TEST(Compile, RandomGraphsRunAsInTheInterpreter) {
  const uint64_t count = is_long_run() ? 2'000 : 150;
  int ran = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Case tried = case_of(random_sample(seed), seed);
    for (const isomer::test::Run& one : tried.runs) {
      const auto graph = bound(tried.sample.graph, one.inputs);
      if (!graph.ok()) continue;
      SCOPED_TRACE(print_graph(*graph));
      const auto result = compiled(*graph);
      if (!result.ok()) {
        EXPECT_EQ(result.error().kind, ErrorKind::kUnsupported) << result.error().message();
        continue;
      }
      const auto found = search::run_artifact(*opened(result->artifact), one.inputs);
      ASSERT_TRUE(found.ok()) << found.error().message();
      EXPECT_EQ(difference(*graph, one, *found), "");
      EXPECT_EQ(difference_in_nans(
                    *graph, one, seed,
                    [&](const Inputs& inputs) { return search::run_artifact(*opened(result->artifact), inputs); }),
                "");
      // Threads share out what is computed, never a sum: their number changes no bit.
      for (const int threads : {1, 2, 3}) {
        const auto again = search::run_artifact(*opened(result->artifact, threads), one.inputs);
        ASSERT_TRUE(again.ok()) << again.error().message();
        EXPECT_EQ(difference_in_bits(*graph, *found, *again), "") << threads << " threads";
      }
      ++ran;
    }
  }
  fmt::print("{} compiled graphs ran\n", ran);
  EXPECT_GT(ran, static_cast<int>(count / 4));
}

}  // namespace
}  // namespace isomer::test
