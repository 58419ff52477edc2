// What a model gives a tuner, and what it gets back (tune/tuner.h). Tests: tests/search/tuning_test.cpp
#pragma once

#include <vector>

#include "kernel/records.h"
#include "search/code/compile.h"
#include "tune/tuner.h"

namespace isomer::search {

/// Tasks of models, equal ones once.
struct TuningProblems {
  std::vector<tune::Problem> problems;
  std::vector<tune::ModelTasks> models;
};

/// What a given schedule leaves open of a task is what is tuned. Errors: those of make_given; nothing is open.
Result<void> leave_open(tune::Problem& problem, const GivenSchedule& given, const CompileOptions& options);

/// Adds the tasks that `compile` makes of a graph as `prepare_for_code` leaves it, those of its bodies too, which count
/// as if each ran once. Of those that the options give schedules, what these leave open. Errors: those of `compile`.
Result<void> add_problems(TuningProblems& all, const Graph& graph, const CompileOptions& options);

/// The last model's tasks as they are with another program in one of its parts; parts come in order. Errors: those of
/// `compile`.
Result<void> add_alternative(TuningProblems& all, size_t part, const Graph& graph, const CompileOptions& options);

/// Says what the machine's peaks allow each task, and returns them. They are measured where the records do not know
/// them well. Errors: those of the records.
Result<tune::Peaks> add_rooflines(TuningProblems& all, kernel::Records& records, const CompileOptions& options);

/// The tuner's options for code as these make it.
tune::TuneOptions tuning_options(const CompileOptions& options);

/// Lets `compile` take schedules that were tuned for a model of such weights. The records outlive the options; where
/// they can't be read nothing is taken.
void take_tuned(CompileOptions& options, const kernel::Records& records, Weights weights);

}  // namespace isomer::search
