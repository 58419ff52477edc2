// Every case of libonnx-testdata ends as the list says: passes, or does not for the reason given there. Models that
// were optimized, written and read back end the same way.
#include <gtest/gtest.h>

#include "suite/expectations.h"
#include "support/files.h"

namespace isomer::suite {
namespace {

class Suite : public testing::TestWithParam<bool> {};

TEST_P(Suite, EndsAsListed) {
  const std::vector<Case> cases = find_cases(ONNX_TESTDATA);
  std::vector<Outcome> outcomes;
  for (const Case& test : cases) outcomes.push_back(run_case(test, {.optimize = GetParam(), .threads = 1}));
  const Expectations expected = read_expectations(test::source_path("tests/suite/expected.txt"));
  for (const std::string& sentence : surprises(cases, outcomes, expected)) ADD_FAILURE() << sentence;
  for (size_t i = 0; i < cases.size(); ++i)
    EXPECT_TRUE(outcomes[i].verdict == Verdict::kPass || outcomes[i].verdict == Verdict::kUnsupported)
        << cases[i].name << ": " << outcomes[i].detail;
}

INSTANTIATE_TEST_SUITE_P(Models, Suite, testing::Bool(),
                         [](const auto& info) { return info.param ? "Optimized" : "AsTheyAre"; });

}  // namespace
}  // namespace isomer::suite
