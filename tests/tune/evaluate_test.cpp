// Models judged by tasks that they have not seen: real candidates whose made-up times follow from what they are, and do
// not.
#include "tune/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "backends/find_library.h"
#include "kernel/tree.h"
#include "tune/trial_examples.h"
#include "util/random.h"

namespace isomer::tune::test {
namespace {

constexpr size_t kTasks = 8, kTrialsOfATask = 40;

/// Sums of products of several sizes.
kernel::test::Example example_of(size_t task) {
  const auto size = static_cast<int64_t>(16 + 8 * task);
  return {
      fmt::format("product {}", task),
      fmt::format("s0 = reduce [{0}, 48] over [{0}] with sum:float32 {{ in0[i0, r0]:float32*in1[r0, i1]:float32 }}\n"
                  "output s0\n",
                  size),
      {{size, size}, {size, 48}}};
}

/// By how much is written out, or by chance; one of eight fails. `seed` says which schedules there are.
std::vector<kernel::Trials> made_up(bool by_schedules, uint64_t seed = 0) {
  std::vector<kernel::Trials> all;
  Random random(3);
  for (size_t task = 0; task < kTasks; ++task)
    all.push_back(
        trials_of(example_of(task), kTrialsOfATask, kTasks * seed + task, [&](const Candidate& candidate, size_t k) {
          double written_out = 1;
          kernel::for_each_block(candidate.made.kernel.body, [&](const kernel::Block&, const auto& loops) {
            double product = 1;
            for (const kernel::Loop* loop : loops)
              if (is_written_out(loop->kind)) product *= static_cast<double>(te::as_constant(loop->extent).value_or(1));
            written_out = std::max(written_out, product);
          });
          const double slow = by_schedules ? 12 - std::log2(written_out) : random.uniform(1, 9);
          return k % 8 == 0 ? std::nullopt : std::optional(10 * static_cast<double>(task + 1) * slow);
        }));
  return all;
}

EvaluationOptions options_of(const std::vector<kernel::Trials>& all, size_t judged) {
  EvaluationOptions options;
  options.target = "cpu";
  for (size_t k = 0; k < judged; ++k) options.folds[std::string(kernel::meaning_of(all[k].text))] = k % 4;
  return options;
}

constexpr CostModelOptions kTrees = {}, kTraces = {.kind = CostModelKind::kTraces};

class Evaluation : public testing::Test {
 protected:
  void SetUp() override {
    if (backends::find(backends::xgboost_library()).empty()) GTEST_SKIP() << "XGBoost's library is not here";
  }
  static Result<ModelQuality> evaluated(const std::vector<kernel::Trials>& all, const EvaluationOptions& options,
                                        const CostModelOptions& model = kTrees) {
    return evaluate(model, all, kernel::default_space(), options);
  }
};

TEST_F(Evaluation, TellsModelsThatKnowFromChance) {
  const auto all = made_up(true);
  const auto quality = evaluated(all, options_of(all, kTasks));
  ASSERT_TRUE(quality.ok()) << quality.error().message();
  EXPECT_EQ(quality->tasks, kTasks);
  EXPECT_EQ(quality->trials, kTasks * kTrialsOfATask);
  EXPECT_EQ(quality->learned, kTasks * kTrialsOfATask * 3 / 4);
  EXPECT_EQ(quality->learned_elsewhere, 0);
  EXPECT_GT(quality->look_us, 0);
  EXPECT_GT(quality->first, quality->any + 0.2);
  EXPECT_GE(quality->five, quality->first);
  EXPECT_LE(quality->five, 1);
  EXPECT_LT(quality->any, quality->any_five);

  const auto chance = evaluated(made_up(false), options_of(all, kTasks));
  ASSERT_TRUE(chance.ok());
  EXPECT_LT(chance->first, quality->first - 0.1);
}

/// Each tells more than chance does; of how few trials hang on luck how much more.
TEST_F(Evaluation, JudgesEveryKindOfFeatures) {
  constexpr uint64_t kSeeds = 3;
  std::map<FeatureKind, double> first;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto all = made_up(true, seed);
    for (const FeatureKind kind : kFeatureKinds) {
      const auto quality = evaluated(all, options_of(all, kTasks), {.features = kind});
      ASSERT_TRUE(quality.ok()) << quality.error().message();
      EXPECT_EQ(quality->tasks, kTasks);
      first[kind] += (quality->first - quality->any) / kSeeds;
    }
  }
  for (const FeatureKind kind : kFeatureKinds) EXPECT_GT(first[kind], 0.1) << name(kind);
}

TEST_F(Evaluation, JudgesTasksOfFoldsAloneAndLearnsOfTheOthers) {
  const auto all = made_up(true);
  const auto quality = evaluated(all, options_of(all, 2));
  ASSERT_TRUE(quality.ok()) << quality.error().message();
  EXPECT_EQ(quality->tasks, 2);
  EXPECT_EQ(quality->learned, (kTasks - 1) * kTrialsOfATask);
  EXPECT_FALSE(evaluated(all, options_of(all, 1)).ok()) << "of one alone nothing is said";
  EXPECT_FALSE(evaluated({}, {}).ok());
}

/// What another version, or another target, measured of a task says nothing of tasks that were not seen: it is held out
/// with it.
TEST_F(Evaluation, HoldsATaskOutWhole) {
  auto all = made_up(true);
  const auto alone = evaluated(all, options_of(all, kTasks));
  const size_t count = all.size();
  for (size_t k = 0; k < count; ++k) {
    all.push_back(all[k]);
    all.back().key.generator = "0";
    all.back().trials.resize(kLeastTrials - 2);
    all.push_back(all[k]);
    all.back().key.target = "other";
  }
  const auto thrice = evaluated(all, options_of(all, kTasks));
  ASSERT_TRUE(alone.ok() && thrice.ok());
  EXPECT_EQ(thrice->tasks, alone->tasks);
  EXPECT_EQ(thrice->learned_elsewhere, kTasks * kTrialsOfATask * 3 / 4);
  EXPECT_EQ(thrice->learned, kTasks * (2 * kTrialsOfATask + kLeastTrials - 2) * 3 / 4);
}

TEST(EvaluationOfTraces, LearnsFromAShareOfTheTrialsAndFromOtherTargets) {
  auto all = made_up(true);
  EvaluationOptions options = options_of(all, kTasks);
  options.labels = 0.25;
  for (size_t k = 0; k < kTasks; ++k) {
    all.push_back(all[k]);
    all.back().key.target = "other";
  }
  const auto quality = evaluate(kTraces, all, kernel::default_space(), options);
  ASSERT_TRUE(quality.ok()) << quality.error().message();
  EXPECT_EQ(quality->tasks, kTasks);
  constexpr size_t kOfATarget = kTasks * kTrialsOfATask * 3 / 4;
  EXPECT_EQ(quality->learned_elsewhere, kOfATarget);
  EXPECT_NEAR(static_cast<double>(quality->learned - kOfATarget) / kOfATarget, 0.25, 0.08);
  EXPECT_GT(quality->first, quality->any + 0.1);
}

}  // namespace
}  // namespace isomer::tune::test
