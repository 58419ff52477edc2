// What becomes of what was measured, by times that are planted: what stays in the records, what others are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tune/planted.h"
#include "tune/strategy.h"

namespace isomer::tune::test {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// And not by what it is told of earlier runs.
TEST(Annealing, CoolsByWhatItGives) {
  const kernel::Space space = numbered_space(1000);
  const kernel::Machine here = machine();
  const Candidates candidates(copy_problem().start, space, here, 0);
  const std::string choice = candidates.preferred().made.choices[0].choice.name;
  const auto strategy = annealing(candidates, 1);
  for (int k = 0; k < 500; ++k) strategy->tell(candidates.with({{choice, 100}}), 100);
  strategy->tell(candidates.with({{choice, 900}}), 100.1);
  int near_first = 0, near_second = 0;
  for (const Candidate& each : strategy->next(16)) {
    near_first += std::abs(each.decisions().at(choice) - 100) <= 1;
    near_second += std::abs(each.decisions().at(choice) - 900) <= 1;
  }
  EXPECT_GT(near_second, near_first);
}

/// What a contest says of where it stands, and not the lucky time of a round.
TEST(Annealing, StandsWhereItWasToldLast) {
  const kernel::Space space = numbered_space(1000);
  const kernel::Machine here = machine();
  const Candidates candidates(copy_problem().start, space, here, 0);
  const std::string choice = candidates.preferred().made.choices[0].choice.name;
  const auto strategy = annealing(candidates, 1);
  for (const double us : {50, 100}) strategy->tell(candidates.with({{choice, 100}}), us);
  strategy->tell(candidates.with({{choice, 900}}), 90);
  int near_first = 0, near_second = 0;
  for (const Candidate& each : strategy->next(16)) {
    near_first += std::abs(each.decisions().at(choice) - 100) <= 1;
    near_second += std::abs(each.decisions().at(choice) - 900) <= 1;
  }
  EXPECT_GT(near_second, near_first);
}

class PlantedTimes : public testing::Test {
 protected:
  /// Schedules beside the default one, which is number 0.
  static constexpr int64_t kSchedules = 9;

  Result<TuneState> tuned(PlantedClock::Times times) {
    options_.measurer = [&](const MeasuringOptions& measuring) {
      return std::make_unique<PlantedClock>(measuring, times);
    };
    return tune({problem_}, {{{1}, 0}}, records_, options_);
  }

  /// What another run left.
  void add(std::string_view maker, int64_t number, double microseconds, int64_t when = 1) {
    kernel::Record record;
    record.key = key_of(problem_);
    record.maker = maker_of(maker, problem_.weights);
    record.trace = print(candidates_.with({{choice(), number}}).made.trace);
    record.microseconds = microseconds;
    record.when = when;
    ASSERT_TRUE(records_.add(record).ok());
  }

  /// Times in the records, by number.
  std::map<int64_t, double> recorded(std::string_view maker) const {
    std::map<int64_t, double> times;
    for (const kernel::Record& record : *records_.list({.maker = maker_of(maker, problem_.weights)}))
      if (record.microseconds)
        times[decisions_of(*kernel::parse_trace(record.trace)).at(choice())] = *record.microseconds;
    return times;
  }

  /// Times of trials, by number.
  std::map<int64_t, double> trials() const {
    std::map<int64_t, double> times;
    for (const kernel::Trials& of : *records_.trials({}, 1000))
      for (const kernel::Trial& trial : of.trials)
        times[trial.decisions.empty() ? 0 : trial.decisions.at(choice())] = trial.microseconds.value_or(0);
    return times;
  }

  std::string choice() const { return candidates_.preferred().made.choices[0].choice.name; }

