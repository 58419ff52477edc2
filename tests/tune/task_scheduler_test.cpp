// Whose turn it is.
#include "tune/task_scheduler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace isomer::tune {
namespace {

TaskProgress task(double first_us, int64_t flops = 0, int group = 0) {
  TaskProgress made;
  made.first_us = first_us;
  made.flops = flops;
  made.group = group;
  return made;
}

/// Each round brings a task so much nearer to its end: what is above it shrinks by a factor.
struct Simulated {
  double end_us, factor;
  double next(double now) const { return end_us + (now - end_us) * factor; }
};

/// Times of all models after so many rounds.
double after(std::vector<TaskProgress> tasks, const std::vector<ModelTasks>& models,
             const std::vector<Simulated>& simulated, const SchedulerOptions& options, int rounds) {
  for (int k = 0; k < rounds; ++k) {
    const auto next = next_task(tasks, models, options);
    if (!next) break;
    tasks[*next].best_us.push_back(simulated[*next].next(tasks[*next].now_us()));
  }
  double sum = 0;
  for (const ModelTasks& model : models) sum += time_of(model, tasks);
  return sum;
}

TEST(TaskScheduler, GivesEachTaskARoundFirstTheLongestAtOnce) {
  std::vector<TaskProgress> tasks = {task(5), task(50), task(20)};
  const std::vector<ModelTasks> models = {{{1, 1, 1}, 0}};
  for (const size_t expected : {1, 2, 0}) {
    const auto next = next_task(tasks, models, {});
    EXPECT_EQ(next, expected);
    tasks[*next].best_us.push_back(tasks[*next].first_us);
  }
}

TEST(TaskScheduler, PredictsThatGainsGoOnForAWhile) {
  const ModelTasks model = {{2, 1}, 0};
  std::vector<TaskProgress> tasks = {task(100), task(50)};
  const SchedulerOptions options;
  const auto predicted = [&](double rounds) { return predicted_us(model, tasks, options, rounds); };
  EXPECT_DOUBLE_EQ(predicted(10), 250);  // nobody knows anything
  tasks[0].best_us = {80};
  // Another 20 of the first, twice; a fifth of the second, in the first round of it.
  EXPECT_DOUBLE_EQ(predicted(0), 210);
  EXPECT_DOUBLE_EQ(predicted(1), 170);
  EXPECT_DOUBLE_EQ(predicted(1.5), 165);
  EXPECT_DOUBLE_EQ(predicted(10), 160);
  tasks[0].least_us = 75;
  EXPECT_DOUBLE_EQ(predicted(10), 190);
  tasks[0].best_us = {80, 80, 80, 80};  // nothing of late
  EXPECT_DOUBLE_EQ(predicted(10), 200);
  tasks[1].is_done = true;
  EXPECT_DOUBLE_EQ(predicted(10), 210);
}

/// Two programs of one part, twice: one task of 100 us, or two of 60.
ModelTasks with_programs() { return {{2, 0, 0}, 0, {{{{-2, 2, 2}}}}}; }

TEST(Programs, AreChosenByTheTimesOfTheirTasks) {
  const ModelTasks model = with_programs();
  std::vector<TaskProgress> tasks = {task(100), task(60), task(60)};
  EXPECT_EQ(fastest_programs(model, tasks), std::vector<size_t>{0});
  EXPECT_DOUBLE_EQ(time_of(model, tasks), 200);
  tasks[1].best_us = {30};
  EXPECT_EQ(fastest_programs(model, tasks), std::vector<size_t>{1});
  EXPECT_DOUBLE_EQ(time_of(model, tasks), 180);
}

TEST(Programs, OfPartsAreChosenByThemselves) {
  // The second part runs the first task three times, or the last one.
  const ModelTasks model = {{2, 0, 3, 0}, 0, {{{{-2, 2, 0, 0}}}, {{{0, 0, -3, 1}, {0, 0, -3, 0}}}}};
  const std::vector<TaskProgress> tasks = {task(10), task(20), task(1), task(2)};
  EXPECT_EQ(fastest_programs(model, tasks), (std::vector<size_t>{0, 2}));
  EXPECT_DOUBLE_EQ(time_of(model, tasks), 20);
}

TEST(Programs, AreAsLikelyAsTheirTasksMayStillGain) {
  const ModelTasks model = with_programs();
  const SchedulerOptions options;
  std::vector<TaskProgress> tasks = {task(100), task(60), task(60)};
  const auto chance = [&] { return chances(model.parts[0], tasks, options)[1]; };
  const double before = chance();
  EXPECT_GT(before, 0.1);
  EXPECT_LT(before, 0.5);
  tasks[0].best_us = {60, 60, 60, 60};
  tasks[0].least_us = 58;
  EXPECT_LT(chance(), before);
  // Both can't be as fast as that even at the machine's peaks.
  tasks[1].least_us = tasks[2].least_us = 31;
  EXPECT_EQ(chance(), 0);
  EXPECT_EQ(likely_times(model, tasks, options), (std::vector<double>{2, 0, 0}));
  // What the first takes is known to be too much.
  tasks[1].least_us = tasks[2].least_us = 5;
  tasks[1].best_us = tasks[2].best_us = {20};
  EXPECT_EQ(chance(), 1);
  EXPECT_EQ(likely_times(model, tasks, options), (std::vector<double>{0, 2, 2}));
}

TEST(Programs, ThatAreDroppedGetNoRounds) {
  const ModelTasks model = with_programs();
  std::vector<TaskProgress> tasks = {task(100), task(60), task(60)};
  for (TaskProgress& each : tasks) each.least_us = 0.9 * each.first_us;
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(next_task(tasks, {model}, {}), 0U);
    tasks[0].best_us.push_back(95);
  }
  tasks[0].is_done = true;
  EXPECT_EQ(next_task(tasks, {model}, {}), std::nullopt);
}

