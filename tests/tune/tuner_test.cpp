// Tuning whole: trials are counted, what is faster is in the records and found there, whatever fails is a record, and a
// stop keeps what there is.
#include "tune/tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "kernel/task_text.h"
#include "tune/examples.h"
#include "tune/planted.h"
#include "tune/trial_examples.h"
#include "tune/trials.h"
#include "tune/tuned.h"
#include "util/stop.h"

namespace isomer::tune::test {
namespace {

using testing::SizeIs;

Problem problem_of(const std::string& name, const kernel::Kernel& kernel) {
  return {kernel::Schedule(kernel), kernel::structural_hash(kernel), 1000, 0, name, types_of(kernel),
          Weights::kInCache};
}
Problem problem(const std::string& name) { return problem_of(name, lowered(name)); }

/// Elements, one after the other: what anybody would do in vectors.
Problem slow_problem(const std::string& element = "in0[i0, i1]:float32*in1[i0, i1]:float32 + in0[i0, i1]:float32") {
  const kernel::test::Example example = {
      "elements", "s0 = map [64, 1024] { " + element + " }\noutput s0\n", {{64, 1024}, {64, 1024}}};
  Problem problem = problem_of(example.name, kernel::test::lowered(example));
  problem.meaning =
      kernel::meaning_text(*te::parse_program(example.program), {2, {DataType::kFloat32, {Dim(64), Dim(1024)}}}, {});
  return problem;
}
/// Where vectors are a choice that is not preferred.
kernel::Space slow_space() {
  kernel::Module module;
  module.name = "width";
  module.applies = [](const kernel::View&, const std::string&) { return true; };
  module.apply = [](kernel::Builder& builder, const std::string& block) {
    const int64_t width = builder.decide(block, "width", {1, 2, 4, 8, 16}, 1);
    const auto loops = builder.schedule.loops(block);
    const auto inner = builder.schedule.split(loops->back(), {-1, width});
    if (width > 1) static_cast<void>(builder.schedule.vectorize((*inner)[1]).ok());
  };
  return {{false, {module}}};
}

TuneOptions options_of(int64_t trials) {
  TuneOptions options;
  options.target = kernel::host_target();
  options.machine = machine();
  options.trials = trials;
  options.round = 8;
  return options;
}

TEST(Tuner, SpendsItsTrialsAndTellsAfterEachRound) {
  const std::vector<Problem> problems = {problem("product"), problem("rows")};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(32);
  std::vector<int64_t> told;
  options.tell = [&](const TuneState& state) { told.push_back(state.trials); };
  const auto state = tune(problems, {{{1, 2}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->trials, 32);
  ASSERT_THAT(state->tasks, SizeIs(2));
  EXPECT_EQ(state->tasks[0].progress.trials + state->tasks[1].progress.trials, 32);
  for (const TaskState& task : state->tasks) {
    EXPECT_GT(task.progress.first_us, 0);
    EXPECT_GE(task.speedup(), 1);
    EXPECT_EQ(task.why_not, "");
    EXPECT_GE(task.progress.trials, 8);  // each gets a round
  }
  EXPECT_GE(told.size(), 5U);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
}

TEST(Tuner, FindsWhatIsFasterAndLeavesItInTheRecords) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_GE(state->tasks[0].speedup(), 1.3);
  EXPECT_LE(state->trials, 4);  // there are no more
  EXPECT_TRUE(state->tasks[0].progress.is_done);

  const TunedSchedules tuned(records, key_of(problems[0]).target, Weights::kInCache);
  const auto found = tuned.find(problems[0].hash, problems[0].start, options.space, options.machine);
  ASSERT_TRUE(found.ok() && *found);
  EXPECT_GE((*found)->schedule.trace().decisions[0].value, 4);
  // Not of other weights, not where decisions come to something else.
  const TunedSchedules others(records, key_of(problems[0]).target, Weights::kInMemory);
  EXPECT_FALSE(*others.find(problems[0].hash, problems[0].start, options.space, options.machine));
  EXPECT_FALSE(*tuned.find(problems[0].hash, problems[0].start, kernel::default_space(), options.machine));
}

TEST(Tuner, MayCompileWhileItMeasures) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  options.compiles_beside = true;
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_EQ(state->tasks[0].progress.trials, state->trials);
  EXPECT_EQ(state->tasks[0].faults, (std::array<int64_t, kFaults>{}));
}

TEST(Tuner, GoesOnFromTheRecords) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  ASSERT_TRUE(tune(problems, {{{1}, 0}}, records, options).ok());
  options.trials = 1;  // which is what was found before
  options.continues = true;
  const auto again = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->tasks[0].is_found);
}

