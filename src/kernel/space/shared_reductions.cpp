
#include "kernel/space/modules.h"
#include "kernel/space/rows.h"
#include "kernel/space/tiles.h"

namespace isomer::kernel {
namespace {

/// Steps of a reduction from which on threads share it.
constexpr int64_t kLongReduction = 262'144;

void share_reduction(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  const LoopIds loops = view.loops(name);
  const int64_t work = points(reduction).value_or(0), threads = builder.machine().threads,
                results = view.iterations(
                    {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(reduction.axes.size())});
  if (threads < 2 || work < kLongReduction || results >= 4 * threads) return;
  for (size_t k = reduction.axes.size(); k < loops.size(); ++k) {
    std::vector<int64_t> candidates = {1};
    for (int64_t parts = threads; parts <= 4 * threads; ++parts)
      if (view.extent(loops[k]) % parts == 0) candidates.push_back(parts);
    if (candidates.size() == 1) continue;
    const int64_t parts = builder.decide(name, "parts", candidates, candidates.back());
    if (parts == 1) return;
    const auto partial = builder.schedule.split_k(name, loops[k], parts);
    if (!partial.ok()) continue;
    schedule_tiles(builder, *partial);
    if (view.is_alone(*partial)) schedule_rows(builder, *partial);
    return;
  }
}

}  // namespace

Module shared_reductions() {
  return {"shared_reductions", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          share_reduction};
}

}  // namespace isomer::kernel
