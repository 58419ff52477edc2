#include "runtime/workers.h"

#include <gtest/gtest.h>

#include "util/threads.h"

namespace isomer::runtime::test {
namespace {

int cpu_of_worker(Workers& workers) {
  std::atomic<int> cpu = -1;
  workers.share(2, 0, [&cpu](int thread, int64_t, int64_t) {
    if (thread == 1) cpu = current_cpu();
  });
  return cpu;
}

TEST(Workers, LeaveTheCpuThatTheCallerWasMovedTo) {
  if (available_threads() < 2) GTEST_SKIP() << "two CPUs needed";
  Workers workers(2);
  for (int move = 0; move < 3; ++move) {
    const int cpu = cpu_of_worker(workers);
    const StayOn moved(cpu);
    ASSERT_EQ(current_cpu(), cpu);
    ASSERT_EQ(cpu_of_worker(workers), cpu) << "pinned";
    workers.keep_apart();
    EXPECT_NE(cpu_of_worker(workers), cpu);
    workers.keep_apart();
    EXPECT_NE(cpu_of_worker(workers), cpu);
  }
}

/// The caller's, wherever it was when they were given theirs.
TEST(Workers, LeaveACpuFree) {
  if (available_threads() < 2) GTEST_SKIP() << "two CPUs needed";
  Workers workers(2);
  for (int move = 0; move < 3; ++move) {
    const int cpu = cpu_of_worker(workers);
    ASSERT_GE(workers.free_cpu(), 0);
    EXPECT_NE(workers.free_cpu(), cpu);
    const StayOn moved(cpu);
    workers.keep_apart();
  }
  EXPECT_EQ(Workers(1).free_cpu(), -1);
  const StayOn alone(current_cpu());
  EXPECT_EQ(Workers(2).free_cpu(), -1);
}

}  // namespace
}  // namespace isomer::runtime::test