/// Other programs of a region, and other ways to cut it, change the same tasks: they exclude each other.
TEST(Programs, OfPartsThatShareTasksExcludeEachOther) {
  const ModelTasks model = {{2, 1, 0, 0}, 0, {{{{-2, 0, 2, 0}}}, {{{-1, -1, 0, 1}}}}};
  std::vector<TaskProgress> tasks = {task(100), task(20), task(60), task(30)};
  // The first saves 80, the second 90.
  EXPECT_EQ(fastest_programs(model, tasks), (std::vector<size_t>{0, 1}));
  EXPECT_DOUBLE_EQ(time_of(model, tasks), 130);
  tasks[2].best_us = {50};
  EXPECT_EQ(fastest_programs(model, tasks), (std::vector<size_t>{1, 0}));
  EXPECT_DOUBLE_EQ(time_of(model, tasks), 120);
}

/// Nothing is as fast as a task that nobody could measure, or had the time to.
TEST(Programs, WithTasksThatWereNotMeasuredAreNotChosen) {
  const ModelTasks model = with_programs();
  std::vector<TaskProgress> tasks = {task(100), task(0), task(60)};
  for (const bool is_done : {true, false}) {
    tasks[1].is_done = is_done;
    EXPECT_EQ(fastest_programs(model, tasks), std::vector<size_t>{0});
    EXPECT_EQ(chances(model.parts[0], tasks, {}), (std::vector<double>{1, 0}));
    EXPECT_DOUBLE_EQ(time_of(model, tasks), 200);
  }
}

TEST(Programs, ThatAreSlowerAtFirstMayWin) {
  const ModelTasks model = with_programs();
  const std::vector<Simulated> simulated = {{90, 0.5}, {20, 0.5}, {25, 0.5}};
  std::vector<TaskProgress> all = {task(100, 0, 0), task(60, 0, 1), task(60, 0, 1)};
  all[0].least_us = 85;
  EXPECT_LT(after(all, {model}, simulated, {}, 12), 110);
  // They are worth less than what is likelier as long as nothing says that they gain more.
  std::vector<TaskProgress> tasks = {task(100), task(80), task(80)};
  EXPECT_EQ(next_task(tasks, {model}, {}), 0U);
}

TEST(TaskScheduler, LeavesOutWhatIsDone) {
  std::vector<TaskProgress> tasks = {task(5), task(50)};
  tasks[1].is_done = true;
  EXPECT_EQ(next_task(tasks, {{{1, 1}, 0}}, {}), 0U);
  tasks[0].is_done = true;
  EXPECT_EQ(next_task(tasks, {{{1, 1}, 0}}, {}), std::nullopt);
}

TEST(TaskScheduler, TakesTurnsWhereNothingIsKnownToBeLeft) {
  std::vector<TaskProgress> tasks = {task(100), task(100)};
  for (TaskProgress& each : tasks) each.least_us = each.first_us;
  for (const size_t expected : {0, 1, 0, 1, 0}) {
    const auto next = next_task(tasks, {{{1, 1}, 0}}, {});
    ASSERT_EQ(next, expected);
    tasks[*next].best_us.push_back(100);
  }
}

