// A task as text, by which records give its candidates back where no model is at hand: the machine that its schedules
// are for, the layouts of its inputs and outputs, and what it computes of what. A digest stands in front: a file may be
// damaged, and what is read here becomes a kernel.
//
//     5f0c2e4d91b7a36808e1d2c4b5f69703
//     machine avx2 32768 524288 1.6 2 1 1 1
//     set_layout(in0, 0:2:3:1)
//     of
//     float32 1 8 56 56
//     const float32 16 8 3 3
//     none
//     computes
//     s0 = reduce …
//
// Test: tests/kernel/task_text_test.cpp
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/te/program.h"
#include "kernel/lower.h"
#include "kernel/machine.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

/// What a task computes; of these inputs, by number, it knows the values beforehand.
std::string meaning_text(const te::Program& program, const std::vector<TaskType>& inputs,
                         const std::set<int>& constants);
/// The whole, of a schedule in which nothing but layouts is set.
std::string task_text(const Machine& machine, const Schedule& start, std::string_view meaning);
/// Of the whole; equal for equal tasks of all machines and layouts. Empty where there is none.
std::string_view meaning_of(std::string_view task_text);

struct ReadTask {
  Machine machine;
  Schedule start;
};
/// The inverse of `task_text`; micro-kernels of users are not in it. Errors: it is no such text, or none as it was.
Result<ReadTask> parse_task(std::string_view text);

}  // namespace isomer::kernel
