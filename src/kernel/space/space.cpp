#include <algorithm>

#include "kernel/space/modules.h"

namespace isomer::kernel {

const Space& default_space() {
  static const Space space = {
      {false, {inline_maps()}}, {false, {collapse()}},       {true, {transforms()}}, {false, {shared_reductions()}},
      {false, {rows_inside()}}, {false, {inner_products()}}, {false, {tiles()}},     {false, {steps()}},
      {true, {rows(), maps()}},
  };
  return space;
}

Scheduled scheduled(Schedule start, const Space& space, const Machine& machine, Decider& decider) {
  Builder builder(std::move(start), machine, decider);
  for (const Pass& pass : space) {
    std::vector<std::string> blocks = builder.schedule.blocks();
    if (pass.backwards) std::reverse(blocks.begin(), blocks.end());
    for (const std::string& name : blocks) {
      if (!builder.view.has_block(name)) continue;
      const auto module = std::find_if(pass.modules.begin(), pass.modules.end(),
                                       [&](const Module& each) { return each.applies(builder.view, name); });
      if (module != pass.modules.end()) module->apply(builder, name);
    }
  }
  std::vector<Decision> decisions;
  for (const Builder::Made& made : builder.choices()) decisions.push_back({made.choice.name, made.value});
  builder.schedule.decide(std::move(decisions));
  return {std::move(builder.schedule), builder.choices()};
}

}  // namespace isomer::kernel
