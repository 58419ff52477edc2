// Numbers of 16 bits are compared, rounded and looked at for extremes a vector at a time, whatever the target has
// instructions for: LLVM narrows these from floats to halves, and then takes halves lane by lane.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <regex>

#include "graph/te/array.h"
#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/run_kernel.h"
#include "kernel/space/gpu_modules.h"

namespace isomer::kernel::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr DataType kTypes[] = {DataType::kFloat16, DataType::kBFloat16};
constexpr const char* kTargets[] = {"haswell", "skylake-avx512", "znver4"};

/// X stands for a number of the first input, Z for one of the second, T for their type.
Example example(std::string text, DataType type) {
  text = std::regex_replace(text, std::regex("X"), "in0[i0, i1]:T");
  text = std::regex_replace(text, std::regex("Z"), "in1[i0, i1]:T");
  text = std::regex_replace(text, std::regex(":T"), fmt::format(":{}", name(type)));
  return {text, text + "\noutput s0\n", {{32, 96}, {32, 96}}, type};
}

int64_t count(const std::string& text, std::string_view part) {
  int64_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(Halves, AreComparedAVectorAtATime) {
  for (const char* text :
       {"s0 = map [32, 96] { max(X, Z) }", "s0 = map [32, 96] { min(X, Z) }", "s0 = map [32, 96] { max(X, 0:T) }",
        "s0 = map [32, 96] { X < Z }", "s0 = map [32, 96] { X == Z }", "s0 = map [32, 96] { bool(X) }",
        "s0 = map [32, 96] { select(X < 0:T, X*Z, X) }", "s0 = map [32, 96] { floor(X) }",
        "s0 = map [32, 96] { round(X + Z) }", "s0 = map [32, 96] { max(max(X, 0:T)*Z, 0:T) }",
        "s0 = map [32, 96] { min(max(X, 0:T), 6:T) }", "s0 = map [32, 96] { log(X) }",
        "s0 = reduce [32] over [96] with max:T { in0[i0, r0]:T }",
        "s0 = reduce [96] over [32] with min:T { in0[r0, i0]:T }"})
    for (const DataType type : kTypes) {
      const Example each = example(text, type);
      const Kernel kernel = lowered(each);
      for (const char* cpu : kTargets) {
        SCOPED_TRACE(fmt::format("{} on {}", each.name, cpu));
        const CpuTarget target = *parse_cpu_target(fmt::format("cpu={}", cpu));
        const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = target.vectors()});
        const auto code = emit_assembly(schedule.finish(), target);
        ASSERT_TRUE(code.ok()) << code.error().message();
        // Where a vector has become one number, each rounding of it asks whether it is NaN.
        EXPECT_LE(count(*code, "ucomiss"), 2) << *code;
        EXPECT_THAT(*code, AnyOf(HasSubstr("%ymm"), HasSubstr("%zmm")));
        if (runs_here(target)) expect_same_meaning(each, schedule, kernel, target);
      }
    }
}

/// On the CPU and as a GPU's threads, by default schedules and others.
void expect_integers(const Example& each, const std::vector<Tensor>& inputs,
                     const std::function<double(const Tensor& output, int64_t place)>& expected) {
  const Kernel kernel = lowered(each);
  Random random(47);
  for (int k = 0; k < 8; ++k) {
    Sampling sampling(random, k < 2 ? 0 : 0.3);
    const Space& space = k % 2 == 0 ? default_space() : gpu_space();
    const Schedule schedule = scheduled(Schedule(kernel), space, Machine(), sampling).schedule;
    SCOPED_TRACE(each.program + print(schedule.finish()));
    const auto found = run(schedule.finish(), inputs, host_target());
    ASSERT_TRUE(found.ok()) << found.error().message();
    for (const Tensor& output : found->outputs) {
      if (output.dtype() == DataType::kUndefined) continue;
      for (int64_t i = 0; i < output.count(); ++i)
        ASSERT_EQ(static_cast<double>(output.integer(i)), expected(output, i)) << i;
    }
  }
}

