// include/isomer/backend.h: models and artifacts measured.
#include "isomer/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "isomer/compile.h"
#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

class Benches : public testing::Test {
 protected:
  Benches()
      : model_(write_model(
            "opset 17\ngraph g(x: float32[batch,64]) -> (y: float32[batch,64]) {\n  w: float32[64,64] = random 1\n"
            "  p = MatMul(x, w)\n  y = Relu(p)\n}\n",
            (folder_.path() / "model.onnx").string())) {
    options_.seconds = 0.05;
    options_.threads = 1;
  }

  ScratchFolder folder_;
  const std::string model_;
  BenchModelOptions options_;
};

TEST_F(Benches, TimeModelsAndArtifacts) {
  std::vector<std::string> notes;
  options_.progress.note = [&](const std::string& line) { notes.push_back(line); };
  const auto times = bench_model(model_, options_);
  ASSERT_TRUE(times.has_value()) << times.error().sentence;
  EXPECT_GE(times.value().runs, 1);
  EXPECT_GT(times.value().min_ms, 0);
  EXPECT_LE(times.value().min_ms, times.value().median_ms);
  EXPECT_LE(times.value().median_ms, times.value().p99_ms);
  EXPECT_THAT(times.value().report, HasSubstr("\"tasks\": ["));
  EXPECT_EQ(notes.size(), 1u) << "batch is taken as 1, said once";

  CompileModelOptions compile;
  compile.dims = {{"batch", 8}};
  const std::string artifact = (folder_.path() / "model.iso").string();
  ASSERT_TRUE(compile_model(model_, artifact, compile).has_value());
  const auto of_artifact = bench_model(artifact, options_);
  ASSERT_TRUE(of_artifact.has_value()) << of_artifact.error().sentence;
  EXPECT_GT(of_artifact.value().median_ms, 0);
}

/// Those that are here, each in turns with ours.
TEST_F(Benches, MeasureOthersBeside) {
  options_.dims = {{"batch", 8}};
  for (const FoundBackend& backend : found_backends())
    if (backend.name == "onnxruntime" || backend.name == "onednn") options_.against.push_back(backend.name);
  const auto times = bench_model(model_, options_);
  ASSERT_TRUE(times.has_value()) << times.error().sentence;
  for (const BackendTimes& each : times.value().against) {
    EXPECT_GT(each.ratio, 0) << each.name;
    EXPECT_LE(each.ratio_p25, each.ratio_p75) << each.name;
    EXPECT_FALSE(each.version.empty());
  }
}

TEST_F(Benches, EndWhereTheyAreAskedToStop) {
  Stop stop;
  options_.stop = &stop;
  options_.seconds = 60;
  options_.dims = {{"batch", 8}};
  std::thread asker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2000));
    stop.request();
    stop.request();
  });
  const auto start = std::chrono::steady_clock::now();
  const auto times = bench_model(model_, options_);
  asker.join();
  ASSERT_FALSE(times.has_value());
  EXPECT_EQ(times.error().kind, FailureKind::stopped);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(Benches, SayWhatIsMissing) {
  const auto refused = [&](const std::string& file, FailureKind kind, const std::string& part) {
    const auto made = bench_model(file, options_);
    ASSERT_FALSE(made.has_value()) << part;
    EXPECT_EQ(made.error().kind, kind);
    EXPECT_THAT(made.error().sentence, HasSubstr(part));
  };
  refused("no such file", FailureKind::invalid, "no such file");
  options_.against = {"toaster"};
  refused(model_, FailureKind::usage, "'toaster' found");
  options_.against = {"onnxruntime"};
  options_.libraries = {{"onnxruntime", "no such library"}};
  refused(model_, FailureKind::unsupported, "no such library");
  options_ = {};
  options_.seconds = -1;
  refused(model_, FailureKind::usage, "seconds: 0 to");
}

}  // namespace
}  // namespace isomer::test
