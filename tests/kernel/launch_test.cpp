// Loops bound to blocks and threads: as plain loops they mean what they meant before; what no launch can compute is
// refused; barriers stand where threads need each other and nowhere else.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/barriers.h"
#include "kernel/hand_made.h"
#include "kernel/launch.h"
#include "kernel/launch_examples.h"
#include "kernel/own_memory.h"
#include "kernel/tree.h"

namespace isomer::kernel::test {
namespace {

using testing::HasSubstr;

int barriers_in(const Statements& statements) {
  int count = 0;
  for (const Statement& statement : statements) {
    count += std::holds_alternative<Barrier>(statement.node);
    if (const auto* loop = std::get_if<Loop>(&statement.node)) count += barriers_in(loop->body);
    if (const auto* branch = std::get_if<Branch>(&statement.node))
      count += barriers_in(branch->then) + barriers_in(branch->otherwise);
  }
  return count;
}
int barriers_of(const Schedule& schedule) { return barriers_in(ok(with_barriers(schedule.finish())).body); }

std::string refusal(const Schedule& schedule) {
  const auto made = with_barriers(schedule.finish());
  return made.ok() ? "" : made.error().message();
}

TEST(Launch, ATileThroughSharedMemoryIsPlainLoopsToo) {
  const Kernel kernel = lowered(product());
  const Schedule schedule = tiled(kernel);
  expect_same_meaning(product(), schedule, kernel);
  expect_replays(schedule, kernel);
  const Kernel ready = schedule.finish();
  EXPECT_EQ(launch_of(ready.body.back()), (Launch{{3, 3, 1}, {8, 8, 1}}));
  // A tile of 16 rows and 8 steps, whatever the thread.
  const Buffer& shared = ready.buffers[static_cast<size_t>(ready.find_buffer("in0.cache"))];
  EXPECT_EQ(shared.scope, Scope::kShared);
  EXPECT_EQ(shared.shape, (Shape{Dim(16), Dim(8)}));
}

TEST(Launch, BarriersStandBetweenWhatThreadsFetchAndUse) {
  // Before the operands are fetched, for what was read of the last ones; and before they are used.
  EXPECT_EQ(barriers_of(tiled(lowered(product()))), 2);
}

TEST(Launch, ThreadsThatFetchLessComeToTheBarriersAll) {
  const Schedule schedule = tiled(lowered(product()), 32);
  EXPECT_EQ(barriers_of(schedule), 2);
  EXPECT_EQ(launch_of(schedule.finish().body.back()).threads, (std::array<int64_t, 3>{8, 8, 1}));
}

TEST(Launch, WhatAThreadUsesAloneNeedsNoBarrier) {
  Schedule schedule(lowered(product()));
  const LoopIds loops = ok(schedule.loops("s0"));
  ok(schedule.bind(loops[0], "block.x"));
  ok(schedule.bind(loops[1], "thread.x"));
  ok(schedule.decompose_reduction("s0", loops[2]));
  EXPECT_EQ(barriers_of(schedule), 0);
  expect_same_meaning(product(), schedule, lowered(product()));
}

TEST(Launch, RowsInSharedMemoryWaitForTheirThreads) {
  const Kernel kernel = lowered(rows());
  const Schedule schedule = rows_in_blocks(kernel);
  expect_same_meaning(rows(), schedule, kernel);
  EXPECT_EQ(barriers_of(schedule), 1);
}

TEST(Launch, WhatNoLaunchComputesIsRefused) {
  const Kernel kernel = lowered(product());
  const auto bound = [&](const std::string& axis, size_t loop) {
    Schedule schedule(kernel);
    const auto done = schedule.bind(ok(schedule.loops("s0"))[loop], axis);
    return done.ok() ? "" : done.error().message();
  };
  EXPECT_EQ(bound("block.x", 0), "");
  EXPECT_THAT(bound("block.w", 0), HasSubstr("an axis from 'block.x' to 'thread.z' expected, 'block.w' found"));
  EXPECT_THAT(bound("block.x", 1), HasSubstr("nothing but loops over blocks around expected"));
  EXPECT_THAT(bound("thread.x", 2), HasSubstr("s0 reduces over it"));

  // Memory of a thread that another one reads.
  const Example reversed = {
      "reversed",
      "s0 = map [4, 8] { in0[i0, i1]:float32*2 }\ns1 = map [4, 8] { s0[i0, 7 - i1]:float32 }\noutput s1\n",
      {{4, 8}}};
  Schedule other(lowered(reversed));
  const LoopIds map = ok(other.loops("s1"));
  ok(other.bind(map[0], "block.x"));
  ok(other.compute_at("s0", map[0]));
  ok(other.bind(ok(other.loops("s0")).back(), "thread.x"));
  ok(other.bind(ok(other.loops("s1")).back(), "thread.x"));
  EXPECT_THAT(refusal(other),
              HasSubstr("'s0', memory of a thread, in the loops over threads expected that s0 uses it in"));

  // 64 x 32 threads.
  Schedule many(lowered({"many", "s0 = map [64, 32] { in0[i0, i1]:float32 }\noutput s0\n", {{64, 32}}}));
  ok(many.bind(ok(many.loops("s0"))[0], "thread.y"));
  ok(many.bind(ok(many.loops("s0"))[1], "thread.x"));
  EXPECT_THAT(refusal(many), HasSubstr("at most 1024 threads a block expected, 2048 found"));
}

TEST(Launch, WhatAllThreadsComputeEachHas) {
  const Kernel kernel = lowered(rows());
  Schedule schedule(kernel);
  const LoopIds map = ok(schedule.loops("s1"));
  ok(schedule.bind(map[0], "block.x"));
  ok(schedule.compute_at("s0", map[0]));
  ok(schedule.set_scope("s0", "registers"));
  ok(schedule.bind(ok(schedule.loops("s1")).back(), "thread.x"));
  EXPECT_EQ(barriers_of(schedule), 0);
  expect_same_meaning(rows(), schedule, kernel);
}

TEST(Launch, LanesBringTogetherWhatTheyHave) {
  const Kernel kernel = lowered(long_rows());
  const Schedule schedule = rows_of_warps(kernel);
  expect_same_meaning(long_rows(), schedule, kernel);
  expect_replays(schedule, kernel);
  EXPECT_EQ(launch_of(schedule.finish().body.back()), (Launch{{6, 1, 1}, {32, 2, 1}}));
  // For what the other warp has; all lanes have their own warp's.
  EXPECT_EQ(barriers_of(schedule), 1);
}

TEST(Launch, WhatLanesCantBringTogetherIsRefused) {
  const auto bound = [](const Integers& factors, const std::string& axis, bool is_factored) {
    Schedule schedule(lowered(long_rows()));
    const LoopIds steps = ok(schedule.split(ok(schedule.loops("s0"))[1], factors));
    std::string block = "s0";
    if (is_factored) (void)ok(schedule.rfactor(block, steps.back()));
    const auto done = schedule.bind(ok(schedule.loops(block)).back(), axis);
    return done.ok() ? refusal(schedule) : done.error().message();
  };
  EXPECT_EQ(bound({-1, 32}, "thread.x", true), "");
  EXPECT_THAT(bound({-1, 16}, "thread.x", true), HasSubstr("32 threads along x expected to reduce over"));
  EXPECT_THAT(bound({-1, 32}, "thread.y", true), HasSubstr("32 threads along x expected to reduce over"));
  EXPECT_THAT(bound({-1, 32}, "thread.x", false),
              HasSubstr("a commutative reduction, with its initialization, over threads alone expected"));

  // More threads along x than a warp has lanes.
  Schedule wider(lowered({"wider",
                          "s0 = reduce [6] over [32] with max:float32 { in0[i0, r0]:float32 }\n"
                          "s1 = map [6, 64] { in1[i0, i1]:float32 - s0[i0]:float32 }\noutput s1\n",
                          {{6, 32}, {6, 64}}}));
  const LoopIds maxima = ok(wider.loops("s0")), map = ok(wider.loops("s1"));
  ok(wider.bind(maxima[1], "thread.x"));
  ok(wider.bind(map[1], "thread.x"));
  ok(wider.join(maxima[0], map[0]));
  ok(wider.set_scope("s0", "registers"));
  EXPECT_THAT(refusal(wider), HasSubstr("32 threads along x expected where it reduces over them, 64 found"));
}

TEST(Launch, ThreadsKeepTheirElements) {
  const Example twice = {
      "twice",
      "s0 = map [4, 64] { in0[i0, i1]:float32*2 }\ns1 = map [4, 64] { s0[i0, i1]:float32 + 1 }\noutput s1\n",
      {{4, 64}}};
  const Kernel kernel = lowered(twice);
  const auto shared_out = [&](const Integers& factors, size_t thread) {
    Schedule schedule(kernel);
    const LoopIds first = ok(schedule.loops("s0")), second = ok(schedule.loops("s1"));
    ok(schedule.bind(ok(schedule.split(first[1], {-1, 16}))[1], "thread.x"));
    ok(schedule.bind(ok(schedule.split(second[1], factors))[thread], "thread.x"));
    ok(schedule.join(first[0], second[0]));
    ok(schedule.bind(first[0], "block.x"));
    ok(schedule.set_scope("s0", "cache"));
    return schedule;
  };
  // Element 16 * k of thread t lies 16 * k + t behind the row's first; as plain loops one copy has them all.
  const Schedule alike = shared_out({-1, 16}, 1);
  expect_same_meaning(twice, alike, kernel);
  EXPECT_EQ(refusal(alike), "");
  const Kernel ready = alike.finish();
  const auto buffer = static_cast<size_t>(ready.find_buffer("s0"));
  EXPECT_EQ(element_count(ready.buffers[buffer].shape), Dim(64));
  EXPECT_EQ(with_own_memory(ready).buffers[buffer].shape, Shape{Dim(4)});
  // Element k of thread t is 4 * t + k there.
  EXPECT_THAT(refusal(shared_out({16, -1}, 0)), HasSubstr("'s0', memory of a thread"));
}

TEST(Launch, BarriersStandInLoopsThatAllThreadsRun) {
  // Two rows at a time, one after the other: what was read of a row's maximum comes before the next one's.
  const Kernel kernel = lowered(rows());
  Schedule schedule(kernel);
  const LoopIds parts = ok(schedule.split(ok(schedule.loops("s1"))[0], {-1, 3}));
  ok(schedule.bind(parts[0], "thread.y"));
  ok(schedule.set_scope("s0", "shared"));
  ok(schedule.compute_at("s0", parts[1]));
  ok(schedule.bind(ok(schedule.loops("s1")).back(), "thread.x"));
  expect_same_meaning(rows(), schedule, kernel);
  EXPECT_EQ(barriers_of(schedule), 2);
}

/// `rows` of 4 rows of threads turn the elements of their row around, through shared memory.
Kernel turned_around(int64_t threads) {
  Kernel kernel;
  const Shape shape = {Dim(4), Dim(8)};
  for (const char* name : {"in0", "out", "all"}) kernel.buffers.push_back({name, DataType::kFloat32, shape});
  kernel.buffers.push_back({"shared", DataType::kFloat32, shape, Scope::kShared});
  kernel.inputs = {0};
  kernel.outputs = {1, 2};
  const auto row_of = [&](int first, int buffer, std::vector<Expr> at, int from, std::vector<Expr> index) {
    return loop(
        first, 8, LoopKind::kThreadX,
        {{assign(fmt::format("b{}", first), buffer, std::move(at), load_buffer(kernel, from, std::move(index)))}});
  };
  const Statement turn =
      loop(0, threads, LoopKind::kThreadY,
           {row_of(1, 3, {k(0), k(1)}, 0, {k(0), k(1)}), row_of(2, 1, {k(0), k(2)}, 3, {k(0), te::index(7) - k(2)})});
  const Statement all = loop(3, 4, LoopKind::kThreadY, {row_of(4, 2, {k(3), k(4)}, 0, {k(3), k(4)})});
  kernel.body = {loop(5, 1, LoopKind::kBlockX, {turn, all})};
  kernel.next_variable = 6;
  return kernel;
}

TEST(Launch, ABarrierWhereNotAllThreadsComeIsRefused) {
  EXPECT_EQ(barriers_in(ok(with_barriers(turned_around(4))).body), 1);
  const auto cut = with_barriers(turned_around(2));
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message(), HasSubstr("a barrier would stand in k0, where not all threads come"));
}

}  // namespace
}  // namespace isomer::kernel::test
