#include "util/parallel.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <stdexcept>

#include "util/sanitized.h"
#include "util/threads.h"

namespace isomer {
namespace {

/// Whether work() says true in a process that is forked here, within 20 s.
template <class Work>
bool holds_in_a_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(work() ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

bool runs_all(ThreadPool& pool) {
  std::atomic<int> runs = 0;
  pool.run(50, [&](int64_t, int) { ++runs; });
  pool.run_on_all([&](int) { ++runs; });
  return runs == 50 + pool.threads();
}

TEST(ThreadPool, runs_every_task_once) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int64_t tasks : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.run(tasks, [&](int64_t task, int thread) {
        EXPECT_LT(thread, threads);
        ++runs[task];
      });
      for (const auto& count : runs) EXPECT_EQ(count, 1);
    }
  }
}

TEST(ThreadPool, hands_on_an_exception_and_goes_on) {
  ThreadPool pool(3);
  for (int round = 0; round < 20; ++round)
    EXPECT_THROW(pool.run(50,
                          [](int64_t task, int) {
                            if (task == 7) throw std::runtime_error("7");
                          }),
                 std::runtime_error);
  std::atomic<int> runs = 0;
  pool.run(50, [&](int64_t, int) { ++runs; });
  EXPECT_EQ(runs, 50);
}

TEST(ThreadPool, a_loop_inside_of_a_task_runs_there) {
  ThreadPool pool(3);
  std::atomic<int> runs = 0;
  pool.run(8, [&](int64_t, int) { pool.run(10, [&](int64_t, int) { ++runs; }); });
  EXPECT_EQ(runs, 80);
}

TEST(ThreadPool, runs_once_on_every_thread) {
  for (const int threads : {1, 2, 5}) {
    std::atomic<int> prepared = 0;
    ThreadPool pool(threads, [&](int) { ++prepared; });
    for (int round = 0; round < 50; ++round) {
      std::vector<int> runs(threads);
      pool.run_on_all([&](int thread) { ++runs[thread]; });
      EXPECT_EQ(runs, std::vector<int>(threads, 1));
    }
    EXPECT_EQ(prepared, threads - 1);
  }
}

TEST(ThreadPool, groups_of_any_size_make_a_tree) {
  for (const int group : {1, 2, 3, 8, 100})
    for (const int threads : {2, 3, 8, 9, 10, 25}) {
      ThreadPool pool(threads, {}, group);
      for (int round = 0; round < 20; ++round) {
        std::vector<int> runs(threads);
        pool.run_on_all([&](int thread) { ++runs[thread]; });
        EXPECT_EQ(runs, std::vector<int>(threads, 1)) << group;
      }
      EXPECT_THROW(pool.run_on_all([&](int thread) {
        if (thread == threads - 1) throw std::runtime_error("last");
      }),
                   std::runtime_error);
    }
}

TEST(ThreadPool, a_call_on_all_inside_of_another_runs_there) {
  ThreadPool pool(3);
  std::atomic<int> runs = 0;
  pool.run_on_all([&](int) { pool.run_on_all([&](int) { ++runs; }); });
  EXPECT_EQ(runs, 9);
}

TEST(ThreadPool, a_forked_child_starts_threads_of_its_own) {
  std::atomic<int> prepared = 0;
  ThreadPool pool(3, [&](int) { ++prepared; });
  EXPECT_TRUE(runs_all(pool));
  EXPECT_TRUE(holds_in_a_child([&] {
    const bool before = pool.has_started_here();
    return runs_all(pool) && !before && pool.has_started_here() && pool.threads() == 3 && prepared == 4 &&
           holds_in_a_child([&] { return runs_all(pool); });
  }));
  // One that is dropped there before it ran, and one whose fork came in the middle of another thread's loop.
  EXPECT_TRUE(holds_in_a_child([] {
    auto dropped = std::make_unique<ThreadPool>(3);
    return holds_in_a_child([&] {
      dropped.reset();
      return true;
    });
  }));
  std::atomic<bool> is_running = false, may_end = false;
  std::thread other([&] {
    pool.run_on_all([&](int) {
      is_running = true;
      while (!may_end) std::this_thread::yield();
    });
  });
  while (!is_running) std::this_thread::yield();
  EXPECT_TRUE(holds_in_a_child([&] { return runs_all(pool); }));
  may_end = true;
  other.join();
  EXPECT_TRUE(runs_all(pool));
}

TEST(ThreadPool, has_the_threads_that_can_be_started) {
  if (kSanitized) GTEST_SKIP() << "its shadow needs all addresses";
  EXPECT_TRUE(holds_in_a_child([] {
    const rlimit most = {1ULL << 30, 1ULL << 30};
    setrlimit(RLIMIT_AS, &most);
    ThreadPool pool(1000);
    return pool.threads() < 1000 && runs_all(pool);
  }));
}

TEST(Threads, at_least_one_is_available) { EXPECT_GE(available_threads(), 1); }

}  // namespace
}  // namespace isomer
