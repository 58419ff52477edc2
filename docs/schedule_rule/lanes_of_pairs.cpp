#include "examples.h"

using isomer::Block;
using isomer::Integers;
using isomer::Loop;

isomer::ScheduleModule lanes_of_pairs() {
  isomer::ScheduleModule module;
  module.name = "lanes_of_pairs";
  module.before = "tiles";
  module.applies = [](const isomer::Nest&, const Block& block) {
    return block.is_alone && block.combines == "argmax" && block.reduction.size() == 1 && block.loads.size() == 1 &&
           block.loads[0].reduction[0] == 1 && block.reduction[0] >= 64;
  };
  module.apply = [](isomer::Schedule& schedule, const Block& block) -> isomer::Expected<void> {
    const int64_t vector = schedule.nest().machine().vector_bits / 32;
    const int64_t lanes = schedule.decide(block.name, "lanes", {vector, 2 * vector, 4 * vector}, 2 * vector);
    // Each lane finds the largest of its own elements; the block then compares what the lanes found.
    const auto steps = schedule.apply("split", {block.loops.back(), Integers{-1, lanes}}).value();
    const std::string partial = schedule.apply("rfactor", {block.name, steps.loop(1)}).value().name();
    for (const std::string& found : schedule.nest().block(partial).writes)
      schedule.apply("set_scope", {found, "registers"}).value();
    const std::string start = schedule.apply("decompose_reduction", {partial, steps.loop(0)}).value().name();
    schedule.apply("vectorize", {schedule.nest().block(start).loops.back()}).value();
    schedule.apply("vectorize", {steps.loop(1)}).value();
    if (block.reduction[0] % lanes != 0) schedule.apply("peel", {steps.loop(0), "last"}).value();
    if (block.loops.size() > 1) schedule.apply("parallel", {block.loops.front()}).value();
    return {};
  };
  return module;
}
