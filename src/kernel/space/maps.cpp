#include "kernel/space/maps.h"

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/rows.h"

namespace isomer::kernel {

void schedule_map(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const auto work = points(view.block(name));
  if (!work || *work == 0) return;
  if (share_rows(builder, name, *work)) return;
  if (pack_map(builder, name, *work)) return;
  LoopIds loops = in_memory_order(builder, name);
  // The copy of a single element, say.
  if (loops.empty()) return;
  if (partition_map(builder, name, loops, *work)) return;
  if (loops.size() > 1 && view.is_flat(view.block(name)) && builder.decide(name, "fuse", true))
    loops = {*builder.schedule.fuse(loops)};
  fuse_run(builder, name, loops);
  if (transpose_map(builder, name, loops, *work)) return;
  block_transposition(builder, name, loops);
  vectorize(builder, loops.back(), name);
  loops = view.loops(name);
  parallelize(builder, name, {loops.begin(), loops.end() - 1}, *work);
}

Module maps() {
  return {
      "maps",
      [](const View& view, const std::string& name) { return view.is_alone(name) && !view.block(name).is_reduction(); },
      schedule_map};
}

}  // namespace isomer::kernel
