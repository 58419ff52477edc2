// Keys and times of tasks: equal for equal tasks, measured once, estimated without running anything.
#include "search/cost/task_timer.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/bind.h"
#include "kernel/fingerprint.h"
#include "kernel/lower.h"
#include "measure/kernel_data.h"
#include "properties/random_graph.h"
#include "search/compiled.h"
#include "search/tasks/layouts.h"
#include "support/long_run.h"
#include "tune/tuned.h"
#include "util/clock.h"
#include "verify/check/inputs.h"

namespace isomer::test {
namespace {

search::CompileOptions host_options(int threads = 2) {
  search::CompileOptions options;
  options.target = kernel::host_target();
  options.threads = threads;
  return options;
}

/// The tasks of a text's graph, and a timer of its own.
class Timed {
 public:
  explicit Timed(std::string_view text) : graph(parsed(text)) {
    auto fused = search::fuse(graph);
    CHECK(fused.ok()) << fused.error().message();
    auto laid_out = assign_layouts(graph, *std::move(fused));
    CHECK(laid_out.ok()) << laid_out.error().message();
    tasks = *std::move(laid_out);
  }
  std::vector<search::TaskOf> all() const {
    std::vector<search::TaskOf> list;
    for (const search::Task& task : tasks) list.push_back({&graph, &task});
    return list;
  }

