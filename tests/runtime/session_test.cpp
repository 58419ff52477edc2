// Sessions run the steps of a plan: kernels, branches, loops, values whose size data decide; errors are sentences.
#include "runtime/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <immintrin.h>

#include <cmath>
#include <thread>

#include "runtime/plan_builder.h"
#include "runtime/time_histogram.h"
#include "util/sanitized.h"

namespace isomer::runtime::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr auto kFloat32 = ElementType::kFloat32;
constexpr auto kInt64 = ElementType::kInt64;
constexpr auto kBool = ElementType::kBool;

TEST(TimeHistogram, TellsWhatHalfOfTheRunsTook) {
  EXPECT_EQ(TimeHistogram().median(), 0);
  for (const int64_t usual : {int64_t{1}, int64_t{50}, int64_t{255}, int64_t{256}, int64_t{257}, int64_t{1'000},
                              int64_t{123'456}, int64_t{7'000'000'000}}) {
    TimeHistogram times;
    for (int k = 0; k < 1000; ++k) times.add(usual);
    for (int k = 0; k < 300; ++k) times.add(1'000'000'000'000);  // interrupted
    times.add(0);
    EXPECT_NEAR(static_cast<double>(times.median()), static_cast<double>(usual), static_cast<double>(usual) / 128);
  }
}

std::unique_ptr<Session> open_session(Artifact artifact, SessionOptions options = {}) {
  auto model = Model::load(std::move(artifact));
  EXPECT_TRUE(model.ok()) << model.error().message();
  auto session = Session::create(*model, options);
  EXPECT_TRUE(session.ok()) << session.error().message();
  return *std::move(session);
}
SessionOptions with_threads(int threads) { return {.threads = threads, .bindings = {}}; }

template <class T>
constexpr ElementType type_of() {
  if constexpr (std::is_same_v<T, float>) return kFloat32;
  if constexpr (std::is_same_v<T, double>) return ElementType::kFloat64;
  if constexpr (std::is_same_v<T, int32_t>) return ElementType::kInt32;
  return kInt64;
}

/// A tensor with memory of its own, `shift` bytes behind a multiple of 64.
template <class T>
struct Array {
  explicit Array(std::vector<int64_t> dims, std::vector<T> content, size_t shift = 0)
      : dims(std::move(dims)), count(content.size()) {
    data = reinterpret_cast<T*>((reinterpret_cast<uintptr_t>(memory.get()) + 63) / 64 * 64 + shift);
    std::ranges::copy(content, data);
  }
  Tensor tensor() const { return {type_of<T>(), dims, data}; }
  std::vector<T> content() const { return {data, data + count}; }
  std::vector<int64_t> dims;
  size_t count;
  std::unique_ptr<std::byte[]> memory = std::make_unique<std::byte[]>(count * sizeof(T) + 256);
  T* data;
};

template <class T>
std::vector<T> content_of(const Tensor& tensor) {
  const auto* data = static_cast<const T*>(tensor.data);
  return {data, data + byte_size(tensor.type, tensor.dims).value() / static_cast<int64_t>(sizeof(T))};
}
std::string sentence_of(const Result<void>& result) { return result.ok() ? "" : result.error().message(); }

/// Runs on scalars of int64; the outputs are the session's.
std::vector<Tensor> run_on(Session& session, const std::vector<int64_t>& scalars) {
  std::vector<Tensor> inputs, outputs(session.variant().outputs.size());
  std::vector<Array<int64_t>> arrays;
  for (const int64_t scalar : scalars) arrays.emplace_back(std::vector<int64_t>{}, std::vector<int64_t>{scalar});
  for (const auto& array : arrays) inputs.push_back(array.tensor());
  const auto done = session.run(inputs, outputs);
  EXPECT_TRUE(done.ok()) << sentence_of(done);
  return outputs;
}

TEST(Session, runs_kernels_for_any_number_of_threads_and_any_alignment) {
  for (const int threads : {1, 2, 3})
    for (const size_t shift : {0, 4, 60}) {
      const auto session = open_session(sums({8}), with_threads(threads));
      EXPECT_EQ(session->threads(), threads);
      const Array<float> x({8}, {0, 1, 2, 3, 4, 5, 6, 7}, shift);
      const Array<float> y({8}, std::vector<float>(8), shift);
      for (int round = 0; round < 100; ++round) {
        Tensor outputs[] = {y.tensor()};
        const Tensor inputs[] = {x.tensor()};
        const auto done = session->run(inputs, outputs);
        ASSERT_TRUE(done.ok()) << sentence_of(done);
        EXPECT_EQ(outputs[0].data, y.data);
        ASSERT_THAT(y.content(), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15));
        std::fill_n(y.data, 8, 0.0F);
      }
    }
}

