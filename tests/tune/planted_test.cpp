// Kernels and code generators with faults of every kind: none becomes a time in the records, each is told by its kind,
// and the tuner comes to its end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/long_run.h"
#include "tune/planted.h"
#include "util/sanitized.h"

namespace isomer::tune::test {
namespace {

using isomer::test::is_long_run;
using isomer::test::Plant;

int64_t times() { return is_long_run() ? 200 : 3; }

/// No schedule but the default one has a time.
void expect_none_valid(const kernel::Records& records) {
  const auto list = records.list({std::nullopt, std::nullopt, std::nullopt, maker_of("tuned", Weights::kInCache)});
  ASSERT_TRUE(list.ok());
  for (const kernel::Record& record : *list) EXPECT_FALSE(record.microseconds) << record.trace;
}

/// As often as it says: every trial's fault is this one.
void expect_faults(const TuneOptions& options, Fault fault) {
  const std::vector<Problem> problems = {copy_problem()};
  kernel::Records records = kernel::Records::in_memory();
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_EQ(state->trials, options.trials);
  EXPECT_FALSE(state->tasks[0].is_found);
  expect_none_valid(records);
  for (size_t k = 0; k < kFaults; ++k) {
    const int64_t found = state->tasks[0].faults[k];
    if (k == static_cast<size_t>(fault)) {
      EXPECT_GT(found, 0);
    } else {
      EXPECT_EQ(found, 0) << name(static_cast<Fault>(k));
    }
  }
  const auto list = records.list({std::nullopt, std::nullopt, std::nullopt, maker_of("tuned", Weights::kInCache)});
  for (const kernel::Record& record : *list)
    EXPECT_THAT(record.failure, testing::StartsWith(std::string(name(fault)) + ": "));
}

class Planted : public testing::TestWithParam<Plant> {};

TEST_P(Planted, IsNeverRecordedAsATime) {
  if (GetParam().needs_forbidding && !isomer::test::system_forbids())
    GTEST_SKIP() << "the system does not let a process forbid its kernels to ask for anything";
  TuneOptions options = planted_options(times());
  options.compiler.make = [](const kernel::Kernel& kernel, const kernel::CpuTarget&) {
    return copy_with(kernel, number_of(kernel) == 0 ? nullptr : &GetParam());
  };
  expect_faults(options, GetParam().fault);
}

std::string name_of(const testing::TestParamInfo<Plant>& plant) {
  std::string text = plant.param.name;
  std::ranges::replace(text, ' ', '_');
  return text;
}
INSTANTIATE_TEST_SUITE_P(Kernels, Planted, testing::ValuesIn(isomer::test::plants(kCopied)), name_of);

/// What is right among them is found all the same.
TEST(Tuner, FindsWhatIsRightAmongFaults) {
  static const std::vector<Plant> plants = [] {
    std::vector<Plant> all = isomer::test::plants(kCopied);
    if (!isomer::test::system_forbids()) std::erase_if(all, [](const Plant& each) { return each.needs_forbidding; });
    return all;
  }();
  static const Plant right = {"right", Fault::kNone, {}};
  const auto count = std::ssize(plants);
  TuneOptions options = planted_options(count + 1);
  options.compiler.make = [&](const kernel::Kernel& kernel, const kernel::CpuTarget&) {
    const int64_t number = number_of(kernel);
    return copy_with(kernel, number == 0           ? nullptr
                             : number == count / 2 ? &right
                                                   : &plants[static_cast<size_t>(number - 1) % plants.size()]);
  };
  const std::vector<Problem> problems = {copy_problem()};
  kernel::Records records = kernel::Records::in_memory();
  const auto state = tune(problems, {{{1}, 0}}, records, options);
  ASSERT_TRUE(state.ok()) << state.error().message();
  EXPECT_TRUE(state->tasks[0].is_found);
  EXPECT_GE(state->tasks[0].speedup(), 2);
  const auto list = records.list({std::nullopt, std::nullopt, std::nullopt, maker_of("tuned", Weights::kInCache)});
  for (const kernel::Record& record : *list) {
    if (record.microseconds) {
      EXPECT_THAT(record.trace, testing::HasSubstr(fmt::format("{} := {}\n", kPlanted, count / 2)));
    }
  }
}

struct Generator {
  std::string name;
  void (*fail)();
};
class PlantedGenerator : public testing::TestWithParam<Generator> {};

TEST_P(PlantedGenerator, CostsItsCandidateAndNoMore) {
  TuneOptions options = planted_options(times());
  options.compiler.seconds = 0.5;
  options.compiler.memory_bytes = int64_t{256} << 20;
  options.compiler.make = [](const kernel::Kernel& kernel, const kernel::CpuTarget&) {
    if (number_of(kernel) > 0) GetParam().fail();
    return copy_with(kernel, nullptr);
  };
  expect_faults(options, Fault::kCode);
}

void take_all_memory() {
  if (kSanitized) std::abort();  // nothing would stop it
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(size_t{1} << 20, '\1');
}
INSTANTIATE_TEST_SUITE_P(Code, PlantedGenerator,
                         testing::Values(Generator{"never_returns",
                                                   [] {
                                                     for (;;) asm volatile("");
                                                   }},
                                         Generator{"aborts", [] { std::abort(); }},
                                         Generator{"exits", [] { _exit(0); }},
                                         Generator{"finds_a_bug", [] { CHECK(false) << "planted"; }},
                                         Generator{"takes_all_memory", take_all_memory}),
                         [](const auto& generator) { return generator.param.name; });

}  // namespace
}  // namespace isomer::tune::test
