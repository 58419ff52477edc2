#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The loops around each block, as far as primitives changed them.
using LoopsOfBlocks = std::map<std::string, std::vector<std::tuple<int, LoopKind, std::map<std::string, int64_t>>>>;

LoopsOfBlocks loops_of_blocks(const Kernel& kernel) {
  LoopsOfBlocks result;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    for (const Loop* loop : loops) result[block.name].emplace_back(loop->variable, loop->kind, loop->annotations);
  });
  return result;
}

/// The blocks that it made or put into other loops.
std::set<std::string> scheduled_by(const std::function<void(Builder&)>& whole, Builder& builder) {
  const LoopsOfBlocks before = loops_of_blocks(builder.kernel());
  whole(builder);
  std::set<std::string> changed;
  for (const auto& [name, loops] : loops_of_blocks(builder.kernel()))
    if (const auto known = before.find(name); known == before.end() || known->second != loops) changed.insert(name);
  return changed;
}

}  // namespace

const Space& default_space() {
  static const Space space = {
      {false, {wide_sums(), narrow_products()}},
      {false, {inline_maps()}},
      {false, {collapse()}},
      {false, {groups()}},
      {false, {tables()}},
      {true, {transforms()}},
      {false, {shared_reductions()}},
      {false, {joined_nests(), rows_inside()}},
      {false, {inner_products()}},
      {false, {tiles()}},
      {false, {steps()}},
      {true, {rows(), maps()}},
  };
  return space;
}

const Space& sums_space() {
  static const Space space = {{false, {wide_sums()}}};
  return space;
}

Scheduled scheduled(Schedule start, const Space& space, const Machine& machine, Decider& decider) {
  Builder builder(std::move(start), machine, decider);
  std::set<std::string> settled;
  const auto apply = [&](const Module& module, const std::string& name) {
    const std::vector<std::string> before = builder.schedule.blocks();
    const size_t steps = builder.schedule.trace().instructions.size();
    module.apply(builder, name);
    if (!module.is_last_word || builder.schedule.trace().instructions.size() == steps) return;
    settled.insert(name);
    for (const std::string& made : made_since(builder, before)) settled.insert(made);
  };
  for (const Pass& pass : space) {
    if (pass.whole) settled.merge(scheduled_by(pass.whole, builder));
    std::vector<std::string> blocks = builder.schedule.blocks();
    if (pass.backwards) std::reverse(blocks.begin(), blocks.end());
    for (const std::string& name : blocks) {
      if (!builder.view.has_block(name) || settled.contains(name)) continue;
      const auto module = std::find_if(pass.modules.begin(), pass.modules.end(),
                                       [&](const Module& each) { return each.applies(builder.view, name); });
      if (module != pass.modules.end()) apply(*module, name);
    }
  }
  std::vector<Decision> decisions;
  for (const Builder::Made& made : builder.choices()) decisions.push_back({made.choice.name, made.value});
  builder.schedule.decide(std::move(decisions));
  return {std::move(builder.schedule), builder.choices()};
}

}  // namespace isomer::kernel