TEST(Session, supplies_memory_for_outputs_that_come_without) {
  const auto session = open_session(sums({8}));
  const Array<float> x({8}, std::vector<float>(8, 1));
  const Tensor inputs[] = {x.tensor()};
  Tensor outputs[1];
  for (int round = 0; round < 3; ++round) {  // the second time with the session's own memory
    ASSERT_TRUE(session->run(inputs, outputs).ok());
    EXPECT_THAT(content_of<float>(outputs[0]), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_THAT(outputs[0].dims, ElementsAre(8));
  }
}

TEST(Session, takes_what_the_last_run_gave) {
  PlanBuilder plan;
  const int32_t x = plan.input("x", kFloat32, {8}), y = plan.output("y", kFloat32, {8});
  const auto session =
      open_session(plan.build({plan.kernel(entries().add_one, {x, y}, 8), plan.kernel(entries().add, {y, x, y}, 8)}));
  const Array<float> ones({8}, std::vector<float>(8, 1));
  Tensor values[] = {ones.tensor()};
  for (const float expected : {3, 7, 15}) {  // 2 x + 1
    Tensor outputs[1];
    ASSERT_TRUE(session->run(values, outputs).ok());
    EXPECT_THAT(content_of<float>(outputs[0]), Each(expected));
    values[0] = outputs[0];
  }
}

TEST(Session, writes_over_its_inputs_when_it_has_read_them) {
  constexpr int64_t kCount = 32;
  PlanBuilder plan;
  const int32_t x = plan.input("x", kFloat32, {kCount}), y = plan.output("y", kFloat32, {kCount});
  const auto session = open_session(
      plan.build({plan.kernel(entries().add_one, {x, y}, kCount), plan.kernel(entries().add, {y, x, y}, kCount)}));
  for (const int64_t shift : {-16, 0, 16}) {  // elements: all are multiples of 64 bytes
    const Array<float> memory({64}, std::vector<float>(64, 3));
    const std::vector<int64_t> dims = {kCount};
    const Tensor inputs[] = {{kFloat32, dims, memory.data + 16}};
    Tensor outputs[] = {{kFloat32, dims, memory.data + 16 + shift}};
    ASSERT_TRUE(session->run(inputs, outputs).ok());
    EXPECT_EQ(outputs[0].data, memory.data + 16 + shift);
    EXPECT_THAT(content_of<float>(outputs[0]), Each(7)) << shift;  // 2 x + 1
  }
}

TEST(Session, writes_outputs_that_share_memory_one_after_the_other) {
  PlanBuilder plan;
  const int32_t x = plan.input("x", kFloat32, {8});
  const int32_t y = plan.output("y", kFloat32, {8}), z = plan.output("z", kFloat32, {8});
  const auto session =
      open_session(plan.build({plan.kernel(entries().add_one, {x, y}, 8), plan.kernel(entries().add_one, {y, z}, 8),
                               plan.kernel(entries().add, {y, z, z}, 8)}));
  const Array<float> ones({8}, std::vector<float>(8, 1)), shared({8}, std::vector<float>(8));
  const Tensor inputs[] = {ones.tensor()};
  Tensor outputs[] = {shared.tensor(), shared.tensor()};
  ASSERT_TRUE(session->run(inputs, outputs).ok());
  EXPECT_THAT(shared.content(), Each(5));  // z: 2 + 3
}

TEST(Session, takes_what_the_last_run_gave_where_more_is_given_now) {
  PlanBuilder plan;
  const int32_t m = plan.input("m", kInt64, {}), n = plan.input("n", kInt64, {});
  const int32_t y = plan.dynamic_output("y", kInt64, {-1}), z = plan.dynamic_output("z", kInt64, {-1});
  const auto session =
      open_session(plan.build({plan.kernel(entries().count_up, {m, y}), plan.kernel(entries().count_up, {n, z})}));
  const auto before = run_on(*session, {500'000, 1});
  const Array<int64_t> more({}, {2'000'000});
  const Tensor inputs[] = {more.tensor(), {kInt64, {}, static_cast<int64_t*>(before[0].data) + 8}};
  Tensor outputs[2];
  ASSERT_TRUE(session->run(inputs, outputs).ok());
  EXPECT_THAT(outputs[0].dims, ElementsAre(2'000'000));
  EXPECT_THAT(outputs[1].dims, ElementsAre(8));
}

TEST(Session, splits_iterations_into_one_contiguous_range_a_thread) {
  PlanBuilder plan;
  const int32_t y = plan.output("y", kInt64, {10});
  const Artifact artifact = plan.build({plan.kernel(entries().range_start, {y}, 10, 64)});
  const auto starts = [&](int threads) {
    Tensor outputs[1];
    const auto session = open_session(artifact, with_threads(threads));
    EXPECT_TRUE(session->run({}, outputs).ok());
    return content_of<int64_t>(outputs[0]);
  };
  EXPECT_THAT(starts(1), Each(0));
  EXPECT_THAT(starts(2), ElementsAre(0, 0, 0, 0, 0, 5, 5, 5, 5, 5));
  EXPECT_THAT(starts(3), ElementsAre(0, 0, 0, 0, 4, 4, 4, 7, 7, 7));
}

TEST(Session, does_each_iteration_once_where_they_change_hands) {
  for (const int64_t count : {7, 64, 1000, 1001, 4099}) {
    for (const int64_t grain : {1, 5, 300}) {
      PlanBuilder plan;
      const int32_t x = plan.input("x", ElementType::kFloat32, {count});
      const int32_t y = plan.output("y", ElementType::kFloat32, {count});
      Artifact artifact =
          plan.build({plan.kernel(entries().add_one, {x, y}, count), plan.kernel(entries().add, {y, x, y}, count)});
      for (Kernel& kernel : artifact.kernels) kernel.parts[0].grain = grain;
      const Array<float> ones({count}, std::vector<float>(static_cast<size_t>(count), 1));
      const Tensor inputs[] = {ones.tensor()};
      for (const int threads : {1, 2, 3}) {
        Tensor outputs[1];
        const auto session = open_session(artifact, with_threads(threads));
        ASSERT_TRUE(session->run(inputs, outputs).ok());
        EXPECT_THAT(content_of<float>(outputs[0]), Each(3)) << count << " by " << grain << " with " << threads;
      }
    }
  }
}

TEST(Session, lets_parts_take_turns) {
  PlanBuilder plan;
  const int32_t x = plan.input("x", ElementType::kFloat32, {8});
  const int32_t y = plan.output("y", ElementType::kFloat32, {8});
  Step start = plan.kernel(entries().add_one, {x, y}, 8), turns = plan.kernel(entries().add, {y, x, y}, 8);
  Artifact artifact = plan.build({start, turns});
  std::vector<Part>& parts = artifact.kernels[1].parts;
  parts[0].turns = 3;
  parts[0].followers = 1;
  parts.push_back({.entry = parts[0].entry, .iterations = 8});  // of each turn
  parts.push_back({.entry = parts[0].entry, .iterations = 8});  // behind them
  const Array<float> values({8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor inputs[] = {values.tensor()};
  for (const int threads : {1, 3}) {
    Tensor outputs[1];
    const auto session = open_session(artifact, with_threads(threads));
    ASSERT_TRUE(session->run(inputs, outputs).ok());
    EXPECT_THAT(content_of<float>(outputs[0]), ElementsAre(9, 17, 25, 33, 41, 49, 57, 65));
  }
}

TEST(Session, flushes_denormals_in_all_threads_and_leaves_the_caller_as_it_was) {
  PlanBuilder plan;
  const int32_t y = plan.output("y", ElementType::kInt32, {3});
  const auto session = open_session(plan.build({plan.kernel(entries().control_word, {y}, 3)}), with_threads(3));
  const uint32_t before = _mm_getcsr();
  Tensor outputs[1];
  ASSERT_TRUE(session->run({}, outputs).ok());
  for (const int32_t word : content_of<int32_t>(outputs[0])) EXPECT_EQ(word & 0x8040, 0x8040);
  EXPECT_EQ(_mm_getcsr(), before);
}

TEST(Session, calls_functions_of_the_math_library) {
  PlanBuilder plan;
  const int32_t x = plan.input("x", ElementType::kFloat64, {});
  const int32_t y = plan.output("y", ElementType::kFloat64, {});
  const auto session = open_session(plan.build({plan.kernel(entries().sine, {x, y})}));
  const Array<double> one({}, {1.25});
  const Tensor inputs[] = {one.tensor()};
  Tensor outputs[1];
  ASSERT_TRUE(session->run(inputs, outputs).ok());
  EXPECT_THAT(content_of<double>(outputs[0]), ElementsAre(std::sin(1.25)));
}

TEST(Session, takes_the_branch_that_the_condition_says) {
  PlanBuilder plan;
  const int32_t a = plan.input("a", kInt64, {}), b = plan.input("b", kInt64, {});
  const int32_t least = plan.output("least", kInt64, {});
  const int32_t smaller = plan.arena("smaller", kBool, {});
  const auto session = open_session(plan.build({
      plan.kernel(entries().less, {a, b, smaller}),
      PlanBuilder::branch({smaller, {{}, {{a, least}}}, {{PlanBuilder::copy(b, least)}, {}}}),
  }));
  EXPECT_THAT(content_of<int64_t>(run_on(*session, {3, 5})[0]), ElementsAre(3));
  EXPECT_THAT(content_of<int64_t>(run_on(*session, {7, 5})[0]), ElementsAre(5));
}

/// Fibonacci numbers: both carried values change at once; ends when n iterations are done or the limit is passed.
Artifact fibonacci() {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {}), limit = plan.input("limit", kInt64, {});
  const int32_t last = plan.output("last", kInt64, {});
  const int32_t all = plan.dynamic_output("all", kInt64, {-1});
  const int32_t indices = plan.dynamic_output("indices", kInt64, {-1});
  const int32_t a = plan.arena("a", kInt64, {}), b = plan.arena("b", kInt64, {});
  const int32_t sum = plan.arena("sum", kInt64, {}), i = plan.arena("i", kInt64, {});
  const int32_t going = plan.arena("going", kBool, {}), goes_on = plan.arena("goes_on", kBool, {});
  const int32_t zero = plan.weight<int64_t>(kInt64, {}, {0}), one = plan.weight<int64_t>(kInt64, {}, {1});
  return plan.build({
      PlanBuilder::copy(zero, a),
      PlanBuilder::copy(one, b),
      plan.kernel(entries().less, {zero, limit, going}),
      PlanBuilder::loop(
          {n,
           going,
           i,
           {{plan.kernel(entries().add_integers, {a, b, sum}), plan.kernel(entries().less, {sum, limit, goes_on})},
            {{b, a}, {sum, b}, {goes_on, going}}},
           {{b, all}, {i, indices}}}),
      PlanBuilder::copy(a, last),
  });
}

TEST(Session, loops_carry_values_and_stack_others) {
  const auto session = open_session(fibonacci());
  for (const int64_t n : {7, 0, 300, 1}) {
    const auto outputs = run_on(*session, {n, int64_t{1} << 60});
    const auto all = content_of<int64_t>(outputs[1]);
    const int64_t runs = std::min<int64_t>(n, 88);  // the 89th number is above 2^60
    ASSERT_EQ(std::ssize(all), runs);
    for (int64_t k = 2; k < runs; ++k) EXPECT_EQ(all[k], all[k - 1] + all[k - 2]);
    EXPECT_EQ(content_of<int64_t>(outputs[0])[0], runs == 0 ? 0 : all.back());
    for (int64_t k = 0; k < runs; ++k) EXPECT_EQ(content_of<int64_t>(outputs[2])[k], k);
  }
  EXPECT_THAT(content_of<int64_t>(run_on(*session, {100, 10})[1]), ElementsAre(1, 1, 2, 3, 5, 8));
  EXPECT_THAT(content_of<int64_t>(run_on(*session, {100, 0})[1]), testing::IsEmpty());
}

TEST(Session, sizes_that_data_decide_change_from_run_to_run) {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t y = plan.dynamic_output("y", kInt64, {-1});
  const int32_t shape = plan.output("shape", kInt64, {3});
  const int32_t extent = plan.output("extent", kInt64, {});
  const int32_t copy = plan.dynamic_output("copy", kInt64, {1, 2, -1});
  const int32_t pairs = plan.view(y, 0, {1, 2, -1});
  const auto session = open_session(plan.build({
      plan.kernel(entries().count_up, {n, y}),
      PlanBuilder::shape(pairs, shape),
      plan.kernel(entries().extent, {y, extent}),
      PlanBuilder::copy(pairs, copy),
  }));
  for (const int64_t count : {4, 100'000, 0, 2}) {
    const auto outputs = run_on(*session, {count});
    const auto content = content_of<int64_t>(outputs[0]);
    ASSERT_EQ(std::ssize(content), count);
    for (int64_t k = 0; k < count; ++k) ASSERT_EQ(content[k], k);
    EXPECT_THAT(content_of<int64_t>(outputs[1]), ElementsAre(1, 2, count / 2));
    EXPECT_THAT(content_of<int64_t>(outputs[2]), ElementsAre(count));
    EXPECT_THAT(outputs[3].dims, ElementsAre(1, 2, count / 2));
    EXPECT_EQ(content_of<int64_t>(outputs[3]), content);
  }
}

TEST(Session, moves_of_a_loop_take_dynamic_values_and_their_own_views) {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t y = plan.dynamic_output("y", kInt64, {-1}), z = plan.dynamic_output("z", kInt64, {-1});
  const int32_t same = plan.view(y, 0, {-1});
  const int32_t i = plan.arena("i", kInt64, {});
  const int32_t three = plan.weight<int64_t>(kInt64, {}, {3});
  const auto session = open_session(plan.build({
      plan.kernel(entries().count_up, {n, y}),
      PlanBuilder::loop({three, -1, i, {{plan.kernel(entries().count_up, {i, z})}, {{z, y}, {same, z}}}, {}}),
  }));
  const auto outputs = run_on(*session, {9});
  EXPECT_THAT(content_of<int64_t>(outputs[0]), ElementsAre(0, 1));
  EXPECT_THAT(content_of<int64_t>(outputs[1]), ElementsAre(0));
}

/// What a plan with one input n says of its value.
std::string failure_of(Artifact artifact, int64_t n) {
  const auto session = open_session(std::move(artifact));
  const Array<int64_t> scalar({}, {n});
  const Tensor inputs[] = {scalar.tensor()};
  std::vector<Tensor> outputs(session->variant().outputs.size());
  return sentence_of(session->run(inputs, outputs));
}

TEST(Session, what_goes_wrong_names_the_step) {
  PlanBuilder plan;
  plan.input("n", kInt64, {});
  const int32_t three = plan.weight<int64_t>(kInt64, {}, {3});
  LoopStep loop = {three, -1, -1, {{plan.kernel(entries().out_of_range, {})}, {}}, {}};
  EXPECT_EQ(failure_of(plan.build({PlanBuilder::loop(loop)}), 0),
            "step 0 (loop): iteration 0: step 0 (kernel): an index inside of its axis expected, one outside found");
}

TEST(Session, a_loop_that_never_ends_is_an_error) {
  if (isomer::kSanitized) GTEST_SKIP() << "takes long";
  PlanBuilder plan;
  plan.input("n", kInt64, {});
  EXPECT_THAT(failure_of(plan.build({PlanBuilder::loop({-1, -1, -1, {{}, {}}, {}})}), 0),
              HasSubstr("iterations of all loops expected, more found"));
}

TEST(Session, sizes_that_do_not_fit_are_refused) {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t y = plan.dynamic_output("y", kInt64, {-1});
  const Step count = plan.kernel(entries().count_up, {n, y});
  EXPECT_THAT(failure_of(plan.build({count}), -1), HasSubstr("a size expected of 'y', int64[?] found"));
  EXPECT_THAT(failure_of(plan.build({count}), int64_t{1} << 50),
              HasSubstr("bytes of memory expected for 'y', less found"));
  EXPECT_THAT(failure_of(plan.build({count}), int64_t{1} << 62), HasSubstr("a size expected of 'y'"));
  const int32_t fixed = plan.output("fixed", kInt64, {3});
  EXPECT_THAT(failure_of(plan.build({count, PlanBuilder::copy(y, fixed)}), 4),
              HasSubstr("int64[3] expected, int64[4] found"));
  EXPECT_EQ(failure_of(plan.build({count, PlanBuilder::copy(y, fixed)}), 3), "");
  plan.view(y, 0, {2, -1});
  EXPECT_THAT(failure_of(plan.build({count}), 3), HasSubstr("int64[2,?] expected of 'view', 24 bytes found"));
}

TEST(Session, what_nothing_has_written_has_no_elements) {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t two = plan.weight<int64_t>(kInt64, {}, {2}), smaller = plan.arena("smaller", kBool, {});
  const int32_t y = plan.dynamic_output("y", kInt64, {-1});
  const int32_t copy = plan.dynamic_output("copy", kInt64, {-1, -1});
  const int32_t view = plan.view(y, 0, {500, 2});
  const auto session = open_session(plan.build({
      plan.kernel(entries().less, {n, two, smaller}),
      PlanBuilder::branch({smaller, {{}, {}}, {{plan.kernel(entries().count_up, {n, y})}, {}}}),
      PlanBuilder::copy(view, copy),
  }));
  const auto expect_nothing = [&] {
    const auto outputs = run_on(*session, {1});
    EXPECT_THAT(outputs[0].dims, ElementsAre(0));
    EXPECT_THAT(outputs[1].dims, ElementsAre(0, 0));
  };
  expect_nothing();
  for (const int64_t refused : {int64_t{999}, int64_t{1} << 50}) {
    const Array<int64_t> scalar({}, {refused});
    const Tensor inputs[] = {scalar.tensor()};
    std::vector<Tensor> outputs(2);
    EXPECT_THAT(sentence_of(session->run(inputs, outputs)), HasSubstr("expected"));
    expect_nothing();
  }
  EXPECT_THAT(run_on(*session, {1000})[1].dims, ElementsAre(500, 2));
}

TEST(Session, stacks_of_changing_shape_or_wrong_length_are_refused) {
  PlanBuilder plan;
  const int32_t n = plan.input("n", kInt64, {});
  const int32_t i = plan.arena("i", kInt64, {});
  const int32_t row = plan.dynamic("row", kInt64, {-1});
  const int32_t rows = plan.dynamic_output("rows", kInt64, {-1, -1});
  const int32_t stack = plan.output("stack", kInt64, {3});
  LoopStep grows = {n, -1, i, {{plan.kernel(entries().count_up, {i, row})}, {}}, {{row, rows}}};
  EXPECT_EQ(failure_of(plan.build({PlanBuilder::loop(grows)}), 1), "");
  EXPECT_THAT(failure_of(plan.build({PlanBuilder::loop(grows)}), 2),
              HasSubstr("iteration 1: int64[0] as in the iterations before expected, int64[1] found"));
  LoopStep fixed = {n, -1, i, {{}, {}}, {{i, stack}}};
  EXPECT_EQ(failure_of(plan.build({PlanBuilder::loop(fixed)}), 3), "");
  EXPECT_THAT(failure_of(plan.build({PlanBuilder::loop(fixed)}), 2), HasSubstr("3 iterations expected, 2 found"));
  EXPECT_THAT(failure_of(plan.build({PlanBuilder::loop(fixed)}), 4), HasSubstr("3 iterations expected, more found"));
}

TEST(Session, refuses_wrong_tensors_with_a_sentence) {
  const auto session = open_session(sums({8}));
  const Array<float> x({8}, std::vector<float>(8)), longer({2, 9}, std::vector<float>(18));
  const Array<int64_t> integers({8}, std::vector<int64_t>(8));
  const auto refusal = [&](std::vector<Tensor> inputs, std::vector<Tensor> outputs) {
    const auto done = session->run(inputs, outputs);
    EXPECT_FALSE(done.ok());
    EXPECT_EQ(done.error().kind, ErrorKind::kUsage);
    return sentence_of(done);
  };
  EXPECT_EQ(refusal({}, {Tensor{}}), "inputs: 1 expected, 0 found");
  EXPECT_EQ(refusal({x.tensor()}, {}), "outputs: 1 expected, 0 found");
  EXPECT_EQ(refusal({integers.tensor()}, {Tensor{}}), "input 'x': float32[8] expected, int64[8] found");
  EXPECT_EQ(refusal({longer.tensor()}, {Tensor{}}), "input 'x': float32[8] expected, float32[2,9] found");
  EXPECT_EQ(refusal({{kFloat32, x.dims, nullptr}}, {Tensor{}}),
            "input 'x': a pointer to its elements expected, none found");
  EXPECT_EQ(refusal({x.tensor()}, {longer.tensor()}), "output 'y': float32[8] expected, float32[2,9] found");
}

TEST(Session, is_of_the_variant_that_the_bindings_name) {
  const auto model = Model::load(sums({8, 20}));
  ASSERT_TRUE(model.ok());
  EXPECT_EQ((*model)->variants().size(), 2U);
  const auto session = Session::create(*model, {.threads = 1, .bindings = {{"n", 20}}});
  ASSERT_TRUE(session.ok());
  EXPECT_THAT((*session)->input(0).dims, ElementsAre(20));
  const auto refusal = [&](Bindings bindings) {
    return Session::create(*model, {.threads = 1, .bindings = bindings}).error().message();
  };
  EXPECT_EQ(refusal({{"n", 9}}), "bindings: one of (n=8; n=20) expected, (n=9) found");
  EXPECT_EQ(refusal({}), "bindings: one of (n=8; n=20) expected, (no symbolic dims) found");
  EXPECT_EQ(Session::create(*model, with_threads(-1)).error().message(),
            "threads: a number from 0 to 1024 expected, -1 found");
}

TEST(Session, of_one_model_run_side_by_side_and_each_is_safe_to_share) {
  const auto model = Model::load(sums({1000}));
  ASSERT_TRUE(model.ok());
  std::vector<std::unique_ptr<Session>> sessions;
  for (int k = 0; k < 2; ++k) sessions.push_back(*Session::create(*model, with_threads(2)));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&, caller] {
      const Array<float> x({1000}, std::vector<float>(1000, static_cast<float>(caller)));
      const Array<float> y({1000}, std::vector<float>(1000));
      for (int round = 0; round < 200; ++round) {
        const Tensor inputs[] = {x.tensor()};
        Tensor outputs[] = {y.tensor()};
        if (!sessions[caller % 2]->run(inputs, outputs).ok()) ++wrong;
        for (int k = 0; k < 1000; ++k) wrong += y.data[k] != static_cast<float>(caller + 1 + k);
        std::fill_n(y.data, 1000, 0.0F);
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Session, times_its_steps) {
  PlanBuilder plan;
  const int32_t three = plan.weight<int64_t>(kInt64, {}, {3});
  const int32_t to = plan.arena("to", kInt64, {});
  const auto session =
      open_session(plan.build({PlanBuilder::loop({three, -1, -1, {{PlanBuilder::copy(three, to)}, {}}, {}})}),
                   {.threads = 1, .bindings = {}, .timed = true});
  for (int round = 0; round < 2; ++round) ASSERT_TRUE(session->run({}, {}).ok());
  const auto times = session->times();
  ASSERT_EQ(times.size(), 2U);
  EXPECT_EQ(times[0].step->name, "loop");
  EXPECT_EQ(times[0].runs, 2);
  EXPECT_EQ(times[1].runs, 6);
  EXPECT_GE(times[0].nanoseconds, times[1].nanoseconds);
}

TEST(Session, counts_what_ran_without_a_clock) {
  PlanBuilder plan;
  const int32_t three = plan.weight<int64_t>(kInt64, {}, {3});
  const int32_t to = plan.arena("to", kInt64, {});
  const auto session =
      open_session(plan.build({PlanBuilder::loop({three, -1, -1, {{PlanBuilder::copy(three, to)}, {}}, {}})}),
                   {.threads = 1, .bindings = {}});
  ASSERT_EQ(session->times()[0].bodies, std::vector<int64_t>{0});
  ASSERT_TRUE(session->run({}, {}).ok());
  const auto times = session->times();
  EXPECT_EQ(times[0].runs, 1);
  EXPECT_EQ(times[0].bodies, std::vector<int64_t>{3});
  EXPECT_EQ(times[0].nanoseconds, 0);
  EXPECT_EQ(times[1].runs, 3);
  EXPECT_TRUE(times[1].bodies.empty());
}

}  // namespace
}  // namespace isomer::runtime::test
