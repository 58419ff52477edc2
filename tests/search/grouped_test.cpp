// Convolutions in groups: what one group reads is nobody else's, and narrow groups run in vectors too.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/interpret.h"
#include "search/code/prepare.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "util/random.h"

namespace isomer::test {
namespace {

struct Grouped {
  int inputs, outputs, groups;
  int size = 6, stride = 1, window = 3;
};

/// Channels of a group: as many, fewer and more than they become; powers of two, others, more than a vector has lanes.
constexpr Grouped kCases[] = {
    {32, 32, 8},      {16, 32, 16},   {32, 16, 16},      {64, 32, 8},          {32, 64, 8},
    {48, 48, 16},     {96, 96, 16},   {40, 40, 4},       {24, 24, 2},          {20, 20, 5},
    {36, 36, 9},      {12, 18, 6},    {9, 6, 3},         {60, 60, 2, 4},       {56, 56, 7},
    {128, 128, 4, 3}, {34, 34, 2, 4}, {32, 32, 8, 7, 2}, {32, 32, 8, 5, 1, 1}, {6, 10, 2},
    {144, 144, 3, 3},
};

Graph grouped(const Grouped& form) {
  const int pad = form.window / 2, size = (form.size + 2 * pad - form.window) / form.stride + 1;
  return parsed(fmt::format(R"(opset 17
graph grouped(x: float32[1,{},{},{}]) -> (y: float32[1,{},{},{}]) {{
  w: float32[{},{},{},{}] = random 1
  b: float32[{}] = random 2
  c = Conv(x, w, b) {{group = {}, pads = [{},{},{},{}], strides = [{},{}]}}
  y = Relu(c)
}}
)",
                            form.inputs, form.size, form.size, form.outputs, size, size, form.outputs,
                            form.inputs / form.groups, form.window, form.window, form.outputs, form.groups, pad, pad,
                            pad, pad, form.stride, form.stride));
}

std::string name_of(const Grouped& form) {
  return fmt::format("from{}to{}in{}size{}stride{}window{}", form.inputs, form.outputs, form.groups, form.size,
                     form.stride, form.window);
}

/// For a CPU as LLVM calls it, in vectors of its width.
search::Compilation compiled_for(const Graph& graph, const std::string& cpu) {
  search::CompileOptions options;
  options.target = *kernel::parse_cpu_target("cpu=" + cpu);
  auto code = compile(graph, options);
  CHECK(code.ok()) << code.error().message();
  return std::move(*code);
}

constexpr const char* kCpus[] = {"x86-64", "haswell", "skylake-avx512"};

class GroupedConvolution : public testing::TestWithParam<Grouped> {};

TEST_P(GroupedConvolution, KeepsGroupsApart) {
  Graph graph = grouped(GetParam());
  ASSERT_TRUE(search::prepare_for_code(graph, {}).ok());
  const Dims dims = *constants(*graph.value(graph.inputs()[0]).type.shape);
  for (const char* cpu : kCpus) {
    SCOPED_TRACE(cpu);
    if (!kernel::runs_here(*kernel::parse_cpu_target(std::string("cpu=") + cpu))) continue;
    const search::Compilation code = compiled_for(graph, cpu);
    const auto session = opened(code.artifact, 1);
    Random random(1);
    for (const double odd : {0.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
      std::vector<double> values(static_cast<size_t>(element_count(dims)));
      for (double& value : values) value = random.normal();
      for (int k = 0; k < 2; ++k) values[random.below(values.size())] = odd;
      const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, dims, values)};
      const auto expected = interpret(graph, inputs, {});
      const auto found = search::run_artifact(*session, inputs);
      ASSERT_TRUE(expected.ok() && found.ok());
      for (int64_t i = 0; i < expected->front().count(); ++i) {
        const double wanted = expected->front().real(i), got = found->front().real(i);
        const bool is_same = std::isnan(wanted)      ? std::isnan(got)
                             : std::isfinite(wanted) ? std::abs(wanted - got) <= 1e-4 * (1 + std::abs(wanted))
                                                     : wanted == got;
        ASSERT_TRUE(is_same) << "element " << i << ": " << wanted << " expected, " << got << " found; " << odd;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GroupedConvolution, testing::ValuesIn(kCases),
                         [](const auto& each) { return name_of(each.param); });

/// Lanes run along the channels, in tiles.
TEST(GroupedConvolutions, RunInVectors) {
  for (const Grouped& form : kCases) {
    if (form.outputs < 16) continue;
    Graph graph = grouped(form);
    ASSERT_TRUE(search::prepare_for_code(graph, {}).ok());
    for (const char* cpu : kCpus) {
      bool in_tiles = false;
      for (const kernel::ScheduledKernel& kernel : compiled_for(graph, cpu).kernels)
        for (const kernel::Instruction& instruction : kernel.trace.instructions)
          in_tiles |= instruction.primitive == "tensorize";
      EXPECT_TRUE(in_tiles) << name_of(form) << " for " << cpu;
    }
  }
}

}  // namespace
}  // namespace isomer::test
