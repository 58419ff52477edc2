// include/isomer/optimize.h: models optimized and verified without a command line, several at a time, and stopped.
#include "isomer/optimize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <thread>

#include "isomer/verify.h"
#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

/// Two products that are one, and a sum with nothing.
constexpr std::string_view kModel = R"(opset 17
graph branches(x: float32[batch,32]) -> (y: float32[batch,48], z: float32[batch,16]) {
  w: float32[32,48] = random 1
  v: float32[32,16] = random 2
  nothing: float32[1] = {0}
  p = MatMul(x, w)
  q = Add(p, nothing)
  y = Relu(q)
  z = MatMul(x, v)
}
)";

class OptimizeModel : public testing::Test {
 protected:
  OptimizeModel() {
    options_.threads = 2;
    options_.seconds = 3;
    options_.records = path("records.sqlite");
    write_model(kModel, path("model.onnx"));
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  Expected<Optimized> optimized(const std::string& name = "optimized.onnx") const {
    return optimize_model(path("model.onnx"), path(name), options_);
  }

  void expect_refused(const std::string& sentence, FailureKind kind) const {
    const auto made = optimized("refused.onnx");
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().sentence, sentence);
    EXPECT_EQ(made.error().kind, kind);
    EXPECT_FALSE(std::filesystem::exists(path("refused.onnx")));
  }

  ScratchFolder folder_;
  OptimizeOptions options_;
};

TEST_F(OptimizeModel, GivesStepsProofAndReport) {
  std::vector<std::string> told;
  options_.progress.doing = [&](const std::string& what, auto) { told.push_back(what); };
  const auto made = optimized();
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  EXPECT_EQ(made.value().nodes_before, 4);
  EXPECT_EQ(made.value().nodes_after, 3);
  EXPECT_FALSE(made.value().steps.empty());
  EXPECT_FALSE(made.value().is_interrupted);
  EXPECT_THAT(made.value().report, HasSubstr("\"nodes_after\": 3"));
  EXPECT_THAT(made.value().page, HasSubstr("<html"));
  EXPECT_THAT(told, testing::Contains("reading"));
  write_file(path("proof"), made.value().proof);

  const auto verified = verify_model(path("model.onnx"), path("optimized.onnx"), path("proof"));
  ASSERT_TRUE(verified.has_value()) << verified.error().sentence;
  EXPECT_GT(verified.value().steps, 0);
  EXPECT_EQ(verified.value().fp, "reassociate");
  // The proof is of that model alone.
  const auto other = verify_model(path("optimized.onnx"), path("model.onnx"), path("proof"));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().kind, FailureKind::mismatch);
}

TEST_F(OptimizeModel, SaysWhatIsWrong) {
  options_.level = 4;
  expect_refused("level: 0 to 3 expected, 4 found", FailureKind::usage);
  options_.level = 3;
  options_.fp = "loose";
  expect_refused("fp: strict, reassociate or fast expected, 'loose' found", FailureKind::usage);
  options_.fp = "strict";
  options_.runtime = "tvm";
  expect_refused("runtime: any, onnxruntime or isomer expected, 'tvm' found", FailureKind::usage);
  options_.runtime = "any";
  options_.threads = 1'000'000'000;
  expect_refused("threads: a number from 0 to 1024 expected, 1000000000 found", FailureKind::usage);
  options_.threads = 0;
  const auto cut = optimize_model(path("model.onnx"), path("model.onnx") + std::string(1, '\0') + "refused", options_);
  ASSERT_FALSE(cut.has_value());
  EXPECT_THAT(cut.error().sentence, HasSubstr("a path without NUL expected"));
  options_.dims["heads"] = 2;
  const auto made = optimized("refused.onnx");
  ASSERT_FALSE(made.has_value());
  EXPECT_THAT(made.error().sentence, HasSubstr("heads"));
}

TEST_F(OptimizeModel, EndsWhereItIsStopped) {
  Stop stop;
  options_.stop = &stop;
  options_.runtime = "isomer";
  options_.seconds = 600;
  options_.dims["batch"] = 64;
  std::vector<std::string> told;
  options_.progress.doing = [&](const std::string& what, auto) {
    told.push_back(what);
    if (what.starts_with("searching")) stop.request();
  };
  const auto start = std::chrono::steady_clock::now();
  const auto made = optimized();
  ASSERT_THAT(told, testing::Contains(testing::StartsWith("searching")));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(5));
  // The best that it had, or, where it had found nothing, no model.
  EXPECT_TRUE(made ? made.value().is_interrupted : made.error().kind == FailureKind::stopped);
  EXPECT_EQ(made.has_value(), std::filesystem::exists(path("optimized.onnx")));
}

TEST_F(OptimizeModel, WritesNothingWhereItIsStoppedTwice) {
  Stop stop;
  options_.stop = &stop;
  options_.runtime = "isomer";
  options_.dims["batch"] = 64;
  options_.progress.doing = [&](const std::string& what, auto) {
    if (!what.starts_with("searching")) return;
    stop.request();
    stop.request();
  };
  const auto made = optimized("refused.onnx");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, FailureKind::stopped);
  EXPECT_FALSE(std::filesystem::exists(path("refused.onnx")));
}

TEST_F(OptimizeModel, RefusesTimesThatAreNone) {
  options_.seconds = std::numeric_limits<double>::infinity();
  const auto made = optimized("refused.onnx");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, FailureKind::usage);
}

TEST_F(OptimizeModel, StopsOneOfSeveral) {
  Stop stop;
  stop.request();
  OptimizeOptions stopped = options_;
  stopped.stop = &stop;
  std::optional<Expected<Optimized>> first, second;
  std::thread other([&] { first = optimize_model(path("model.onnx"), path("first.onnx"), stopped); });
  second = optimized("second.onnx");
  other.join();
  EXPECT_FALSE(first->has_value());
  EXPECT_TRUE(second->has_value()) << second->error().sentence;
}

}  // namespace
}  // namespace isomer::test
