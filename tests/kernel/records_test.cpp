// Records: what is written stays, whoever else writes and whoever is killed; files of others are refused.
#include "kernel/records.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "kernel/sqlite.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::kernel {
namespace {

using isomer::test::read_file;
using isomer::test::write_file;
using testing::HasSubstr;

Record record(uint64_t task, double microseconds, const std::string& trace = "t", int64_t when = 1) {
  Record made;
  made.key = {Hasher().add(task).finish(), "cpu x1", "1"};
  made.maker = "default";
  made.trace = trace;
  made.name = "Conv";
  made.types = "float32[1] -> float32[1]";
  made.microseconds = microseconds;
  made.runs = 7;
  made.when = when;
  return made;
}

Record failed(uint64_t task, const std::string& trace) {
  Record made = record(task, 1, trace);
  made.microseconds = std::nullopt;
  made.failure = "no code";
  return made;
}

Trials trials(uint64_t task, std::vector<double> microseconds) {
  Trials made{record(task, 1).key, "tuned", "Conv", "a task\n", {}};
  for (const double us : microseconds) {
    const auto value = static_cast<int64_t>(us);
    made.trials.push_back({{{"s0.rows", value}, {"s1.lanes", -value}}, us});
  }
  made.trials.push_back({{}, std::nullopt});
  return made;
}

class RecordsFile : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name = "records.sqlite") const { return folder_.path() / name; }
  Records open() const { return *Records::open(path()); }
  void remove_all_files() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) std::filesystem::remove(entry.path());
  }
  static std::vector<Record> all(const Records& records) { return *records.list({}); }
  isomer::test::ScratchFolder folder_;
};

TEST_F(RecordsFile, WhatIsWrittenIsThereWhenItIsOpenedAgain) {
  const Record time = record(1, 2.5), none = failed(2, "t");
  ASSERT_TRUE(open().add(std::vector{time, none}).ok());
  EXPECT_THAT(all(open()), testing::UnorderedElementsAre(time, none));
  ASSERT_TRUE(open().set_constant("cpu x1", "fma_gflops", 60).ok());
  EXPECT_EQ(*open().constant("cpu x1", "fma_gflops"), 60);
  EXPECT_EQ(*open().constant("cpu x2", "fma_gflops"), std::nullopt);
}

TEST_F(RecordsFile, TrialsAreKeptByTaskInOrder) {
  Trials one = trials(1, {4, 2}), other = trials(2, {3});
  ASSERT_TRUE(open().add(one).ok());
  ASSERT_TRUE(open().add(other).ok());
  ASSERT_TRUE(open().add(trials(1, {5})).ok());
  for (const Trial& more : trials(1, {5}).trials) one.trials.push_back(more);
  EXPECT_THAT(*open().trials({}, 100), testing::UnorderedElementsAre(one, other));
  EXPECT_THAT(*open().trials({other.key.task}, 100), testing::ElementsAre(other));
  EXPECT_THAT(*open().trials({.maker = "default"}, 100), testing::IsEmpty());
  // The newest ones.
  EXPECT_THAT(*open().trials({}, 2), testing::ElementsAre(trials(1, {5})));
  EXPECT_TRUE(all(open()).empty()) << "they are no records";
}

TEST_F(RecordsFile, OfAVersionWithoutTrialsIsReadAndWritten) {
  ASSERT_TRUE(open().add(record(1, 1)).ok());
  ASSERT_TRUE(Database::open(path(), true)
                  ->execute("DROP TABLE trials; DROP TABLE names; DROP TABLE trial_tasks; PRAGMA user_version = 1")
                  .ok());
  EXPECT_THAT(all(open()), testing::ElementsAre(record(1, 1)));
  EXPECT_THAT(*open().trials({}, 100), testing::IsEmpty());
  ASSERT_TRUE(open().add(trials(1, {4})).ok());
  EXPECT_THAT(*open().trials({}, 100), testing::ElementsAre(trials(1, {4})));
  EXPECT_THAT(all(open()), testing::ElementsAre(record(1, 1)));
}