TEST(TaskScheduler, GoesWhereGainsAreAndTimesCount) {
  std::vector<TaskProgress> tasks = {task(100), task(100)};
  tasks[0].best_us = {100, 100, 100};
  tasks[1].best_us = {90, 80, 70};
  EXPECT_EQ(next_task(tasks, {{{1, 1}, 0}}, {}), 1U);
  tasks[1].best_us = tasks[0].best_us;
  EXPECT_EQ(next_task(tasks, {{{1, 3}, 0}}, {}), 1U);
  EXPECT_EQ(next_task(tasks, {{{3, 1}, 0}}, {}), 0U);
}

TEST(TaskScheduler, ExpectsOfATaskWhatThoseThatAreAlikeReach) {
  std::vector<TaskProgress> tasks = {task(100, 1000, 0), task(100, 100, 0), task(100, 100, 1)};
  for (TaskProgress& each : tasks) each.best_us = {100, 100, 100, 100, 100, 100};
  const std::vector<ModelTasks> models = {{{1, 1, 1}, 0}};
  EXPECT_GT(expected_gain(1, tasks, models, {}), expected_gain(2, tasks, models, {}));
  EXPECT_EQ(next_task(tasks, models, {}), 1U);
}

TEST(TaskScheduler, IsNotBehindRoundRobin) {
  std::vector<TaskProgress> tasks = {task(1000), task(100), task(10), task(10), task(10), task(300)};
  const std::vector<ModelTasks> models = {{{1, 4, 10, 1, 1, 1}, 0}};
  const std::vector<Simulated> simulated = {{950, 0.5}, {40, 0.9}, {9, 0.8}, {2, 0.5}, {9.9, 0.5}, {100, 0.85}};
  for (size_t k = 0; k < tasks.size(); ++k) tasks[k].least_us = 0.9 * simulated[k].end_us;
  SchedulerOptions by_turns;
  by_turns.round_robin = true;
  for (const int rounds : {12, 24, 48})
    EXPECT_LE(after(tasks, models, simulated, {}, rounds), after(tasks, models, simulated, by_turns, rounds)) << rounds;
}

TEST(Objectives, SumCountsMicrosecondsSpeedupsCountModels) {
  // A long model gains 10 us at a time, a short one 5.
  std::vector<TaskProgress> tasks = {task(1000), task(20)};
  tasks[0].best_us = {990, 980, 970};
  tasks[1].best_us = {18, 16, 14};
  const std::vector<ModelTasks> models = {{{1, 0}, 0}, {{0, 1}, 0}};
  SchedulerOptions options;
  EXPECT_EQ(next_task(tasks, models, options), 0U);
  options.objective = Objective::kSpeedups;
  options.alpha = 1;  // of gains alone: 1 % against 14 %
  EXPECT_EQ(next_task(tasks, models, options), 1U);
}

TEST(Objectives, WantedTimesAreEnough) {
  std::vector<TaskProgress> tasks = {task(1000), task(100)};
  tasks[0].best_us = tasks[1].best_us = {};
  for (TaskProgress& each : tasks) each.best_us = {each.first_us * 0.9};
  std::vector<ModelTasks> models = {{{1, 0}, 950}, {{0, 1}, 50}};
  SchedulerOptions options;
  options.objective = Objective::kWanted;
  EXPECT_EQ(next_task(tasks, models, options), 1U);
  models[0].wanted_us = 500;
  EXPECT_EQ(next_task(tasks, models, options), 0U);
  // No trial is spent where all models are fast enough, be it the first one of a task.
  for (ModelTasks& model : models) model.wanted_us = 1000;
  EXPECT_EQ(next_task(tasks, models, options), std::nullopt);
  tasks[0].best_us = {};
  EXPECT_EQ(next_task(tasks, models, options), std::nullopt);
}

TEST(Objectives, StoppingEarlyLeavesAloneWhatGainsNoMore) {
  std::vector<TaskProgress> tasks = {task(1000), task(10)};
  tasks[0].best_us = std::vector<double>(8, 900);
  tasks[1].best_us = {9};
  const std::vector<ModelTasks> models = {{{1, 1}, 0}};
  SchedulerOptions options;
  EXPECT_EQ(next_task(tasks, models, options), 0U);
  options.objective = Objective::kStopEarly;
  EXPECT_EQ(next_task(tasks, models, options), 1U);
  tasks[1].best_us = std::vector<double>(8, 9);
  EXPECT_EQ(next_task(tasks, models, options), std::nullopt);
}

TEST(Objectives, HaveAnsorsNames) {
  EXPECT_EQ(objective_of("f1"), Objective::kSum);
  EXPECT_EQ(objective_of("f4"), Objective::kStopEarly);
  EXPECT_EQ(objective_of("f5"), std::nullopt);
}

}  // namespace
}  // namespace isomer::tune
