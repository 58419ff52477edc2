// Long sums are taken so that they round little. Those of halves in float32, for the CPU and for a GPU: a sum of ones
// in float16 stops at 2048, one of bfloat16 at 256. Those of float32 by partial sums, whatever they read.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/te/array.h"
#include "graph/te/program_text.h"
#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/run_kernel.h"
#include "kernel/space/open_loops.h"
#include "kernel/tree.h"

namespace isomer::kernel::test {
namespace {

struct Sum {
  const char* name;
  const char* program;  ///< T stands for the type
  std::vector<Dims> inputs;
};

const std::vector<Sum> kSums = {
    {"product",
     "s0 = reduce [8, 24] over [4096] with sum:T { in0[i0, r0]:T*in1[r0, i1]:T }\noutput s0\n",
     {{8, 4096}, {4096, 24}}},
    {"columns", "s0 = reduce [24] over [4096] with sum:T { in0[r0, i0]:T }\noutput s0\n", {{4096, 24}}},
    {"row", "s0 = reduce [3] over [4096] with sum:T { in0[i0, r0]:T }\noutput s0\n", {{3, 4096}}},
    {"inside",
     "s0 = reduce [3] over [4096] with sum:T { in0[i0, r0]:T }\ns1 = map [3] { s0[i0]:T*2 }\noutput s1\n",
     {{3, 4096}}},
    {"padded",
     "s0 = reduce [8, 24] over [3, 1024] with sum:T { select(0 <= i0 + r0 - 1 && i0 + r0 - 1 < 8, in0[i0 + r0 - 1, "
     "r1]:T, 0:T)*in1[r0, r1, i1]:T }\noutput s0\n",
     {{8, 1024}, {3, 1024, 24}}},
    {"step",
     "s0 = scan 2 {\n  state [3] = 0:T\n  step reduce [3] over [4096] with sum:T { in0[i0, r0]:T }\n  next 0\n}\n"
     "s1 = map [3] { s0[1, i0]:T }\noutput s1\n",
     {{3, 4096}}},
};

class Halves : public testing::TestWithParam<std::tuple<Sum, DataType>> {};

TEST_P(Halves, AreSummedInFloat32) {
  const auto& [sum, type] = GetParam();
  std::string text = sum.program;
  for (size_t at; (at = text.find(":T")) != std::string::npos;) text.replace(at, 2, ":" + std::string(name(type)));
  std::vector<TaskType> types;
  std::vector<Tensor> inputs;
  for (const Dims& dims : sum.inputs) {
    types.push_back({type, Shape(dims.begin(), dims.end())});
    inputs.push_back(te::to_tensor(
        te::Array::reals(type, dims, std::vector<double>(static_cast<size_t>(element_count(dims)), 1.0))));
  }
  const auto program = te::parse_program(text);
  ASSERT_TRUE(program.ok()) << program.error().message();
  const Kernel kernel = *lower(*program, types);
  for (const bool for_gpu : {false, true}) {
    const Schedule schedule =
        for_gpu ? default_gpu_schedule(Schedule(kernel)) : default_schedule(Schedule(kernel), Machine());
    SCOPED_TRACE(print(schedule.trace()) + print(schedule.finish()));
    const auto found = run(schedule.finish(), inputs, host_target());
    ASSERT_TRUE(found.ok()) << found.error().message();
    const double expected = std::string_view(sum.name) == "inside" ? 8192 : 4096;
    for (int64_t k = 0; k < found->outputs[0].count(); ++k) {
      // The first and the last row of the padded one have two of three parts.
      const bool is_border = std::string_view(sum.name) == "padded" && (k < 24 || k >= 7 * 24);
      const double right = std::string_view(sum.name) == "padded" ? (is_border ? 2048 : 3072) : expected;
      ASSERT_EQ(found->outputs[0].real(k), right) << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sums, Halves, testing::Combine(testing::ValuesIn(kSums), testing::Values(DataType::kFloat16, DataType::kBFloat16)),
    [](const auto& info) { return fmt::format("{}_{}", std::get<0>(info.param).name, name(std::get<1>(info.param))); });

TEST(Halves, OfAsManyAsDataDecideAreSummedInFloat32) {
  for (const char* shape : {"[3]", "[n]"}) {
    const auto program = te::parse_program(
        fmt::format("s0 = reduce {} over [n] with sum:float16 {{ in0[r0, i0]:float16 }}\noutput s0\n", shape));
    ASSERT_TRUE(program.ok()) << program.error().message();
    const Dim n = Dim::symbol("n");
    const Schedule schedule = with_open_loops(
        Schedule(*lower(*program, {{DataType::kFloat16, {n, shape[1] == 'n' ? n : Dim(3)}}}, {{"n"}})), Machine());
    int reductions = 0;
    for_each_block(schedule.finish().body, [&](const Block& block, const auto&) {
      if (!block.is_reduction()) return;
      EXPECT_EQ(block.bodies[0].dtype(), DataType::kFloat32) << print(schedule.finish());
      ++reductions;
    });
    EXPECT_GE(reductions, 1);
  }
}

/// Of equal terms the errors of one long sum all have one sign: it would be off by 1.4e-4 here.
TEST(LongSums, HavePartialSums) {
  constexpr int64_t kMost = 100'384;
  const std::vector<std::pair<const char*, int64_t>> sums = {{"in0[in1[r0]:int64]:float32", 100'000},
                                                             {"in0[3*in1[r0]:int64 + 2*r0]:float32", 100'000},
                                                             {"in0[r0]:float32", 100'000},
                                                             {"in0[r0]:float32", 100'353},  // of no whole vectors
                                                             {"in0[r0]:float32", kMost}};   // 3,137 steps, a prime
  for (const auto& [term, terms] : sums) {
    SCOPED_TRACE(fmt::format("{} {}", terms, term));
    const auto program =
        te::parse_program(fmt::format("s0 = reduce [1] over [{}] with sum:float32 {{ {} }}\noutput s0\n", terms, term));
    ASSERT_TRUE(program.ok()) << program.error().message();
    const Dims dims = {2 * kMost}, of_indices = {kMost};
    const std::vector<Tensor> inputs = {
        te::to_tensor(te::Array::reals(DataType::kFloat32, dims, std::vector<double>(2 * kMost, 0.1f))),
        Tensor::from_ints(DataType::kInt64, of_indices, std::vector<int64_t>(kMost))};
    const Kernel kernel = *lower(*program, {{DataType::kFloat32, {2 * kMost}}, {DataType::kInt64, {kMost}}});
    const Schedule schedule = default_schedule(Schedule(kernel), Machine());
    const auto found = run(schedule.finish(), inputs, host_target());
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_NEAR(found->outputs[0].real(0) / (static_cast<double>(terms) * 0.1f), 1, 2e-5) << print(schedule.finish());
  }
}

/// In lanes alone, of as many terms as data decide, it would be off by a thousandth.
TEST(LongSums, OfAsManyAsDataDecideHavePartialSums) {
  constexpr int64_t kTerms = 4'000'000;
  const std::vector<std::tuple<const char*, Dims>> sums = {
      {"s0 = reduce [] over [n] with sum:float32 { in0[r0]:float32 }\noutput s0\n", {kTerms}},
      {"s0 = reduce [1] over [n] with sum:float32 { in0[i0, r0]:float32 }\noutput s0\n", {1, kTerms}},
      {"s0 = reduce [] over [n,1000] with sum:float32 { in0[r0, r1]:float32 }\noutput s0\n", {kTerms / 1000, 1000}}};
  for (const auto& [text, dims] : sums) {
    const auto program = te::parse_program(text);
    ASSERT_TRUE(program.ok()) << program.error().message();
    const Dim n = Dim::symbol("n");
    Shape shape(dims.begin(), dims.end());
    const size_t open = dims.size() == 2 && dims[0] == 1 ? 1 : 0;
    shape[open] = n;
    const Kernel kernel = *lower(*program, {{DataType::kFloat32, shape}}, {{"n"}});
    const std::vector<Tensor> inputs = {
        te::to_tensor(te::Array::reals(DataType::kFloat32, dims, std::vector<double>(kTerms, 0.1f))),
        Tensor::int64s({dims[open]})};
    for (const VectorUnit& vectors : {kAvx2, host_target().vectors()}) {
      const Schedule schedule = with_open_loops(Schedule(kernel), {.vectors = vectors});
      SCOPED_TRACE(print(schedule.trace()) + print(schedule.finish()));
      const auto found = run(schedule.finish(), inputs, host_target());
      ASSERT_TRUE(found.ok()) << found.error().message();
      EXPECT_NEAR(found->outputs[0].real(0) / (static_cast<double>(kTerms) * 0.1f), 1, 2e-5);
    }
  }
}

TEST(AccumulateIn, SaysWhatItExpects) {
  const Kernel kernel = *lower(*te::parse_program("s0 = reduce [3] over [8] with max:float16 { in0[i0, r0]:float16 }\n"
                                                  "s1 = reduce [3] over [8] with sum:float16 { in0[i0, r0]:float16 }\n"
                                                  "s2 = map [3] { s0[i0]:float16 + s1[i0]:float16 }\noutput s2\n"),
                               {{DataType::kFloat16, {3, 8}}});
  const auto refusal = [&](const std::string& block, const std::string& type) {
    Schedule schedule(kernel);
    const auto done = schedule.accumulate_in(block, type);
    return done.ok() ? "" : done.error().message();
  };
  EXPECT_EQ(refusal("s1", "float32"), "");
  EXPECT_EQ(refusal("s1", "float64"), "");
  EXPECT_NE(refusal("s0", "float32").find("a sum expected"), std::string::npos);
  EXPECT_NE(refusal("s2", "float32").find("a sum with its initialization expected"), std::string::npos);
  for (const char* type : {"float16", "bfloat16", "int32", "x"})
    EXPECT_NE(refusal("s1", type).find("a wider real type than float16 expected"), std::string::npos) << type;
}

/// A convolution with padding, and a product; of halves.
Example halves(bool has_padding) {
  if (!has_padding)
    return {"product of halves",
            "s0 = reduce [60, 96] over [40] with sum:float16 { in0[i0, r0]:float16*in1[r0, i1]:float16 }\noutput s0\n",
            {{60, 40}, {40, 96}},
            DataType::kFloat16};
  return {"convolution of halves",
          "s0 = reduce [64, 20] over [16, 3] with sum:float16 { select(1 <= i1 + r1 && i1 + r1 < 21, "
          "in0[r0, i1 + r1 - 1]:float16, 0:float16)*in1[i0, r0, r1]:float16 }\noutput s0\n",
          {{16, 20}, {64, 16, 3}},
          DataType::kFloat16};
}

/// What many columns read is converted once.
TEST(Widen, IsDoneToWhatIsReadOften) {
  for (const bool has_padding : {false, true}) {
    const Example example = halves(has_padding);
    const Kernel kernel = lowered(example, {1});
    const Schedule schedule = default_schedule(Schedule(kernel), {});
    EXPECT_NE(print(schedule.trace()).find("widen(in0.cache, float32)"), std::string::npos) << print(schedule.trace());
    EXPECT_EQ(print(schedule.trace()).find("widen(in1"), std::string::npos) << "weights are as large as they were";
    expect_same_meaning(example, schedule, kernel);
    expect_replays(schedule, kernel);
  }
}

TEST(Widen, SaysWhatItExpects) {
  const Kernel kernel =
      *lower(*te::parse_program(
                 "s0 = map [8] { in0[i0]:float16 + 1:float16 }\n"
                 "s1 = map [8] { float32(s0[i0]:float16)*2 }\n"
                 "s2 = map [8] { s0[i0]:float16 + in0[i0]:float16 }\n"
                 "s3 = reduce [8] over [8] with max:float16 { in0[r0]:float16*in0[i0]:float16 }\n"
                 "s4 = map [8] { float32(s2[i0]:float16) + s1[i0]:float32 + float32(s3[i0]:float16) }\noutput s4\n"),
             {{DataType::kFloat16, {8}}});
  const auto refusal = [&](const std::string& buffer, const std::string& type) {
    Schedule schedule(kernel);
    const auto done = schedule.widen(buffer, type);
    return done.ok() ? "" : done.error().message();
  };
  EXPECT_EQ(refusal("s2", "float32"), "");
  EXPECT_NE(refusal("s2", "float64").find("read as float64 alone expected"), std::string::npos);
  EXPECT_NE(refusal("s0", "float32").find("read as float32 alone expected"), std::string::npos);
  EXPECT_NE(refusal("s3", "float32").find("a reduction does"), std::string::npos);
  EXPECT_NE(refusal("in0", "float32").find("it is an input or output"), std::string::npos);
  for (const char* type : {"float16", "bfloat16", "int32", "x"})
    EXPECT_NE(refusal("s2", type).find("a wider real type than float16 expected"), std::string::npos) << type;
}

}  // namespace
}  // namespace isomer::kernel::test