/// They do not say of what they are.
TEST_F(RecordsFile, TrialsOfTheSecondVersionAreLeftBehind) {
  ASSERT_TRUE(open().add(record(1, 1)).ok());
  ASSERT_TRUE(open().add(trials(1, {4})).ok());
  ASSERT_TRUE(Database::open(path(), true)
                  ->execute("ALTER TABLE trial_tasks DROP COLUMN text; ALTER TABLE trials ADD COLUMN features BLOB; "
                            "PRAGMA user_version = 2")
                  .ok());
  EXPECT_THAT(all(open()), testing::ElementsAre(record(1, 1)));
  EXPECT_THAT(*open().trials({}, 100), testing::IsEmpty());
  ASSERT_TRUE(open().add(trials(2, {5})).ok());
  EXPECT_THAT(*open().trials({}, 100), testing::ElementsAre(trials(2, {5})));
  EXPECT_THAT(all(open()), testing::ElementsAre(record(1, 1)));
}

TEST_F(RecordsFile, AMillionTrialsTakeAtMost300MB) {
  Records records = open();
  constexpr int kTrials = 2'000;
  Random random(0);
  for (int task = 0; task < 20; ++task) {
    Trials made{record(static_cast<uint64_t>(task), 1).key, "tuned", "Conv", std::string(1500, 'x'), {}};
    for (int k = 0; k < kTrials / 20; ++k) {
      Trial& trial = made.trials.emplace_back();
      // As many decisions as a convolution's candidates have.
      for (int decision = 0; decision < 12; ++decision)
        trial.decisions[fmt::format("in{}.cache.choice{}", decision % 3, decision)] = random.between(0, 64);
      trial.microseconds = random.uniform();
    }
    ASSERT_TRUE(records.add(made).ok());
  }
  ASSERT_TRUE(Database::open(path(), true)->execute("PRAGMA wal_checkpoint(TRUNCATE)").ok());
  EXPECT_LE(std::filesystem::file_size(path()), kTrials * 300);
}

/// SQLite has meanings of its own for such names.
TEST_F(RecordsFile, MayHaveAnyName) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  for (const char* name : {":memory:", "file:records.sqlite", "file::memory:", "records?mode=memory"}) {
    const auto written = Records::open(name)->add(std::vector{record(1, 2.5)});
    EXPECT_TRUE(written.ok()) << written.error().message();
    EXPECT_TRUE(std::filesystem::exists(path(name))) << name;
    EXPECT_EQ(all(*Records::open(name)).size(), 1U) << name;
  }
  std::filesystem::current_path(before);
}

