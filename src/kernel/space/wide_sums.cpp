#include "kernel/narrow_floats.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {
namespace {

void sum_wide(Builder& builder, const std::string& name) {
  if (!builder.decide(name, "wide_sum", true)) return;
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
            return view.is_free_reduction(name) && is_narrow_float(view.block(name).bodies[0].dtype());
          },
          sum_wide};
}

}  // namespace isomer::kernel