/// Of all that it measured, the default schedule among them; what was measured before is told again, not measured.
TEST(Tuner, KeepsItsTrials) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok());
  const kernel::RecordKey key = key_of(problems[0]);
  const auto trials = records.trials({key.task, key.target, key.generator}, 100);
  ASSERT_TRUE(trials.ok() && trials->size() == 1);
  const kernel::Trials& of = trials->front();
  EXPECT_EQ(of.name, "elements");
  EXPECT_EQ(static_cast<int64_t>(of.trials.size()), state->trials + 1);
  EXPECT_TRUE(of.trials[0].decisions.empty());
  std::set<Decisions> different;
  for (const kernel::Trial& trial : of.trials) {
    different.insert(trial.decisions);
    EXPECT_GT(trial.microseconds.value_or(0), 0);
  }
  EXPECT_EQ(different.size(), of.trials.size());
  std::atomic<size_t> replayed = 0;
  ASSERT_TRUE(replay(of, options.space, [&](size_t, const auto&, const auto&) { ++replayed; }).ok());
  EXPECT_EQ(replayed, of.trials.size());

  // As if each had been the best for a while.
  const Candidates candidates(problems[0].start, options.space, options.machine, 0);
  const auto list = records.list({.maker = of.maker});
  // One, or what was the best before it too.
  ASSERT_FALSE(list->empty());
  for (const kernel::Trial& trial : of.trials) {
    kernel::Record record = list->front();
    record.trace = print(candidates.with(trial.decisions).made.trace);
    if (record.trace == list->front().trace) continue;
    record.microseconds.reset();
    record.failure = kNotFaster;
    ASSERT_TRUE(records.add(record).ok());
  }
  options.continues = true;
  const auto again = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->trials, 1) << "what was found is measured once more";
  EXPECT_TRUE(again->tasks[0].progress.is_done);
}

TEST(Tuner, MeasuresNothingAgainHoweverMuchWasMeasured) {
  constexpr int64_t kMeasured = 600, kMore = 12;
  const std::vector<Problem> problems = {copy_problem()};
  TuneOptions options = options_of(kMore);
  options.space = numbered_space(kMeasured + kMore);
  options.strategy = "exhaustive";
  options.continues = true;
  const Candidates candidates(problems[0].start, options.space, options.machine, 0);
  const std::string name = candidates.preferred().made.choices[0].choice.name;
  kernel::Trials trials{key_of(problems[0]), maker_of("tuned", Weights::kInCache), problems[0].name, "", {}};
  for (int64_t k = 1; k <= kMeasured; ++k) trials.trials.push_back({{{name, k}}, 1e6});
  kernel::Records records = kernel::Records::in_memory();
  ASSERT_TRUE(records.add(trials).ok());
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->trials, kMore);
  const auto newest = records.trials({.task = problems[0].hash}, kMore);
  ASSERT_TRUE(newest.ok() && newest->size() == 1);
  for (const kernel::Trial& trial : newest->front().trials) EXPECT_GT(trial.decisions.at(name), kMeasured);
}

/// What an earlier run left of another task, and of another target, is learned before anything is measured.
TEST(Tuner, LearnsTracesFromTheRecords) {
  kernel::Records records = kernel::Records::in_memory();
  const auto times = [](const Candidate&, size_t k) { return std::optional(1.0 + static_cast<double>(k)); };
  for (const char* target : {"some cpu", "another cpu"}) {
    kernel::Trials trials = trials_of(kernel::test::examples()[1], 40, 1, times);
    trials.key.target = target;
    trials.key.generator = kernel::generator_version();
    ASSERT_TRUE(records.add(trials).ok());
  }
  TuneOptions options = options_of(24);
  options.cost_model.kind = CostModelKind::kTraces;
  const auto state = tune({problem("product")}, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->no_model, "");
  EXPECT_EQ(state->trials, 24);
}

TEST(Tuner, TriesFirstWhatATaskThatIsAlikeFound) {
  const std::vector<Problem> problems = {slow_problem(),
                                         slow_problem("in0[i0, i1]:float32*in0[i0, i1]:float32 + in1[i0, i1]:float32")};
  ASSERT_NE(problems[0].hash, problems[1].hash);
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(5);
  options.space = slow_space();
  options.round = 4;
  const auto state = tune(problems, {{{1, 1}, 0}}, records, options);
  ASSERT_TRUE(state.ok());
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_TRUE(state->tasks[1].is_found);
  EXPECT_EQ(state->trials, 5);
}