TEST_F(RecordsFile, NothingIsMadeByReading) {
  EXPECT_TRUE(all(open()).empty());
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(RecordsFile, NewerTimesTakeThePlaceOfOlderOnesOfTheSameScheduleOnly) {
  Records records = Records::in_memory();
  for (const Record& one : {record(1, 5, "t", 10), record(1, 7, "t", 20), record(1, 1, "t", 15), record(1, 9, "u", 5)})
    ASSERT_TRUE(records.add(one).ok());
  EXPECT_THAT(all(records), testing::ElementsAre(record(1, 7, "t", 20), record(1, 9, "u", 5)));
}

/// A clock that was wrong once does not keep a time for ever.
TEST_F(RecordsFile, WhatIsYetToComeIsReplaced) {
  constexpr int64_t kFuture = 4'102'444'800;  // 2100
  Records records = Records::in_memory();
  ASSERT_TRUE(records.add(record(1, 1, "t", kFuture)).ok());
  ASSERT_TRUE(records.add(record(1, 7, "t", 20)).ok());
  EXPECT_THAT(all(records), testing::ElementsAre(record(1, 7, "t", 20)));
}

TEST_F(RecordsFile, TheBestIsTheFastestOfItsKeyAndMaker) {
  Records records = Records::in_memory();
  Record tuned = record(1, 2, "v"), elsewhere = record(1, 1), later = record(1, 1);
  tuned.maker = "tuned";
  elsewhere.key.target = "cpu x2";
  later.key.generator = "2";
  ASSERT_TRUE(
      records.add(std::vector{record(1, 5), record(1, 4, "u"), failed(1, "w"), tuned, elsewhere, later, failed(2, "t")})
          .ok());
  EXPECT_EQ(*records.best(record(1, 0).key, "default"), record(1, 4, "u"));
  EXPECT_EQ(*records.best(record(1, 0).key, "tuned"), tuned);
  EXPECT_EQ(*records.best(record(2, 0).key, "default"), failed(2, "t"));
  EXPECT_EQ(*records.best(record(3, 0).key, "default"), std::nullopt);
  EXPECT_THAT(*records.list_best({}), testing::UnorderedElementsAre(tuned, elsewhere, later, failed(2, "t")));
}

TEST_F(RecordsFile, PruningLeavesTheFastestOfThisVersion) {
  Records records = Records::in_memory();
  Record old = record(1, 1);
  old.key.generator = "0";
  ASSERT_TRUE(records
                  .add(std::vector{record(1, 3, "a"), record(1, 1, "b"), record(1, 2, "c"), failed(1, "d"), old,
                                   failed(2, "a")})
                  .ok());
  Trials of_old = trials(1, {1});
  of_old.key = old.key;
  ASSERT_TRUE(records.add(of_old).ok());
  ASSERT_TRUE(records.add(trials(1, {1})).ok());
  EXPECT_EQ(*records.prune(2, "1"), 3);
  EXPECT_THAT(*records.trials({}, 100), testing::ElementsAre(trials(1, {1})));
  EXPECT_THAT(all(records), testing::UnorderedElementsAre(record(1, 1, "b"), record(1, 2, "c"), failed(2, "a")));
}

TEST_F(RecordsFile, ThreadsWriteThroughConnectionsOfTheirOwn) {
  constexpr int kThreads = 4, kBatches = 20;
  std::vector<std::thread> team;
  for (int t = 0; t < kThreads; ++t)
    team.emplace_back([&, t] {
      Records records = open();
      for (int batch = 0; batch < kBatches; ++batch)
        ASSERT_TRUE(records.add(std::vector{record(t * 1000 + batch, 1, "a"), record(t * 1000 + batch, 2, "b")}).ok());
    });
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(all(open()).size(), kThreads * kBatches * 2);
}

/// Writes batches of three records until it is killed, and a byte into the pipe behind each.
[[noreturn]] void write_batches(const std::filesystem::path& file, int writer, int pipe) {
  auto records = Records::open(file);
  for (uint64_t batch = 0; records.ok(); ++batch) {
    const uint64_t task = static_cast<uint64_t>(writer) * 1'000'000 + batch;
    if (!records->add(std::vector{record(task, 1, "a"), record(task, 2, "b"), record(task, 3, "c")}).ok() ||
        write(pipe, "x", 1) != 1)
      break;
  }
  _exit(1);
}

struct Writer {
  pid_t process;
  int pipe;
};

Writer start_writer(const std::filesystem::path& file, int number) {
  std::array<int, 2> pipe{};
  EXPECT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
  const pid_t process = fork();
  if (process == 0) write_batches(file, number, pipe[1]);
  close(pipe[1]);
  return {process, pipe[0]};
}

/// The batches that it was told are written.
int64_t kill_writer(const Writer& writer) {
  kill(writer.process, SIGKILL);
  int status = 0;
  waitpid(writer.process, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
  int64_t batches = 0;
  std::array<char, 4096> bytes{};
  for (ssize_t count; (count = read(writer.pipe, bytes.data(), bytes.size())) > 0;) batches += count;
  close(writer.pipe);
  return batches;
}

TEST_F(RecordsFile, ProcessesThatAreKilledLoseNothingThatWasWrittenAndLeaveNoHalves) {
  Random random(0);
  int64_t written = 0;
  for (int round = 0; round < (isomer::test::is_long_run() ? 200 : 8); ++round) {
    const Writer first = start_writer(path(), 2 * round), second = start_writer(path(), 2 * round + 1);
    usleep(static_cast<useconds_t>(random.between(2'000, 60'000)));
    written += kill_writer(first) + kill_writer(second);
    const auto found = Records::open(path());
    ASSERT_TRUE(found.ok()) << found.error().message();
    const auto records = all(*found);
    EXPECT_EQ(records.size() % 3, 0);
    EXPECT_GE(static_cast<int64_t>(records.size()), 3 * written);
  }
  EXPECT_GT(written, 0);
}

/// Says why it fails where it does: what forks has no test to report to.
bool succeeds(const Result<void>& done) {
  if (!done.ok()) fmt::print(stderr, "process {}: {}\n", getpid(), done.error().message());
  return done.ok();
}

/// Reads, adds a record and finds it again; who comes last may find others' besides.
Result<void> read_and_add(const std::filesystem::path& file, uint64_t task, const std::function<void()>& step) {
  TRY(Records records, Records::open(file, step));
  TRY(const auto before, records.list({}));
  TRY_VOID(records.add(record(task, 1)));
  TRY(const auto mine, records.best(record(task, 1).key, "default"));
  TRY(const auto after, records.list({}));
  if (mine != record(task, 1)) return invalid(file.string(), "the record expected, none found");
  if (after.size() <= before.size()) return invalid(file.string(), "more records expected");
  return {};
}

/// A process that does `work`; `wait` says whether it succeeded.
class Process {
 public:
  template <class Work>
  explicit Process(const Work& work) : id_(fork()) {
    if (id_ == 0) _exit(succeeds(work()) ? 0 : 1);
  }
  /// As waitpid tells.
  int wait() const {
    int status = -1;
    waitpid(id_, &status, 0);
    return status;
  }

 private:
  pid_t id_;
};

/// Lets others go first now and then, for times of which some are longer than most of SQLite's steps.
std::function<void()> lingering(uint64_t seed) {
  return [random = std::make_shared<Random>(seed)] {
    if (random->chance(0.5)) usleep(static_cast<useconds_t>(random->below(random->chance(0.2) ? 10'000 : 1'000)));
  };
}

TEST_F(RecordsFile, ManyProcessesThatMakeItAtTheSameTimeAllKeepTheirRecords) {
  constexpr uint64_t kProcesses = 16;
  for (uint64_t round = 0; round < (isomer::test::is_long_run() ? 100 : 2); ++round) {
    std::array<int, 2> start{};
    ASSERT_EQ(pipe2(start.data(), O_CLOEXEC), 0);
    std::vector<Process> processes;
    for (uint64_t k = 0; k < kProcesses; ++k)
      processes.emplace_back([&] {
        // All begin when the last one is there: the pipe ends.
        close(start[1]);
        char byte = 0;
        static_cast<void>(read(start[0], &byte, 1) + 0);
        return read_and_add(path(), k, lingering(round * kProcesses + k));
      });
    close(start[0]);
    close(start[1]);
    for (const Process& process : processes) EXPECT_EQ(process.wait(), 0);
    EXPECT_EQ(all(open()).size(), kProcesses);
    remove_all_files();
  }
}

TEST_F(RecordsFile, ManyThreadsThatMakeItAtTheSameTimeAllKeepTheirRecords) {
  constexpr uint64_t kThreads = 16;
  std::vector<std::thread> team;
  for (uint64_t k = 0; k < kThreads; ++k)
    team.emplace_back([&, k] { EXPECT_TRUE(succeeds(read_and_add(path(), k, lingering(k)))); });
  for (std::thread& thread : team) thread.join();
  EXPECT_EQ(all(open()).size(), kThreads);
}

/// Calls `at` before one of the steps that `work` is told about, the first being 0; whether there are so many.
class AtStep {
 public:
  AtStep(int64_t step, std::function<void()> at) : left_(step), at_(std::move(at)) {}
  void operator()() {
    if (left_-- == 0) at_();
  }

 private:
  int64_t left_;
  std::function<void()> at_;
};

TEST_F(RecordsFile, WhoLingersAtAnyStepOfMakingItHarmsNobodyElse) {
  for (int64_t step = 0;; ++step) {
    SCOPED_TRACE(step);
    std::array<int, 2> reached{}, go{};
    ASSERT_EQ(pipe2(reached.data(), O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(go.data(), O_CLOEXEC), 0);
    const Process first([&] {
      close(reached[0]);
      close(go[1]);
      return read_and_add(path(), 1, AtStep(step, [&] {
                            static_cast<void>(write(reached[1], "x", 1) + 0);
                            // Who holds a lock here is waited for: then nobody says that it may go on.
                            pollfd told{go[0], POLLIN, 0};
                            poll(&told, 1, 50);
                          }));
    });
    close(reached[1]);
    close(go[0]);
    char byte = 0;
    const bool is_a_step = read(reached[0], &byte, 1) == 1;
    if (is_a_step) {
      const auto found = Records::open(path());
      ASSERT_TRUE(found.ok()) << found.error().message();
      EXPECT_TRUE(succeeds(read_and_add(path(), 2, {})));
    }
    close(go[1]);
    close(reached[0]);
    EXPECT_EQ(first.wait(), 0);
    EXPECT_EQ(all(open()).size(), is_a_step ? 2 : 1);
    remove_all_files();
    if (!is_a_step) break;
    ASSERT_LT(step, 1000);
  }
}

TEST_F(RecordsFile, WhoIsKilledAtAnyStepOfMakingItLeavesAFileForOthers) {
  for (int64_t step = 0;; ++step) {
    SCOPED_TRACE(step);
    const Process killed([&] { return read_and_add(path(), 1, AtStep(step, [] { kill(getpid(), SIGKILL); })); });
    const bool is_a_step = WIFSIGNALED(killed.wait());
    const auto found = Records::open(path());
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_LE(all(*found).size(), 1);
    EXPECT_TRUE(succeeds(read_and_add(path(), 2, {})));
    remove_all_files();
    if (!is_a_step) break;
    ASSERT_LT(step, 1000);
  }
}

TEST_F(RecordsFile, WhoIsKilledAtAnyMomentOfMakingItLeavesAFileForOthers) {
  Random random(0);
  for (int round = 0; round < (isomer::test::is_long_run() ? 2'000 : 20); ++round) {
    SCOPED_TRACE(round);
    const Writer first = start_writer(path(), 0), second = start_writer(path(), 1);
    usleep(static_cast<useconds_t>(random.below(4'000)));
    const int64_t written = kill_writer(first) + kill_writer(second);
    EXPECT_TRUE(succeeds(read_and_add(path(), 5'000'000, {})));
    EXPECT_GT(static_cast<int64_t>(all(open()).size()), 3 * written);
    remove_all_files();
  }
}

TEST_F(RecordsFile, AFileThatIsStillEmptyHoldsNothingAndStaysSo) {
  write_file(path(), "");
  Records records = open();
  EXPECT_TRUE(all(records).empty());
  EXPECT_EQ(std::filesystem::file_size(path()), 0);
  ASSERT_TRUE(open().add(record(1, 1)).ok());
  EXPECT_THAT(all(records), testing::ElementsAre(record(1, 1)));
  ASSERT_TRUE(records.add(record(2, 1)).ok());
  EXPECT_EQ(all(open()).size(), 2);
}

TEST_F(RecordsFile, FilesOfOthersAndBrokenOnesAreRefusedInASentence) {
  ASSERT_TRUE(open().add(record(1, 1)).ok());
  const std::string good = read_file(path());
  ASSERT_TRUE(Database::open(path("foreign"), true)->execute("CREATE TABLE t (a)").ok());
  ASSERT_TRUE(Database::open(path("newer"), true)
                  ->execute("PRAGMA application_id = 0x49736f6d; PRAGMA user_version = 99")
                  .ok());
  ASSERT_TRUE(
      Database::open(path("bare"), true)->execute("PRAGMA application_id = 0x49736f6d; PRAGMA user_version = 1").ok());
  write_file(path("text"), "these are no records\n" + std::string(2000, 'x'));
  write_file(path("torn"), good.substr(0, good.size() / 2));
  std::filesystem::create_directory(path("folder"));
  for (const auto& [name, what] : {std::pair{"foreign", "something else"},
                                   {"newer", "version 99"},
                                   {"bare", "broken"},
                                   {"text", "another kind"},
                                   {"torn", "broken"},
                                   {"folder", "no regular file"}}) {
    SCOPED_TRACE(name);
    const bool is_file = std::filesystem::is_regular_file(path(name));
    const std::string before = is_file ? read_file(path(name)) : "";
    auto records = Records::open(path(name));
    const std::string message = records.ok() ? records->list({}).error().message() : records.error().message();
    EXPECT_THAT(message, HasSubstr(what));
    EXPECT_THAT(message, HasSubstr(path(name).string()));
    EXPECT_THAT(message, testing::Not(HasSubstr("\n")));
    EXPECT_EQ(is_file ? read_file(path(name)) : "", before);
  }
}

TEST_F(RecordsFile, ChangedBytesGiveRecordsOrAnError) {
  std::vector<Record> many;
  for (uint64_t k = 0; k < 200; ++k) many.push_back(record(k, static_cast<double>(k + 1), std::string(k, 't')));
  ASSERT_TRUE(open().add(many).ok());
  for (uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(open().add(trials(k, {1, 2, 3})).ok());
  const std::string good = read_file(path());
  Random random(0);
  for (int round = 0; round < (isomer::test::is_long_run() ? 5'000 : 200); ++round) {
    SCOPED_TRACE(round);
    std::string bad = good;
    for (int64_t flips = random.between(1, 20); flips > 0; --flips)
      bad[random.below(bad.size())] = static_cast<char>(random.below(256));
    write_file(path("bad"), bad);
    auto records = Records::open(path("bad"));
    if (!records.ok()) continue;
    if (const auto found = records->list({}); found.ok()) {
      for (const Record& one : *found) EXPECT_TRUE(!one.microseconds || *one.microseconds > 0);
    }
    if (const auto found = records->trials({}, 1'000); found.ok()) {
      for (const Trials& of : *found)
        for (const Trial& one : of.trials) EXPECT_TRUE(!one.microseconds || *one.microseconds > 0);
    }
  }
}

TEST_F(RecordsFile, TimesThatNobodyMeasuredAreNotTaken) {
  ASSERT_TRUE(open().add(record(1, 1)).ok());
  ASSERT_TRUE(Database::open(path(), false)->execute("UPDATE records SET microseconds = -1").ok());
  EXPECT_TRUE(all(open()).empty());
  ASSERT_TRUE(Database::open(path(), false)->execute("UPDATE records SET microseconds = 9e999").ok());
  EXPECT_TRUE(all(open()).empty());
  ASSERT_TRUE(Database::open(path(), false)->execute("UPDATE records SET microseconds = 1, task = 'zz'").ok());
  EXPECT_TRUE(all(open()).empty());
  for (const char* change : {"microseconds = -1", "microseconds = 9e999", "decisions = '99=1'", "decisions = '1'",
                             "decisions = '1=2,3'", "decisions = '1=99999999999999999999'", "of = 77"}) {
    ASSERT_TRUE(open().add(trials(1, {1})).ok());
    EXPECT_FALSE(open().trials({}, 100)->empty());
    ASSERT_TRUE(Database::open(path(), false)
                    ->execute(fmt::format("UPDATE trials SET {} WHERE microseconds > 0", change).c_str())
                    .ok());
    for (const Trials& of : *open().trials({}, 100))
      for (const Trial& trial : of.trials) EXPECT_FALSE(trial.microseconds) << change;
    ASSERT_TRUE(Database::open(path(), false)->execute("DELETE FROM trials").ok());
  }
}

/// It would be the fastest.
TEST_F(RecordsFile, ATimeThatNobodyMeasuredHidesNoOther) {
  for (const char* time : {"0", "-1", "-9e999", "9e999", "1e-320", "1e300"}) {
    ASSERT_TRUE(open().add(std::vector{record(1, 3, "a"), record(1, 1, "b"), record(1, 2, "c")}).ok());
    ASSERT_TRUE(open().add(trials(1, {1, 2})).ok());
    for (const char* change : {"records SET microseconds = {} WHERE trace = 'b'", "trials SET microseconds = {}"})
      ASSERT_TRUE(
          Database::open(path(), false)->execute(("UPDATE " + fmt::format(fmt::runtime(change), time)).c_str()).ok());
    ASSERT_TRUE(open().add(trials(2, {3})).ok());
    ASSERT_TRUE(Database::open(path(), false)
                    ->execute("INSERT INTO trials SELECT of, decisions, -1 FROM trials ORDER BY rowid DESC LIMIT 1")
                    .ok());
    EXPECT_EQ(*open().best(record(1, 0).key, "default"), record(1, 2, "c")) << time;
    EXPECT_THAT(*open().trials({}, 2), testing::ElementsAre(trials(2, {3}))) << time;
    EXPECT_EQ(*open().prune(1, "1"), 2) << time;
    EXPECT_THAT(all(open()), testing::ElementsAre(record(1, 2, "c"))) << time;
    remove_all_files();
  }
}

/// As whoever is not root: where nothing can be made beside the file.
TEST_F(RecordsFile, IsReadInAFolderThatCantBeWrittenTo) {
  const std::filesystem::path folder = path("fol?der");
  std::filesystem::create_directory(folder);
  const std::filesystem::path file = folder / "50%.sqlite";
  ASSERT_TRUE(Records::open(file)->add(record(1, 2)).ok());
  std::filesystem::permissions(path().parent_path(), std::filesystem::perms{0755});
  std::filesystem::permissions(folder, std::filesystem::perms{0555});
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);
    auto records = Records::open(file);
    const bool is_read = records.ok() && all(*records) == std::vector{record(1, 2)};
    const auto written = records.ok() ? records->add(record(2, 1)) : Result<void>();
    _exit(is_read && !written.ok() && all(*records) == std::vector{record(1, 2)} ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  std::filesystem::permissions(folder, std::filesystem::perms{0755});
  EXPECT_FALSE(std::filesystem::exists(file.string() + "-shm"));
}

TEST_F(RecordsFile, WhereNobodyAskedForAFileMemoryDoesToo) {
  write_file(path("file"), "");
  write_file(path("text"), std::string(2000, 'x'));
  for (const auto& place : {path("file") / "cache" / "records.sqlite", path("text")}) {
    SCOPED_TRACE(place);
    Records records = Records::open_if_possible(place);
    ASSERT_TRUE(records.add(record(1, 1)).ok());
    EXPECT_THAT(all(records), testing::ElementsAre(record(1, 1)));
    EXPECT_THAT(records.problem(), HasSubstr(place.string()));
    EXPECT_FALSE(Records::open(place).ok() && Records::open(place)->add(record(1, 1)).ok());
  }
  Records records = Records::open_if_possible(path("new") / "folder" / "records.sqlite");
  ASSERT_TRUE(records.add(record(1, 1)).ok());
  EXPECT_EQ(records.problem(), "");
  EXPECT_THAT(all(*Records::open(path("new") / "folder" / "records.sqlite")), testing::ElementsAre(record(1, 1)));
}

/// Where the disk becomes full in the middle.
TEST_F(RecordsFile, WhereNobodyAskedForAFileWhatWasThereIsKnownStill) {
  const Process process([&]() -> Result<void> {
    Records records = Records::open_if_possible(path());
    TRY_VOID(records.add(record(0, 1)));
    TRY_VOID(records.add(trials(0, {4})));
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{200'000, 200'000};
    setrlimit(RLIMIT_FSIZE, &most);
    uint64_t count = 1;
    for (; records.problem().empty() && count < 1'000; ++count)
      TRY_VOID(records.add(record(count, 1, std::string(10'000, 't'))));
    if (records.problem().empty()) return invalid("", "a full disk expected");
    if (all(records).size() != count) return invalid("", "{} records expected, {} found", count, all(records).size());
    TRY(const auto found, records.trials({}, 100));
    if (found != std::vector{trials(0, {4})}) return invalid("", "the trials expected, others found");
    return {};
  });
  EXPECT_EQ(process.wait(), 0);
}

}  // namespace
}  // namespace isomer::kernel
