// Machine code that crashes, hangs or breaks its word costs an answer, not the process that asked.
#include "measure/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <csignal>

#include "graph/tensor.h"
#include "measure/machine_code.h"
#include "util/clock.h"
#include "util/subprocess.h"

namespace isomer {
namespace {

using test::counts_down;
using test::job_with;
using testing::HasSubstr;

ClockJob returns(int outcome) { return job_with({0xB8, outcome, 0, 0, 0, 0xC3}); }  // mov eax, outcome; ret

class Worker : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_FALSE(own_program("isomer-measure").empty()); }

  void expect_invalid(const ClockJob& job, const std::string& part) {
    const auto time = worker_.time(job);
    ASSERT_FALSE(time.ok());
    EXPECT_EQ(time.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(time.error().message(), HasSubstr(part));
    // The next one finds a new process.
    EXPECT_TRUE(worker_.time(returns(0)).ok());
  }

  MeasuringWorker worker_{MeasuringOptions{.seconds = 2}};
};

TEST_F(Worker, MeasuresWhatRuns) {
  for (int k = 0; k < 3; ++k) {
    const auto time = worker_.time(returns(0));
    ASSERT_TRUE(time.ok()) << time.error().message();
    EXPECT_GT(time->microseconds, 0);
    EXPECT_GE(time->runs, 1);
  }
}

TEST_F(Worker, RunsWhatIsHopelessTwice) {
  const auto closely = worker_.time(counts_down(1'000'000));
  ASSERT_TRUE(closely.ok());
  EXPECT_GT(closely->runs, 2);
  const auto hopeless = worker_.time(counts_down(1'000'000), 1);
  ASSERT_TRUE(hopeless.ok());
  EXPECT_LE(hopeless->runs, 2);
  EXPECT_GT(hopeless->microseconds, 1);
}

/// What kernels write is theirs, of inputs that depend on seeds alone; what they don't write is no number.
TEST_F(Worker, GivesOutputs) {
  ClockJob job = returns(0);
  const auto buffer = [](ClockJob::Use use) { return ClockJob::Buffer{use, DataType::kFloat32, 64, {}, 1}; };
  job.buffers = {buffer(ClockJob::Use::kValue), buffer(ClockJob::Use::kWritten)};
  job.outputs = {1, 0};
  const auto reals = worker_.outputs(job, Numbers::kReals), integers = worker_.outputs(job, Numbers::kIntegers);
  ASSERT_TRUE(reals.ok() && integers.ok());
  ASSERT_EQ(reals->size(), 2U);
  for (const std::byte byte : (*reals)[0]) EXPECT_EQ(byte, std::byte{0xff});
  for (int k = 0; k < 16; ++k) {
    const double real = decode_real(DataType::kFloat32, &(*reals)[1][static_cast<size_t>(4 * k)]);
    const double integer = decode_real(DataType::kFloat32, &(*integers)[1][static_cast<size_t>(4 * k)]);
    EXPECT_TRUE(real >= 0.1 && real < 0.9) << real;
    EXPECT_TRUE(integer >= -2 && integer <= 2 && integer == std::floor(integer)) << integer;
  }
  job.outputs = {1};
  EXPECT_THAT(worker_.outputs(job_with({0x0F, 0x0B}), Numbers::kReals).error().message(), HasSubstr("signal 4"));
}

TEST_F(Worker, TellsWhatAKernelReports) {
  expect_invalid(returns(static_cast<int>(runtime::Outcome::kIndexOutOfRange)), "outcome 1");
}

TEST_F(Worker, SurvivesCrashes) {
  expect_invalid(job_with({0x0F, 0x0B}), "signal 4");                                // ud2
  expect_invalid(job_with({0x31, 0xC0, 0x48, 0x8B, 0x00, 0xC3}), "signal 11");       // xor eax, eax; mov rax, [rax]
  expect_invalid(job_with({0x50, 0xEB, 0xFD}), "signal 11");                         // push rax, again and again
  expect_invalid(job_with({0x31, 0xC9, 0x31, 0xC0, 0x99, 0xF7, 0xF1}), "signal 8");  // a division by 0
}

TEST_F(Worker, KillsWhatNeverEnds) {
  const auto begin = Clock::now();
  expect_invalid(job_with({0xEB, 0xFE}), "at most 2 s");  // jmp $
  EXPECT_LT(seconds_since(begin), 60);
}

/// exit_group, kill and the like from within: it may end in any way, but gives no time.
TEST_F(Worker, ThatIsEndedByItsKernelHasNotMeasured) {
  const auto ended = worker_.time(job_with({0xB8, 0xE7, 0, 0, 0, 0x31, 0xFF, 0x0F, 0x05}));  // exit_group(0)
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().kind, ErrorKind::kUnsupported);
  EXPECT_TRUE(worker_.time(returns(0)).ok());
}

/// Bytes on the socket in place of an answer: write(0, code, 16), which claims a length that no message has.
TEST_F(Worker, ThatAnswersNonsenseIsNotBelieved) {
  ClockJob job = job_with(
      {0xB8, 1, 0, 0, 0, 0x31, 0xFF, 0x48, 0x8D, 0x35, 0x05, 0, 0, 0, 0xBA, 16, 0, 0, 0, 0x0F, 0x05, 0xEB, 0xFE});
  for (int k = 0; k < 16; ++k) job.code.push_back(std::byte{0x7F});
  EXPECT_FALSE(worker_.time(job).ok());
  EXPECT_TRUE(worker_.time(returns(0)).ok());
}

TEST_F(Worker, RefusesWhatDoesNotFitItsMemory) {
  ClockJob job = returns(0);
  job.buffers = {{ClockJob::Use::kValue, DataType::kFloat32, int64_t{1} << 40, {}}};
  MeasuringWorker small({.memory = {int64_t{1} << 30}});
  const auto time = small.time(job);
  ASSERT_FALSE(time.ok());
  EXPECT_EQ(time.error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace isomer