  Graph graph;
  std::vector<search::Task> tasks;
};

/// The key of the only task.
search::TaskKey key_of(std::string_view text, const std::string& layout = "") {
  Timed one(text);
  CHECK(one.tasks.size() == 1) << one.tasks.size();
  one.tasks[0].input_layouts.assign(one.tasks[0].inputs.size(), layout);
  one.tasks[0].output_layouts.assign(one.tasks[0].outputs.size(), layout);
  kernel::Records records = kernel::Records::in_memory();
  const search::CompileOptions options = host_options();
  const auto key = search::TaskTimer(options, records).key(one.graph, one.tasks[0]);
  CHECK(key.ok()) << key.error().message();
  return *key;
}

constexpr std::string_view kLayer = R"(opset 17
graph layer(x: float32[8,32]) -> (y: float32[8,16]) {
  w: float32[32,16] = random 1
  p = MatMul(x, w)
  y = Relu(p)
}
)";

TEST(TaskKeys, AreThoseOfTheWorkNotOfNamesAndContents) {
  EXPECT_EQ(key_of(kLayer), key_of(R"(opset 17
graph other(input: float32[8,32]) -> (result: float32[8,16]) {
  weights: float32[32,16] = random 7
  product = MatMul(input, weights)
  result = Relu(product)
}
)"));
}

TEST(TaskKeys, DifferWhereTheWorkDoes) {
  const std::vector<std::string_view> others = {
      "opset 17\ngraph g(x: float32[9,32]) -> (y: float32[9,16]) {\n  w: float32[32,16] = random 1\n  p = MatMul(x, "
      "w)\n  y = Relu(p)\n}\n",
      "opset 17\ngraph g(x: float64[8,32]) -> (y: float64[8,16]) {\n  w: float64[32,16] = random 1\n  p = MatMul(x, "
      "w)\n  y = Relu(p)\n}\n",
      "opset 17\ngraph g(x: float32[8,32], w: float32[32,16]) -> (y: float32[8,16]) {\n  p = MatMul(x, w)\n  y = "
      "Relu(p)\n}\n",
      "opset 17\ngraph g(x: float32[8,32]) -> (y: float32[8,16]) {\n  w: float32[32,16] = random 1\n  p = MatMul(x, "
      "w)\n  y = Tanh(p)\n}\n",
      "opset 17\ngraph g(x: float32[8,32]) -> (y: float32[8,16]) {\n  w: float32[32,16] = random 1\n  y = MatMul(x, "
      "w)\n}\n",
  };
  std::set<Hash128> keys = {key_of(kLayer).hash};
  for (const std::string_view text : others) EXPECT_TRUE(keys.insert(key_of(text).hash).second) << text;
  constexpr std::string_view kMap =
      "opset 17\ngraph g(x: float32[1,8,4,4]) -> (y: float32[1,8,4,4]) {\n  e = Exp(x)\n  y = Neg(e)\n}\n";
  EXPECT_NE(key_of(kMap), key_of(kMap, "0:2:3:1"));
}

TEST(TaskKeys, ViewsAreFreeAndTasksWithBodiesUnknown) {
  const Timed view(
      "opset 17\ngraph g(x: float32[4,6]) -> (y: float32[24]) {\n  s: int64[1] = {24}\n  y = Reshape(x, s)\n}\n");
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  ASSERT_EQ(view.tasks.size(), 1);
  const auto key = timer.key(view.graph, view.tasks[0]);
  ASSERT_TRUE(key.ok());
  EXPECT_TRUE(key->is_view);
  EXPECT_EQ(timer.known(*key), 0);
  EXPECT_EQ(*timer.measure(view.graph, view.tasks[0]), 0);
  EXPECT_EQ(*timer.roofline(view.graph, view.tasks[0]), 0);
  search::Task control;
  control.nodes = view.tasks[0].nodes;
  control.runs_bodies = true;
  EXPECT_EQ(timer.measure(view.graph, control).error().kind, ErrorKind::kUnsupported);
}

/// What kernels are made of: windows, products, integers that index, divide and are written by, recurrences, layouts.
constexpr std::string_view kMixture = R"(opset 17
graph mixture(x: float32[1,8,12,12], i: int64[5], j: int64[5,1], t: float32[5,20], d: int64[5], z: float32[6,2,4]) -> (y: float32[1,16,6,6], r: float32[30,20], g: int64[5], h: float32[6,1,2,4], k: float32[5,20]) {
  w: float32[16,8,3,3] = random 1
  b: float32[16] = random 2
  c = Conv(x, w, b) {pads = [1,1,1,1]}
  e = Relu(c)
  y = MaxPool(e) {kernel_shape = [2,2], strides = [2,2]}
  table: float32[30,20] = random 3
  a = Gather(table, i)
  k = Softmax(a)
  r = ScatterND(table, j, t)
  g = Div(i, d)
  lw: float32[1,16,4] = random 4
  lr: float32[1,16,4] = random 5
  h = LSTM(z, lw, lr) {hidden_size = 4}
}
)";

TEST(TaskTimer, MeasuresOnceAndRemembers) {
  const Timed mixture(kMixture);
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  std::vector<double> first;
  for (const search::TaskOf& task : mixture.all())
    EXPECT_TRUE(timer.key(*task.graph, *task.task)->is_view || !timer.known(*timer.key(*task.graph, *task.task)));
  for (const auto& time : timer.measure(mixture.all())) {
    ASSERT_TRUE(time.ok()) << time.error().message();
    first.push_back(*time);
  }
  const auto distinct = timer.statistics().measured;
  EXPECT_EQ(static_cast<size_t>(distinct), records.list({})->size());
  search::TaskTimer other(options, records);
  for (search::TaskTimer* again : {&timer, &other})
    for (size_t k = 0; k < first.size(); ++k) {
      EXPECT_EQ(*again->measure(mixture.graph, mixture.tasks[k]), first[k]);
      EXPECT_EQ(again->known(*again->key(mixture.graph, mixture.tasks[k])), first[k]);
    }
  EXPECT_EQ(timer.statistics().measured, distinct);
  EXPECT_EQ(other.statistics().measured, 0);
  EXPECT_EQ(other.statistics().looked_up, distinct);
  EXPECT_EQ(timer.statistics().failed, 0);
  // Times of one machine say nothing of others.
  const search::CompileOptions one_thread = host_options(1);
  EXPECT_FALSE(search::TaskTimer(one_thread, records).known(*timer.key(mixture.graph, mixture.tasks[0])));
}

TEST(TaskTimer, TasksOfRandomGraphsAreMeasuredOrRefused) {
  const uint64_t count = is_long_run() ? 1000 : 12;
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Sample sample = random_sample(seed);
    std::map<std::string, Dims> shapes;
    for (size_t k = 0; k < sample.inputs.size(); ++k)
      shapes[sample.graph.value(sample.graph.inputs()[k]).name] = sample.inputs[k].dims();
    if (!bind_inputs(sample.graph, {}, shapes).ok()) continue;
    auto tasks = search::fuse(sample.graph);
    if (tasks.ok()) tasks = assign_layouts(sample.graph, *std::move(tasks));
    if (!tasks.ok()) continue;
    for (const search::Task& task : *tasks) {
      const auto time = timer.measure(sample.graph, task);
      EXPECT_TRUE(time.ok() ? *time >= 0 && *time < 1e6 : time.error().kind == ErrorKind::kUnsupported)
          << task.name(sample.graph) << ": " << (time.ok() ? fmt::format("{} us", *time) : time.error().message());
    }
  }
  EXPECT_GT(timer.statistics().measured, static_cast<int64_t>(count));
  EXPECT_LE(20 * timer.statistics().failed, timer.statistics().measured);
}

