// What a cost model looks at: numbers read off a scheduled kernel, a row for each block of it (Ansor's per-store
// features: Zheng et al. 2020, appendix B; ours say instead which caches what is touched lies in). No code is made.
// Test: tests/tune/features_test.cpp
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/machine.h"

namespace isomer::tune {

inline constexpr size_t kAccessesOfARow = 4, kColumnsOfAnAccess = 8, kOtherColumns = 25;
inline constexpr size_t kColumns = kOtherColumns + kAccessesOfARow * kColumnsOfAnAccess;
using FeatureRow = std::array<float, kColumns>;
/// By block, in order.
using Features = std::vector<FeatureRow>;

/// Counts and bytes are binary logarithms of 1 + them, in steps of which a byte holds enough. What data decide counts
/// as 1.
Features features_of(const kernel::Kernel& kernel, const kernel::Machine& machine);

/// A byte a number, for the records; nothing where they are none of these.
std::string pack(const Features& features);
std::optional<Features> unpack(std::string_view bytes);

}  // namespace isomer::tune
