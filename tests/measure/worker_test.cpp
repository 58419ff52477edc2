// Machine code that crashes, hangs or breaks its word costs an answer, not the process that asked.
#include "measure/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/tensor.h"
#include "measure/machine_code.h"
#include "util/clock.h"
#include "util/resident.h"
#include "util/subprocess.h"
#include "util/temporary_folder.h"

namespace isomer {
namespace {

using test::counts_down;
using test::job_with;
using testing::HasSubstr;

/// Of this process; those that were killed before are no more.
int killed_children() {
  int killed = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(thread.path() / "children");
    for (pid_t child = 0; children >> child;) killed += kill(child, SIGKILL) == 0;
  }
  return killed;
}

ClockJob returns(int outcome) { return job_with({0xB8, outcome, 0, 0, 0, 0xC3}); }  // mov eax, outcome; ret

class Worker : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_FALSE(own_program("isomer-measure").empty()); }

  void expect_fault(const ClockJob& job, Fault fault, const std::string& part) {
    const auto time = worker_.time(job);
    ASSERT_TRUE(time.ok()) << time.error().message();
    EXPECT_EQ(time->fault, fault) << time->why;
    EXPECT_THAT(time->why, HasSubstr(part));
    expect_time(returns(0));  // the next one finds a new process
  }
  void expect_time(const ClockJob& job) {
    const auto time = worker_.time(job);
    ASSERT_TRUE(time.ok()) << time.error().message();
    EXPECT_EQ(time->fault, Fault::kNone) << time->why;
    EXPECT_GT(time->microseconds, 0);
    EXPECT_GE(time->runs, 1);
  }

  MeasuringWorker worker_{MeasuringOptions{.seconds = 2}};
};

TEST_F(Worker, MeasuresWhatRuns) {
  for (int k = 0; k < 3; ++k) expect_time(returns(0));
}

TEST_F(Worker, RunsWhatIsHopelessTwice) {
  // Runs that something interrupted are not counted: on a busy machine that may be all but two.
  int64_t runs = 0;
  for (int attempt = 0; attempt < 20 && runs <= 2; ++attempt) {
    const auto closely = worker_.time(counts_down(1'000'000));
    ASSERT_TRUE(closely.ok());
    runs = closely->runs;
  }
  EXPECT_GT(runs, 2);
  const auto hopeless = worker_.time(counts_down(1'000'000), 1);
  ASSERT_TRUE(hopeless.ok());
  EXPECT_LE(hopeless->runs, 2);
  EXPECT_GT(hopeless->microseconds, 1);
}

/// What kernels write is theirs, of inputs that depend on seeds alone.
TEST_F(Worker, GivesOutputs) {
  ClockJob job = test::copies(64);
  job.outputs = {1, 0};
  const auto reals = worker_.outputs(job, Numbers::kReals), integers = worker_.outputs(job, Numbers::kIntegers);
  ASSERT_TRUE(reals.ok() && integers.ok());
  for (const auto* found : {&*reals, &*integers}) {
    ASSERT_EQ(found->fault, Fault::kNone) << found->why;
    ASSERT_EQ(found->values.size(), 2U);
    EXPECT_EQ(found->values[0], found->values[1]);
  }
  for (int k = 0; k < 16; ++k) {
    const double real = decode_real(DataType::kFloat32, &reals->values[1][static_cast<size_t>(4 * k)]);
    const double integer = decode_real(DataType::kFloat32, &integers->values[1][static_cast<size_t>(4 * k)]);
    EXPECT_TRUE(real >= 0.1 && real < 0.9) << real;
    EXPECT_TRUE(integer >= -2 && integer <= 2 && integer == std::floor(integer)) << integer;
  }
}

TEST_F(Worker, TellsWhatAKernelReports) {
  expect_fault(returns(static_cast<int>(runtime::Outcome::kIndexOutOfRange)), Fault::kCrash, "outcome 1");
}

TEST_F(Worker, SurvivesCrashes) {
  expect_fault(job_with({0x0F, 0x0B}), Fault::kCrash, "signal 4");  // ud2
  expect_fault(job_with({0x31, 0xC0, 0x48, 0x8B, 0x00, 0xC3}), Fault::kCrash,
               "signal 11");                                               // xor eax, eax; mov rax, [rax]
  expect_fault(job_with({0x50, 0xEB, 0xFD}), Fault::kCrash, "signal 11");  // push rax, again and again
  expect_fault(job_with({0x31, 0xC9, 0x31, 0xC0, 0x99, 0xF7, 0xF1}), Fault::kCrash, "signal 8");  // a division by 0
}

TEST_F(Worker, KillsWhatNeverEnds) {
  const auto begin = Clock::now();
  expect_fault(job_with({0xEB, 0xFE}), Fault::kLate, "at most 2 s");  // jmp $
  EXPECT_LT(seconds_since(begin), 60);
}

/// exit_group, kill and the like from within: it may end in any way, but gives no time.
TEST_F(Worker, ThatIsEndedByItsKernelHasNotMeasured) {
  expect_fault(job_with(test::system_call(231, 0)), Fault::kCrash, "");  // exit_group(0)
}

/// By who kills processes where memory is short, say.
TEST_F(Worker, ThatIsEndedFromOutsideIsReplacedOnce) {
  expect_time(returns(0));
  ASSERT_EQ(killed_children(), 1);
  expect_time(returns(0));
  std::atomic<bool> ends = false;
  std::thread killer([&] {
    while (!ends) killed_children();
  });
  const auto time = worker_.time(job_with({0xEB, 0xFE}));  // jmp $
  ends = true;
  killer.join();
  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(time.error().message(), HasSubstr("ended from outside"));
  expect_time(returns(0));
}

