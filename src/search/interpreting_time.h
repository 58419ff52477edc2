// How long the interpreter takes for a model: checks and looks at what rounding loses are planned by it.
// Test: tests/search/optimize_model_test.cpp
#pragma once

#include "search/cost/work.h"

namespace isomer::search {

/// Operations that it does in a second, roughly.
inline constexpr double kInterpretedPerSecond = 1.2e10;
/// The same here and now, in a convolution of some milliseconds; 0: it can't be told.
double interpreted_per_second(int threads);

/// Of one run.
double interpreting_seconds(const Work& work, double operations_per_second = kInterpretedPerSecond);

}  // namespace isomer::search
