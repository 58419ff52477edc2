// Random nodes of every operator as tasks, and how near to the interpreter their kernels come.
#pragma once

#include <vector>

#include "graph/te/array.h"
#include "kernel/lower.h"
#include "ops/instance.h"

namespace isomer::kernel::test {

std::vector<const OpDef*> rows_with_meaning();

struct Lowered {
  te::Program program;
  Kernel kernel;
};
/// Where only data decide sizes, they are constants of the kernel.
Result<Lowered> lowered(const isomer::test::Instance& instance);

/// What kernels of an instance may be off by, as a part of the largest number.
double tolerance(const isomer::test::Instance& instance);
double tolerance(DataType dtype);

/// Whether the kernel makes integers of reals: there the last bit of a sum may tip 4.9999999 to 5.
bool truncates_reals(const Kernel& kernel);

/// Integers are equal, but where reals are truncated: there half of them may have tipped by one, as means of small
/// integers often lie in the middle between two.
void expect_near(const te::Array& expected, const Tensor& found, double bound, bool may_tip);

}  // namespace isomer::kernel::test
