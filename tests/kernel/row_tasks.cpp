#include "kernel/row_tasks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/infer.h"
#include "kernel/tree.h"

namespace isomer::kernel::test {

using isomer::test::Instance;

namespace {

Result<Lowered> lowered_once(const Instance& instance) {
  Graph graph = isomer::test::graph_of(instance);
  TRY_VOID(infer(graph));
  const NodeId node = graph.nodes().front();
  if (graph.node(node).is_opaque()) return unsupported("node", "{}", graph.node(node).opaque_reason);
  TRY(te::Program program, instance.op->compute(context_of(graph, node)));
  std::vector<TaskType> types;
  for (const Instance::Input& input : instance.inputs) {
    const Dims dims = input.present ? input.tensor.dims() : Dims();
    types.push_back({input.present ? input.tensor.dtype() : DataType::kUndefined, Shape(dims.begin(), dims.end())});
  }
  TRY(Kernel kernel, lower(program, types));
  return Lowered{std::move(program), std::move(kernel)};
}

/// The same node with constants for inputs: what decides sizes is known then.
Instance with_constants(Instance instance) {
  for (Instance::Input& input : instance.inputs) input.constant = input.present;
  return instance;
}

}  // namespace

std::vector<const OpDef*> rows_with_meaning() {
  std::vector<const OpDef*> rows;
  for (const OpDef* op : all_ops())
    if (op->compute) rows.push_back(op);
  return rows;
}

Result<Lowered> lowered(const Instance& instance) {
  auto task = lowered_once(instance);
  if (!task.ok() && task.error().kind == ErrorKind::kUnsupported) task = lowered_once(with_constants(instance));
  return task;
}

double tolerance(const Instance& instance) {
  double bound = 0;
  for (const Instance::Input& input : instance.inputs)
    if (input.present && is_float(input.tensor.dtype())) bound = std::max(bound, tolerance(input.tensor.dtype()));
  return bound;
}

double tolerance(DataType dtype) {
  if (dtype == DataType::kFloat64) return 1e-9;
  return dtype == DataType::kFloat32 ? 2e-4 : dtype == DataType::kFloat16 ? 0.02 : 0.1;
}

bool truncates_reals(const Kernel& kernel) {
  bool result = false;
  for_each_expression(kernel.body, [&](const Expr& expr) {
    te::for_each_node(expr, [&](const Expr& e) {
      const auto* cast = te::as<te::Cast>(e);
      result = result || (cast && is_float(cast->operand.dtype()) && is_int(e.dtype()));
    });
  });
  return result;
}

void expect_near(const te::Array& expected, const Tensor& found, double bound, bool may_tip) {
  ASSERT_EQ(expected.dtype(), found.dtype());
  ASSERT_EQ(expected.dims(), found.dims());
  // Sums of narrow numbers are off by what their largest terms are rounded by.
  double scale = 1;
  int64_t tipped = 0;
  for (int64_t i = 0; i < expected.count(); ++i)
    if (std::isfinite(expected.as_double(i))) scale = std::max(scale, std::fabs(expected.as_double(i)));
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = is_float(expected.dtype()) ? round_to(expected.dtype(), expected.real(i)) : expected.as_double(i);
    const double b = is_float(found.dtype()) ? found.real(i) : te::Array::from(found).as_double(i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (may_tip && is_int(found.dtype()) && std::fabs(a - b) == 1 && tipped++ <= expected.count() / 2) continue;
    ASSERT_TRUE(is_float(found.dtype()) && std::fabs(a - b) <= bound * scale)
        << "element " << i << ": " << a << " expected, " << b << " found";
  }
}

}  // namespace isomer::kernel::test
