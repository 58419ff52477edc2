// A search space is a list of modules (MetaSchedule: Shao et al. 2022, section 3.2): each looks at a block and, where
// it applies, makes schedule of it. default_space() joins ours; users put theirs in front, or instead.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kernel/space/builder.h"

namespace isomer::kernel {

struct Module {
  std::string name;
  std::function<bool(const View& view, const std::string& block)> applies;
  /// May leave the schedule as it was.
  std::function<void(Builder& builder, const std::string& block)> apply;
  /// What it did something to, and the blocks that it made, are no concern of later modules.
  bool is_last_word = false;
};

/// Blocks are visited one after the other, as they are when the pass begins; those that are gone are left out. Of each,
/// the first module that applies is applied.
struct Pass {
  bool backwards = false;
  std::vector<Module> modules;
  /// Before them, where there is one: makes schedule of all blocks at once. What it put into other loops, and the
  /// blocks that it made, are no concern of what comes later.
  std::function<void(Builder& builder)> whole = nullptr;
};
using Space = std::vector<Pass>;

/// What the default schedule is made by, in order.
const Space& default_space();
/// What is done to sums of halves in any case: they are no choice.
const Space& sums_space();

/// A schedule, whose trace says what was decided, and all choices that there were.
struct Scheduled {
  Schedule schedule;
  std::vector<Builder::Made> choices;
};

/// A valid schedule for any kernel that `lower` gives, of which only layouts of inputs and outputs may have been set.
Scheduled scheduled(Schedule start, const Space& space, const Machine& machine, Decider& decider);

}  // namespace isomer::kernel
