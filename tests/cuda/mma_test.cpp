// Products of halves by tensor cores: on small integers they are exact, in tiles that are whole and in those that a
// bound cuts through, and lanes that are mixed up show.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "cuda/clang.h"
#include "cuda/native.h"
#include "graph/te/array.h"
#include "graph/te/program_text.h"
#include "kernel/launch_examples.h"
#include "kernel/lower.h"
#include "kernel/run_kernel.h"
#include "kernel/scheduled_kernel.h"
#include "kernel/space/gpu_modules.h"
#include "support/long_run.h"
#include "util/random.h"
#include "util/split.h"

namespace isomer::kernel::test {
namespace {

struct Subject {
  Kernel lowered, scheduled;
  CudaKernel code;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected = {};
};

Tensor small_integers(DataType type, const Dims& dims, Random& random) {
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = static_cast<double>(random.between(-2, 2));
  return Tensor::from_doubles(type, dims, values);
}

/// The program with inputs of these dims, scheduled for a GPU; other decisions than the given ones are preferred.
Subject subject_of(const std::string& text, DataType type, const std::vector<Dims>& inputs_dims,
                   const std::map<std::string, int64_t>& decisions, Random& random, const std::string& name) {
  std::vector<TaskType> types;
  std::vector<Tensor> inputs;
  for (const Dims& dims : inputs_dims) {
    types.push_back({type, Shape(dims.begin(), dims.end())});
    inputs.push_back(small_integers(type, dims, random));
  }
  Kernel lowered = *lower(*te::parse_program(text), types);
  Preferring preferring;
  Given given(decisions, preferring);
  Machine machine;
  machine.tf32 = true;
  Kernel scheduled = kernel::scheduled(Schedule(lowered), gpu_space(), machine, given).schedule.finish();
  CudaKernel code = ok(emit_cuda(scheduled, name));
  return {std::move(lowered), std::move(scheduled), std::move(code), std::move(inputs)};
}

/// Sums stay below 256, which bfloat16 still has.
Subject product_of(DataType type, int64_t m, int64_t n, int64_t k, Random& random, const std::string& name,
                   const std::map<std::string, int64_t>& decisions = {}) {
  const std::string text = fmt::format(
      "s0 = reduce [{0}, {1}] over [{2}] with sum:{3} {{ in0[i0, r0]:{3}*in1[r0, i1]:{3} }}\n"
      "s1 = map [{0}, {1}] {{ s0[i0, i1]:{3} + in2[i1]:{3} }}\noutput s1\n",
      m, n, k, isomer::name(type));
  return subject_of(text, type, {Dims{m, k}, Dims{k, n}, Dims{n}}, decisions, random, name);
}

/// A padded convolution of a batch, summed up by channels and places: of [batch, channels, size, size] with `filters`
/// windows of 3 by 3. Sums stay below 256 where inputs are 0 or 1 here and there.
Subject convolution_of(DataType type, int64_t batch, int64_t channels, int64_t size, int64_t filters, int64_t stride,
                       const std::map<std::string, int64_t>& decisions, Random& random, const std::string& name) {
  const int64_t out = (size - 1) / stride + 1;
  const std::string text = fmt::format(
      "s0 = reduce [{0}, {1}, {2}, {2}] over [{3}, 3, 3] with sum:{4} {{ select(1 <= {6}*i2 + r1 && {6}*i2 + r1 < {5} "
      "+ 1 && 1 <= {6}*i3 + r2 && {6}*i3 + r2 < {5} + 1, in0[i0, r0, {6}*i2 + r1 - 1, {6}*i3 + r2 - 1]:{4}, "
      "0:{4})*in1[i1, r0, r1, r2]:{4} }}\n"
      "s1 = map [{0}, {1}, {2}, {2}] {{ s0[i0, i1, i2, i3]:{4} + in2[i1]:{4} }}\noutput s1\n",
      batch, filters, out, channels, isomer::name(type), size, stride);
  return subject_of(text, type, {Dims{batch, channels, size, size}, Dims{filters, channels, 3, 3}, Dims{filters}},
                    decisions, random, name);
}

std::vector<std::string> functions_of(const Subject& subject) {
  std::vector<std::string> names;
  for (const CudaLaunch& launch : subject.code.launches) names.push_back(launch.function);
  return names;
}

void expect_exact(const std::vector<Subject>& subjects) {
  std::string text;
  std::vector<std::string> functions;
  for (const Subject& subject : subjects) {
    text += subject.code.text;
    const auto names = functions_of(subject);
    functions.insert(functions.end(), names.begin(), names.end());
  }
  if (!is_native_run()) {
    for (const char* arch : {"sm_80", "sm_90a"}) ASSERT_EQ(clang_to_ptx(text, arch), "") << text;
  }
  const RunnableCode runnable(text, functions);
  for (const Subject& subject : subjects) {
    SCOPED_TRACE(print(subject.scheduled) + subject.code.text);
    const auto expected = ok(run(subject.lowered, subject.inputs, host_target()));
    const auto plain = ok(run(subject.scheduled, subject.inputs, host_target()));
    ASSERT_THAT(plain.outputs[0].bytes(), testing::ElementsAreArray(expected.outputs[0].bytes()));
    for (const EmulatedRun& found : runnable.run(subject.scheduled, subject.code, subject.inputs)) {
      ASSERT_THAT(found.findings, testing::IsEmpty());
      ASSERT_THAT(found.outputs[0].bytes(), testing::ElementsAreArray(expected.outputs[0].bytes()));
    }
  }
}

TEST(TensorCores, ProductsOfHalvesAreExact) {
  Random random(51);
  std::vector<Subject> subjects;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const auto& [m, n, k] :
         std::vector<std::array<int64_t, 3>>{{128, 64, 64}, {40, 72, 48}, {16, 49, 32}, {97, 131, 16}, {256, 24, 48}}) {
      Subject& subject = subjects.emplace_back(product_of(type, m, n, k, random, fmt::format("f{}_", subjects.size())));
      EXPECT_THAT(subject.code.text, testing::HasSubstr(type == DataType::kFloat16 ? "op::mma_f16" : "op::mma_bf16"));
    }
  expect_exact(subjects);
}

/// As tf32, which has small integers.
TEST(TensorCores, ProductsOfFloatsAreExact) {
  Random random(55);
  std::vector<Subject> subjects;
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{128, 64, 64}, {40, 72, 24}, {16, 49, 8}, {97, 131, 40}, {256, 24, 48}}) {
    Subject& subject =
        subjects.emplace_back(product_of(DataType::kFloat32, m, n, k, random, fmt::format("f{}_", subjects.size())));
    EXPECT_THAT(subject.code.text, testing::HasSubstr("op::mma_tf32(")) << subject.code.text;
  }
  EXPECT_THAT(subjects[0].code.text, testing::HasSubstr("op::load_matrices<"));
  for (const std::map<std::string, int64_t>& decisions :
       {std::map<std::string, int64_t>{{"s0.stages", 1}}, {{"s0.stages", 4}, {"s0.columns", 2}}, {{"s0.parts", 4}}})
    subjects.push_back(
        product_of(DataType::kFloat32, 48, 64, 64, random, fmt::format("f{}_", subjects.size()), decisions));
  expect_exact(subjects);
}

