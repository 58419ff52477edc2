// What schedules are chosen by.
#include "kernel/view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "kernel/examples.h"
#include "kernel/tree.h"

namespace isomer::kernel::test {
namespace {

using testing::ElementsAre;

Kernel kernel_of(const char* program, const std::vector<Dims>& inputs) { return lowered({"", program, inputs}); }

TEST(LaneOffsets, AreThoseOfAllVectorsOrNone) {
  const Kernel kernel = kernel_of(
      "s0 = reduce [12, 5] over [4] with sum:float32 { "
      "in0[i0 floordiv 3*4 + r0, i1]:float32*in1[i0, r0]:float32*in2[i1*i0]:float32 }\noutput s0\n",
      {{16, 5}, {12, 4}, {60}});
  const Block& block = *place_of_block(kernel, "s0").block;
  const auto accesses = load_accesses(kernel, block);
  ASSERT_EQ(accesses.size(), 3);
  const auto offsets = [&](size_t access, int64_t lanes) {
    return lane_offsets(kernel, block, accesses[access], 0, lanes).value_or(std::vector<int64_t>());
  };
  EXPECT_THAT(offsets(0, 6), ElementsAre(0, 0, 0, 20, 20, 20));
  EXPECT_THAT(offsets(0, 4), ElementsAre()) << "vectors of four begin at different places in their groups";
  EXPECT_THAT(offsets(1, 3), ElementsAre(0, 4, 8));
  EXPECT_THAT(offsets(2, 2), ElementsAre()) << "another axis decides";
}

TEST(View, KnowsWhoReadsAReduction) {
  const Schedule schedule(
      kernel_of("s0 = reduce [6, 8] over [5] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
                "s1 = map [8, 6] { s0[i1, i0]:float32 + 1 }\ns2 = map [8, 6] { s1[i0, i1]:float32*2 }\noutput s2\n",
                {{6, 5}, {5, 8}}));
  const Machine machine;
  const View view(schedule, machine);
  EXPECT_THAT(view.blocks(), ElementsAre("s0", "s1", "s2"));
  EXPECT_EQ(view.epilogue(view.block("s0")), "") << "it moves the elements";
  EXPECT_TRUE(view.follows_reduction("s2"));
  EXPECT_FALSE(view.has_finite_factor(view.block("s0")));
  EXPECT_FALSE(view.moves_reduction(view.block("s1")));
  EXPECT_TRUE(view.is_flat(view.block("s2")));
  EXPECT_FALSE(view.is_flat(view.block("s1")));
  EXPECT_EQ(view.lanes(view.block("s0")), 8);
  EXPECT_EQ(view.iterations(view.loops("s0")), 6 * 8 * 5);
}

TEST(View, KnowsWhatNoDataDecides) {
  const Schedule schedule(lowered({"",
                                   "s0 = map [6] { float32(i0)*2 }\n"
                                   "s1 = map [6] { s0[i0]:float32*in1[i0]:float32 }\n"
                                   "s2 = map [6] { s1[i0]:float32*in0[i0]:float32 }\noutput s2\n",
                                   {{6}, {6}}},
                                  {1}));
  const Machine machine;
  const View view(schedule, machine);
  EXPECT_TRUE(view.is_known("s0"));
  EXPECT_TRUE(view.is_known("s1"));
  EXPECT_FALSE(view.is_known("s2"));
}

/// Each value is read by two others: there are far more ways through them than values.
TEST(View, AnswersSoonWhateverWaysThereAre) {
  constexpr int kSteps = 90;
  const auto program = [](const std::string& first) {
    std::string text = "s0 = map [6] { " + first + " }\ns1 = map [6] { s0[i0]:float32*2 }\n";
    for (int k = 2; k < kSteps; ++k)
      text += fmt::format("s{} = map [6] {{ s{}[i0]:float32 + s{}[i0]:float32 }}\n", k, k - 1, k - 2);
    return text + fmt::format("output s{}\n", kSteps - 1);
  };
  const std::string last = fmt::format("s{}", kSteps - 1);
  const Machine machine;
  const Schedule of_constants(lowered({"", program("float32(i0)*in0[i0]:float32").c_str(), {{6}}}, {0}));
  EXPECT_TRUE(View(of_constants, machine).is_known(last));
  EXPECT_FALSE(View(of_constants, machine).follows_reduction(last));
  const Schedule of_inputs(lowered({"", program("in0[i0]:float32").c_str(), {{6}}}));
  EXPECT_FALSE(View(of_inputs, machine).is_known(last));
}

/// What primitives make after the first question is looked at, too.
TEST(View, KnowsOfCopiesOfConstants) {
  Schedule schedule(lowered({"", "s0 = map [6] { in1[i0]:float32*in0[i0]:float32 }\noutput s0\n", {{6}, {6}}}, {1}));
  const Machine machine;
  const View view(schedule, machine);
  EXPECT_FALSE(view.is_known("s0"));
  const auto of_constant = schedule.cache_read("s0", "in1"), of_input = schedule.cache_read("s0", "in0");
  ASSERT_TRUE(of_constant.ok() && of_input.ok());
  EXPECT_TRUE(view.is_known(*of_constant));
  EXPECT_FALSE(view.is_known(*of_input));
}

TEST(View, IsFlatWhereTheSameIsComputedEverywhere) {
  const Schedule schedule(
      kernel_of("s0 = map [6, 8] { select(i0 < 5, in0[i0, i1]:float32, 0) }\noutput s0\n", {{6, 8}}));
  const Machine machine;
  EXPECT_FALSE(View(schedule, machine).is_flat(View(schedule, machine).block("s0")));
}

TEST(Access, RepeatsAfterWhatItsDivisorsShare) {
  const auto period_of = [](const std::string& index) {
    const Kernel kernel =
        kernel_of(("s0 = map [96, 8] { in0[" + index + "]:float32 }\noutput s0\n").c_str(), {{96 * 96}});
    return period(*place_of_block(kernel, "s0").block, te::axis(0));
  };
  EXPECT_EQ(period_of("8*i0 + i1"), 1);
  EXPECT_EQ(period_of("i0 floordiv 3"), 3);
  EXPECT_EQ(period_of("48*(i0 floormod 2) + i0 floordiv 2"), 2);
  EXPECT_EQ(period_of("i0 floordiv 4 + (i0 + i1) floormod 6"), 12);
  EXPECT_EQ(period_of("(4*i0 + 3) floordiv 6"), 3);
  EXPECT_EQ(period_of("i0 floordiv 3 floormod 4"), 12);
  EXPECT_EQ(period_of("i0*i1"), 0);
  EXPECT_EQ(period_of("(i0*i0) floordiv 2"), 0);
  EXPECT_EQ(period_of("i1 floordiv 3"), 1);
}

TEST(View, IsOfTheScheduleAsItIsNow) {
  Schedule schedule(kernel_of("s0 = map [6, 8] { in0[i0, i1]:float32*2 }\noutput s0\n", {{6, 8}}));
  const Machine machine;
  const View view(schedule, machine);
  EXPECT_TRUE(view.is_alone("s0"));
  const LoopIds loops = view.loops("s0");
  EXPECT_EQ(view.contiguous_axis(view.block("s0")), 1);
  ASSERT_TRUE(schedule.split(loops[1], Integers{-1, 4}).ok());
  EXPECT_EQ(view.loops("s0").size(), 3);
  EXPECT_EQ(view.extent(view.loops("s0").back()), 4);
  ASSERT_TRUE(schedule.vectorize(view.loops("s0").back()).ok());
  EXPECT_FALSE(view.is_alone("s0"));
  EXPECT_THAT(view.inner_loops("s0", loops[0]), testing::SizeIs(2));
  EXPECT_FALSE(view.has_block("s1"));
}

TEST(View, KnowsStepsOfScans) {
  const auto recurrence = std::find_if(examples().begin(), examples().end(),
                                       [](const Example& e) { return std::string_view(e.name) == "recurrence"; });
  const Schedule schedule(lowered(*recurrence));
  const Machine machine;
  const View view(schedule, machine);
  int steps = 0;
  for (const std::string& block : view.blocks()) steps += view.is_step(block);
  EXPECT_GE(steps, 2);
}

}  // namespace
}  // namespace isomer::kernel::test
