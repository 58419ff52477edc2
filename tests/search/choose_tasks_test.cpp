// Other ways to cut graphs into tasks: whatever a plan says, tasks compute the same; what is chosen was measured.
#include "search/cost/choose_tasks.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bind.h"
#include "properties/same_function.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "support/long_run.h"
#include "util/random.h"
#include "util/stop.h"
#include "verify/check/inputs.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;
using Kind = search::TaskChoice::Kind;

/// Expand, depthwise, project, with a residual.
constexpr const char* kInverted = R"(opset 17
graph inverted(x: float32[1,8,14,14]) -> (y: float32[1,8,14,14]) {
  v: float32[48,8,1,1] = random 1
  d: float32[48,1,3,3] = random 2
  b: float32[48] = random 3
  w: float32[8,48,1,1] = random 4
  e = Conv(x, v)
  f = Relu(e)
  g = Conv(f, d, b) {group = 48, pads = [1,1,1,1]}
  h = Relu(g)
  p = Conv(h, w)
  y = Add(p, x)
}
)";

ValueId value_named(const Graph& graph, std::string_view name) {
  for (const ValueId value : graph.values())
    if (graph.value(value).name == name) return value;
  ADD_FAILURE() << name;
  return {};
}

search::CompileOptions host_options(int threads) {
  search::CompileOptions options;
  options.target = kernel::host_target();
  options.threads = threads;
  return options;
}

std::string tasks_by(const Graph& graph, const search::TaskPlan& plan) {
  search::TaskDecider decider(plan);
  search::TaskTable table;
  const auto tasks = tasks_of(graph, host_options(1), search::Surroundings::kWhole, decider, table);
  CHECK(tasks.ok()) << tasks.error().message();
  std::vector<std::string> names;
  for (const search::Task& task : *tasks) names.push_back(task.name(graph));
  return fmt::format("{}", fmt::join(names, " "));
}

TEST(TaskPlans, SayWhatIsOneTask) {
  const Graph graph = parsed(kInverted);
  EXPECT_EQ(tasks_by(graph, {}), "Relayout Conv+Relu Conv+Relu Conv+Add Relayout");
  EXPECT_EQ(tasks_by(graph, {{{Kind::kTogether, value_named(graph, "h")}, true}}), "Conv+Relu Conv+Relu+Conv+Add");
  EXPECT_EQ(tasks_by(graph, {{{Kind::kTogether, value_named(graph, "e")}, false}}),
            "Relayout Conv Relu Conv+Relu Conv+Add Relayout");
  // A window needs rows that are not there yet.
  EXPECT_EQ(tasks_by(graph, {{{Kind::kTogether, value_named(graph, "f")}, true}}), tasks_by(graph, {}));
}

TEST(TaskPlans, SayHowATaskIsLaidOut) {
  const Graph graph = parsed(kInverted);
  EXPECT_EQ(tasks_by(graph, {{{Kind::kChannelsLast, value_named(graph, "f")}, false}}),
            "Conv+Relu Relayout Conv+Relu Relayout Conv+Add Relayout");
}

/// x * sigmoid(x): two readers, one task.
TEST(TaskPlans, ReadersOfOneTaskCountAsOne) {
  const Graph graph = parsed(R"(opset 17
graph swish(x: float32[1,8,8,8]) -> (y: float32[1,8,6,6]) {
  w: float32[8,8,3,3] = random 1
  c = Conv(x, w)
  s = Sigmoid(c)
  y = Mul(c, s)
}
)");
  EXPECT_EQ(tasks_by(graph, {}), "Relayout Conv Relayout Sigmoid+Mul");
  EXPECT_EQ(tasks_by(graph, {{{Kind::kTogether, value_named(graph, "c")}, true}}),
            "Relayout Conv+Sigmoid+Mul Relayout");
}

/// Every choice the other way with a chance, as long as new ones come up.
search::TaskPlan random_plan(const Graph& graph, double chance, Random& random) {
  search::TaskPlan plan;
  search::TaskTable table;
  std::set<search::TaskChoice> seen;
  for (int round = 0; round < 4; ++round) {
    search::TaskDecider decider(plan);
    const auto tasks = tasks_of(graph, host_options(1), search::Surroundings::kWhole, decider, table);
    if (!tasks.ok()) break;
    for (const auto& [choice, preferred] : decider.preferences())
      if (seen.insert(choice).second && random.chance(chance)) plan[choice] = !preferred;
  }
  return plan;
}

void expect_same(const Graph& graph, const isomer::test::Run& run, const search::TaskPlan& plan, int threads) {
  search::CompileOptions options = host_options(threads);
  options.plan = plan;
  const auto result = compile(graph, options);
  if (!result.ok()) {
    EXPECT_EQ(result.error().kind, ErrorKind::kUnsupported) << result.error().message();
    return;
  }
  const auto found = search::run_artifact(*opened(result->artifact, threads), run.inputs);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(difference(graph, run, *found), "") << tasks_by(graph, plan);
}

TEST(TaskPlans, KeepWhatRandomGraphsCompute) {
  const uint64_t count = is_long_run() ? 2'000 : 60;
  Random random(7);
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    const Case tried = case_of(random_sample(seed), seed);
    for (const isomer::test::Run& one : tried.runs) {
      std::map<std::string, Dims> shapes;
      Graph graph = tried.sample.graph;
      for (size_t k = 0; k < one.inputs.size(); ++k) shapes[graph.value(graph.inputs()[k]).name] = one.inputs[k].dims();
      if (!bind_inputs(graph, {}, shapes).ok()) continue;
      expect_same(graph, one, random_plan(graph, 0.7, random), random.chance(0.5) ? 1 : 2);
    }
  }
}

