#include "kernel/launch_examples.h"

#include <fmt/format.h>

#include "kernel/tree.h"

namespace isomer::kernel::test {
namespace {

Example rows_of(int64_t length, std::string_view monoid) {
  return {"rows",
          fmt::format("s0 = reduce [6] over [{0}] with {1}:float32 {{ in0[i0, r0]:float32 }}\n"
                      "s1 = map [6, {0}] {{ in0[i0, i1]:float32 - s0[i0]:float32 }}\noutput s1\n",
                      length, monoid),
          {{6, length}}};
}

}  // namespace

Example product() {
  return {"product",
          "s0 = reduce [40, 36] over [24] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
          {{40, 24}, {24, 36}}};
}
Example rows() { return rows_of(40, "max"); }
Example long_rows() { return rows_of(128, "sum"); }

Schedule tiled(const Kernel& kernel, int64_t fetchers) {
  Schedule schedule(kernel);
  const std::string sums = ok(schedule.cache_write("s0"));
  LoopIds loops = ok(schedule.loops("s0"));
  const LoopIds rows = ok(schedule.split(loops[0], {-1, 8, 2})), columns = ok(schedule.split(loops[1], {-1, 8, 2}));
  ok(schedule.reorder({rows[0], columns[0], rows[1], columns[1], rows[2], columns[2]}));
  ok(schedule.bind(rows[0], "block.y"));
  ok(schedule.bind(columns[0], "block.x"));
  ok(schedule.bind(rows[1], "thread.y"));
  ok(schedule.bind(columns[1], "thread.x"));
  ok(schedule.compute_at(sums, columns[1]));
  ok(schedule.set_scope("s0.cache", "registers"));
  loops = ok(schedule.loops(sums));
  const LoopIds steps = ok(schedule.split(loops.back(), {-1, 8}));
  const LoopId i = loops[4], j = loops[5];
  ok(schedule.reorder({steps[0], steps[1], i, j}));
  ok(schedule.decompose_reduction(sums, steps[0]));
  for (const char* operand : {"in0", "in1"}) {
    const std::string copy = ok(schedule.cache_read(sums, operand));
    ok(schedule.set_scope(copy, "shared"));
    ok(schedule.compute_at(copy, steps[0]));
    const LoopIds own = ok(schedule.loops(copy));
    const LoopId fused = ok(schedule.fuse({own[own.size() - 2], own.back()}));
    const LoopIds shared = ok(schedule.split(fused, {-1, fetchers / 8, 8}));
    ok(schedule.bind(shared[1], "thread.y"));
    ok(schedule.bind(shared[2], "thread.x"));
  }
  return schedule;
}

Schedule rows_in_blocks(const Kernel& kernel) {
  Schedule schedule(kernel);
  const LoopIds map = ok(schedule.loops("s1"));
  ok(schedule.bind(map[0], "block.x"));
  ok(schedule.set_scope("s0", "shared"));
  ok(schedule.compute_at("s0", map[0]));
  ok(schedule.bind(ok(schedule.loops("s1")).back(), "thread.x"));
  return schedule;
}

Schedule rows_of_warps(const Kernel& kernel) {
  Schedule schedule(kernel);
  const LoopIds sums = ok(schedule.loops("s0")), map = ok(schedule.loops("s1"));
  const LoopIds steps = ok(schedule.split(sums[1], {-1, 2, 32}));
  ok(schedule.reorder({steps[1], steps[2], steps[0]}));
  const std::string of_warp = ok(schedule.rfactor("s0", steps[1]));
  const std::string of_lane = ok(schedule.rfactor(of_warp, steps[2]));
  const auto set_scopes = [&](const std::string& name, const char* scope) {
    std::set<int> written;
    for_each_block(schedule.kernel().body, [&](const Block& block, const auto&) {
      if (block.name == name) written = stores(block);
    });
    for (const int buffer : written)
      ok(schedule.set_scope(schedule.kernel().buffers[static_cast<size_t>(buffer)].name, scope));
  };
  set_scopes(of_warp, "shared");
  set_scopes(of_lane, "registers");
  ok(schedule.join(steps[2], ok(schedule.loops(of_warp)).back()));
  ok(schedule.bind(steps[1], "thread.y"));
  ok(schedule.bind(steps[2], "thread.x"));
  const LoopIds elements = ok(schedule.split(map[1], {-1, 2, 32}));
  ok(schedule.bind(elements[1], "thread.y"));
  ok(schedule.bind(elements[2], "thread.x"));
  ok(schedule.join(sums[0], map[0]));
  set_scopes("s0", "registers");
  ok(schedule.bind(sums[0], "block.x"));
  return schedule;
}

}  // namespace isomer::kernel::test
