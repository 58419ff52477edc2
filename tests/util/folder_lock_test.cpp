#include "util/folder_lock.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "support/files.h"
#include "util/stop.h"

namespace isomer {
namespace {

TEST(FolderLock, LetsOneInAtATime) {
  const test::ScratchFolder folder;
  int count = 0;  // no atomic: the lock guards it
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        const auto lock = FolderLock::take(folder.path());
        ASSERT_TRUE(lock.ok());
        const int before = count;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        count = before + 1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 20);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderLock, WaitsNoLongerThanItMay) {
  const test::ScratchFolder folder;
  const auto held = FolderLock::take(folder.path());
  const std::atomic<int> requests = 1;
  const StopsBy stops(requests);
  const auto lock = FolderLock::take(folder.path());
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().kind, ErrorKind::kStopped);
}

}  // namespace
}  // namespace isomer