TEST(Tuner, TriesNothingAgainThatFailed) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  const auto first = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(first.ok());
  // As if all had failed but one, in a file without trials.
  const auto list = records.list({});
  kernel::Records failures = kernel::Records::in_memory();
  for (kernel::Record record : *list) {
    record.microseconds.reset();
    record.failure = "crash: planted";
    ASSERT_TRUE(failures.add(record).ok());
  }
  options.continues = true;
  const auto again = tune(problems, {{{1}, 0}}, failures, options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->trials, first->trials - static_cast<int64_t>(list->size()) + 1);  // the default schedule's is one
}

/// A run that finds less leaves what another one found, and one time stays.
TEST(Tuner, KeepsWhatAnEarlierRunFoundWhereThatIsFaster) {
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  options.space = slow_space();
  ASSERT_TRUE(tune(problems, {{{1}, 0}}, records, options)->tasks[0].is_found);
  const auto tuned = [&] {
    std::vector<kernel::Record> times;
    const auto list = records.list({});
    for (const kernel::Record& record : *list)
      if (record.microseconds && record.maker.starts_with("tuned")) times.push_back(record);
    return times;
  };
  ASSERT_THAT(tuned(), SizeIs(1));
  const std::string before = tuned()[0].trace;
  options.trials = 2;
  for (uint64_t seed = 1; seed < 4; ++seed) {
    options.seed = seed;
    ASSERT_TRUE(tune(problems, {{{1}, 0}}, records, options).ok());
    ASSERT_THAT(tuned(), SizeIs(1));
    const auto width = [](const std::string& trace) {
      return decisions_of(*kernel::parse_trace(trace)).begin()->second;
    };
    EXPECT_GE(2 * width(tuned()[0].trace), width(before));
  }
}

/// Vectors are preferred; without them it is slower, whatever the records say.
TEST(Tuner, WhatTheRecordsPraiseIsMeasuredAgainstTheDefaultSchedule) {
  kernel::Space space = slow_space();
  space[0].modules[0].apply = [](kernel::Builder& builder, const std::string& block) {
    const int64_t width = builder.decide(block, "width", {1, 8, 16}, 16);
    const auto inner = builder.schedule.split(builder.schedule.loops(block)->back(), {-1, width});
    if (width > 1) static_cast<void>(builder.schedule.vectorize((*inner)[1]).ok());
  };
  const std::vector<Problem> problems = {slow_problem()};
  TuneOptions options = options_of(4);
  options.space = space;
  options.continues = true;
  const Candidates candidates(problems[0].start, space, options.machine, 0);
  const Candidate slow = candidates.with({{candidates.preferred().made.choices[0].choice.name, 1}});
  kernel::Records records = kernel::Records::in_memory();
  kernel::Record record;
  record.key = key_of(problems[0]);
  record.maker = maker_of("tuned", Weights::kInCache);
  record.trace = print(slow.made.trace);
  record.name = problems[0].name;
  record.microseconds = 1e-3;
  record.when = 1;
  ASSERT_TRUE(records.add(record).ok());
  const TunedSchedules tuned(records, record.key.target, Weights::kInCache);
  const auto find = [&] { return *tuned.find(record.key.task, problems[0].start, space, options.machine); };
  ASSERT_TRUE(find());
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  const auto found = find();
  EXPECT_TRUE(!found || found->schedule.trace().decisions[0].value > 1);
  const auto list = records.list({.maker = record.maker});
  for (const kernel::Record& each : *list) EXPECT_TRUE(each.trace != record.trace || !each.microseconds);
}

TEST(Tuner, WhatTheRecordsKnowToBeSlowerThanTheDefaultIsNotFound) {
  const Problem problem = slow_problem();
  const kernel::Space space = slow_space();
  const Candidates candidates(problem.start, space, machine(), 0);
  const Candidate other = candidates.with({{candidates.preferred().made.choices[0].choice.name, 8}});
  kernel::Records records = kernel::Records::in_memory();
  const auto add = [&](std::string_view maker, const Candidate& candidate, double us) {
    kernel::Record record;
    record.key = key_of(problem);
    record.maker = maker_of(maker, Weights::kInCache);
    record.trace = print(candidate.made.trace);
    record.microseconds = us;
    ASSERT_TRUE(records.add(record).ok());
  };
  const TunedSchedules tuned(records, key_of(problem).target, Weights::kInCache);
  const auto is_found = [&] { return tuned.find(problem.hash, problem.start, space, machine())->has_value(); };
  add("tuned", other, 12);
  EXPECT_TRUE(is_found());
  add("default", candidates.preferred(), 15);
  EXPECT_TRUE(is_found());
  add("default", candidates.preferred(), 11);
  EXPECT_FALSE(is_found());
}