/// Bytes on the socket in place of an answer: write(0, code, 16), which claims a length that no message has.
TEST_F(Worker, ThatAnswersNonsenseIsNotBelieved) {
  ClockJob job = job_with(
      {0xB8, 1, 0, 0, 0, 0x31, 0xFF, 0x48, 0x8D, 0x35, 0x05, 0, 0, 0, 0xBA, 16, 0, 0, 0, 0x0F, 0x05, 0xEB, 0xFE});
  for (int k = 0; k < 16; ++k) job.code.push_back(std::byte{0x7F});
  expect_fault(job, Fault::kCrash, "");
}

/// Where the program is not beside the one that asks: as this test is when it runs itself from another folder.
TEST(WorkerOfACopy, SurvivesTheSame) {
  if (!own_program("isomer-measure").empty()) {
    const TemporaryFolder folder = *TemporaryFolder::in_system_folder();
    // Programs are looked for beside it and one folder up: both are its own.
    const std::filesystem::path copy = folder.path() / "apart" / "test";
    std::filesystem::create_directory(copy.parent_path());
    std::filesystem::copy_file("/proc/self/exe", copy);
    const auto run = run_program({copy.string(), "--gtest_filter=WorkerOfACopy.*"}, 300);
    ASSERT_TRUE(run.ok()) << run.error().message();
    EXPECT_EQ(run->exit_code, 0) << run->output;
    return;
  }
  MeasuringWorker worker(MeasuringOptions{.threads = 2, .seconds = 2});
  for (const auto& [job, fault] : {std::pair(returns(0), Fault::kNone),
                                   {job_with({0x0F, 0x0B}), Fault::kCrash},
                                   {job_with({0xEB, 0xFE}), Fault::kLate},
                                   {test::copies(64), Fault::kNone},
                                   {test::copies(64, test::store_at_output(0)), Fault::kBounds}}) {
    const auto time = worker.time(job);
    ASSERT_TRUE(time.ok()) << time.error().message();
    EXPECT_EQ(time->fault, fault) << time->why;
  }
  EXPECT_EQ(worker.outputs(test::copies(64, test::load_from_input(0)), Numbers::kReals)->fault, Fault::kBounds);
}

/// What ends before it has a kernel, or is another program, says nothing of kernels: beside the copy of this test that
/// runs it from another folder.
TEST(WorkerThatIsNotReady, IsNoFault) {
  if (const char* const why = std::getenv("ISOMER_TEST_WHY")) {
    MeasuringWorker worker(MeasuringOptions{.threads = 2, .seconds = 2});
    const auto time = worker.time(returns(0));
    ASSERT_FALSE(time.ok()) << time->why;
    EXPECT_EQ(time.error().kind, ErrorKind::kUnsupported);
    EXPECT_THAT(time.error().message(), HasSubstr(why));
    return;
  }
  const TemporaryFolder folder = *TemporaryFolder::in_system_folder();
  const std::filesystem::path copy = folder.path() / "apart" / "test", program = copy.parent_path() / "isomer-measure";
  std::filesystem::create_directory(copy.parent_path());
  std::filesystem::copy_file("/proc/self/exe", copy);
  const std::string ours = own_program("isomer-measure").string();
  for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
           {"exit 127", "it ended with code 127"},
           {"kill -ABRT $$", "signal 6"},
           {"kill -KILL $$", "ended from outside"},
           {"head -c 8 > /dev/null; printf '\\001\\000\\000\\000\\000\\000\\000\\000x' >&0", "another program found"},
           {"exec " + ours + " 1 $2", "on 2 threads expected, 1 found"}}) {
    std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto run =
        run_program({"env", "ISOMER_TEST_WHY=" + why, copy.string(), "--gtest_filter=WorkerThatIsNotReady.*"}, 300);
    ASSERT_TRUE(run.ok()) << run.error().message();
    EXPECT_EQ(run->exit_code, 0) << script << ": " << run->output;
  }
}

TEST_F(Worker, RefusesWhatDoesNotFitItsMemory) {
  ClockJob job = returns(0);
  job.buffers = {{ClockJob::Use::kValue, DataType::kFloat32, int64_t{1} << 40, {}}};
  MeasuringWorker small({.memory = {int64_t{1} << 30}});
  const auto time = small.time(job);
  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.error().kind, ErrorKind::kUnsupported);
}

/// Threads have scratch memory each, and outputs are held several times.
TEST_F(Worker, RefusesWhatDoesNotFitBesideTheBuffers) {
  constexpr int64_t kBytes = int64_t{20} << 20;
  MeasuringWorker small({.threads = 2, .memory = {resident_bytes() + 3 * kBytes}});
  ClockJob job = test::copies(kBytes);
  EXPECT_TRUE(small.time(job).ok());
  const auto outputs = small.outputs(job, Numbers::kReals);
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.error().message(), HasSubstr("more memory for measuring a kernel expected"));
  job.parts[0].scratch_bytes = kBytes;
  const auto time = small.time(job);
  ASSERT_FALSE(time.ok());
  EXPECT_THAT(time.error().message(), HasSubstr("more memory for measuring a kernel expected"));
}

}  // namespace
}  // namespace isomer
