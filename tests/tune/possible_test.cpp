// What no schedule can leave out takes time; what one may leave out does not count.
#include "tune/possible.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tune/planted.h"

namespace isomer::tune::test {
namespace {

/// A microsecond for a thousand operations, or for a thousand bytes of anything.
constexpr Peaks kThousands = {1, 1, 1, 1};

/// Thousands of operations or bytes, whichever are more.
double least(const std::string& text, const std::vector<std::vector<int64_t>>& inputs,
             const std::set<size_t>& constants = {}) {
  const kernel::test::Example example = {"made up", text, inputs};
  return kImpossiblyFast * possible_us(kernel::test::lowered(example, constants), kThousands, Weights::kInMemory);
}

TEST(PossibleTimes, CountWhatIsReadAndWritten) {
  const double all =
      least("s0 = map [16, 40] { in0[i0, i1]:float32*in1[i0, i1]:float32 }\noutput s0\n", {{16, 40}, {16, 40}});
  EXPECT_DOUBLE_EQ(all, 3 * 16 * 40 * 4 / 1e3);
  // Every second row.
  const double rows = least("s0 = map [16, 40] { in0[i0*2, i1]:float32 }\noutput s0\n", {{32, 40}});
  EXPECT_DOUBLE_EQ(rows, 2 * 16 * 40 * 4 / 1e3);
  // A diagonal, and what is read under a condition.
  const double diagonal = least("s0 = map [40] { in0[i0, i0]:float32 }\noutput s0\n", {{40, 40}});
  EXPECT_DOUBLE_EQ(diagonal, (40 + 1) * 4 / 1e3);
  const double padded =
      least("s0 = map [42] { select(1 <= i0 && i0 < 41, in0[i0 - 1]:float32, 0:float32) }\noutput s0\n", {{40}});
  EXPECT_DOUBLE_EQ(padded, 42 * 4 / 1e3);
}

TEST(PossibleTimes, CountTermsOfSums) {
  const double product =
      least("s0 = reduce [64, 64] over [64] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
            {{64, 64}, {64, 64}});
  EXPECT_DOUBLE_EQ(product, 2 * 64 * 64 * 64 / 1e3);
  // Terms that a condition leaves out.
  const double windows = least(
      "s0 = reduce [64, 64] over [64, 3] with sum:float32 { select(1 <= i1 + r1 && i1 + r1 < 65, in0[r0, i1 + r1 - "
      "1]:float32, "
      "0:float32)*in1[i0, r0, r1]:float32 }\noutput s0\n",
      {{64, 64}, {64, 64, 3}});
  EXPECT_DOUBLE_EQ(windows, 2 * 64 * 64 * 64 / 1e3);
  // A sum that is the same in each column is needed once.
  const double same =
      least("s0 = reduce [64, 64] over [64] with sum:float32 { in0[i0, r0]:float32*in0[i0, r0]:float32 }\noutput s0\n",
            {{64, 64}});
  EXPECT_DOUBLE_EQ(same, 2 * 64 * 64 * 4 / 1e3);
}

TEST(PossibleTimes, LeaveOutWhatNobodyReads) {
  const double sliced = least(
      "s0 = reduce [64, 64] over [64] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
      "s1 = map [4, 64] { s0[i0 + 8, i1]:float32 }\noutput s1\n",
      {{64, 64}, {64, 64}});
  EXPECT_DOUBLE_EQ(sliced, 2 * 4 * 64 * 64 / 1e3);
}

TEST(PossibleTimes, LeaveOutWhatIsComputedBeforehand) {
  const double beforehand = least(
      "s0 = reduce [8] over [1024] with sum:float32 { in1[i0, r0]:float32 }\n"
      "s1 = map [8] { s0[i0]:float32*in0[i0]:float32 }\noutput s1\n",
      {{8}, {8, 1024}}, {1});
  EXPECT_DOUBLE_EQ(beforehand, 3 * 8 * 4 / 1e3);
}

TEST(PossibleTimes, AreThoseOfTheGreatestPeaks) {
  kernel::Records records = kernel::Records::in_memory();
  EXPECT_TRUE(greatest_peaks(records, "a", {1, 2, 3, 4}).ok());
  const auto greatest = greatest_peaks(records, "a", {2, 1, 3, 5});
  ASSERT_TRUE(greatest.ok());
  EXPECT_EQ(greatest->fma, 2);
  EXPECT_EQ(greatest->second, 2);
  EXPECT_EQ(greatest->last, 3);
  EXPECT_EQ(greatest->memory, 5);
  EXPECT_EQ(greatest_peaks(records, "a", {})->fma, 2);
  EXPECT_EQ(greatest_peaks(records, "b", {1, 1, 1, 1})->memory, 1);
}

TEST(PossibleTimes, AreMeasuredUntilTheRecordsKnow) {
  kernel::Records records = kernel::Records::in_memory();
  ASSERT_TRUE(records.set_constant("a", "times_peaks_were_measured", 2).ok());
  ASSERT_TRUE(records.set_constant("a", "greatest_fma_gflops", 1e-9).ok());
  EXPECT_GT(peaks_of_target(records, "a", 1)->fma, 1e-3);
  // Nothing is measured any more.
  ASSERT_TRUE(records.set_constant("a", "greatest_fma_gflops", 1e9).ok());
  ASSERT_TRUE(records.set_constant("a", "greatest_memory_gbs", 1e-9).ok());
  EXPECT_EQ(peaks_of_target(records, "a", 1)->fma, 1e9);
  EXPECT_EQ(peaks_of_target(records, "a", 1)->memory, 1e-9);
  // Unless there is no such peak.
  ASSERT_TRUE(records.set_constant("a", "greatest_memory_gbs", -1).ok());
  EXPECT_GT(peaks_of_target(records, "a", 1)->memory, 1e-3);
}

/// A copy that is faster than the machine is said to be; where the default schedule is too, the machine is not.
TEST(PossibleTimes, RefuseWhatIsFaster) {
  const auto tuned = [](std::optional<double> gigabytes) {
    static const isomer::test::Plant right = {"right", Fault::kNone, {}};
    TuneOptions options = planted_options(2);
    if (gigabytes) options.peaks = Peaks{1, *gigabytes, *gigabytes, *gigabytes};
    options.compiler.make = [](const kernel::Kernel& kernel, const kernel::CpuTarget&) {
      return copy_with(kernel, number_of(kernel) == 0 ? nullptr : &right);
    };
    kernel::Records records = kernel::Records::in_memory();
    const auto state = tune({copy_problem()}, {{{1}, 0}}, records, options);
    CHECK(state.ok()) << state.error().message();
    return state->tasks[0];
  };
  const auto faults = [&](double gigabytes) {
    return tuned(gigabytes).faults[static_cast<size_t>(Fault::kImpossible)];
  };
  const TaskState free = tuned({});
  ASSERT_TRUE(free.is_found);
  const double between = std::sqrt(free.progress.first_us * free.progress.now_us());
  EXPECT_EQ(faults(2 * kCopied / (kImpossiblyFast * between) / 1e3), 2);
  EXPECT_EQ(faults(1e-9), 0);
  EXPECT_EQ(faults(1e3), 0);
}

}  // namespace
}  // namespace isomer::tune::test
