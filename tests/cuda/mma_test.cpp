// Products of halves by tensor cores: on small integers they are exact, in tiles that are whole and in those that a
// bound cuts through, and lanes that are mixed up show.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/clang.h"
#include "cuda/native.h"
#include "graph/te/array.h"
#include "graph/te/program_text.h"
#include "kernel/default_schedule.h"
#include "kernel/launch_examples.h"
#include "kernel/lower.h"
#include "kernel/run_kernel.h"
#include "support/long_run.h"
#include "util/random.h"

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

/// Sums stay below 256, which bfloat16 still has.
Subject product_of(DataType type, int64_t m, int64_t n, int64_t k, Random& random, const std::string& name) {
  const std::string text = fmt::format(
      "s0 = reduce [{0}, {1}] over [{2}] with sum:{3} {{ in0[i0, r0]:{3}*in1[r0, i1]:{3} }}\n"
      "s1 = map [{0}, {1}] {{ s0[i0, i1]:{3} + in2[i1]:{3} }}\noutput s1\n",
      m, n, k, isomer::name(type));
  std::vector<TaskType> types;
  std::vector<Tensor> inputs;
  for (const Dims& dims : {Dims{m, k}, Dims{k, n}, Dims{n}}) {
    types.push_back({type, Shape(dims.begin(), dims.end())});
    inputs.push_back(small_integers(type, dims, random));
  }
  Kernel lowered = *lower(*te::parse_program(text), types);
  Kernel scheduled = default_gpu_schedule(Schedule(lowered)).finish();
  CudaKernel code = ok(emit_cuda(scheduled, name));
  return {std::move(lowered), std::move(scheduled), std::move(code), std::move(inputs)};
}

std::vector<std::string> functions_of(const Subject& subject) {
  std::vector<std::string> names;
  for (const CudaLaunch& launch : subject.code.launches) names.push_back(launch.function);
  return names;
}

TEST(TensorCores, ProductsOfHalvesAreExact) {
  Random random(51);
  std::vector<Subject> subjects;
  std::string text;
  std::vector<std::string> functions;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const auto& [m, n, k] :
         std::vector<std::array<int64_t, 3>>{{128, 64, 64}, {40, 72, 48}, {16, 49, 32}, {97, 131, 16}, {256, 24, 48}}) {
      Subject& subject = subjects.emplace_back(product_of(type, m, n, k, random, fmt::format("f{}_", subjects.size())));
      EXPECT_THAT(subject.code.text, testing::HasSubstr(type == DataType::kFloat16 ? "op::mma_f16" : "op::mma_bf16"));
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

/// The emulator's own map of lanes (PTX ISA 9.7.14.5) against the code generator's: swapped registers are found.
TEST(TensorCores, SwappedLanesAndRegistersAreFound) {
  Random random(52);
  const Subject subject = product_of(DataType::kFloat16, 64, 64, 32, random, "f");
  const auto expected = ok(run(subject.lowered, subject.inputs, host_target()));
  const auto is_found = [&](const std::string& text) {
    const EmulatedLibrary library(text, functions_of(subject));
    const EmulatedRun run = emulate(library, subject.scheduled, subject.code, subject.inputs, ThreadOrder::kForward);
    return !run.findings.empty() || !std::ranges::equal(run.outputs[0].bytes(), expected.outputs[0].bytes());
  };
  EXPECT_FALSE(is_found(subject.code.text));
  const auto mutant = [&](std::string_view from, std::string_view to) {
    const size_t call = subject.code.text.find("op::mma_f16("), at = subject.code.text.find(from, call);
    EXPECT_NE(at, std::string::npos) << from;
    return std::string(subject.code.text).replace(at, from.size(), to);
  };
  EXPECT_TRUE(is_found(mutant("h0, h1", "h1, h0")));
  EXPECT_TRUE(is_found(mutant("h2, h3", "h3, h2")));
  EXPECT_TRUE(is_found(mutant("h1, h2", "h2, h1")));
  // The row that a lane gives of a matrix, and which matrix it gives one of.
  for (const char* bits : {"% 2)", "/ 2) % 2)", "/ 4) % 2)"}) {
    std::string lanes = subject.code.text;
    const size_t at = lanes.find(bits, lanes.find("op::load_matrices("));
    ASSERT_NE(at, std::string::npos) << lanes;
    lanes[at + std::string_view(bits).size() - 2] = '1';
    EXPECT_TRUE(is_found(lanes)) << lanes;
  }
}

}  // namespace
}  // namespace isomer::kernel::test
