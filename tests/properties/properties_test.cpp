// Seeded random graphs of all rows: what holds for every graph holds for each of them. A failure is made smaller before
// it is printed, with the seed; ISOMER_TEST_SEED runs that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>

#include "graph/op_def.h"
#include "properties/properties.h"
#include "properties/shrink.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

constexpr uint64_t kBlocks = 8;

/// Failed checks of ours are violations too.
std::string violation(const Property& property, const Case& tried) {
  try {
    return property.violation(tried);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

std::string report(const Property& property, const Case& tried) {
  const Sample smaller =
      shrunk(tried.sample, [&](const Sample& each) { return !violation(property, case_of(each, tried.seed)).empty(); });
  return fmt::format("{}: {}\nthe graph was\n{}again: ISOMER_TEST_SEED={} bin/tests/properties\n", property.name,
                     violation(property, case_of(smaller, tried.seed)), text_of(smaller), tried.seed);
}

class RandomGraphs : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomGraphs, KeepWhatHoldsForAll) {
  constexpr int kMostFailures = 3;
  const char* only = std::getenv("ISOMER_TEST_SEED");
  const uint64_t count = is_long_run() ? 100'000 : 2'000;
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : GetParam() * count / kBlocks;
  const uint64_t last = only ? first + 1 : (GetParam() + 1) * count / kBlocks;
  Reach reach;
  int failures = 0;
  for (uint64_t seed = first; seed < last && failures < kMostFailures; ++seed) {
    const Case tried = case_of(random_sample(seed), seed);
    if (tried.sample.graph.outputs().empty()) continue;
    reach.add(tried.sample.graph);
    for (const Property& property : properties()) {
      if (violation(property, tried).empty()) continue;
      ADD_FAILURE() << report(property, tried);
      ++failures;
      break;
    }
  }
  const Comparisons& compared = comparisons();
  fmt::print(
      "{} graphs with {} nodes of {} rows, {} types, {} attributes; {} symbolic; {} of {} comparisons undecided\n",
      last - first, reach.nodes, reach.rows.size(), reach.dtypes.size(), reach.attributes.size(), reach.symbolic,
      compared.undecided, compared.all);
  if (only || failures > 0) return;
  EXPECT_GE(reach.dtypes.size(), 13u);
  EXPECT_LE(compared.undecided * 20, compared.all);
  for (const OpDef* op : is_long_run() ? all_ops() : std::vector<const OpDef*>())
    EXPECT_TRUE(op->domain == kOwnDomain || reach.rows.contains(op->name)) << op->name << " is in no graph";
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomGraphs, testing::Range<uint64_t>(0, kBlocks));

}  // namespace
}  // namespace isomer::test
