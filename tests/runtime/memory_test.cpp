#include "runtime/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace isomer::runtime {
namespace {

constexpr int64_t kLargePage = int64_t{2} << 20;

/// What this process has mapped.
int64_t mapped_bytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

class Sizes : public testing::TestWithParam<int64_t> {};

TEST_P(Sizes, AreAlignedAndZero) {
  const auto memory = Memory::allocate(GetParam());
  ASSERT_TRUE(memory);
  EXPECT_GE(memory->bytes(), GetParam());
  const int64_t unit = GetParam() < kLargePage ? 64 : kLargePage;
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % unit, 0u);
  EXPECT_EQ(std::count(memory->data(), memory->data() + memory->bytes(), std::byte{0}), memory->bytes());
}

TEST_P(Sizes, AreGivenBack) {
  constexpr int kTimes = 100;
  const auto allocate = [] { EXPECT_TRUE(Memory::allocate(GetParam())); };
  allocate();
  const int64_t before = mapped_bytes();
  for (int k = 0; k < kTimes; ++k) allocate();
  EXPECT_LT(mapped_bytes() - before, kTimes * kLargePage / 4);
}

/// Around the size from which pages are mapped, which a float32[524287] is four bytes below.
INSTANTIATE_TEST_SUITE_P(Memory, Sizes,
                         testing::Values(0, 1, 64, kLargePage - 65, kLargePage - 64, kLargePage - 63, kLargePage - 4,
                                         kLargePage - 1, kLargePage, kLargePage + 1, 3 * kLargePage - 1));

}  // namespace
}  // namespace isomer::runtime