  TuneOptions options_ = planted_options(kSchedules);
  Problem problem_ = copy_problem();
  const Candidates candidates_{problem_.start, options_.space, options_.machine, 0};
  kernel::Records records_ = kernel::Records::in_memory();
};

/// The best one is timed when the machine is slow, and candidates when it is not any more.
TEST_F(PlantedTimes, NothingIsFasterByAMachineThatWasSlowForAWhile) {
  options_.round = 6;
  int question = 0;  // the default schedule's time is the first, a round begins with the second
  const auto times = [&](int64_t) { return question++ == 1 ? 130.0 : 100.0; };
  const auto state = tuned(times);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_FALSE(state->tasks[0].is_found);
  for (const auto& [number, us] : trials()) EXPECT_NEAR(us, 100, 0.1) << number;
}

/// Of many tasks the default schedules alone take longer than a command may.
TEST_F(PlantedTimes, WithoutTimeTasksStayUnknown) {
  options_.seconds = 0;
  options_.measurer = [](const MeasuringOptions& measuring) {
    return std::make_unique<PlantedClock>(measuring, [](int64_t) { return 100.0; });
  };
  Problem other = problem_;
  other.hash.low ^= 1;
  const auto state = tune({problem_, other}, {{{1, 1}, 0}}, records_, options_);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->trials, 0);
  EXPECT_EQ(state->tasks[0].progress.first_us, 100);
  EXPECT_EQ(state->tasks[1].progress.first_us, 0);
  EXPECT_EQ(state->tasks[1].why_not, "");
}

/// Else it would seem that nothing is left to gain, whatever the machine can do.
TEST_F(PlantedTimes, WhatPassesItsPeaksMayStillGain) {
  problem_.roofline_us = 150;
  const auto state = tuned([](int64_t) { return 100.0; });
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_DOUBLE_EQ(state->tasks[0].progress.least_us, 50);
}

/// A busy machine may take a default schedule too long: that is no failure for ever, and no yardstick.
TEST_F(PlantedTimes, ADefaultScheduleThatFailedIsMeasuredAgain) {
  kernel::Record failed;
  failed.key = key_of(problem_);
  failed.maker = maker_of("default", problem_.weights);
  failed.trace = print(candidates_.preferred().made.trace);
  failed.failure = "it took longer";
  failed.when = 1;
  ASSERT_TRUE(records_.add(failed).ok());
  ASSERT_TRUE(tuned([](int64_t) { return 100.0; }).ok());
  EXPECT_THAT(recorded("default"), ElementsAre(Pair(0, 100)));
}

/// As of a machine without packing.
TEST_F(PlantedTimes, TimesAreToldByTheirOwnDefaultSchedule) {
  add("default", 5, 7);
  ASSERT_TRUE(tuned([](int64_t number) { return number == 3 ? 50.0 : 100.0; }).ok());
  EXPECT_THAT(recorded("default"), ElementsAre(Pair(0, 100), Pair(5, 7)));
  EXPECT_THAT(recorded("tuned"), ElementsAre(Pair(3, testing::DoubleNear(50, 1e-6))));
  EXPECT_EQ(trials()[0], 100);
}

TEST_F(PlantedTimes, WhatLacksAPartIsRecordedByItself) {
  options_.without = ", without packing";
  ASSERT_TRUE(tuned([](int64_t number) { return number == 3 ? 50.0 : 100.0; }).ok());
  EXPECT_TRUE(recorded("tuned").empty());
  EXPECT_TRUE(recorded("default").empty());
  EXPECT_THAT(recorded("tuned, without packing"), ElementsAre(Pair(3, testing::DoubleNear(50, 1e-6))));
  EXPECT_THAT(recorded("default, without packing"), ElementsAre(Pair(0, 100)));
  for (const kernel::Trials& of : *records_.trials({}, 100))
    EXPECT_EQ(of.maker, maker_of("tuned", problem_.weights, {}, options_.without));
}

/// What a contest says is the last word, whoever wins it.
TEST_F(PlantedTimes, TrialsAreToldAsTheirContestsWent) {
  std::map<int64_t, int> asked;
  const auto times = [&](int64_t number) {
    const double true_us = number == 2 ? 80 : 100;
    return ++asked[number] == 1 && number > 0 && number < 4 ? 0.5 * true_us : true_us;
  };
  const auto state = tuned(times);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  for (const auto& [number, us] : trials()) EXPECT_NEAR(us, number == 2 ? 80 : 100, 0.1) << number;
}

