// What is alive at one time has bytes of its own, and the arena is not much larger than it must be.
#include "runtime/memory_plan.h"

#include <gtest/gtest.h>

#include "runtime/artifact.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::runtime::test {
namespace {

void expect_valid(const std::vector<Lifetime>& lifetimes, const MemoryPlan& plan) {
  ASSERT_EQ(plan.offsets.size(), lifetimes.size());
  EXPECT_GE(plan.arena_bytes, least_arena(lifetimes));
  for (size_t a = 0; a < lifetimes.size(); ++a) {
    EXPECT_EQ(plan.offsets[a] % kAlignment, 0);
    EXPECT_GE(plan.offsets[a], 0);
    EXPECT_LE(plan.offsets[a] + lifetimes[a].bytes, plan.arena_bytes);
    for (size_t b = 0; b < a; ++b) {
      const bool in_time =
          lifetimes[a].first_step <= lifetimes[b].last_step && lifetimes[b].first_step <= lifetimes[a].last_step;
      const bool in_space = plan.offsets[a] < plan.offsets[b] + lifetimes[b].bytes &&
                            plan.offsets[b] < plan.offsets[a] + lifetimes[a].bytes;
      ASSERT_FALSE(in_time && in_space) << a << " and " << b;
    }
  }
}

TEST(MemoryPlan, of_nothing_is_empty) {
  EXPECT_EQ(plan_memory({}).arena_bytes, 0);
  EXPECT_EQ(plan_memory({{0, 0, 5}}).arena_bytes, 0);
}

TEST(MemoryPlan, of_a_chain_takes_two_places) {
  std::vector<Lifetime> chain;
  for (int64_t step = 0; step < 50; ++step) chain.push_back({1000, step, step + 1});
  EXPECT_EQ(plan_memory(chain).arena_bytes, 2 * 1024);
  EXPECT_EQ(least_arena(chain), 2 * 1024);
}

TEST(MemoryPlan, of_residual_blocks_is_as_small_as_can_be) {
  // x -> a -> b -> x + b: the input of each block lives over it.
  std::vector<Lifetime> blocks;
  for (int64_t block = 0; block < 16; ++block) {
    const int64_t step = 3 * block, bytes = (int64_t{1} << 20) >> (block / 4);
    blocks.push_back({bytes, step, step + 3});
    blocks.push_back({bytes / 4, step + 1, step + 2});
    blocks.push_back({bytes, step + 2, step + 3});
  }
  EXPECT_EQ(plan_memory(blocks).arena_bytes, least_arena(blocks));
}

TEST(MemoryPlan, never_lets_what_lives_together_share_bytes) {
  double total = 0, least = 0;
  const int rounds = isomer::test::is_long_run() ? 5'000 : 300;
  for (int round = 0; round < rounds; ++round) {
    Random random(round);
    std::vector<Lifetime> lifetimes;
    const auto count = random.between(1, 80), steps = random.between(1, 100), longest = random.between(0, 20);
    const int64_t largest = int64_t{1} << random.between(0, 24);
    for (int64_t k = 0; k < count; ++k) {
      const int64_t first = random.between(0, steps);
      lifetimes.push_back({random.between(0, largest), first, first + random.between(0, longest)});
    }
    const MemoryPlan plan = plan_memory(lifetimes);
    expect_valid(lifetimes, plan);
    EXPECT_EQ(plan_memory(lifetimes).offsets, plan.offsets);
    total += static_cast<double>(plan.arena_bytes) / static_cast<double>(std::max<int64_t>(1, least_arena(lifetimes)));
    least += 1;
  }
  RecordProperty("mean_over_least", std::to_string(total / least));
  EXPECT_LT(total / least, 1.05);
}

}  // namespace
}  // namespace isomer::runtime::test
