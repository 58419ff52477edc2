// Convolutions in narrow groups become ones in fewer groups that compute the same.
#include "search/widen_groups.h"

#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "search/compiled.h"
#include "util/random.h"

namespace isomer::test {
namespace {

struct Grouped {
  const char* name;
  const char* graph;
  int64_t groups;  ///< afterwards
};

constexpr Grouped kCases[] = {
    {"GroupsOfFourChannelsJoinByTwos", R"(opset 17
graph g(x: float32[1,8,5,5]) -> (y: float32[1,16,5,5]) {
  w: float32[16,2,3,3] = random 1
  b: float32[16] = random 2
  y = Conv(x, w, b) {group = 4, pads = [1,1,1,1]}
}
)",
     2},
    {"ThreeGroupsOfTwoChannelsBecomeOne", R"(opset 17
graph g(x: float32[2,9,5]) -> (y: float32[2,6,3]) {
  w: float32[6,3,3] = random 1
  y = Conv(x, w) {group = 3}
}
)",
     1},
    {"DepthwiseStays", R"(opset 17
graph g(x: float32[1,4,5]) -> (y: float32[1,4,3]) {
  w: float32[4,1,3] = random 1
  y = Conv(x, w) {group = 4}
}
)",
     4},
};

class WidenGroups : public testing::TestWithParam<Grouped> {};

TEST_P(WidenGroups, KeepsWhatIsComputed) {
  const Graph before = parsed(GetParam().graph);
  Graph after = before;
  const auto changes = widen_groups(after, 8);
  ASSERT_TRUE(changes.ok()) << changes.error().message();
  ASSERT_EQ(after.node_count(), 1);
  EXPECT_EQ(std::get<int64_t>(after.node(after.nodes().front()).attributes.at("group")), GetParam().groups);
  Random random(1);
  const Dims dims = *constants(*before.value(before.inputs()[0]).type.shape);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = random.normal();
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, dims, values)};
  const auto expected = interpret(before, inputs, {}), found = interpret(after, inputs, {});
  ASSERT_TRUE(expected.ok() && found.ok());
  ASSERT_EQ(found->front().dims(), expected->front().dims());
  for (int64_t i = 0; i < found->front().count(); ++i)
    ASSERT_EQ(found->front().real(i), expected->front().real(i)) << "element " << i;
}

INSTANTIATE_TEST_SUITE_P(Graphs, WidenGroups, testing::ValuesIn(kCases),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace isomer::test
