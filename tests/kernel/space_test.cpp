// The search space: whatever is decided keeps the meaning, decisions are known by name, and what is preferred is the
// default schedule.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/space/module.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;

/// A machine, what is constant, and a program.
struct Setting {
  Example example;
  Kernel kernel;
  Machine machine;
  Scheduled schedule(Decider& decider) const { return scheduled(Schedule(kernel), default_space(), machine, decider); }
};

Setting random_setting(Random& random) {
  Setting setting;
  setting.example = random.chance(0.3) ? examples()[random.below(examples().size())] : random_example(random);
  setting.machine.vectors = kVectorUnits[random.below(kVectorUnits.size())];
  setting.machine.word_parts = 2 * static_cast<int>(random.below(3));
  setting.machine.threads = static_cast<int>(random.between(1, 4));
  std::set<size_t> constants;
  for (size_t input = 1; input < setting.example.inputs.size(); ++input)
    if (random.chance(0.5)) constants.insert(input);
  setting.kernel = lowered(setting.example, constants);
  return setting;
}

std::map<std::string, int64_t> decisions_of(const Scheduled& made) {
  std::map<std::string, int64_t> values;
  for (const Decision& decision : made.schedule.trace().decisions) values[decision.name] = decision.value;
  return values;
}

TEST(Space, RandomDecisionsKeepTheMeaning) {
  const int count = is_long_run() ? 10'000 : 300;
  int others = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Setting setting = random_setting(random);
    SCOPED_TRACE(fmt::format("seed {}: {} for {} x{}\n{}", seed, setting.example.name, setting.machine.vectors.name,
                             setting.machine.threads, setting.example.program));
    Sampling decider(random, random.uniform());
    const Scheduled made = setting.schedule(decider);
    expect_replays(made.schedule, setting.kernel);
    expect_same_meaning(setting.example, made.schedule, setting.kernel);
    if (testing::Test::HasFailure()) return;
    others += structural_hash(made.schedule.finish()) !=
              structural_hash(default_schedule(Schedule(setting.kernel), setting.machine).finish());
  }
  EXPECT_GE(2 * others, count);
  RecordProperty("others", others);
}

TEST(Space, DecisionsMakeTheSameScheduleAgain) {
  for (int seed = 0; seed < 200; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Setting setting = random_setting(random);
    Sampling decider(random, 0.3);
    const Scheduled made = setting.schedule(decider);
    Preferring preferring;
    Given given(decisions_of(made), preferring);
    const Scheduled again = setting.schedule(given);
    EXPECT_EQ(hash(again.schedule.trace()), hash(made.schedule.trace())) << "seed " << seed;
    EXPECT_EQ(given.missed(), 0) << "seed " << seed;
  }
}

TEST(Space, AChangedDecisionKeepsMostOthers) {
  int64_t taken = 0, asked = 0;
  for (int seed = 0; seed < 200; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Setting setting = random_setting(random);
    Sampling decider(random, 0.3);
    const Scheduled made = setting.schedule(decider);
    if (made.choices.empty()) continue;
    const Builder::Made& changed = made.choices[random.below(made.choices.size())];
    std::map<std::string, int64_t> values = decisions_of(made);
    values[changed.choice.name] = changed.choice.candidates[random.below(changed.choice.candidates.size())];
    Preferring preferring;
    Given given(values, preferring);
    const Scheduled mutant = setting.schedule(given);
    taken += given.taken();
    asked += given.taken() + given.missed();
    expect_replays(mutant.schedule, setting.kernel);
  }
  EXPECT_GE(taken, asked * 9 / 10);
}

TEST(Space, PreferencesAreTheDefaultSchedule) {
  for (const Example& example : examples()) {
    const Kernel kernel = lowered(example);
    Preferring preferring;
    const Scheduled made = scheduled(Schedule(kernel), default_space(), {}, preferring);
    EXPECT_EQ(hash(made.schedule.trace()), hash(default_schedule(Schedule(kernel), {}).trace())) << example.name;
    for (const Builder::Made& each : made.choices) EXPECT_TRUE(each.is_preferred()) << each.choice.name;
  }
}

TEST(Space, ModulesOfUsersComeFirst) {
  const Example& example = examples()[0];
  const Kernel kernel = lowered(example);
  Space space = default_space();
  space.insert(
      space.begin(),
      {false,
       {{"rows_in_threes", [](const View& view, const std::string& block) { return view.block(block).is_reduction(); },
         [](Builder& builder, const std::string& block) {
           const LoopId rows = builder.view.loops(block).front();
           (void)builder.schedule.split(rows, Integers{-1, builder.decide(block, "threes", {3, 6}, 3)});
         }}}});
  Preferring preferring;
  const Scheduled made = scheduled(Schedule(kernel), space, {}, preferring);
  EXPECT_EQ(made.choices.front().choice.name, "s0.threes");
  expect_same_meaning(example, made.schedule, kernel);
}

TEST(Space, ModulesOfUsersMayHaveTheLastWord) {
  const Example& example = examples()[0];
  const Kernel kernel = lowered(example);
  const auto choices_of = [&](bool is_last_word, bool changes) {
    Space space = default_space();
    const Module mine = {"mine",
                         [](const View& view, const std::string& block) { return view.block(block).is_reduction(); },
                         [=](Builder& builder, const std::string& block) {
                           if (changes) (void)builder.schedule.cache_read(block, "in0");
                         },
                         is_last_word};
    space.insert(space.begin(), {false, {mine}});
    Preferring preferring;
    const Scheduled made = scheduled(Schedule(kernel), space, {}, preferring);
    expect_same_meaning(example, made.schedule, kernel);
    std::set<std::string> names;
    for (const Builder::Made& each : made.choices) names.insert(each.choice.name);
    return names;
  };
  EXPECT_TRUE(choices_of(false, true).contains("s0.tiles"));
  EXPECT_FALSE(choices_of(true, true).contains("s0.tiles"));
  EXPECT_TRUE(choices_of(true, false).contains("s0.tiles")) << "what it leaves as it was is for others";
}

TEST(Builder, GivesTheSameAnswerTwice) {
  const Kernel kernel = lowered(examples()[0]);
  const Machine machine;
  Preferring preferring;
  Given given({{"s0.rows", 4}}, preferring);
  Builder builder(Schedule(kernel), machine, given);
  EXPECT_EQ(builder.decide("s0", "rows", {1, 2, 4}, 2), 4);
  EXPECT_EQ(builder.decide("s0", "rows", {1, 2, 4}, 1), 4);
  EXPECT_EQ(builder.decide("s0", "rows", {1, 2}, 1), 1);
  EXPECT_EQ(builder.decide("s1", "rows", {1, 2}, 2), 2);
  EXPECT_EQ(builder.choices().size(), 3);
  EXPECT_EQ(builder.choices()[1].choice.name, "s0.rows.again");
}

}  // namespace
}  // namespace isomer::kernel::test
