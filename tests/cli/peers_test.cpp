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
               "onnxruntime or onednn expected, 'nobody' found");
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
