// bench --against: what its JSON says of peers. A peer that is not there is no failure.
#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Peers : public CommandLine {
 protected:
  static bool is_there(const std::string& peer) {
    return !json::parse(isomer({"env", "--json"}).out)["peers"][peer].is_null();
  }
  Outcome bench(const std::string& text, const std::string& against) const {
    return isomer(
        {"bench", model(text, "model.onnx"), "--against", against, "--duration", "0.01", "--json", "--threads", "1"});
  }
  std::string compiled(const std::string& file) const {
    const Outcome outcome = isomer({"compile", file, "-o", path("code.iso"), "--level", "1", "-q"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return path("code.iso");
  }
  Outcome bench_code(const std::string& code, const std::string& file, const std::string& against) const {
    return isomer(
        {"bench", code, "--model", file, "--against", against, "--duration", "0.01", "--json", "--threads", "1"});
  }
};

/// It holds a library of tens of megabytes.
TEST_F(Peers, TakeNoPartInOurMemory) {
  if (!is_there("onnxruntime")) GTEST_SKIP() << "no ONNX Runtime here";
  const std::string file =
      model("opset 17\ngraph g(x: float32[4,5]) -> (y: float32[4,5]) {\n  y = Sigmoid(x)\n}\n", "model.onnx");
  const auto megabytes = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"bench", file, "--duration", "0.01", "--json", "--threads", "1"});
    const Outcome outcome = isomer(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out)["peak_memory_mb"].get<double>();
  };
  EXPECT_NEAR(megabytes({"--against", "onnxruntime"}), megabytes({}), 8);
}

/// `bench` compares oneDNN's result with ours before it measures: these are right, or it ends with 1.
TEST_F(Peers, OneDnnRunsOperatorsAndAgrees) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  for (const char* body : {
           "x: float32[1,8,9,9]) -> (y: float32[1,16,5,5]) {\n  w: float32[16,8,3,3] = random 1\n  b: float32[16] = "
           "random 2\n  y = Conv(x, w, b) {pads = [1,1,1,1], strides = [2,2]}",
           "x: float32[1,8,9,9]) -> (y: float32[1,8,9,9]) {\n  w: float32[8,1,3,3] = random 1\n  y = Conv(x, w) {group "
           "= 8, auto_pad = \"SAME_UPPER\"}",
           "x: float32[1,8,9,9]) -> (y: float32[1,16,6,6]) {\n  w: float32[16,2,3,3] = random 1\n  y = Conv(x, w) "
           "{group = 4, dilations = [2,2], pads = [1,0,0,1]}",
           "x: float32[1,8,20]) -> (y: float32[1,4,18]) {\n  w: float32[4,8,3] = random 1\n  y = Conv(x, w)",
           "x: float32[1,3,5,6,7]) -> (y: float32[1,4,3,4,5]) {\n  w: float32[4,3,3,3,3] = random 1\n  y = Conv(x, w)",
           "x: float32[1,8,5,5]) -> (y: float32[1,6,11,11]) {\n  w: float32[8,6,4,4] = random 1\n  b: float32[6] = "
           "random 2\n  y = ConvTranspose(x, w, b) {strides = [2,2], pads = [1,1,0,0]}",
           "x: float32[1,8,5,5]) -> (y: float32[1,6,11,11]) {\n  w: float32[8,3,3,3] = random 1\n  y = "
           "ConvTranspose(x, w) {strides = [2,2], group = 2}",
           "x: float32[2,3,5,7]) -> (y: float32[2,3,5,9]) {\n  w: float32[7,9] = random 1\n  y = MatMul(x, w)",
           "x: float32[4,5,7], z: float32[4,7,6]) -> (y: float32[4,5,6]) {\n  y = MatMul(x, z)",
           "x: float32[3,5]) -> (y: float32[5,6]) {\n  w: float32[6,3] = random 1\n  b: float32[6] = random 2\n  y = "
           "Gemm(x, w, b) {transA = 1, transB = 1}",
           "x: float32[1,8,9,9]) -> (y: float32[1,8,5,5]) {\n  y = MaxPool(x) {kernel_shape = [3,3], strides = [2,2], "
           "pads = [1,1,1,1]}",
           "x: float32[1,8,8,8]) -> (y: float32[1,8,4,4]) {\n  y = AveragePool(x) {kernel_shape = [3,3], strides = "
           "[2,2], ceil_mode = 1}",
           "x: float32[1,20,7,7]) -> (y: float32[1,20,1,1]) {\n  y = GlobalAveragePool(x)",
           "x: float32[4,5,6]) -> (y: float32[4,5,6]) {\n  y = Softmax(x) {axis = 1}",
           "x: float32[4,5,6]) -> (y: float32[4,5,6]) {\n  s: float32[5,6] = random 1\n  b: float32[5,6] = random 2\n  "
           "y = LayerNormalization(x, s, b) {axis = 1}",
           "x: float32[4,5,6]) -> (y: float32[4,5,6]) {\n  y = Sigmoid(x)",
           "x: float32[4,5,6]) -> (y: float32[4,5,6]) {\n  y = Elu(x)",
           "x: float32[4,5,6], z: float32[5,1]) -> (y: float32[4,5,6]) {\n  y = Sub(x, z)",
           "x: float32[4,5,6]) -> (y: float32[4,1,6]) {\n  i: int64[1] = {1}\n  y = ReduceMean(x, i)",
           "x: float32[4,5,6]) -> (y: float32[6,4,5]) {\n  y = Transpose(x) {perm = [2,0,1]}",
       }) {
    SCOPED_TRACE(body);
    const Outcome outcome = bench(fmt::format("opset 17\ngraph operator({}\n}}\n", body), "onednn");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json peer = json::parse(outcome.out)["against"]["onednn"];
    ASSERT_TRUE(peer.is_object()) << outcome.err;
    EXPECT_NE(peer["algorithm"], "");
    EXPECT_GT(peer["ratio"], 0);
  }
}

