// include/isomer/session.h: artifacts run from C++.
#include "isomer/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "isomer/compile.h"
#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kRows = R"(opset 17
graph g(x: float32[batch,3], k: int64[2]) -> (y: float32[batch,3], chosen: float32[2,3]) {
  y = Relu(x)
  chosen = Gather(y, k)
}
)";

class Sessions : public testing::Test {
 protected:
  Sessions() : file_((folder_.path() / "model.iso").string()) {
    const std::string model = write_model(kRows, (folder_.path() / "model.onnx").string());
    CompileModelOptions options;
    options.variants = {{{"batch", 2}}, {{"batch", 4}}};
    const auto made = compile_model(model, file_, options);
    EXPECT_TRUE(made.has_value()) << made.error().sentence;
  }
  Session opened(int64_t batch) const {
    SessionOptions options;
    options.dims = {{"batch", batch}};
    return Session::open(file_, options).value();
  }

  ScratchFolder folder_;
  const std::string file_;
};

TEST_F(Sessions, AreCompiledForEachVariantOnce) {
  const std::string model = (folder_.path() / "model.onnx").string();
  CompileModelOptions options;
  const auto expect_refused = [&](const std::string& part) {
    const auto made = compile_model(model, (folder_.path() / "refused.iso").string(), options);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().kind, FailureKind::usage);
    EXPECT_THAT(made.error().sentence, HasSubstr(part));
  };
  options.variants = {{{"batch", 2}}, {{"batch", 4}}, {{"batch", 2}}};
  expect_refused("each variant once expected, batch=2 found again");
  options.variants = {{{"batch", 2}}};
  options.dims = {{"batch", 4}};
  expect_refused("one size of 'batch' in a variant expected, 4 and 2 found");
}

TEST_F(Sessions, RunWhatTheyAreGiven) {
  Session session = opened(2);
  ASSERT_EQ(session.inputs().size(), 2u);
  EXPECT_EQ(session.inputs()[0].name, "x");
  EXPECT_EQ(session.inputs()[1].type, ISOMER_INT64);
  EXPECT_THAT(session.outputs()[0].shape, ElementsAre(2, 3));
  const std::vector<float> x{-1, 2, -3, 4, -5, 6};
  const std::vector<int64_t> k{1, 0};
  const auto outputs = session.run({TensorView(x, {2, 3}), TensorView(k, {2})});
  ASSERT_TRUE(outputs.has_value()) << outputs.error().sentence;
  EXPECT_THAT(outputs.value()[0].elements<float>(), ElementsAre(0, 2, 0, 4, 0, 6));
  EXPECT_THAT(outputs.value()[1].elements<float>(), ElementsAre(4, 0, 6, 0, 2, 0));
  EXPECT_THAT(outputs.value()[1].shape(), ElementsAre(2, 3));
  EXPECT_THROW(static_cast<void>(outputs.value()[0].elements<int32_t>()), NoValue);
  // By name; the session may have moved.
  Session moved = std::move(session);
  const auto named = moved.run_by_name({{"k", TensorView(k, {2})}, {"x", TensorView(x, {2, 3})}});
  ASSERT_TRUE(named.has_value()) << named.error().sentence;
  EXPECT_THAT(named.value()[1].elements<float>(), ElementsAre(4, 0, 6, 0, 2, 0));
}

TEST_F(Sessions, RefuseWhatDoesNotFit) {
  Session session = opened(4);
  const std::vector<float> x(12);
  const std::vector<int64_t> k{1, 9};
  const auto refused = [](const auto& made, FailureKind kind, const std::string& part) {
    ASSERT_FALSE(made.has_value()) << part;
    EXPECT_EQ(made.error().kind, kind);
    EXPECT_THAT(made.error().sentence, HasSubstr(part));
  };
  refused(session.run({TensorView(x, {4, 3})}), FailureKind::usage, "inputs: 2 expected, 1 found");
  refused(session.run({TensorView(x, {2, 3}), TensorView(k, {2})}), FailureKind::usage,
          "as many bytes as the shape has elements expected, 48 found");
  refused(session.run({TensorView(x, {3, 4}), TensorView(k, {2})}), FailureKind::usage, "[4,3]");
  refused(session.run({TensorView(x, {4, 3}), TensorView(k, {2})}), FailureKind::mismatch,
          "an index inside of its axis expected");
  refused(session.run_by_name({{"x", TensorView(x, {4, 3})}, {"q", TensorView(k, {2})}}), FailureKind::usage,
          "an input 'k' expected, none found");
  refused(session.run_by_name({{"k", TensorView(k, {2})}, {"x", TensorView(x, {4, 3})}, {"q", TensorView(k, {2})}}),
          FailureKind::usage, "2 inputs expected, 3 found");
  refused(Session::open(file_), FailureKind::usage, "batch");
  refused(Session::open("no such file"), FailureKind::invalid, "no such file");
  SessionOptions options;
  options.dims = {{"batch", 2}};
  options.device = "toaster";
  refused(Session::open(file_, options), FailureKind::usage, "toaster");
}

}  // namespace
}  // namespace isomer::test