/// It need not be among the schedules that a run leaves open.
TEST_F(PlantedTimes, WhatAnotherRunLeftMeetsWhatARunWithFixedDecisionsFound) {
  add("tuned", 7, 10);
  problem_.fixed = {{choice(), 3}};
  const auto times = [](int64_t number) { return number == 7 ? 10.0 : number == 3 ? 50.0 : 100.0; };
  ASSERT_TRUE(tuned(times).ok());
  EXPECT_THAT(recorded("tuned"), ElementsAre(Pair(7, testing::DoubleNear(10, 1e-6))));
  // Where it is slower, it goes.
  ASSERT_TRUE(tuned([](int64_t number) { return number == 3 ? 50.0 : 100.0; }).ok());
  EXPECT_THAT(recorded("tuned"), ElementsAre(Pair(3, testing::DoubleNear(50, 1e-6))));
}

/// Of another tuner of the same file, which this one has not met.
TEST_F(PlantedTimes, WhatAnotherRunFindsMeanwhileStays) {
  add("tuned", 5, 60);
  options_.trials = 3;
  bool is_found = false;
  options_.tell = [&](const TuneState& state) {
    if (state.trials == 3 && !std::exchange(is_found, true)) add("tuned", 7, 10);
  };
  ASSERT_TRUE(tuned([](int64_t number) { return number == 0 ? 100.0 : 50.0; }).ok());
  EXPECT_THAT(recorded("tuned"), ElementsAre(Pair(testing::Lt(5), testing::DoubleNear(50, 1e-6)), Pair(7, 10)));
}

/// On a machine that is too busy to make its code.
TEST_F(PlantedTimes, WhatAnotherRunLeftStaysWhereItCanNotBeMeasured) {
  class Busy : public PlantedClock {
   public:
    using PlantedClock::PlantedClock;
    std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const override {
      std::vector<Result<ClockJob>> jobs = PlantedClock::compile(candidates);
      for (Result<ClockJob>& job : jobs)
        if (job->code.size() == 1 + 7) job = unsupported("", "code in 30 s expected, it took longer");
      return jobs;
    }
  };
  add("tuned", 7, 10);
  options_.measurer = [](const MeasuringOptions& measuring) {
    return std::make_unique<Busy>(measuring, [](int64_t number) { return number == 0 ? 100.0 : 50.0; });
  };
  options_.trials = 3;
  const auto state = tune({problem_}, {{{1}, 0}}, records_, options_);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_EQ(recorded("tuned").size(), 2U);
  EXPECT_EQ(recorded("tuned")[7], 10);
}

/// What dies in the middle of their contest is no word on it.
TEST_F(PlantedTimes, WhatAnotherRunLeftStaysWhereTheBestOneFaultsBesideIt) {
  class Dying : public PlantedClock {
   public:
    using PlantedClock::PlantedClock;
    Result<Measured> time(const Result<ClockJob>& job, double hopeless_us, double possible_us) override {
      const auto number = std::ssize(job->code) - 1;
      met_ += number == 7;
      if (number == 1 && met_ == 2 && !std::exchange(is_dead_, true)) return Measured{Fault::kCrash, "planted", 0, 0};
      return PlantedClock::time(job, hopeless_us, possible_us);
    }

   private:
    int met_ = 0;  ///< rounds of what another run left
    bool is_dead_ = false;
  };
  add("tuned", 7, 60);
  options_.measurer = [](const MeasuringOptions& measuring) {
    return std::make_unique<Dying>(measuring, [](int64_t number) {
      return number == 0 ? 100.0 : number == 1 ? 50.0 : 60.0;
    });
  };
  options_.trials = 3;
  const auto state = tune({problem_}, {{{1}, 0}}, records_, options_);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_EQ(recorded("tuned").size(), 2U);
  EXPECT_EQ(recorded("tuned")[7], 60);
}

}  // namespace
}  // namespace isomer::tune::test
