#include "kernel/narrow_floats.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {
namespace {

/// No decision: a sum that rounds at each of its steps is another result.
void sum_wide(Builder& builder, const std::string& name) {
  if (tried(builder.schedule.accumulate_in(name, "float32"))) return;
  // What it writes is an output: a copy rounds.
  const Schedule before = builder.schedule;
  const auto sums = builder.schedule.cache_write(name);
  if (!sums.ok() || !tried(builder.schedule.accumulate_in(*sums, "float32"))) builder.schedule = before;
}

}  // namespace

Module wide_sums() {
  return {"wide_sums",
          [](const View& view, const std::string& name) {
            const Block& block = view.block(name);
            return block.is_reduction() && is_narrow_float(block.bodies[0].dtype());
          },
          sum_wide};
}

}  // namespace isomer::kernel
