#include "search/strategies/regions.h"

#include <gtest/gtest.h>

#include "substitutions/rewrite/subprogram.h"
#include "substitutions/rewriting.h"

namespace isomer {
namespace {

using namespace substitutions;

/// Blocks of a skip connection around two layers; one value between blocks.
Graph blocks(int count) {
  std::string body = fmt::format("graph main(x0: float32[4,4]) -> (x{}: float32[4,4]) {{\n", count);
  for (int k = 0; k < count; ++k)
    body += fmt::format(
        "a{0}: float32[4,4] = Relu(x{0})\nb{0}: float32[4,4] = MatMul(a{0}, a{0})\nc{0}: float32[4,4] = Tanh(b{0})\n"
        "d{0}: float32[4,4] = MatMul(c{0}, c{0})\ne{0}: float32[4,4] = Sigmoid(d{0})\nx{1}: float32[4,4] = Add(e{0}, "
        "x{0})\n",
        k, k + 1);
  return substitutions::test::graph(body + "}");
}

class RegionsTest : public testing::Test {
 protected:
  Theory theory_;
};

TEST_F(RegionsTest, CutWhereOneValueIsAliveAndEqualBlocksHaveEqualKeys) {
  const Program program = substitutions::test::program(blocks(5), theory_);
  const search::Regions regions = search::regions_of(program, {}, {.least = 4, .most = 12});
  ASSERT_EQ(regions.applications.size(), 5u);
  std::set<Hash128> keys;
  for (const std::vector<int>& region : regions.applications) {
    EXPECT_EQ(region.size(), 6u);
    keys.insert(subprogram_key(subprogram_of(program, region, program.uses()).program));
  }
  EXPECT_EQ(keys.size(), 1u);
}

TEST_F(RegionsTest, HoldEachApplicationOnceAndSeamsLieInsideTheNextTime) {
  const Program program = substitutions::test::program(blocks(7), theory_);
  const search::RegionOptions options{.least = 4, .most = 12};
  const search::Regions first = search::regions_of(program, {}, options),
                        second = search::regions_of(program, first.seams, options);
  for (const search::Regions& regions : {first, second}) {
    std::set<int> seen;
    size_t count = 0;
    for (const std::vector<int>& region : regions.applications) {
      EXPECT_LE(region.size(), 12u);
      seen.insert(region.begin(), region.end());
      count += region.size();
    }
    EXPECT_EQ(count, seen.size());
    EXPECT_EQ(count, static_cast<size_t>(program.application_count()));
  }
  for (const int seam : second.seams) EXPECT_FALSE(first.seams.contains(seam));
}

TEST_F(RegionsTest, APartComputesWhatItsPlaceComputes) {
  const Program program = substitutions::test::program(blocks(3), theory_);
  const search::Regions regions = search::regions_of(program, {}, {.least = 4, .most = 12});
  const Subprogram part = subprogram_of(program, regions.applications[1], program.uses());
  EXPECT_EQ(substitutions::test::operators(part.program),
            (std::vector<std::string>{"Add", "MatMul", "MatMul", "Relu", "Sigmoid", "Tanh"}));
  const Graph graph = substitutions::test::written(part.program);
  EXPECT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(graph.outputs().size(), 1u);
  for (int id = 0; id < part.program.value_count(); ++id)
    EXPECT_EQ(part.program.value(id).type, program.value(part.values[static_cast<size_t>(id)]).type);
}

TEST_F(RegionsTest, KeysTellTypesNumbersAndConstantsApart) {
  const auto key = [&](std::string_view body) {
    const Program program = substitutions::test::program(substitutions::test::graph(body), theory_);
    std::vector<int> all;
    for (int id = 0; id < program.application_count(); ++id) all.push_back(id);
    return subprogram_key(subprogram_of(program, all, program.uses()).program);
  };
  std::set<Hash128> keys = {
      key("graph main(x: float32[4], y: float32[4]) -> (z: float32[4]) {\n z: float32[4] = Add(x, y)\n}")};
  const auto is_new = [&](std::string_view body) { return keys.insert(key(body)).second; };
  EXPECT_TRUE(is_new("graph main(x: float32[3], y: float32[3]) -> (z: float32[3]) {\n z: float32[3] = Add(x, y)\n}"));
  EXPECT_TRUE(is_new("graph main(x: float32[4]) -> (z: float32[4]) {\n z: float32[4] = Add(x, x)\n}"));
  EXPECT_TRUE(
      is_new("graph main(x: float32[4]) -> (z: float32[4]) {\n c: float32[] = {2}\n z: float32[4] = Add(x, c)\n}"));
  EXPECT_TRUE(
      is_new("graph main(x: float32[4]) -> (z: float32[4]) {\n c: float32[] = {3}\n z: float32[4] = Add(x, c)\n}"));
  EXPECT_TRUE(is_new(
      "graph main(x: float32[4]) -> (z: float32[4]) {\n c: float32[4] = {3, 1, 1, 2}\n z: float32[4] = Add(x, c)\n}"));
  EXPECT_FALSE(is_new(
      "graph other(a: float32[4]) -> (b: float32[4]) {\n d: float32[4] = {7, 1, 1, 2}\n b: float32[4] = Add(a, d)\n}"));
}

}  // namespace
}  // namespace isomer
