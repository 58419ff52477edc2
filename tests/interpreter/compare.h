// Runs a program by the evaluator and by the interpreter and compares all outputs.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "graph/te/program.h"
#include "graph/tensor.h"

namespace isomer::te::test {

/// Success where both give the same dims and values (integers exactly, reals up to the order of summation), or both an
/// error. The interpreter runs on tensors as they are and on working storage, with one thread and with several.
testing::AssertionResult agrees(const Program& program, const std::vector<Tensor>& inputs);

}  // namespace isomer::te::test