/// One of the sums is larger, and rounds to what the others are: it is no greater than the greatest, and comes after
/// the first of them.
TEST(Halves, AreComparedAsTheyAreStored) {
  constexpr int64_t kRows = 4, kLength = 128, kLarger = 65;
  const std::string added = fmt::format("s0 = map [{0}, {1}] {{ in0[i0, i1]:T + in1[i0, i1]:T }}\n", kRows, kLength);
  const std::string greatest =
      added + fmt::format("s1 = reduce [{}] over [{}] with max:T {{ s0[i0, r0]:T }}\n", kRows, kLength);
  struct Case {
    std::string text;
    double expected, expected_of_first;
  };
  const std::string at = fmt::format("[{}, {}]", kRows, kLength);
  for (const auto& [text, expected, expected_of_first] : std::vector<Case>{
           {added + fmt::format("s1 = reduce [{}] over [{}] with argmax:T {{ s0[i0, r0]:T, r0 }}\noutput s1.1\n", kRows,
                                kLength),
            1, 1},
           {added + fmt::format("s1 = reduce [{}] over [{}] with argmin_last:T {{ -s0[i0, r0]:T, r0 }}\noutput s1.1\n",
                                kRows, kLength),
            kLength - 1, kLength - 1},
           {greatest + "s2 = map " + at + " { s0[i0, i1]:T == s1[i0]:T }\noutput s2\n", 1, 0},
           {greatest + "s2 = map " + at + " { s1[i0]:T < s0[i0, i1]:T }\noutput s2\n", 0, 0},
           {greatest + "s2 = map " + at + " { s1[i0]:T <= s0[i0, i1]:T }\noutput s2\n", 1, 0}})
    for (const DataType type : kTypes) {
      const Dims dims = {kRows, kLength};
      std::vector<double> a(kRows * kLength, 1), b(kRows * kLength, 0);
      for (int64_t row = 0; row < kRows; ++row) {
        a[static_cast<size_t>(row * kLength)] = 0.5;
        b[static_cast<size_t>(row * kLength + kLarger)] = type == DataType::kFloat16 ? 0x1p-12 : 0x1p-9;
      }
      const std::vector<Tensor> inputs = {te::to_tensor(te::Array::reals(type, dims, a)),
                                          te::to_tensor(te::Array::reals(type, dims, b))};
      const Example each = {
          text, std::regex_replace(text, std::regex(":T"), fmt::format(":{}", name(type))), {dims, dims}, type};
      expect_integers(each, inputs, [&](const Tensor& output, int64_t i) {
        const bool is_row = output.count() == kRows;
        return !is_row && i % kLength == 0 ? expected_of_first : expected;
      });
    }
}

/// What is less than half of the smallest number of its type is stored as 0, and is none that is greater.
TEST(Halves, AreZeroWhereTheyAreStoredAsIt) {
  const std::vector<Tensor> inputs = {
      te::to_tensor(te::Array::reals(DataType::kFloat16, {64}, std::vector(64, 0x1p-13)))};
  const std::string product = "s0 = map [64] { in0[i0]:float16 * in0[i0]:float16 }\ns1 = map [64] ";
  for (const auto& [comparison, expected] : std::vector<std::pair<std::string, double>>{
           {"s0[i0]:float16 == 0:float16", 1}, {"0:float16 < s0[i0]:float16", 0}, {"s0[i0]:float16 <= 0:float16", 1}}) {
    const std::string text = product + "{ " + comparison + " }\noutput s1\n";
    const double right = expected;
    expect_integers({text, text, {{64}}, DataType::kFloat16}, inputs, [&](const Tensor&, int64_t) { return right; });
  }
}

TEST(Halves, ThatAreOnlyMovedAreNotConverted) {
  for (const DataType type : kTypes) {
    const Example moved = example("s0 = map [32, 90] { in0[i0, i1 + 3]:T }", type);
    const Schedule schedule = default_schedule(Schedule(lowered(moved)), {});
    const auto code = emit_assembly(schedule.finish(), *parse_cpu_target("cpu=znver4"));
    ASSERT_TRUE(code.ok());
    EXPECT_THAT(*code, Not(HasSubstr("cvt"))) << name(type);
  }
}

}  // namespace
}  // namespace isomer::kernel::test
