// Candidates as code: right ones pass, wrong ones are found, faults are told by kind, contests are won by what is
// faster.
#include "tune/measurer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/machine_code.h"
#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

using isomer::test::counts_down;
using isomer::test::job_with;
using testing::HasSubstr;

class Measuring : public testing::Test {
 protected:
  Measurer measurer_{kernel::host_target(), MeasuringOptions{.seconds = 2}};
};

TEST_F(Measuring, CandidatesOfAllExamplesComputeTheSame) {
  for (const kernel::test::Example& example : kernel::test::examples()) {
    const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
    Random random(1);
    const Candidate other = candidates.sampled(random, 0.5);
    const auto job = measurer_.compile({&other, 1})[0];
    if (!job.ok()) continue;
    const auto checked = measurer_.check(other, *job, candidates.preferred());
    ASSERT_TRUE(checked.ok()) << checked.error().message();
    ASSERT_TRUE(checked->has_value());
    EXPECT_EQ((*checked)->fault, Fault::kNone) << example.name << ": " << (*checked)->why;
  }
}

/// What is told by one element, by a small difference, by what is not written.
TEST_F(Measuring, WrongValuesAreFound) {
  const auto candidate = [](const std::string& element) {
    const kernel::test::Example example = {
        "made up", "s0 = map [16, 40] { " + element + " }\noutput s0\n", {{16, 40}, {16, 40}}};
    return Candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0).preferred();
  };
  const std::string right = "in0[i0, i1]:float32*in1[i0, i1]:float32";
  const auto fault = [&](const std::string& element) {
    const Candidate ours = candidate(element);
    const auto job = measurer_.compile({&ours, 1})[0];
    CHECK(job.ok());
    const auto checked = measurer_.check(ours, *job, candidate(right));
    CHECK(checked.ok() && *checked);
    return (*checked)->fault;
  };
  EXPECT_EQ(fault(right), Fault::kNone);
  EXPECT_EQ(fault("in1[i0, i1]:float32*in0[i0, i1]:float32"), Fault::kNone);
  EXPECT_EQ(fault("select(3 <= i0 && i0 < 4 && 7 <= i1 && i1 < 8, 0:float32, " + right + ")"), Fault::kValue);
  EXPECT_EQ(fault(right + " + select(i0 < 1 && i1 < 1, 1:float32, 0:float32)"), Fault::kValue);
  EXPECT_EQ(fault("max(" + right + ", 0)"), Fault::kValue);
}

TEST_F(Measuring, FaultsAreToldByKind) {
  const auto crashed = measurer_.time(job_with({0x0F, 0x0B}));  // ud2
  ASSERT_TRUE(crashed.ok());
  EXPECT_EQ(crashed->fault, Fault::kCrash);
  EXPECT_THAT(crashed->why, HasSubstr("signal"));
  const auto late = measurer_.time(job_with({0xEB, 0xFE}));  // jmp $
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->fault, Fault::kLate);
  const auto none = measurer_.time(unsupported("", "too long"));
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->fault, Fault::kCode);
  const auto fine = measurer_.time(counts_down(1000));
  ASSERT_TRUE(fine.ok());
  EXPECT_EQ(fine->fault, Fault::kNone);
  EXPECT_GT(fine->microseconds, 0);
}

/// By chance, as it is promised; what wins nine rounds of ten wins the contest.
TEST(Contests, AreWonByChanceOnceInAHundred) {
  Random random(1);
  constexpr int kContests = 20'000;
  const auto won = [&](double chance, double& rounds) {
    int count = 0;
    for (int k = 0; k < kContests; ++k) {
      Contest contest;
      contest.ratio = 1.05;
      while (!contest.is_decided()) {
        ++contest.rounds;
        contest.won += random.chance(chance);
      }
      count += contest.is_won();
      rounds += static_cast<double>(contest.rounds) / kContests;
    }
    return static_cast<double>(count) / kContests;
  };
  double equal = 0, faster = 0, slower = 0;
  EXPECT_LE(won(0.5, equal), 0.01);
  EXPECT_GE(won(0.9, faster), 0.97);
  EXPECT_EQ(won(0.02, slower), 0);
  EXPECT_LE(equal, 10);
  EXPECT_LE(faster, 14);
  EXPECT_LE(slower, 4);
}

TEST_F(Measuring, ContestsAreWonByWhatIsFaster) {
  const auto faster = measurer_.contest(counts_down(400'000), counts_down(200'000));
  ASSERT_TRUE(faster.ok());
  EXPECT_TRUE(faster->is_won()) << faster->ratio << " against " << faster->control;
  EXPECT_NEAR(faster->ratio, 2, 0.5);
  const auto slower = measurer_.contest(counts_down(200'000), counts_down(400'000));
  ASSERT_TRUE(slower.ok());
  EXPECT_FALSE(slower->is_won());
  EXPECT_EQ(slower->rounds, 1);  // it need not be looked at any longer
  const auto faulty = measurer_.contest(counts_down(200'000), job_with({0x0F, 0x0B}));
  ASSERT_TRUE(faulty.ok());
  EXPECT_FALSE(faulty->is_won());
  EXPECT_EQ(faulty->fault.fault, Fault::kCrash);
  // A fault of the first is not the second's, and wins it nothing.
  const auto unknown = measurer_.contest(job_with({0x0F, 0x0B}), counts_down(200'000));
  ASSERT_TRUE(unknown.ok());
  EXPECT_FALSE(unknown->is_won());
  EXPECT_EQ(unknown->fault.fault, Fault::kNone);
}

}  // namespace
}  // namespace isomer::tune::test
