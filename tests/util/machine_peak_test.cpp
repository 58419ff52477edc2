#include "util/machine_peak.h"

#include <gtest/gtest.h>

#include "util/threads.h"

namespace isomer {
namespace {

TEST(MachinePeak, IsThatOfTheCpusThatThereAre) {
  const StayOn one(current_cpu());
  ASSERT_EQ(available_threads(), 1);
  const double peak = measure_fma_peak(1), bandwidth = measure_read_bandwidth(16 << 10, 1);
  EXPECT_LT(measure_fma_peak(4), 2 * peak);
  EXPECT_LT(measure_read_bandwidth(16 << 10, 4), 2 * bandwidth);
}

}  // namespace
}  // namespace isomer
