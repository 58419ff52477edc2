// How a tuner is followed: a table, tasks first that have most to gain. Test: tests/cli/tune_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tune/tuner.h"

namespace isomer::cli {

/// What stays the same while it runs.
struct TuneScene {
  std::vector<std::string> models;  ///< files
  std::vector<tune::ModelTasks> tasks;
  int threads = 1;
  std::string cpu;
  int64_t trials = 0;
  std::optional<double> seconds;
};

/// Models' times as the sums of their tasks, before and by now, in milliseconds.
std::string headline(const TuneScene& scene, const tune::TuneState& state);
/// The headline of each model, and the table: at most so many tasks, no line wider than so many columns.
std::vector<std::string> table(const TuneScene& scene, const tune::TuneState& state, size_t tasks, size_t columns);
nlohmann::json to_json(const TuneScene& scene, const tune::TuneState& state);

}  // namespace isomer::cli