TEST(TaskTimer, EqualTasksAreMeasuredOnce) {
  const Timed twice(R"(opset 17
graph twice(x: float32[4,32]) -> (y: float32[4,32]) {
  v: float32[32,32] = random 1
  w: float32[32,32] = random 2
  a = MatMul(x, v)
  y = MatMul(a, w)
}
)");
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  const auto times = timer.measure(twice.all());
  ASSERT_EQ(times.size(), 2);
  EXPECT_EQ(*times[0], *times[1]);
  EXPECT_EQ(timer.statistics().measured, 1);
}

TEST(TaskTimer, AnotherMachinesCodeIsNotRun) {
  const Timed layer(kLayer);
  search::CompileOptions options = host_options();
  std::get<kernel::CpuTarget>(options.target).extensions.emplace_back("no such extension");
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  EXPECT_EQ(timer.measure(layer.graph, layer.tasks[0]).error().kind, ErrorKind::kUnsupported);
  EXPECT_TRUE(records.list({})->empty());
}

TEST(TaskTimer, WhatFailedIsNotTriedAgain) {
  const Timed layer(kLayer);
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  ASSERT_TRUE(timer.measure(layer.graph, layer.tasks[0]).ok());
  kernel::Record record = records.list({})->at(0);
  record.microseconds = std::nullopt;
  record.failure = "no code for it";
  ASSERT_TRUE(records.add(record).ok());
  search::TaskTimer later(options, records);
  const auto again = later.measure(layer.graph, layer.tasks[0]);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message().find("no code for it"), std::string::npos);
  EXPECT_EQ(later.statistics().measured + later.statistics().failed, 0);
}

/// Tuned times are told by it: were it another later, they would seem slower.
TEST(TaskTimer, WhatTunedTimesAreToldByStaysAsItIs) {
  const Timed layer(kLayer);
  const search::CompileOptions options = host_options();
  for (const bool is_tuned : {false, true}) {
    kernel::Records records = kernel::Records::in_memory();
    search::TaskTimer timer(options, records);
    ASSERT_TRUE(timer.measure(layer.graph, layer.tasks[0]).ok());
    kernel::Record slow = records.list({})->at(0);
    slow.microseconds = 1e6;
    ASSERT_TRUE(records.add(slow).ok());
    if (is_tuned) {
      kernel::Record tuned = slow;
      tuned.maker = tune::maker_of("tuned", Weights::kInMemory);
      tuned.microseconds = 5e5;
      ASSERT_TRUE(records.add(tuned).ok());
    }
    search::TaskTimer again(options, records);
    EXPECT_LT(*again.measure_again(layer.all())[0], 1e5);
    const auto recorded = records.best(slow.key, slow.maker);
    EXPECT_EQ(*(*recorded)->microseconds == 1e6, is_tuned);
  }
}

TEST(TaskTimer, RooflinesGrowWithTheWorkAndNeedNoMeasurementOfIt) {
  const Timed small(kLayer), large(
                                 "opset 17\ngraph g(x: float32[800,320]) -> (y: float32[800,1600]) {\n  w: "
                                 "float32[320,1600] = random 1\n  y = MatMul(x, w)\n}\n");
  const search::CompileOptions options = host_options();
  kernel::Records records = kernel::Records::in_memory();
  ASSERT_TRUE(
      records.set_constant(kernel::fingerprint(kernel::host_target(), options.threads), "fma_gflops", 100).ok());
  ASSERT_TRUE(records.set_constant(kernel::fingerprint(kernel::host_target(), options.threads), "memory_gbs", 10).ok());
  search::TaskTimer timer(options, records);
  const double least = *timer.roofline(large.graph, large.tasks[0]);
  EXPECT_NEAR(least, 2.0 * 800 * 320 * 1600 / 100 / 1e3, 0.1 * least);
  EXPECT_LT(*timer.roofline(small.graph, small.tasks[0]), 10);
  EXPECT_EQ(timer.statistics().measured, 0);
}