/// Callers may leave out inputs of a model that have a value there; the artifact has none of them.
TEST_F(Peers, KeepTheValuesOfInputsThatTheCodeHasNot) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  auto graph = parse_graph(
      "opset 17\ngraph g(x: float32[1,8,9,9]) -> (y) {\n  w: float32[16,8,3,3] = random 1\n  b: float32[16] = random "
      "2\n  y = Conv(x, w, b)\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  std::vector<ValueId> inputs;
  for (const ValueId id : graph->values())
    if (graph->is_constant(id)) inputs.push_back(id);
  ASSERT_EQ(inputs.size(), 2U);
  inputs.push_back(graph->inputs()[0]);
  graph->set_inputs(inputs);
  graph->edit_info().ir_version = 8;
  const std::string file = path("defaults.onnx");
  ASSERT_TRUE(export_model(*graph, file).ok());
  for (const Outcome& outcome : {bench_code(compiled(file), file, "onednn"),
                                 isomer({"bench", file, "--against", "onednn", "--duration", "0.01", "--json"})}) {
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(json::parse(outcome.out)["against"].contains("onednn")) << outcome.err;
  }
}

TEST_F(Peers, TakeInputsByTheirNames) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  const auto product = [&](const char* inputs, const std::string& name) {
    return model(fmt::format("opset 17\ngraph g({}) -> (y: float32[8,8]) {{\n  y = MatMul(x, z)\n}}\n", inputs), name);
  };
  const std::string code = compiled(product("x: float32[8,8], z: float32[8,8]", "first.onnx"));
  const Outcome outcome = bench_code(code, product("z: float32[8,8], x: float32[8,8]", "other.onnx"), "onednn");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

TEST_F(Peers, RunAModelOfTheCodesShapes) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  const auto of = [&](const char* inputs, const char* outputs, const char* body, const char* name) {
    return model(fmt::format("opset 17\ngraph g({}) -> ({}) {{\n  {}\n}}\n", inputs, outputs, body), name);
  };
  const std::string code = compiled(of("x: float32[10]", "y: float32[10]", "y = Relu(x)", "small.onnx"));
  const std::string larger = of("x: float32[1000,1000]", "y: float32[1000,1000]", "y = Relu(x)", "larger.onnx");
  expect_error(bench_code(code, larger, "onednn"), 2, "a shape that fits float32[1000,1000] expected, [10] found");
  const std::string two = of("x: float32[10], z: float32[10]", "y: float32[10]", "y = Add(x, z)", "two.onnx");
  expect_error(bench_code(code, two, "onednn"), 2, "two.onnx: inputs: 1 expected, 2 found");
  const std::string shorter = of("x: float32[10]", "y: float32[]", "y = ReduceMax(x) {keepdims = 0}", "shorter.onnx");
  expect_error(bench_code(code, shorter, "onednn"), 2, "y: float32[10] expected, float32[] found");
}

