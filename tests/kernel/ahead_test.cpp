// What a loop is going to read: neighbours that it alone moves, in an argument.
#include "kernel/ahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/run_kernel.h"
#include "kernel/tree.h"

namespace isomer::kernel::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const Example kProduct = {"product",
                          "s0 = reduce [24, 32] over [20] with sum:float32 { in0[i0, r0]:float32*in1[i1, "
                          "r0]:float32 }\noutput s0\n",
                          {{24, 20}, {32, 20}}};

/// The loops of the product, columns outermost: columns, rows, reduction, a tile of one row.
struct Nest {
  Schedule schedule;
  LoopIds loops;
  std::vector<NextRead> reads() const {
    std::vector<const Loop*> inside;
    for (const size_t k : {1, 2}) inside.push_back(loop_of(schedule.kernel(), loops[k].variable));
    const LoopRanges none;
    return next_reads(schedule.kernel(), *loop_of(schedule.kernel(), loops[0].variable), inside, none.ranges());
  }
};

Nest nest(bool is_packed) {
  Nest made{Schedule(lowered(kProduct)), {}};
  Schedule& schedule = made.schedule;
  if (is_packed) {
    const auto copy = schedule.cache_read("s0", "in1", 0);
    CHECK(copy.ok() && schedule.transform_layout(*copy, "0/8:1:0%8").ok());
  }
  const LoopIds all = *schedule.loops("s0"), columns = *schedule.split(all[1], {-1, 8});
  made.loops = {columns[0], all[0], all[2], columns[1]};
  CHECK(schedule.reorder(made.loops).ok() && schedule.vectorize(columns[1]).ok());
  return made;
}

TEST(NextReads, AreThePanelThatFollows) {
  const Nest made = nest(true);
  const auto reads = made.reads();
  ASSERT_THAT(reads, SizeIs(1));
  EXPECT_EQ(made.schedule.kernel().buffers[static_cast<size_t>(reads[0].buffer)].name, "in1.cache");
  EXPECT_EQ(reads[0].elements, 20 * 8);
  const Expr second = substitute(reads[0].first, {{made.loops[0].variable, te::index(0)}});
  EXPECT_EQ(te::as_constant(te::simplify_index(second, LoopRanges().ranges())), 20 * 8);
}

TEST(NextReads, LieTogether) { EXPECT_THAT(nest(false).reads(), SizeIs(1)) << "rows of 20, eight of them"; }

TEST(NextReads, AreOfWhatTheLoopMoves) {
  Nest made = nest(true);
  std::swap(made.loops[0], made.loops[1]);
  const auto reads = made.reads();
  ASSERT_THAT(reads, SizeIs(1)) << "all columns are read again in the next row";
  EXPECT_EQ(made.schedule.kernel().buffers[static_cast<size_t>(reads[0].buffer)].name, "in0");
  EXPECT_EQ(reads[0].elements, 20);
}

TEST(Ahead, IsAskedForWhereTilesShareOperandsAndChangesNothing) {
  const Example wide = {"wide",
                        "s0 = reduce [96, 256] over [300] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 "
                        "}\noutput s0\n",
                        {{96, 300}, {300, 256}}};
  const Kernel kernel = lowered(wide, {1});
  const Schedule schedule = default_schedule(Schedule(kernel), {});
  EXPECT_THAT(print(schedule.trace()), HasSubstr("ahead, 1)"));
  expect_same_meaning(wide, schedule, kernel);
  const auto code = emit_assembly(schedule.finish(), *parse_cpu_target("cpu=haswell"));
  ASSERT_TRUE(code.ok());
  EXPECT_THAT(*code, HasSubstr("prefetcht1"));
}

TEST(Ahead, IsNotAskedForWhereOperandsAreReadOnce) {
  const Example thin = {"thin",
                        "s0 = reduce [1, 256] over [300] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 "
                        "}\noutput s0\n",
                        {{1, 300}, {300, 256}}};
  EXPECT_THAT(print(default_schedule(Schedule(lowered(thin, {1})), {}).trace()), Not(HasSubstr("ahead, 1)")));
}

}  // namespace
}  // namespace isomer::kernel::test