/// Blocks of image models: what is expanded, windows and strides, images and channels that no tile divides, what comes
/// before and behind.
std::string random_block(Random& random) {
  const int64_t in = random.between(1, 40), middle = random.between(2, 70), out = random.between(1, 50),
                image = random.between(1, 20), window = 1 + 2 * random.between(0, 2), stride = random.between(1, 2),
                batch = random.between(1, 2), after = (image - 1) / stride + 1;
  const char* activation = random.chance(0.5) ? "Relu" : random.chance(0.5) ? "HardSwish" : "Sigmoid";
  const bool scales = random.chance(0.5), depthwise = random.chance(0.7), adds = random.chance(0.5);
  return fmt::format(
      R"(opset 17
graph block(x: float32[{batch},{in},{image},{image}], z: float32[{batch},{out},{after},{after}]) -> (y: float32[{batch},{out},{after},{after}]) {{
  s: float32[{in},1,1] = random 9
  v: float32[{middle},{in},1,1] = random 1
  d: float32[{middle},{filters},{window},{window}] = random 2
  b: float32[{middle}] = random 3
  w: float32[{out},{middle},1,1] = random 4
  x0 = {front}
  e = Conv(x0, v)
  f = {activation}(e)
  g = Conv(f, d, b) {{group = {groups}, pads = [{pad},{pad},{pad},{pad}], strides = [{stride},{stride}]}}
  h = {activation}(g)
  p = Conv(h, w)
  y = {back}
}}
)",
      fmt::arg("batch", batch), fmt::arg("in", in), fmt::arg("image", image), fmt::arg("out", out),
      fmt::arg("after", after), fmt::arg("middle", middle), fmt::arg("filters", depthwise ? 1 : middle),
      fmt::arg("window", window), fmt::arg("front", scales ? "Mul(x, s)" : "Abs(x)"),
      fmt::arg("activation", activation), fmt::arg("groups", depthwise ? middle : 1), fmt::arg("pad", window / 2),
      fmt::arg("stride", stride), fmt::arg("back", adds ? "Add(p, z)" : "Max(p, z)"));
}

TEST(TaskPlans, KeepWhatRandomBlocksCompute) {
  const uint64_t count = is_long_run() ? 2'000 : 60;
  for (uint64_t seed = 0; seed < count; ++seed) {
    Random random(seed);
    const std::string text = random_block(random);
    SCOPED_TRACE(text);
    const Graph graph = parsed(text);
    const auto inputs = generate_inputs(graph, {.seed = seed});
    ASSERT_TRUE(inputs.ok()) << inputs.error().message();
    const Case tried = case_of(Sample{graph, *inputs, std::vector<bool>(2, true)}, seed);
    ASSERT_FALSE(tried.runs.empty());
    expect_same(graph, tried.runs.front(), random_plan(graph, 0.5, random), random.chance(0.5) ? 1 : 2);
  }
}

TEST(ChooseTasks, MeasuresTheOtherWaysAndSaysWhatTheyTook) {
  const Graph graph = parsed(kInverted);
  const search::CompileOptions compile = host_options(1);
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(compile, records);
  const auto chosen = choose_tasks(graph, compile, timer, {.seconds = 60, .race = {.seconds = 0.05}});
  ASSERT_TRUE(chosen.ok()) << chosen.error().message();
  EXPECT_EQ(chosen->open, 0);
  const auto find = [&](std::string_view what) {
    return std::find_if(chosen->alternatives.begin(), chosen->alternatives.end(),
                        [&](const search::TaskAlternative& each) { return each.what == what; });
  };
  for (const char* what : {"Conv+Relu together with Conv+Add", "Conv+Relu cut behind Conv", "Conv+Relu row-major"}) {
    const auto found = find(what);
    ASSERT_NE(found, chosen->alternatives.end()) << what;
    EXPECT_EQ(found->why_not, "");
    EXPECT_GT(found->before, 0);
    EXPECT_GT(found->after, 0);
  }
  for (const search::TaskAlternative& each : chosen->alternatives)
    EXPECT_TRUE(!each.is_taken || each.after < each.before) << each.what;
  EXPECT_EQ(chosen->plan.empty(), !chosen->raced || !(chosen->raced->ratio > 1 && chosen->raced->is_told_apart()));
}

TEST(ChooseTasks, EndsInGoodOrderWhereItIsStopped) {
  const Graph graph = parsed(kInverted);
  const search::CompileOptions compile = host_options(1);
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(compile, records);
  const StopsInOrder stops;
  ASSERT_TRUE(request_stop());
  const auto chosen = choose_tasks(graph, compile, timer, {.seconds = 60, .race = {}});
  ASSERT_TRUE(chosen.ok()) << chosen.error().message();
  EXPECT_TRUE(chosen->is_interrupted && chosen->plan.empty());
  EXPECT_TRUE(check_stop().ok()) << "what comes behind it goes on";
}

TEST(ChooseTasks, WithoutTimeSaysWhatWasLeft) {
  const Graph graph = parsed(kInverted);
  const search::CompileOptions compile = host_options(1);
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(compile, records);
  const auto chosen = choose_tasks(graph, compile, timer, {.seconds = 0, .race = {}});
  ASSERT_TRUE(chosen.ok()) << chosen.error().message();
  EXPECT_TRUE(chosen->alternatives.empty() && chosen->plan.empty());
  EXPECT_GT(chosen->open, 0);
  EXPECT_EQ(timer.statistics().measured, 0) << "it takes seconds of which there are none";
}

}  // namespace
}  // namespace isomer::test