/// To the nearest number of 11 bits, ties away from zero.
TEST(TensorCores, RoundFloatsToTf32) {
  constexpr int64_t kSize = 16;
  Random random(56);
  Subject subject = product_of(DataType::kFloat32, kSize, kSize, kSize, random, "f");
  const std::vector<std::pair<double, double>> rounded = {{1 + 0x1p-11, 1 + 0x1p-10},
                                                          {-1 - 0x1p-11, -1 - 0x1p-10},
                                                          {1 + 0x1p-12, 1},
                                                          {1 + 0x1.8p-11, 1 + 0x1p-10},
                                                          {1 + 0x1.8p-10, 1 + 0x1p-9},
                                                          {2 - 0x1p-23, 2},
                                                          {-0x1p100, -0x1p100},
                                                          {3, 3}};
  std::vector<double> left(kSize * kSize), right(kSize * kSize), expected(kSize * kSize);
  for (size_t k = 0; k < left.size(); ++k) std::tie(left[k], expected[k]) = rounded[k % rounded.size()];
  for (size_t k = 0; k < kSize; ++k) right[k * (kSize + 1)] = 1;
  const auto matrix = [&](const std::vector<double>& values) {
    return Tensor::from_doubles(DataType::kFloat32, {kSize, kSize}, values);
  };
  subject.inputs = {matrix(left), matrix(right),
                    Tensor::from_doubles(DataType::kFloat32, {kSize}, std::vector<double>(kSize))};
  const RunnableCode runnable(subject.code.text, functions_of(subject));
  const auto runs = runnable.run(subject.scheduled, subject.code, subject.inputs);
  ASSERT_FALSE(runs.empty());
  for (const EmulatedRun& found : runs)
    for (size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(found.outputs[0].real(static_cast<int64_t>(k)), expected[k]) << k;
}

/// Who has not granted it gets products of floats.
TEST(TensorCores, FloatsAreNotRoundedUnasked) {
  const std::vector<TaskType> types(2, TaskType{DataType::kFloat32, Shape{64, 64}});
  const std::string text =
      "s0 = reduce [64, 64] over [64] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n";
  const Kernel kernel = *lower(*te::parse_program(text), types);
  Preferring preferring;
  const auto code = [&](bool tf32) {
    Machine machine;
    machine.tf32 = tf32;
    return ok(emit_cuda(scheduled(Schedule(kernel), gpu_space(), machine, preferring).schedule.finish(), "f")).text;
  };
  EXPECT_THAT(code(false), testing::Not(testing::HasSubstr("op::mma")));
  EXPECT_THAT(code(true), testing::HasSubstr("op::mma_tf32("));
}

/// Channels apart, last or not, images of a batch together, with and without stages, in shared memory that is asked
/// for.
TEST(TensorCores, ConvolutionsOfHalvesAreExact) {
  Random random(53);
  std::vector<Subject> subjects;
  for (const auto& [batch, channels, size, filters, stride, decisions] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, std::map<std::string, int64_t>>>{
           {1, 16, 6, 32, 1, {}},
           {2, 32, 5, 16, 1, {{"s0.channels_last", 0}, {"s0.images", 2}, {"s0.columns", 4}, {"s0.stages", 3}}},
           {4, 16, 5, 16, 1, {{"s0.channels_last", 1}, {"s0.images", 4}, {"s0.columns", 8}, {"s0.stages", 4}}},
           {2, 16, 9, 16, 2, {{"s0.channels_last", 1}, {"s0.images", 1}, {"s0.columns", 16}, {"s0.stages", 2}}},
           {2, 48, 4, 24, 1, {{"s0.channels_last", 0}, {"s0.images", 2}, {"s0.columns", 2}, {"s0.stages", 1}}},
           {1, 32, 8, 256, 1, {{"s0.threads_y", 64}, {"s0.rows", 4}, {"s0.columns", 16}, {"s0.stages", 3}}},
           {1, 32, 5, 16, 1, {{"s0.channels_apart", 0}, {"s0.stages", 2}}},
           {1, 64, 5, 16, 1, {{"s0.channels_last", 1}, {"s0.parts", 2}, {"s0.stages", 5}}}}) {
    Subject& subject = subjects.emplace_back(convolution_of(DataType::kFloat16, batch, channels, size, filters, stride,
                                                            decisions, random, fmt::format("f{}_", subjects.size())));
    EXPECT_THAT(subject.code.text, testing::HasSubstr("op::mma_f16")) << subject.code.text;
    const auto stages = decisions.find("s0.stages");
    if (stages != decisions.end() && stages->second > 1) {
      EXPECT_THAT(print(subject.scheduled), testing::HasSubstr(fmt::format("stages={}", stages->second)));
    }
  }
  EXPECT_THAT(subjects[5].code.text, testing::HasSubstr("ISOMER_ASKED_MEMORY(asked"));
  expect_exact(subjects);
}

TEST(TensorCores, ConvolutionsOfFloatsAreExact) {
  Random random(57);
  std::vector<Subject> subjects;
  for (const auto& [batch, channels, size, filters, stride, decisions] :
       std::vector<std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, std::map<std::string, int64_t>>>{
           {1, 16, 6, 32, 1, {}},
           {2, 24, 5, 16, 1, {{"s0.channels_last", 0}, {"s0.images", 2}, {"s0.columns", 4}, {"s0.stages", 3}}},
           {4, 8, 5, 16, 1, {{"s0.channels_last", 1}, {"s0.images", 4}, {"s0.columns", 8}, {"s0.stages", 4}}},
           {2, 16, 9, 16, 2, {{"s0.channels_last", 1}, {"s0.images", 1}, {"s0.columns", 16}, {"s0.stages", 2}}},
           {1, 32, 5, 16, 1, {{"s0.channels_apart", 0}, {"s0.stages", 2}}}}) {
    Subject& subject = subjects.emplace_back(convolution_of(DataType::kFloat32, batch, channels, size, filters, stride,
                                                            decisions, random, fmt::format("f{}_", subjects.size())));
    EXPECT_THAT(subject.code.text, testing::HasSubstr("op::mma_tf32(")) << subject.code.text;
  }
  expect_exact(subjects);
}

/// Copies under way: every wait, barrier and group of them is needed, as is every place.
TEST(TensorCores, StagesNeedAllTheirWaits) {
  Random random(54);
  const Subject subject =
      product_of(DataType::kFloat16, 32, 32, 160, random, "f",
                 {{"s0.threads_y", 16}, {"s0.columns", 8}, {"s0.rows", 2}, {"s0.parts", 1}, {"s0.stages", 3}});
  const auto expected = ok(run(subject.lowered, subject.inputs, host_target()));
  const auto is_found = [&](const std::string& text) {
    const EmulatedLibrary library(text, functions_of(subject));
    return std::ranges::any_of(std::array{ThreadOrder::kForward, ThreadOrder::kBackward}, [&](ThreadOrder order) {
      const EmulatedRun run = emulate(library, subject.scheduled, subject.code, subject.inputs, order);
      return !run.findings.empty() || !std::ranges::equal(run.outputs[0].bytes(), expected.outputs[0].bytes());
    });
  };
  EXPECT_FALSE(is_found(subject.code.text)) << subject.code.text;
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"op::complete<1>();", ""},
                                                        {"op::complete<1>();", "op::complete<2>();"},
                                                        {"__syncthreads();", ""},
                                                        {"op::commit();", ""}}) {
    size_t count = 0;
    for (size_t at = subject.code.text.find(from); at != std::string::npos; at = subject.code.text.find(from, at + 1)) {
      EXPECT_TRUE(is_found(std::string(subject.code.text).replace(at, from.size(), to)))
          << from << " number " << count << "\n"
          << subject.code.text;
      ++count;
    }
    EXPECT_GT(count, 0u) << from << "\n" << subject.code.text;
  }
  std::string fewer = subject.code.text;
  for (size_t at = fewer.find(" % 3)]"); at != std::string::npos; at = fewer.find(" % 3)]")) fewer[at + 3] = '2';
  EXPECT_TRUE(is_found(fewer)) << fewer;
}

