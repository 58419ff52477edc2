// A cost model that reads the trace alone (TLP: Zhai et al. 2023): tokens of a candidate, a network with attention,
// trained to put candidates of a task into order; targets share its body and have heads of their own (MTL-TLP), so that
// what is scarce of one is learned from the others. Test: tests/tune/trace_model_test.cpp
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tune/cost_model.h"

namespace isomer::tune {

/// Same seed, same scores, however many threads there are.
std::unique_ptr<CostModel> trace_model(uint64_t seed);

/// LambdaRank (Burges 2010): the derivative by each score of the sum over pairs of log(1 + exp(worse - better)), each
/// as heavy as what changing the places of both would cost of the normalized discounted gain.
std::vector<float> rank_gradient(std::span<const float> scores, std::span<const float> speeds);

}  // namespace isomer::tune
