// One entry for equal tasks, whichever graph they stand in.
#include "search/tasks/task_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "search/compiled.h"
#include "search/tasks/layouts.h"

namespace isomer::test {
namespace {

constexpr std::string_view kProduct = R"(opset 17
graph product(x: float32[4,32]) -> (y: float32[4,32]) {{
  w: float32[32,32] = {}
  y = {}
}}
)";

/// The entries of a graph's tasks.
std::vector<const search::LoweredTask*> entries(search::TaskTable& table, const Graph& graph) {
  search::TaskDecider decider;
  const auto tasks = tasks_of(graph, {}, search::Surroundings::kWhole, decider, table);
  CHECK(tasks.ok()) << tasks.error().message();
  std::vector<const search::LoweredTask*> result;
  for (const search::Task& task : *tasks) {
    const auto entry = table.lowered(graph, task);
    CHECK(entry.ok()) << entry.error().message();
    result.push_back(*entry);
  }
  return result;
}

std::vector<const search::LoweredTask*> product(search::TaskTable& table, std::string_view weights,
                                                std::string_view node) {
  return entries(table, parsed(fmt::format(fmt::runtime(kProduct), weights, node)));
}

TEST(TaskTable, HasEqualTasksOfSeveralGraphsOnce) {
  search::TaskTable table;
  const auto first = product(table, "random 1", "MatMul(x, w)"), again = product(table, "random 2", "MatMul(x, w)");
  ASSERT_EQ(first.size(), 1);
  EXPECT_EQ(first, again) << "numbers of weights are none of its business";
  EXPECT_EQ(first[0]->hash, structural_hash(first[0]->start.kernel()));
  EXPECT_EQ(first[0]->flops, 2 * 4 * 32 * 32);
  EXPECT_EQ(first[0]->bytes, 4 * (4 * 32 + 32 * 32 + 4 * 32));
}

TEST(TaskTable, HasTasksOnceThatBecomeTheSameKernel) {
  search::TaskTable table;
  EXPECT_EQ(product(table, "random 1", "MatMul(x, w)"), product(table, "random 1", "Gemm(x, w)"));
}

TEST(TaskTable, TellsConstantsApartThatKernelsMayNotComputeWith) {
  search::TaskTable table;
  const auto finite = product(table, "random 1", "MatMul(x, w)"), infinite = product(table, "all inf", "MatMul(x, w)");
  EXPECT_NE(finite, infinite);
  EXPECT_TRUE(finite[0]->start.kernel().buffers[1].is_constant);
  EXPECT_FALSE(infinite[0]->start.kernel().buffers[1].is_constant);
}

TEST(TaskTable, TellsReductionsApartThatDecideTiesOtherwise) {
  search::TaskTable table;
  const auto node = [&](std::string_view op, int last) {
    return entries(table, parsed(fmt::format("opset 17\ngraph ties(x: float32[4,32]) -> (y: int64[4]) {{\n"
                                             "  y = {}(x) {{axis = 1, keepdims = 0, select_last_index = {}}}\n}}\n",
                                             op, last)));
  };
  for (const char* op : {"ArgMax", "ArgMin"}) EXPECT_NE(node(op, 0), node(op, 1)) << op;
}

TEST(TaskTable, LayoutsMakeOtherTasks) {
  const Graph graph = parsed(R"(opset 17
graph relu(x: float32[1,8,6,6]) -> (y: float32[1,8,6,6]) {
  y = Relu(x)
}
)");
  search::TaskTable table;
  std::vector<search::Task> tasks = search::fuse(graph).value();
  ASSERT_EQ(tasks.size(), 1);
  const search::LoweredTask* const row_major = *table.lowered(graph, tasks[0]);
  tasks[0].input_layouts = tasks[0].output_layouts = {"0:2:3:1"};
  const search::LoweredTask* const channels_last = *table.lowered(graph, tasks[0]);
  EXPECT_NE(channels_last, row_major);
  EXPECT_TRUE(row_major->start.trace().instructions.empty());
  EXPECT_EQ(channels_last->start.trace().instructions.size(), 2);
  EXPECT_EQ(*table.lowered(graph, tasks[0].row_major()), row_major);
}

TEST(TaskTable, SaysWhatOnlyRenamesItsInput) {
  search::TaskTable table;
  const auto renamed = entries(table, parsed(R"(opset 17
graph reshape(x: float32[4,32]) -> (y: float32[128]) {
  s: int64[1] = {128}
  y = Reshape(x, s)
}
)"));
  ASSERT_EQ(renamed.size(), 1);
  EXPECT_EQ(renamed[0]->view_of, 0);
  EXPECT_EQ(product(table, "random 1", "MatMul(x, w)")[0]->view_of, -1);
}

}  // namespace
}  // namespace isomer::test
