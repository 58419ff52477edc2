// The interpreter agrees with the evaluator on random programs.
#include <gtest/gtest.h>

#include "graph/te/program_text.h"
#include "interpreter/compare.h"
#include "interpreter/random_program.h"
#include "support/long_run.h"

namespace isomer::te::test {
namespace {

struct Family {
  const char* name;
  RandomProgram (*make)(Random&);
  int count;
};

class RandomPrograms : public testing::TestWithParam<Family> {};

TEST_P(RandomPrograms, agree_with_the_evaluator) {
  const int count = GetParam().count * (isomer::test::is_long_run() ? 50 : 1);
  for (int seed = 0; seed < count; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const RandomProgram made = GetParam().make(random);
    ASSERT_TRUE(agrees(made.program, made.inputs)) << "seed " << seed << "\n" << print(made.program);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, RandomPrograms,
                         testing::Values(Family{"map_reduce", random_map_reduce, 2000},
                                         Family{"contraction", random_contraction, 600},
                                         Family{"scan", random_scan, 500}, Family{"update", random_update, 800}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace isomer::te::test