void set_stages(Statements& statements, int64_t stages) {
  for (Statement& statement : statements) {
    auto* const loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    if (loop->annotations.contains(kStages)) loop->annotations[kStages] = stages;
    set_stages(loop->body, stages);
  }
}

TEST(TensorCores, MoreStagesThanMemoryHasRoomForAreRefused) {
  Random random(58);
  Subject subject = product_of(DataType::kFloat16, 32, 32, 160, random, "f", {{"s0.parts", 1}, {"s0.stages", 3}});
  for (const int64_t stages : {int64_t{1} << 20, int64_t{1} << 62}) {
    set_stages(subject.scheduled.body, stages);
    const auto code = emit_cuda(subject.scheduled, "f");
    ASSERT_FALSE(code.ok()) << code->text;
    EXPECT_THAT(code.error().message(), testing::HasSubstr("shared memory"));
  }
}

/// The emulator's own map of lanes (PTX ISA 9.7.14.5) against the code generator's: swapped registers are found.
void expect_swaps_found(DataType type, const std::string& mma) {
  Random random(52);
  const Subject subject = product_of(type, 64, 64, 32, random, "f", {{"s0.threads_y", 16}});
  const auto expected = ok(run(subject.lowered, subject.inputs, host_target()));
  const auto is_found = [&](const std::string& text) {
    const EmulatedLibrary library(text, functions_of(subject));
    const EmulatedRun run = emulate(library, subject.scheduled, subject.code, subject.inputs, ThreadOrder::kForward);
    return !run.findings.empty() || !std::ranges::equal(run.outputs[0].bytes(), expected.outputs[0].bytes());
  };
  EXPECT_FALSE(is_found(subject.code.text));
  // Four registers of sums, four of the first operand and two of the second.
  const std::string& text = subject.code.text;
  const size_t begin = text.find(mma) + mma.size(), size = text.find(");", begin) - begin;
  const std::vector<std::string_view> registers = split(std::string_view(text).substr(begin, size), ", ");
  ASSERT_EQ(registers.size(), 10u) << text;
  for (const auto& [a, b] : {std::pair(4, 5), {5, 6}, {6, 7}, {8, 9}}) {
    std::vector<std::string_view> swapped = registers;
    std::swap(swapped[static_cast<size_t>(a)], swapped[static_cast<size_t>(b)]);
    EXPECT_TRUE(is_found(std::string(text).replace(begin, size, fmt::format("{}", fmt::join(swapped, ", ")))))
        << a << ' ' << b;
  }
  // The row that a lane gives of a matrix, and which matrix it gives one of.
  for (const char* bits : {"% 2)", "/ 2) % 2)", "/ 4) % 2)"}) {
    std::string lanes = subject.code.text;
    const size_t at = lanes.find(bits, lanes.find("op::load_matrices<"));
    ASSERT_NE(at, std::string::npos) << lanes;
    lanes[at + std::string_view(bits).size() - 2] = '1';
    EXPECT_TRUE(is_found(lanes)) << lanes;
  }
}

TEST(TensorCores, SwappedLanesAndRegistersAreFound) {
  expect_swaps_found(DataType::kFloat16, "op::mma_f16(");
  expect_swaps_found(DataType::kFloat32, "op::mma_tf32(");
}

}  // namespace
}  // namespace isomer::kernel::test
