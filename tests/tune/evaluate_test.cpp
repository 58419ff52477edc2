// Models judged by tasks that they have not seen: made-up trials whose times follow from their features, and do not.
#include "tune/evaluate.h"

#include <gtest/gtest.h>

#include "backends/find_library.h"
#include "tune/features.h"
#include "util/random.h"

namespace isomer::tune::test {
namespace {

constexpr int kTasks = 8, kTrialsOfATask = 40;

/// By their features, or by chance; one of eight fails.
std::vector<kernel::Trials> made_up(bool by_features) {
  Random random(3);
  std::vector<kernel::Trials> all;
  for (uint64_t task = 0; task < kTasks; ++task) {
    kernel::Trials& of = all.emplace_back();
    of.key = {Hasher().add(task).finish(), "cpu", "1"};
    for (int k = 0; k < kTrialsOfATask; ++k) {
      Features features(1);
      for (float& number : features[0]) number = static_cast<float>(random.uniform(0, 8));
      const double slow =
          by_features ? 1 + (features[0][3] > 4 ? features[0][7] : features[0][11]) : random.uniform(1, 9);
      kernel::Trial& trial = of.trials.emplace_back();
      trial.features = pack(features);
      if (k % 8 != 0) trial.microseconds = 10 * static_cast<double>(task + 1) * slow;
    }
  }
  return all;
}

std::set<Hash128> first_tasks(const std::vector<kernel::Trials>& all, size_t count) {
  std::set<Hash128> result;
  for (size_t k = 0; k < count; ++k) result.insert(all[k].key.task);
  return result;
}

class Evaluation : public testing::Test {
 protected:
  void SetUp() override {
    if (backends::find(backends::xgboost()).empty()) GTEST_SKIP() << "XGBoost's library is not here";
  }
};

TEST_F(Evaluation, TellsModelsThatKnowFromChance) {
  const auto all = made_up(true);
  const auto quality = evaluate_trees(all, first_tasks(all, kTasks), 0);
  ASSERT_TRUE(quality.ok()) << quality.error().message();
  EXPECT_EQ(quality->tasks, kTasks);
  EXPECT_EQ(quality->trials, kTasks * kTrialsOfATask);
  EXPECT_EQ(quality->learned, 0);
  EXPECT_GT(quality->first, quality->any + 0.2);
  EXPECT_GT(quality->five, quality->first);
  EXPECT_LE(quality->five, 1);
  EXPECT_LT(quality->any, quality->any_five);

  const auto chance = evaluate_trees(made_up(false), first_tasks(all, kTasks), 0);
  ASSERT_TRUE(chance.ok());
  EXPECT_LT(chance->first, quality->first - 0.1);
}

TEST_F(Evaluation, JudgesNamedTasksAloneAndLearnsOfTheOthers) {
  const auto all = made_up(true);
  const auto quality = evaluate_trees(all, first_tasks(all, 2), 0);
  ASSERT_TRUE(quality.ok()) << quality.error().message();
  EXPECT_EQ(quality->tasks, 2);
  EXPECT_EQ(quality->learned, (kTasks - 2) * kTrialsOfATask);
  EXPECT_FALSE(evaluate_trees(all, first_tasks(all, 1), 0).ok()) << "of one alone nothing is said";
  EXPECT_FALSE(evaluate_trees({}, {}, 0).ok());
}

/// What another version measured of a task says nothing of tasks that were not seen: it is held out with it.
TEST_F(Evaluation, HoldsATaskOutWhole) {
  auto all = made_up(true);
  const auto alone = evaluate_trees(all, first_tasks(all, kTasks), 0);
  const size_t count = all.size();
  for (size_t k = 0; k < count; ++k) {
    all.push_back(all[k]);
    all.back().key.generator = "0";
    all.back().trials.resize(kLeastTrials - 2);
  }
  const auto twice = evaluate_trees(all, first_tasks(all, kTasks), 0);
  ASSERT_TRUE(alone.ok() && twice.ok());
  EXPECT_EQ(twice->tasks, alone->tasks);
  EXPECT_EQ(twice->learned, 0);
}

}  // namespace
}  // namespace isomer::tune::test
