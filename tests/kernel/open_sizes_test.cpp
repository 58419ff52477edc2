// What is proved of places in buffers of any size: nothing that some size makes wrong.
#include "kernel/open_sizes.h"

#include <gtest/gtest.h>

#include "graph/te/print.h"
#include "graph/te/program_text.h"
#include "kernel/lower.h"
#include "util/check.h"

namespace isomer::kernel::test {
namespace {

/// Buffers of n elements; loops: k0 < n, k1 < 3, k2 < n + 1.
class OpenSizesOfKernels : public testing::Test {
 protected:
  OpenSizesOfKernels() : kernel_(lowered()), sizes_(kernel_) {
    for (const auto& [loop, extent] : {std::pair(0, n()), std::pair(1, te::index(3)), std::pair(2, n() + 1)})
      loops_.enter(loop, extent);
  }

  static Kernel lowered() {
    const auto program = te::parse_program("s0 = map [n] { in0[i0]:float32 + in1[i0]:float32 }\noutput s0\n");
    CHECK(program.ok()) << program.error().message();
    const TaskType type{DataType::kFloat32, {Dim::symbol("n")}};
    auto kernel = lower(*program, {type, type}, {{"n"}});
    CHECK(kernel.ok()) << kernel.error().message();
    return *std::move(kernel);
  }

  Expr n() const { return load_buffer(kernel_, kernel_.find_buffer("sizes0"), {te::index(0)}); }
  Expr data(const Expr& index) const { return load_buffer(kernel_, kernel_.find_buffer("in1"), {index}); }
  static Expr k(int loop) { return loop_variable(loop); }

  bool are_around(const Expr& index, const std::vector<Expr>& conditions = {}) const {
    return sizes_.are_around(index, n(), loops_, conditions);
  }

  const Kernel kernel_;
  const OpenSizes sizes_;
  LoopRanges loops_;
};

TEST_F(OpenSizesOfKernels, AreAroundWhatLoopsOverThemCount) {
  EXPECT_TRUE(are_around(k(0)));
  EXPECT_TRUE(are_around(n() - 1 - k(0)));
  EXPECT_TRUE(are_around(k(0) * 2 - k(0)));
}

TEST_F(OpenSizesOfKernels, AreNotAroundMoreThanThat) {
  for (const Expr& index : {k(0) + 1, k(0) - 1, k(2), k(0) + k(1), n() - k(0), k(0) * 2, te::index(0), k(1), k(9),
                            te::floor_mod(k(2), n()), te::cast(DataType::kInt64, data(k(0)))})
    EXPECT_FALSE(are_around(index)) << te::print(index);
}

TEST_F(OpenSizesOfKernels, AreAroundWhatComparisonsKeepInside) {
  const Expr moved = k(0) + k(1) - 1;
  EXPECT_TRUE(are_around(moved, {te::index(0) <= moved && moved < n()}));
  EXPECT_TRUE(are_around(moved, {te::index(0) <= moved, moved <= n() - 1}));
  EXPECT_TRUE(are_around(k(2), {k(2) < n()}));
  EXPECT_TRUE(are_around(k(0) + 1, {k(0) < n() - 1}));
}

TEST_F(OpenSizesOfKernels, AreNotAroundWhatOtherConditionsSay) {
  const Expr moved = k(0) + k(1) - 1;
  EXPECT_FALSE(are_around(moved, {moved < n()}));
  EXPECT_FALSE(are_around(moved, {te::index(0) <= moved}));
  EXPECT_FALSE(are_around(moved, {te::index(0) <= moved && moved <= n()}));
  EXPECT_FALSE(are_around(moved, {te::index(0) <= moved || moved < n()}));
  EXPECT_FALSE(are_around(k(2), {data(k(2)) < data(te::index(0))}));
  EXPECT_FALSE(are_around(k(1), {k(1) < 2}));
}

TEST_F(OpenSizesOfKernels, AreWhatTheKernelIsCalledWith) {
  EXPECT_TRUE(sizes_.decide(n() * 2 + 1));
  EXPECT_FALSE(sizes_.decide(k(0)));
  EXPECT_FALSE(sizes_.decide(data(te::index(0))));
  EXPECT_FALSE(sizes_.are_around(k(0), te::cast(DataType::kInt64, data(te::index(0))), loops_));
  // A kernel that writes them has none.
  Kernel writing = kernel_;
  for (Statement& statement : writing.body)
    if (auto* loop = std::get_if<Loop>(&statement.node))
      std::get<Block>(loop->body.front().node).writes[0].buffer = writing.find_buffer("sizes0");
  EXPECT_FALSE(OpenSizes(writing).decide(n()));
}

}  // namespace
}  // namespace isomer::kernel::test
