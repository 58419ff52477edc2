// A model and its weights are replaced: whatever stops it, and whenever, the model that stands there has its own.
#include "driver/staging_folder.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <optional>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text.h"
#include "support/files.h"
#include "util/child_process.h"

namespace isomer::test {
namespace {

/// Files that may still be renamed or removed; what comes then ends the process, or fails.
std::optional<int> steps_left;
bool ends = false;

bool is_stopped() {
  if (!steps_left || (*steps_left)-- > 0) return false;
  if (ends) _exit(9);
  errno = EIO;
  return true;
}

}  // namespace
}  // namespace isomer::test

// In place of the C library's.
extern "C" int rename(const char* from, const char* to) noexcept {
  if (isomer::test::is_stopped()) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
extern "C" int remove(const char* path) noexcept {
  if (isomer::test::ends && isomer::test::is_stopped()) return -1;
  return unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0) ? 0 : -1;
}

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

class Replaced : public testing::Test {
 protected:
  /// Its weights, all of this number, are outside.
  static Graph graph(int number) {
    auto graph = parse_graph(fmt::format(
        "opset 17\ngraph g(x: float32[400]) -> (y: float32[400]) {{\n  w: float32[400] = {{{}}}\n  y = Add(x, w)\n}}\n",
        fmt::join(std::vector<int>(400, number), ", ")));
    CHECK(graph.ok()) << graph.error().message();
    graph->edit_info().ir_version = 8;
    graph->edit_info().external_data = "in.weights";
    return *std::move(graph);
  }
  Result<void> stage(int number) const {
    TRY(StagingFolder staging, StagingFolder::beside(place_));
    TRY_VOID(staging.write_model(graph(number)));
    return staging.release();
  }
  Result<void> write(int number) const { return export_model(graph(number), place_); }

  /// The number of the weights of the model that is there.
  int number() const {
    const auto found = import_model(place_);
    CHECK(found.ok()) << found.error().message();
    for (const ValueId id : found->values())
      if (const auto& constant = found->value(id).constant) {
        const double first = constant->real(0);
        for (int64_t k = 1; k < 400; ++k) CHECK(constant->real(k) == first);
        return static_cast<int>(first);
      }
    return 0;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(folder_.path())) result.push_back(entry.path().filename().string());
    return result;
  }

  /// A process that replaces the model ends before each of the steps in turn.
  void expect_whole_models(const std::function<Result<void>(int)>& replace) {
    ASSERT_TRUE(replace(1).ok());
    int ended = 0;
    for (int steps = 0;; ++steps) {
      auto process = ChildProcess::fork([&] {
        steps_left = steps;
        ends = true;
        if (!replace(2).ok()) _exit(1);
      });
      ASSERT_TRUE(process.ok());
      std::optional<int> status;
      while (!(status = process->status())) poll(nullptr, 0, 1);
      const int now = number();
      EXPECT_TRUE(now == 1 || now == 2) << now;
      if (*status == 0) {
        EXPECT_EQ(now, 2);
        break;
      }
      ASSERT_EQ(WEXITSTATUS(*status), 9);
      ended += now == 1;
    }
    EXPECT_GE(ended, 2) << "before the weights have their name, and before the model has";
  }

  /// Renaming fails at each step in turn.
  void expect_nothing_else(const std::function<Result<void>(int)>& replace) {
    ASSERT_TRUE(replace(1).ok());
    const std::vector<std::string> before = names();
    for (int steps = 0; steps < 2; ++steps) {
      steps_left = steps;
      const auto done = replace(2);
      steps_left.reset();
      ASSERT_FALSE(done.ok());
      EXPECT_EQ(number(), 1);
      EXPECT_THAT(names(), testing::UnorderedElementsAreArray(before)) << steps;
    }
  }

  ScratchFolder folder_;
  const fs::path place_ = folder_.path() / "out.onnx";
};

TEST_F(Replaced, ModelsAreWholeWhereverTheProcessEnds) {
  expect_whole_models([this](int number) { return stage(number); });
}
TEST_F(Replaced, ExportsAreWholeWhereverTheProcessEnds) {
  expect_whole_models([this](int number) { return write(number); });
}
TEST_F(Replaced, ModelsStayWhereRenamingFails) {
  expect_nothing_else([this](int number) { return stage(number); });
}
TEST_F(Replaced, ExportsStayWhereRenamingFails) {
  expect_nothing_else([this](int number) { return write(number); });
}

TEST_F(Replaced, WeightsHaveTwoNamesInTurns) {
  for (int k = 1; k <= 4; ++k) {
    ASSERT_TRUE(stage(k).ok());
    EXPECT_EQ(number(), k);
    EXPECT_THAT(names(), testing::UnorderedElementsAre("out.onnx", k % 2 == 1 ? "out.weights" : "out-2.weights"));
  }
}

TEST_F(Replaced, WeightsOfOthersStay) {
  write_file(folder_.path() / "out.weights", "precious");
  for (const char* weights : {"out-2.weights", "out-3.weights", "out-2.weights"}) {
    ASSERT_TRUE(stage(1).ok());
    EXPECT_THAT(names(), testing::UnorderedElementsAre("out.onnx", "out.weights", weights));
  }
  EXPECT_EQ(read_file(folder_.path() / "out.weights"), "precious");
}

/// Copies of a model, whatever they are called, have its weights in common with it.
TEST_F(Replaced, WeightsThatAreSharedStay) {
  ASSERT_TRUE(stage(1).ok());
  for (const char* other : {"copy.onnx", "out.onnx.bak"}) {
    SCOPED_TRACE(other);
    fs::copy_file(place_, folder_.path() / other);
    const std::vector<std::string> before = names();
    ASSERT_TRUE(stage(2).ok());
    EXPECT_EQ(number(), 2);
    EXPECT_THAT(names(), testing::IsSupersetOf(before));
    const auto copy = import_model(folder_.path() / other);
    EXPECT_TRUE(copy.ok()) << copy.error().message();
    fs::remove(folder_.path() / other);
  }
}

}  // namespace
}  // namespace isomer::test
