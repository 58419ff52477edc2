// Which tasks a graph becomes and how its values lie, decided by what tasks take on this machine (DESIGN.md 7): every
// choice that is preferred without measuring is tried the other way, where equal tasks meet in one go, and what is
// faster is taken if whole models are faster with it. Test: tests/search/choose_tasks_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/code/compile.h"
#include "search/cost/race.h"
#include "search/cost/task_timer.h"

namespace isomer::search {

struct ChooseTasksOptions {
  double seconds = 10;
  RaceOptions race;  ///< of the whole graph, as preferred and as chosen
  std::function<void(std::string_view)> log = nullptr;
};

/// A choice made otherwise than before, in all places that look the same.
struct TaskAlternative {
  std::string what;  ///< "Conv+Relu with MaxPool together", "Conv channels last"
  int places = 0;
  double before = 0, after = 0;      ///< microseconds of the tasks that differ, in all places
  std::vector<std::string> answers;  ///< "relu1=together": by the names of values, as `compile --choose` takes them
  bool is_taken = false;
  std::string why_not;  ///< it could not be measured
};

struct ChosenTasks {
  TaskPlan plan;                              ///< empty where nothing is faster than what is preferred
  std::vector<TaskAlternative> alternatives;  ///< that were measured, in the order in which they were
  int open = 0;                               ///< choices that there were no seconds left for
  bool is_interrupted = false;                ///< then the plan is empty, and the interruption has been dealt with
  std::optional<Raced> raced;                 ///< the graph as preferred against that of the plan, where one was found
};

/// Code that two options make of a graph, in turns on seeded inputs.
Result<Raced> race_code(const Graph& graph, const CompileOptions& first, const CompileOptions& second,
                        RaceOptions options);

/// Of a graph as `prepare_for_code` leaves it. The options' own plan is ignored. Errors: those of `compile`.
Result<ChosenTasks> choose_tasks(const Graph& graph, const CompileOptions& compile, TaskTimer& timer,
                                 const ChooseTasksOptions& options);

}  // namespace isomer::search
