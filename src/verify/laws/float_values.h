// Values at which floating point is not like the reals, and draws of them.
#pragma once

#include <vector>

#include "util/random.h"

namespace isomer::verify {

/// NaN, infinities, zeros, denormals, the ends of the range, numbers that round; the same ones always.
std::vector<float> special_values();
/// All values of float16, NaNs once.
std::vector<float> half_values();

/// So many values for each of several tensors, mostly of one kind: ordinary numbers; small whole ones; zeros beside
/// less; large ones; of all magnitudes; special ones among ordinary ones, few or many; often all of one sign.
std::vector<std::vector<float>> draw_values(const std::vector<int64_t>& counts, Random& random);

}  // namespace isomer::verify