/// Sizes that nobody gave are 1 in code: for peers too.
TEST_F(Peers, RunModelsOfOpenSizes) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  const Outcome outcome =
      bench("opset 17\ngraph g(x: float32[n,4]) -> (y: float32[n,4]) {\n  y = Relu(x)\n}\n", "onednn");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(json::parse(outcome.out)["against"].contains("onednn")) << outcome.err;
}

TEST_F(Peers, ThatComputeSomethingElseAreTold) {
  if (!is_there("onnxruntime")) GTEST_SKIP() << "no ONNX Runtime here";
  const auto of = [&](const char* first, const char* second, const char* name) {
    return model(
        fmt::format("opset 17\ngraph g(x: float32[4,5]) -> (y: float32[4,5], z: int64[4]) {{\n  y = {}(x)\n  z "
                    "= {}(x) {{axis = 1, keepdims = 0}}\n}}\n",
                    first, second),
        name);
  };
  const std::string same = of("Sigmoid", "ArgMax", "same.onnx"), code = compiled(same);
  const auto told = [&](const std::string& file) {
    const Outcome outcome = bench_code(code, file, "onnxruntime");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_GT(json::parse(outcome.out)["against"]["onnxruntime"]["ratio"], 0);
    return outcome.err;
  };
  EXPECT_EQ(told(same), "");
  EXPECT_THAT(told(of("Exp", "ArgMax", "first.onnx")), HasSubstr("onnxruntime: our outputs expected, y differs by"));
  EXPECT_THAT(told(of("Sigmoid", "ArgMin", "second.onnx")), HasSubstr("our outputs expected, z differs by"));
}

TEST_F(Peers, WhatOneDnnHasNoPrimitiveForIsANoteAndNoRow) {
  if (!is_there("onednn")) GTEST_SKIP() << "no oneDNN here";
  for (const auto& [body, what] : {std::pair{"y = Erf(x)", "Erf"},
                                   {"e = Relu(x)\n  y = Exp(e)", "more than one operator"},
                                   {"y = Add(x, x)", ""}}) {
    const Outcome outcome = bench(
        fmt::format("opset 17\ngraph operator(x: float32[4,5]) -> (y: float32[4,5]) {{\n  {}\n}}\n", body), "onednn");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const bool expected = std::string_view(what).empty();
    EXPECT_EQ(json::parse(outcome.out)["against"].contains("onednn"), expected);
    EXPECT_THAT(outcome.err, expected ? HasSubstr("") : HasSubstr(fmt::format("onednn: no primitive for {}", what)));
  }
}

TEST_F(Peers, WrongLibrariesAndNamesAreRefused) {
  const std::string file = model("opset 17\ngraph g(x: float32[4]) -> (y: float32[4]) { y = Relu(x) }\n", "relu.onnx");
  expect_error(isomer({"bench", file, "-q", "--duration", "0.01", "--against", "nobody"}), 2,
               "onnxruntime, onednn, cudnn or cublaslt expected, 'nobody' found");
  // That is known before anything is measured.
  for (const char* peer : {"nobody", "cudnn"}) {
    const Outcome outcome = isomer({"bench", file, "-q", "--duration", "60", "--against", peer});
    expect_error(outcome, 2, "--against");
    EXPECT_LT(outcome.cpu_seconds, 30);
  }
  for (const char* peer : {"onednn", "onnxruntime"}) {
    const std::string flag = fmt::format("--{}", peer);
    expect_error(isomer({"bench", file, "-q", "--duration", "0.01", "--against", peer, flag, path("none.so")}), 3,
                 "its shared library expected");
    expect_error(isomer({"bench", file, "-q", "--duration", "0.01", "--against", peer, flag, "libm.so.6"}), 3,
                 "lacks it");
  }
}

}  // namespace
}  // namespace isomer::test