TEST(KernelData, IndicesStayBelowTheAxesTheyIndex) {
  const Timed gather(
      "opset 17\ngraph g(i: int64[5]) -> (y: float32[5,20]) {\n  t: float32[30,20] = random 3\n  y = Gather(t, "
      "i)\n}\n");
  const auto lowered = kernel::lower(gather.tasks[0].program, *input_types(gather.graph, gather.tasks[0]));
  ASSERT_TRUE(lowered.ok());
  const auto bounds = index_bounds(*lowered);
  ASSERT_EQ(bounds.size(), 1);
  EXPECT_EQ(bounds.begin()->second, 30);
  std::vector<int64_t> values(10'000);
  fill(std::as_writable_bytes(std::span(values)), DataType::kInt64, {0, 29}, 0);
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 29);
  std::vector<float> reals(1000);
  fill(std::as_writable_bytes(std::span(reals)), DataType::kFloat32, {0, 29}, 0);
  EXPECT_GE(*std::min_element(reals.begin(), reals.end()), 0.1F);
  EXPECT_LT(*std::max_element(reals.begin(), reals.end()), 0.9F);
}

/// Else what reads or writes the wrong row, or image, would compute the same.
TEST(KernelData, RowsOfAPowerOfTwoDiffer) {
  constexpr size_t kRow = 4096;
  std::vector<float> reals(8 * kRow), integers(8 * kRow);
  fill(std::as_writable_bytes(std::span(reals)), DataType::kFloat32, {0, 0}, 0);
  fill(std::as_writable_bytes(std::span(integers)), DataType::kFloat32, {0, 0}, 0, Numbers::kIntegers);
  for (const auto& values : {reals, integers})
    for (size_t row = 1; row < 8; ++row)
      EXPECT_FALSE(
          std::equal(values.begin(), values.begin() + kRow, values.begin() + static_cast<std::ptrdiff_t>(row * kRow)))
          << row;
}

/// On a busy machine times say little: this one is for the long run only, and its factor is generous.
TEST(TaskTimer, SumsOfTasksAreAboutWhatTheirModelTakes) {
  if (!is_long_run()) GTEST_SKIP() << "measures times";
  std::string text = "opset 17\ngraph net(x0: float32[1,64,28,28]) -> (x6: float32[1,64,28,28]) {\n";
  for (int layer = 0; layer < 6; ++layer)
    text += fmt::format(
        "  w{0}: float32[64,64,3,3] = random {0}\n  c{0} = Conv(x{0}, w{0}) {{pads = [1,1,1,1]}}\n  x{1} = "
        "Relu(c{0})\n",
        layer, layer + 1);
  const Timed net(text + "}\n");
  const search::CompileOptions options = host_options(1);
  kernel::Records records = kernel::Records::in_memory();
  search::TaskTimer timer(options, records);
  double sum = 0;
  for (const auto& time : timer.measure(net.all())) sum += *time;
  const auto result = compile(net.graph, options);
  ASSERT_TRUE(result.ok());
  const auto session = opened(result->artifact, 1);
  const auto inputs = generate_inputs(net.graph, {});
  std::vector<runtime::Tensor> given = {{runtime::ElementType::kFloat32, (*inputs)[0].dims(),
                                         const_cast<std::byte*>((*inputs)[0].bytes().data())}},
                               made(1);
  std::vector<double> times;
  for (int run = 0; run < 50; ++run) {
    const auto start = Clock::now();
    ASSERT_TRUE(session->run(given, made).ok());
    times.push_back(seconds_since(start) * 1e6);
  }
  std::sort(times.begin(), times.end());
  EXPECT_LT(sum, 3 * times[times.size() / 4]);
  EXPECT_GT(sum, times[times.size() / 4] / 3);
}

}  // namespace
}  // namespace isomer::test
