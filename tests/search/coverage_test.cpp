// What a run exercised of an artifact is counted as it runs, and named where it is missing.
#include "search/code/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/code/run_artifact.h"
#include "search/compiled.h"

namespace isomer::test {
namespace {

using te::Array;
using testing::ElementsAre;
using testing::IsEmpty;

Array ones() { return Array::reals(DataType::kFloat32, {4, 8}, std::vector<double>(32, 1)); }

/// A model and one session of it.
class Runs {
 public:
  explicit Runs(std::string_view text) : code_(*compiled(parsed(text), 1)), session_(opened(code_.artifact, 1)) {}
  void run(const std::vector<Array>& inputs) {
    const auto done = search::run_artifact(*session_, inputs);
    CHECK(done.ok()) << done.error().message();
  }
  search::Coverage coverage() const { return coverage_of(code_, *session_); }

 private:
  search::Compilation code_;
  std::unique_ptr<runtime::Session> session_;
};

TEST(Coverage, NothingBeforeTheFirstRunAndAllAfterIt) {
  Runs block(R"(opset 17
graph block(x: float32[4,8]) -> (y: float32[4,8]) {
  w: float32[8,8] = random 1
  a = MatMul(x, w)
  b = Relu(a)
  y = Softmax(b)
})");
  const search::Coverage before = block.coverage();
  EXPECT_EQ(before.steps.ran, 0);
  EXPECT_EQ(before.kernels.ran, 0);
  EXPECT_FALSE(before.is_complete());
  block.run({ones()});
  const search::Coverage after = block.coverage();
  EXPECT_TRUE(after.is_complete());
  EXPECT_EQ(after.steps.ran, 2);
  EXPECT_EQ(after.kernels.ran, 2);
  EXPECT_GE(after.stages.ran, 3);
  EXPECT_TRUE(after.stages.is_all());
  ASSERT_TRUE(after.primitives.contains("vectorize"));
  for (const auto& [name, exercised] : after.primitives) {
    EXPECT_TRUE(exercised.is_all()) << name;
    EXPECT_EQ(before.primitives.at(name).all, exercised.all) << name;
    EXPECT_EQ(before.primitives.at(name).ran, 0) << name;
  }
  EXPECT_THAT(after.missed, IsEmpty());
  EXPECT_EQ(after.lines().size(), 1U);
}

constexpr std::string_view kBranch = R"(opset 17
graph g(c: bool[], x: float32[4,8]) -> (y: float32[4,8]) {
  y = If(c) captures (x) {
    then_branch = graph t() captures (a: float32[4,8]) -> (b) { b = Tanh(a) },
    else_branch = graph e() captures (a: float32[4,8]) -> (b) {
      u = Exp(a)
      b = Softmax(u)
    }
  }
})";

TEST(Coverage, NamesTheSideThatWasNotTaken) {
  Runs branch(kBranch);
  branch.run({flag(true), ones()});
  const search::Coverage one = branch.coverage();
  EXPECT_FALSE(one.is_complete());
  EXPECT_EQ(one.bodies.text(), "1 of 2");
  EXPECT_THAT(one.missed, ElementsAre("step 0 (If): else side"));
  EXPECT_LT(one.kernels.ran, one.kernels.all);
  EXPECT_LT(one.stages.ran, one.stages.all);
  EXPECT_THAT(one.lines(),
              ElementsAre(testing::HasSubstr("exercised: 2 of "), "not exercised: step 0 (If): else side"));
  branch.run({flag(false), ones()});
  EXPECT_TRUE(branch.coverage().is_complete());
  EXPECT_THAT(branch.coverage().missed, IsEmpty());
}

constexpr std::string_view kLoop = R"(opset 17
graph g(n: int64[], x: float32[4,8]) -> (y: float32[4,8]) {
  t: bool[] = {1}
  y = Loop(n, t, x) {
    body = graph b(i: int64[], c: bool[], s: float32[4,8]) -> (c, r) { r = Sin(s) }
  }
})";

TEST(Coverage, ALoopOfNoIterationsHasNotRunItsBody) {
  Runs loop(kLoop);
  loop.run({scalar(0), ones()});
  EXPECT_EQ(loop.coverage().missed.size(), 1U);
  EXPECT_THAT(loop.coverage().missed[0], testing::EndsWith("(Loop): body"));
  EXPECT_EQ(loop.coverage().kernels.text(), "0 of 1");
  loop.run({scalar(3), ones()});
  EXPECT_TRUE(loop.coverage().is_complete());
}

TEST(Coverage, VariantsAreCountedTogether) {
  Runs one(kBranch), other(kLoop);
  one.run({flag(true), ones()});
  other.run({scalar(2), ones()});
  search::Coverage all = one.coverage();
  all += other.coverage();
  EXPECT_EQ(all.steps.all, one.coverage().steps.all + other.coverage().steps.all);
  EXPECT_EQ(all.missed, one.coverage().missed);
  EXPECT_FALSE(all.is_complete());
}

}  // namespace
}  // namespace isomer::test