/// A decision whose kernels compute something else is a wrong module's; what it wins by is not taken.
TEST(Tuner, WrongKernelsAreRecordsOfTheirFault) {
  kernel::Space space = slow_space();
  space[0].modules[0].apply = [](kernel::Builder& builder, const std::string& block) {
    if (!builder.decide(block, "wrong", false)) return;
    builder.schedule = slow_problem("in0[i0, i1]:float32").start;
    const kernel::LoopIds inner = *builder.schedule.split(builder.schedule.loops(block)->back(), {-1, 16});
    EXPECT_TRUE(builder.schedule.vectorize(inner[1]).ok());
  };
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(24);
  options.space = space;
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  const auto list = records.list({});
  ASSERT_TRUE(list.ok());
  int wrong = 0;
  for (const kernel::Record& record : *list) {
    wrong += record.failure.starts_with("value: ");
    EXPECT_THAT(record.trace, testing::HasSubstr(record.microseconds ? "wrong := 0" : "wrong := 1"));
  }
  EXPECT_EQ(wrong, state->tasks[0].faults[static_cast<size_t>(Fault::kValue)]);
  EXPECT_GE(wrong, 1);
}

TEST(Tuner, WhatMakesNoCodeIsARecordToo) {
  kernel::Space space = slow_space();
  space[0].modules[0].apply = [](kernel::Builder& builder, const std::string& block) {
    if (!builder.decide(block, "crowded", false)) return;
    const auto sums = builder.schedule.cache_write(block);
    const auto parts = builder.schedule.split(builder.schedule.loops(block)->front(), {1, -1});
    EXPECT_TRUE(builder.schedule.compute_at(*sums, parts->front()).ok());
    const int made = builder.view.block(*sums).writes[0].buffer;  // of 256 KB
    EXPECT_TRUE(builder.schedule.set_scope(builder.view.buffer(made).name, "registers").ok());
  };
  const std::vector<Problem> problems = {slow_problem()};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(4);
  options.space = space;
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->tasks[0].faults[static_cast<size_t>(Fault::kCode)], 1);
  EXPECT_FALSE(state->tasks[0].is_found);
  EXPECT_THAT(*records.list({std::nullopt, std::nullopt, std::nullopt, maker_of("tuned", Weights::kInCache)}),
              SizeIs(1));
}

TEST(Tuner, StoppedItEndsWithWhatThereIs) {
  const std::vector<Problem> problems = {problem("product"), problem("rows")};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(1000);
  const StopsInOrder stops;
  options.tell = [&](const TuneState& state) {
    if (state.trials >= 16) request_stop();
  };
  const auto state = tune(problems, {{{1, 1}, 0}}, records, options);
  forget_stop();
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_LT(state->trials, 40);
}

/// Of candidates that are drawn, too, before any of them is measured.
TEST(Tuner, AStopIsHeardWhileCandidatesAreDrawn) {
  const std::vector<Problem> problems = {problem("product")};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(16);
  kernel::Module slow;
  slow.name = "slow";
  std::atomic<int> made = 0;  // on all cores
  slow.applies = [&](const kernel::View&, const std::string&) {
    if (++made > 4) request_stop();  // behind the default schedule
    return false;
  };
  options.space.insert(options.space.begin(), {false, {slow}});
  const StopsInOrder stops;
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  forget_stop();
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->trials, 0);
  EXPECT_LT(made, 40);
}

/// However long it would take to learn from all trials that the records have.
TEST(Tuner, LeavesTimeToMeasure) {
  const std::vector<Problem> problems = {slow_problem()};
  TuneOptions options = options_of(4);
  options.space = slow_space();
  options.cost_model.kind = CostModelKind::kTraces;
  options.seconds = 3;
  constexpr int kOthers = 7;  // threads, by which candidates of the records are known
  kernel::Machine others = options.machine;
  others.threads = kOthers;
  kernel::Module& module = options.space[0].modules[0];
  module.apply = [apply = module.apply](kernel::Builder& builder, const std::string& block) {
    if (builder.machine().threads == kOthers) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    apply(builder, block);
  };
  kernel::Trials trials{key_of(problems[0]),
                        maker_of("tuned", Weights::kInCache),
                        problems[0].name,
                        kernel::task_text(others, problems[0].start, problems[0].meaning),
                        {}};
  trials.trials.resize(6000, {{{"nothing", 1}}, 1.0});
  kernel::Records records = kernel::Records::in_memory();
  ASSERT_TRUE(records.add(trials).ok());
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_GT(state->trials, 0);
}

TEST(Tuner, EndsInTime) {
  const std::vector<Problem> problems = {problem("product")};
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = options_of(1'000'000);
  options.seconds = 0.2;
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok());
  EXPECT_LT(state->trials, 1'000'000);
}

}  // namespace
}  // namespace isomer::tune::test
