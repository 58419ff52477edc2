// Each case of tests/passes/*.txt: the passes make of the graph what the file says, and the graph after them computes
// what the one before did, on random inputs.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/interpret.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"
#include "passes/all_passes.h"
#include "passes/case_file.h"
#include "passes/same_results.h"
#include "support/collision.h"
#include "support/files.h"

namespace isomer::test {
namespace {

Result<int> run_pass(const std::string& name, Graph& graph, const PassOptions& options) {
  if (name == "optimize" || name == "canonicalize") {
    TRY(const OptimizeReport report, name == "optimize" ? optimize(graph, options) : canonicalize(graph, options));
    if (!report.skipped.empty()) return invalid(name, "{}", report.skipped[0]);
    return static_cast<int>(report.steps.size());
  }
  std::vector<OptimizeStep> steps;
  PassContext context(options, steps);
  context.set_growth_left(options.max_growth);
  return all_passes().at(name)(graph, context);
}

class Passes : public testing::TestWithParam<PassCase> {};

TEST_P(Passes, DoWhatTheFileSays) {
  const PassCase& entry = GetParam();
  const auto before = parse_graph(entry.before);
  ASSERT_TRUE(before.ok()) << before.error().message();
  Graph graph = *before;
  int changes = 0;
  for (const std::string& pass : entry.passes) {
    const auto done = run_pass(pass, graph, entry.options);
    ASSERT_TRUE(done.ok()) << done.error().message();
    changes += *done;
  }
  if (entry.unchanged) {
    EXPECT_EQ(changes, 0) << print_graph(graph);
    EXPECT_EQ(difference(*before, graph), std::nullopt) << print_graph(graph);
  } else if (!entry.operators.empty()) {
    EXPECT_EQ(operators_of(graph), entry.operators) << print_graph(graph);
  } else {
    const auto after = parse_graph(entry.after);
    ASSERT_TRUE(after.ok()) << after.error().message();
    EXPECT_EQ(difference(*after, graph), std::nullopt) << "expected\n"
                                                       << print_graph(*after) << "found\n"
                                                       << print_graph(graph);
    EXPECT_GT(changes, 0) << "what is not counted as a change is lost";
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    EXPECT_EQ(graph.value(graph.outputs()[i]).name, before->value(before->outputs()[i]).name);
  const bool is_exact = entry.options.level <= 1 || entry.options.fp == FloatMode::kStrict;
  if (can_run(*before)) expect_same_results(*before, graph, is_exact);
}

TEST_P(Passes, ComeToAnEnd) {
  auto graph = parse_graph(GetParam().before);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const auto report = optimize(*graph, GetParam().options);
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->stop_reason, "nothing left to change");
}

std::string test_name(const testing::TestParamInfo<PassCase>& info) {
  std::string name = info.param.file.substr(0, info.param.file.size() - 4) + "_" + info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, Passes, testing::ValuesIn(read_cases(source_path("tests/passes"))), test_name);

TEST(Pipeline, RunsNoPassAgainOnTheSameGraph) {
  auto graph = parse_graph("graph main(x: float32[4]) -> (y) { y = Relu(x) }");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const auto report = optimize(*graph, {});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_FALSE(report->passes.empty());
  for (const PassStatistics& each : report->passes) EXPECT_EQ(each.runs, 1) << each.pass;
}

TEST(MergingEqual, KeepsTablesThatOnlyHashAlike) {
  auto graph = parse_graph(R"(opset 17
graph g(i: int64[2]) -> (y: float32[2,8]) {
  first: float32[100,8] = random 1
  second: float32[100,8] = random 2
  a = Gather(first, i)
  b = Gather(second, i)
  y = Sub(a, b)
})");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  std::optional<Tensor> first;
  for (const ValueId id : graph->values())
    if (graph->value(id).name == "first") first = graph->value(id).constant;
  const std::vector<std::byte> bytes(first->bytes().begin(), first->bytes().end());
  for (const ValueId id : graph->values())
    if (graph->value(id).name == "second")
      graph->edit(id).constant = Tensor(first->dtype(), first->dims(), with_the_same_hash(bytes, 3, 0x40000));
  const Graph before = *graph;
  ASSERT_TRUE(optimize(*graph, {}).ok());
  EXPECT_EQ(difference(before, *graph), std::nullopt) << print_graph(*graph);
}

}  // namespace
}  // namespace isomer::test
