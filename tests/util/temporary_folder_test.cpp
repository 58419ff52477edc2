// Temporary folders: what somebody left who was killed goes, what anybody else has there stays.
#include "util/temporary_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <list>
#include <optional>
#include <thread>

#include "support/files.h"
#include "support/long_run.h"
#include "util/output_file.h"
#include "util/random.h"

namespace isomer {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::write_file;
using testing::ElementsAre;
using testing::IsEmpty;

class Temporary : public testing::Test {
 protected:
  fs::path place() const { return scratch_.path(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : fs::directory_iterator(place())) result.push_back(entry.path().filename().string());
    return result;
  }
  void make_one() const { EXPECT_TRUE(TemporaryFolder::in(place()).ok()); }
  test::ScratchFolder scratch_;
};

/// A process that does `work` and lives until it is killed; made when the work is done.
class Process {
 public:
  template <class Work>
  explicit Process(const Work& work) {
    std::array<int, 2> done{};
    EXPECT_EQ(pipe2(done.data(), O_CLOEXEC), 0);
    id_ = fork();
    if (id_ == 0) {
      [[maybe_unused]] const auto held = work();
      if (write(done[1], "x", 1) == 1)
        for (;;) pause();
      _exit(1);
    }
    close(done[1]);
    char byte = 0;
    EXPECT_EQ(read(done[0], &byte, 1), 1);
    close(done[0]);
  }
  Process(const Process&) = delete;
  ~Process() { end(); }
  void end() {
    if (id_ > 0) kill(id_, SIGKILL);
    if (id_ > 0) waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_ = 0;
};

TEST_F(Temporary, GoesWithAllThatIsInItButNotBehindLinks) {
  const test::ScratchFolder other;
  write_file(other.path() / "kept", "kept");
  {
    const auto folder = TemporaryFolder::in(place());
    ASSERT_TRUE(folder.ok()) << folder.error().message();
    EXPECT_EQ(folder->path().parent_path(), place());
    EXPECT_THAT(folder->content(), IsEmpty());
    write_file(folder->path() / "file", "x");
    fs::create_directories(folder->path() / "a" / "b");
    write_file(folder->path() / "a" / "b" / "file", "x");
    fs::create_symlink(other.path(), folder->path() / "link");
    const auto inner = TemporaryFolder::in(folder->path());
    EXPECT_TRUE(inner.ok());
    EXPECT_EQ(folder->content().size(), 4);
  }
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(read_file(other.path() / "kept"), "kept");
}

TEST_F(Temporary, OfAKilledProcessGoesWhenTheNextIsMade) {
  const test::ScratchFolder other;
  write_file(other.path() / "kept", "kept");
  Process process([&] {
    auto folder = TemporaryFolder::in(place());
    write_file(folder->path() / "model.onnx", "half a mod");
    auto inner = TemporaryFolder::in(folder->path());
    write_file(inner->path() / "model.onnx", "half");
    fs::create_symlink(other.path(), inner->path() / "link");
    return std::pair(std::move(folder), std::move(inner));
  });
  make_one();
  EXPECT_EQ(names().size(), 1) << "the folder of a process that lives";
  EXPECT_EQ(read_file(place() / names()[0] / "model.onnx"), "half a mod");
  process.end();
  make_one();
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(read_file(other.path() / "kept"), "kept");
}

TEST_F(Temporary, OfALivingNeighbourStaysThoughOthersAreKilled) {
  const auto mine = TemporaryFolder::in(place());
  const Process lives([&] { return TemporaryFolder::in(place()); });
  {
    const Process killed([&] { return TemporaryFolder::in(place()); });
  }
  EXPECT_EQ(names().size(), 3);
  make_one();
  EXPECT_EQ(names().size(), 2);
  EXPECT_TRUE(fs::exists(mine->path()));
}

TEST_F(Temporary, WhatOnlyLooksLikeOneStays) {
  const test::ScratchFolder other;
  const auto folder = [&](const fs::path& path, mode_t mode, bool has_lock) {
    fs::create_directory(path);
    if (has_lock) write_file(path / ".isomer-lock", "");
    if (has_lock) chmod((path / ".isomer-lock").c_str(), 0600);
    write_file(path / "kept", "kept");
    chmod(path.c_str(), mode);
  };
  folder(place() / ".isomer-backup", 0700, false);  // without a lock
  folder(place() / ".isomer-shared", 0755, true);   // others may enter it
  folder(place() / ".isomer-abcdefg", 0700, true);  // names of another length, of other characters
  folder(place() / ".isomer-ab.def", 0700, true);
  folder(other.path() / "target", 0700, true);
  fs::create_directory_symlink(other.path() / "target", place() / ".isomer-linked");
  write_file(place() / ".isomer-abcdef", "a file");
  folder(place() / ".isomer-pipe00", 0700, false);
  ASSERT_EQ(mkfifo((place() / ".isomer-pipe00" / ".isomer-lock").c_str(), 0600), 0);
  const auto before = names();
  make_one();
  EXPECT_THAT(names(), testing::UnorderedElementsAreArray(before));
  for (const std::string& name : before)
    if (name != ".isomer-abcdef") {
      EXPECT_EQ(read_file(place() / name / "kept"), "kept") << name;
    }
}

TEST_F(Temporary, OfAProcessThatASignalEndsGoAllAtOnce) {
  const pid_t process = fork();
  if (process == 0) {
    std::signal(SIGUSR1, [](int) {
      remove_temporary_folders();
      _exit(7);
    });
    std::list<TemporaryFolder> folders;
    for (int k = 0; k < 60; ++k) {
      folders.push_back(*TemporaryFolder::in(place()));
      for (int file = 0; file < 10; ++file) write_file(folders.back().path() / std::to_string(file), "x");
      fs::create_directories(folders.back().path() / "a" / "b");
    }
    std::optional<OutputFile> file(*OutputFile::create(place() / "output"));
    for (int k = 0; k < 20; ++k) folders.pop_front();
    raise(SIGUSR1);
  }
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Temporary, AForkedProcessMakesItsOwnWhileAThreadOfItsParentMakesSome) {
  std::atomic<bool> is_over = false;
  std::thread other([&] {
    while (!is_over) make_one();
  });
  const auto kept = *TemporaryFolder::in(place());
  for (int round = 0; round < 200; ++round) {
    const pid_t process = fork();
    if (process == 0) {
      const bool is_made = TemporaryFolder::in(place()).ok();
      remove_temporary_folders();  // as its handler of a signal does
      _exit(is_made ? 0 : 1);
    }
    int status = 0;
    pid_t ended = 0;
    constexpr int kPatience = 2'000;  // a hundredth of a second each
    for (int tries = 0; tries < kPatience && (ended = waitpid(process, &status, WNOHANG)) == 0; ++tries) usleep(10'000);
    if (ended == 0) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "round " << round;
    if (HasFailure()) break;
  }
  is_over = true;
  other.join();
  EXPECT_TRUE(fs::exists(kept.path()));
}

/// Makes and removes folders on two threads until a signal ends it, as it ends the program.
pid_t start_maker(const fs::path& place) {
  const pid_t process = fork();
  if (process != 0) return process;
  for (const int signal : {SIGINT, SIGTERM})
    std::signal(signal, [](int) {
      remove_temporary_folders();
      _exit(7);
    });
  const auto make = [&] {
    for (;;) {
      const auto folder = TemporaryFolder::in(place);
      // Where the other thread ends the process the folder may be gone by now.
      if (folder.ok()) std::ofstream(folder->path() / "file") << "x";
    }
  };
  std::thread other(make);
  make();
  return process;
}

TEST_F(Temporary, OfAProcessThatTwoSignalsEndAtAnyMomentGoAll) {
  Random random(0);
  for (int round = 0; round < (test::is_long_run() ? 10'000 : 300); ++round) {
    const pid_t process = start_maker(place());
    // Before its handlers are there it ends otherwise.
    while (names().empty()) usleep(100);
    usleep(static_cast<useconds_t>(random.below(1'000)));
    kill(process, SIGINT);
    if (random.chance(0.5)) usleep(static_cast<useconds_t>(random.below(200)));
    kill(process, SIGTERM);
    int status = 0;
    waitpid(process, &status, 0);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    ASSERT_THAT(names(), IsEmpty()) << "round " << round;
  }
}

/// Writes the same file again and again until it is killed.
pid_t start_writer(const fs::path& output) {
  const pid_t process = fork();
  while (process == 0) {
    auto file = OutputFile::create(output);
    if (!file.ok() || !file->write(std::string_view("whole")).ok() || !file->commit().ok()) _exit(1);
  }
  return process;
}

TEST_F(Temporary, WritersThatAreKilledAtAnyMomentLeaveNothingButWholeFiles) {
  Random random(0);
  const fs::path output = place() / "output";
  for (int round = 0; round < (test::is_long_run() ? 1'000 : 20); ++round) {
    std::vector<pid_t> writers;
    for (int k = 0; k < 4; ++k) writers.push_back(start_writer(output));
    for (const pid_t writer : writers) {
      usleep(static_cast<useconds_t>(random.below(3'000)));
      kill(writer, SIGKILL);
      int status = 0;
      waitpid(writer, &status, 0);
      EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    }
    make_one();
    EXPECT_THAT(names(), testing::AnyOf(IsEmpty(), ElementsAre("output")));
    if (fs::exists(output)) {
      EXPECT_EQ(read_file(output), "whole");
    }
  }
}

TEST_F(Temporary, WhereNoneCanBeMadeIsSaid) {
  write_file(place() / "file", "");
  for (const fs::path& parent : {place() / "file", place() / "nowhere"}) {
    const auto made = TemporaryFolder::in(parent);
    ASSERT_FALSE(made.ok());
    EXPECT_THAT(made.error().message(), testing::HasSubstr("a folder that can be written to expected, found: "));
  }
}

TEST_F(Temporary, WantOfDescriptorsMayPass) {
  EXPECT_FALSE(MappedFile::open(place() / "nowhere").error().may_pass);
  EXPECT_FALSE(OutputFile::create(place() / "nowhere" / "file").error().may_pass);
  write_file(place() / "file", "content");
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto mapped = MappedFile::open(place() / "file");
  const auto written = OutputFile::create(place() / "other");
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(mapped.ok() || written.ok());
  EXPECT_TRUE(mapped.error().may_pass && written.error().may_pass);
  EXPECT_THAT(names(), ElementsAre("file"));
}

TEST_F(Temporary, LinksAreFollowedToWhatIsThereOrIsNotYet) {
  fs::create_directory(place() / "real");
  fs::create_symlink("real/there", place() / "link");
  fs::create_symlink("link", place() / "chain");
  fs::create_symlink("loop", place() / "loop");
  for (const char* content : {"first", "second"}) {
    auto file = OutputFile::create(place() / "chain");
    ASSERT_TRUE(file.ok()) << file.error().message();
    ASSERT_TRUE(file->write(std::string_view(content)).ok());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_TRUE(fs::is_symlink(place() / "chain") && fs::is_symlink(place() / "link"));
    EXPECT_EQ(read_file(place() / "real/there"), content);
  }
  EXPECT_EQ(*output_place(place() / "chain"), place() / "real/there");
  EXPECT_FALSE(output_place(place() / "loop").ok());
  EXPECT_FALSE(output_place(place() / "real").ok());
  EXPECT_FALSE(output_place("/dev/null").ok());
}

TEST_F(Temporary, OneFileHasSeveralNames) {
  fs::create_symlink("file", place() / "link");
  const fs::path file = place() / "file";
  for (const bool is_there : {false, true}) {
    if (is_there) write_file(file, "");
    EXPECT_TRUE(is_same_file(file, place() / "link")) << is_there;
    EXPECT_TRUE(is_same_file(file, place() / "./file")) << is_there;
    EXPECT_FALSE(is_same_file(file, place() / "other")) << is_there;
    EXPECT_FALSE(is_same_file(file, file / "below")) << is_there;
  }
  fs::create_hard_link(file, place() / "hard");
  EXPECT_TRUE(is_same_file(file, place() / "hard"));
}

TEST_F(Temporary, WhatIsMovedGetsThePermissionsOfWhatItReplaces) {
  write_file(place() / "old", "old");
  write_file(place() / "new", "new");
  fs::permissions(place() / "old", fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(move_to(place() / "new", place() / "old").ok());
  EXPECT_EQ(read_file(place() / "old"), "new");
  EXPECT_EQ(fs::status(place() / "old").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_FALSE(move_to(place() / "none", place() / "old").ok());
}

}  // namespace
}  // namespace isomer
