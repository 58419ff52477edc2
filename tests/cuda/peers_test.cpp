// NVIDIA's libraries as peers, as far as that needs no GPU: cuDNN takes the descriptors of every layer that
// bench/gpu.sh measures (bench/gpu_layers.py); what the command says where it can't compare.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

#include "backends/cudnn.h"
#include "backends/find_library.h"
#include "driver/bench_gpu.h"
#include "graph/text.h"
#include "models/model_case.h"
#include "support/files.h"
#include "support/process.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Convolution {
  int channels, size, filters, kernel, stride, groups = 1;
};
const std::vector<Convolution> kConvolutions = {
    {3, 224, 64, 7, 2},      {64, 56, 64, 3, 1},      {64, 56, 64, 1, 1},        {64, 56, 128, 3, 2},
    {64, 56, 128, 1, 2},     {128, 28, 128, 3, 1},    {128, 28, 256, 3, 2},      {128, 28, 256, 1, 2},
    {256, 14, 256, 3, 1},    {256, 14, 512, 3, 2},    {256, 14, 512, 1, 2},      {512, 7, 512, 3, 1},
    {64, 56, 256, 1, 1},     {256, 56, 64, 1, 1},     {512, 28, 128, 1, 1},      {128, 28, 512, 1, 1},
    {1024, 14, 256, 1, 1},   {256, 14, 1024, 1, 1},   {2048, 7, 512, 1, 1},      {512, 7, 2048, 1, 1},
    {32, 112, 32, 3, 1, 32}, {96, 112, 96, 3, 2, 96}, {144, 56, 144, 3, 1, 144}, {576, 14, 576, 3, 1, 576},
    {960, 7, 960, 3, 1, 960}};

Graph graph_of(const Convolution& c, int batch, const char* type) {
  const int out = (c.size - 1) / c.stride + 1;
  auto graph = parse_graph(fmt::format(
      "opset 20\ngraph layer(x: {0}[{1},{2},{3},{3}]) -> (y: {0}[{1},{4},{5},{5}]) {{\n  w: {0}[{4},{6},{7},{7}] = "
      "random 1\n"
      "  b: {0}[{4}] = random 2\n  c = Conv(x, w, b) {{group = {8}, pads = [{9},{9},{9},{9}], strides = [{10},{10}]}}\n"
      "  y = Relu(c)\n}}\n",
      type, batch, c.channels, c.size, c.filters, out, c.channels / c.groups, c.kernel, c.groups, c.kernel / 2,
      c.stride));
  if (!graph.ok()) throw std::runtime_error(graph.error().message());
  return *std::move(graph);
}

Tensor zeros(DataType type, const Dims& dims) {
  return Tensor(type, dims, std::vector<std::byte>(static_cast<size_t>(byte_size(type, element_count(dims)))));
}

TEST(Cudnn, TakesTheDescriptorsOfEveryLayer) {
  const std::string library = backends::find(backends::cudnn_library());
  if (library.empty()) GTEST_SKIP() << "no cuDNN here";
  int layers = 0;
  for (const char* type : {"float32", "float16", "bfloat16"})
    for (const int batch : {1, 16})
      for (const Convolution& each : kConvolutions) {
        const Graph graph = graph_of(each, batch, type);
        const auto taken = backends::describe_for_cudnn(
            library, graph, {zeros(parse_data_type(type), {batch, each.channels, each.size, each.size})});
        if (!taken.ok() && taken.error().message().find("SUBLIBRARY_LOADING_FAILED") != std::string::npos)
          GTEST_SKIP() << "cuDNN without libcuda: " << taken.error().message();
        ASSERT_TRUE(taken.ok()) << taken.error().message();
        EXPECT_GT(*taken, 3);
        ++layers;
      }
  std::cout << layers << " layers\n";
}

class GpuBench : public testing::Test {
 protected:
  Outcome isomer(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"env", std::string("ISOMER_CUDA_DRIVER=") + ISOMER_FAKE_DRIVER, tool_path("isomer").string()});
    return run_program(arguments);
  }
  ScratchFolder scratch_;
};

TEST_F(GpuBench, TellsTimesOfTheDevice) {
  const auto model = fill_model("mlp", scratch_.path());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const std::string artifact = (scratch_.path() / "mlp.iso").string();
  ASSERT_EQ(isomer({"compile", model->string(), "-o", artifact, "--target", "cuda=emulated", "--level", "2",
                    "--no-check", "--dim", "batch=2"})
                .exit_code,
            0);
  const Outcome outcome = isomer({"bench", artifact, "--json", "-q", "--duration", "0.05", "--threads", "2"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["device"], "Emulated GPU");
  // Of the CPU there are the threads of peers alone.
  EXPECT_TRUE(report["fma_peak_gflops"].is_null());
  EXPECT_EQ(report["threads"], 2);
  EXPECT_GT(report["device_times_ms"].size(), 0u);
  EXPECT_GT(report["copy_gbs"], 0);
  EXPECT_GT(report["control"], 0);

  const Outcome text = isomer({"bench", artifact, "-q", "--duration", "0.05"});
  EXPECT_THAT(text.out, HasSubstr("mlp.iso on a GPU: median"));
  EXPECT_THAT(text.out, Not(HasSubstr("thread")));

  // Of several GPUs the one that runs the code.
  const Outcome second =
      run_program({"env", std::string("ISOMER_CUDA_DRIVER=") + ISOMER_FAKE_DRIVER, "ISOMER_FAKE_FAULT=other-first",
                   tool_path("isomer").string(), "bench", artifact, "--json", "-q", "--duration", "0.05"});
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_EQ(nlohmann::json::parse(second.out)["device"], "Emulated GPU");

  const Outcome unknown = isomer({"bench", artifact, "-q", "--duration", "0.05", "--against", "cudnn", "--cudnn",
                                  (scratch_.path() / "none.so").string(), "--model", model->string()});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_EQ(std::count(unknown.err.begin(), unknown.err.end(), '\n'), 1) << unknown.err;
  const Outcome nameless = isomer({"bench", artifact, "-q", "--duration", "0.05", "--against", "cudnn"});
  EXPECT_EQ(nameless.exit_code, 2);
  EXPECT_THAT(nameless.err, HasSubstr("name it with --model"));
}

TEST(GpuPeers, AgreeWhereBothHaveNoNumber) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(difference_of({1, kNan, kInfinity, -4}, {1, kNan, kInfinity, -4}), 0);
  EXPECT_EQ(difference_of({2, kNan, 3}, {1, kNan, 4}), 0.25);
  for (const auto& [found, expected] :
       {std::pair(kNan, 1.0F), std::pair(1.0F, kNan), std::pair(kInfinity, kNan), std::pair(kInfinity, -kInfinity)})
    EXPECT_EQ(difference_of({found}, {expected}), kInfinity) << found << " " << expected;
}

TEST_F(GpuBench, LibrariesOfAGpuAreNoPeersOfTheCpu) {
  const auto model = fill_model("mlp", scratch_.path());
  ASSERT_TRUE(model.ok()) << model.error().message();
  const Outcome outcome = isomer({"bench", model->string(), "-q", "--duration", "0.05", "--against", "cublaslt"});
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("code of a GPU expected beside cublaslt"));
}

}  // namespace
}  // namespace isomer::test
