// The real models of models/: small ones always, all of them in the long run.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/model_case.h"
#include "support/files.h"
#include "support/long_run.h"
#include "support/process.h"
#include "util/threads.h"

namespace isomer::test {
namespace {

std::vector<std::string> chosen_models() {
  if (is_long_run()) return model_names();
  return {"mlp",
          "dqn",
          "espcn",
          "lstm",
          "gru",
          "nasrnn",
          "loop_decoder",
          "dcgan",
          "squeezenet1_1",
          "mobilenet_v3_small",
          "shufflenet_v2_x1_0",
          "vit_tiny",
          "clip_tiny"};
}

class Models : public testing::TestWithParam<std::string> {};

TEST_P(Models, RunAndOptimizeToTheExpectedValues) {
  const auto outcome = run_model(GetParam(), available_threads());
  ASSERT_TRUE(outcome.ok()) << outcome.error().message();
  EXPECT_EQ(outcome->opaque_nodes, 0);
  EXPECT_EQ(outcome->values_without_shape, 0);
  EXPECT_LE(outcome->error, 1);
  EXPECT_LE(outcome->error_optimized, 1);
  EXPECT_LE(outcome->bytes_after, outcome->bytes_before + (64 << 10));
  const auto ceiling = node_ceiling(GetParam());
  ASSERT_TRUE(ceiling) << "a line in ceilings.txt";
  EXPECT_LE(outcome->nodes_after, ceiling->ours) << "more nodes than once reached; the ceiling may only fall";
}

/// `compile` ends with its check of the artifact against the interpreter. What a search makes of models is for other
/// tests.
TEST_P(Models, CompileForEveryInstructionSet) {
  const ScratchFolder scratch;
  const auto model = fill_model(GetParam(), scratch.path());
  ASSERT_TRUE(model.ok()) << model.error().message();
  for (const std::string target : {"cpu", "cpu=x86-64-v3", "cpu=x86-64"}) {
    if (target == "cpu=x86-64-v3" && (!is_long_run() || !__builtin_cpu_supports("avx2"))) continue;
    std::vector<std::string> command = {tool_path("isomer").string(),
                                        "compile",
                                        model->string(),
                                        "-o",
                                        (scratch.path() / "model.iso").string(),
                                        "--target",
                                        target,
                                        "--level",
                                        "2"};
    for (const std::string& flag : shape_flags(GetParam())) command.push_back(flag);
    const Outcome outcome = run_program(command);
    EXPECT_EQ(outcome.exit_code, 0) << target << ": " << outcome.err;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Models, testing::ValuesIn(chosen_models()),
                         [](const auto& info) { return info.param; });

TEST(Ceilings, AreAtMostThePeersForNineModelsInTen) {
  int models = 0, reached = 0;
  for (const std::string& name : model_names()) {
    const auto ceiling = node_ceiling(name);
    ASSERT_TRUE(ceiling) << name;
    ++models;
    reached += ceiling->ours <= std::min(ceiling->onnxsim, ceiling->onnxslim);
  }
  EXPECT_GE(reached * 10, models * 9);
}

}  // namespace
}  // namespace isomer::test
