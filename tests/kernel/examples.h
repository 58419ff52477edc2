// Small programs that schedules are tried on, and what must hold of every schedule.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor.h"
#include "kernel/codegen_llvm.h"
#include "kernel/lower.h"
#include "kernel/schedule.h"
#include "util/random.h"

namespace isomer::kernel::test {

struct Example {
  std::string name;
  std::string program;  ///< of tensor expressions (graph/te/program_text.h)
  std::vector<Dims> inputs;
  DataType dtype = DataType::kFloat32;  ///< of the inputs
  std::vector<DataType> dtypes = {};    ///< of each of them, where they differ

  DataType type_of(size_t input) const { return dtypes.empty() ? dtype : dtypes[input]; }
};

const std::vector<Example>& examples();
/// The one of this name.
const Example& example_of(std::string_view name);
/// One with sizes of its own: a product, a convolution, a pooling, a movement, rows, what has attention's form, parts
/// that are joined, products and convolutions of bytes.
Example random_example(Random& random);
/// Of those, one of bytes: an int32 sum of products of theirs, less offsets of some kind.
Example random_byte_sum(Random& random);

/// Small integers for its inputs, whose sums of products are exact in any order; for bytes any.
std::vector<Tensor> integers(const Example& example, Random& random);
/// `constants`: inputs, by number, that are known when code is made.
Kernel lowered(const Example& example, const std::set<size_t>& constants = {});

/// A task of which data decide the size n.
struct OpenExample {
  const char* name;
  const char* program;
  std::vector<Shape> inputs;
};
const std::vector<OpenExample>& open_examples();
Kernel lowered_open(const OpenExample& example);

/// Compiled and run on small integers it gives what the kernel as it was lowered gives. Kernels that are too long to be
/// compiled pass.
void expect_same_meaning(const Example& example, const Schedule& schedule, const Kernel& kernel,
                         const CpuTarget& target = host_target());
/// Its trace is read back as it was printed, and makes the same kernel.
void expect_replays(const Schedule& schedule, const Kernel& kernel);

}  // namespace isomer::kernel::test
