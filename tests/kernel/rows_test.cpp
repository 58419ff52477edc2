// Code of every operator, straight from `lower`, against the interpreter on random nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/infer.h"
#include "graph/te/interpret.h"
#include "kernel/lower.h"
#include "kernel/run_kernel.h"
#include "ops/instance.h"
#include "support/long_run.h"
#include "util/hash.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::Instance;
using isomer::test::is_long_run;

std::vector<const OpDef*> rows_with_meaning() {
  std::vector<const OpDef*> rows;
  for (const OpDef* op : all_ops())
    if (op->compute) rows.push_back(op);
  return rows;
}

/// The node's program; where what decides it is known at run time only, the program for these contents.
Result<te::Program> program_of(const Instance& instance) {
  Graph graph = isomer::test::graph_of(instance);
  TRY_VOID(infer(graph));
  const NodeId node = graph.nodes().front();
  if (graph.node(node).is_opaque()) return unsupported("node", "{}", graph.node(node).opaque_reason);
  auto program = instance.op->compute(context_of(graph, node));
  if (program.ok() || program.error().kind != ErrorKind::kUnsupported) return program;
  Instance constant = instance;
  for (Instance::Input& input : constant.inputs) input.constant = input.present;
  graph = isomer::test::graph_of(constant);
  TRY_VOID(infer(graph));
  return instance.op->compute(context_of(graph, graph.nodes().front()));
}

double tolerance(DataType dtype) {
  if (dtype == DataType::kFloat64) return 1e-9;
  return dtype == DataType::kFloat32 ? 2e-4 : dtype == DataType::kFloat16 ? 0.02 : 0.1;
}

void expect_near(const te::Array& expected, const Tensor& found, double bound) {
  ASSERT_EQ(expected.dtype(), found.dtype());
  ASSERT_EQ(expected.dims(), found.dims());
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = is_float(expected.dtype()) ? round_to(expected.dtype(), expected.real(i)) : expected.as_double(i);
    const double b = is_float(found.dtype()) ? found.real(i) : te::Array::from(found).as_double(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    ASSERT_TRUE(is_float(found.dtype()) && std::fabs(a - b) <= bound * (1 + std::fabs(a))) << "element " << i << ": " << a << " expected, " << b << " found";
  }
}

class Rows : public testing::TestWithParam<const OpDef*> {};

TEST_P(Rows, RunAsTheyMean) {
  const OpDef& op = *GetParam();
  Random random(Hasher().add(op.name).add(2).finish().low);
  const Target target = host_target();
  const int count = is_long_run() ? 300 : 16;
  int valid = 0;
  for (int turn = 0; turn < count; ++turn) {
    const Instance instance = isomer::test::make_instance(op, random, turn);
    SCOPED_TRACE(instance.text());
    const auto program = program_of(instance);
    if (!program.ok()) continue;
    ++valid;
    std::vector<TaskType> types;
    std::vector<Tensor> tensors;
    std::vector<te::Array> arrays;
    // Rounding to narrow types on the way may tip what is rounded to integers.
    double bound = 0;
    for (const Instance::Input& input : instance.inputs) {
      tensors.push_back(input.present ? input.tensor : Tensor());
      arrays.push_back(input.present ? te::Array::from(input.tensor) : te::Array());
      const Dims& dims = tensors.back().dims();
      types.push_back({tensors.back().dtype(), Shape(dims.begin(), dims.end())});
      if (is_float(tensors.back().dtype())) bound = std::max(bound, tolerance(tensors.back().dtype()));
    }
    const auto expected = te::interpret(*program, arrays);
    auto kernel = lower(*program, types);
    ASSERT_TRUE(kernel.ok()) << kernel.error().message();
    SCOPED_TRACE(print(*kernel));
    const auto found = run(*kernel, tensors, target);
    ASSERT_EQ(found.ok(), expected.ok()) << (found.ok() ? expected.error() : found.error()).message();
    if (!found.ok()) continue;
    ASSERT_EQ(found->outputs.size(), expected->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      SCOPED_TRACE(fmt::format("output {}", i));
      if ((*expected)[i].empty()) continue;
      ASSERT_NO_FATAL_FAILURE(expect_near((*expected)[i], found->outputs[i], std::max(bound, tolerance((*expected)[i].dtype()))));
    }
  }
  EXPECT_GT(valid, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(rows_with_meaning()), [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace isomer::kernel::test
