// Every row in every opset: a node written as a file of an older opset, in that form or in primitives, and read back
// means the same. Forms that cannot say it must say so.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "ops/instance.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/hash.h"

namespace isomer::test {
namespace {

constexpr int64_t kOldest = 6, kNewest = 22;

class Versions : public testing::TestWithParam<const OpDef*> {};

/// The version of the row that an opset has; 0 where it has none.
int version_of(const OpDef& op, int64_t opset) {
  if (opset >= op.since) return op.since;
  for (const Version& version : op.versions)
    if (version.since <= opset) return version.since;
  return 0;
}

/// The first Scan ran over a batch: no later one means the same.
bool is_of_batches(const OpDef& op, int version) { return op.name == "Scan" && version == 8; }

Result<Graph> written_and_read(Graph graph, int64_t opset, const std::filesystem::path& file) {
  graph.edit_info().opsets[""] = opset;
  TRY_VOID(export_model(graph, file));
  return import_model(file);
}

void expect_equal(const te::Array& expected, const te::Array& found) {
  ASSERT_EQ(expected.dtype(), found.dtype());
  ASSERT_EQ(expected.dims(), found.dims());
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = expected.as_double(i), b = found.as_double(i);
    const double bound = (bit_width(expected.dtype()) <= 16 ? 0.03 : 1e-6) * (1 + std::abs(a));
    ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= bound)
        << "element " << i << ": " << a << " expected, " << b << " found";
  }
}

/// The first opset that has the type.
int64_t first_opset(DataType dtype) {
  if (dtype == DataType::kUInt4 || dtype == DataType::kInt4) return 21;
  if (dtype == DataType::kFloat4E2M1) return 23;
  if (dtype == DataType::kFloat8E8M0) return 24;
  if (dtype == DataType::kUInt2 || dtype == DataType::kInt2) return 25;
  return is_minifloat(dtype) ? 19 : 1;
}

/// No form of an older opset is asked of a node with a type that opset has not.
bool has_types(int64_t opset, const Instance& instance, std::span<const te::Array> outputs) {
  for (const Instance::Input& input : instance.inputs)
    if (input.present && first_opset(input.tensor.dtype()) > opset) return false;
  return std::ranges::all_of(outputs, [&](const te::Array& array) { return first_opset(array.dtype()) <= opset; });
}

TEST_P(Versions, MeanTheSame) {
  const OpDef& op = *GetParam();
  const int count = is_long_run() ? 2000 : 204;
  Random random(Hasher().add(op.name).add(2).finish().low);
  const ScratchFolder folder("/dev/shm");  // no disk to wait for
  std::set<int> reached, possible;
  for (int64_t opset = kOldest; opset <= kNewest; ++opset)
    if (const int version = version_of(op, opset); version && !is_of_batches(op, version)) possible.insert(version);
  // Some forms can say little of what newer ones can: instances that fit them are rare.
  for (int turn = 0; turn < count || (reached.size() < possible.size() && turn < 10 * count); ++turn) {
    const Instance instance = make_instance(op, random, turn);
    const int64_t opset = kNewest - turn % (kNewest - kOldest + 1);
    SCOPED_TRACE(fmt::format("opset {}: {}", opset, instance.text()));
    Graph graph = graph_of(instance);
    if (!infer(graph).ok() || graph.node(graph.nodes().front()).is_opaque()) continue;
    std::vector<te::Array> inputs;
    for (const Instance::Input& input : instance.inputs)
      if (input.present && !input.constant) inputs.push_back(te::Array::from(input.tensor));
    const auto expected = interpret(graph, inputs, {});
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    if (!has_types(opset, instance, *expected)) continue;
    const auto read = written_and_read(graph, opset, folder.path() / "model.onnx");
    if (!read.ok() && read.error().kind == ErrorKind::kUnsupported) continue;
    ASSERT_TRUE(read.ok()) << read.error().message();
    const auto found = interpret(*read, inputs, {});
    ASSERT_TRUE(found.ok()) << found.error().message();
    ASSERT_EQ(expected->size(), found->size());
    for (size_t i = 0; i < expected->size(); ++i) ASSERT_NO_FATAL_FAILURE(expect_equal((*expected)[i], (*found)[i]));
    reached.insert(version_of(op, opset));
  }
  for (const int version : possible)
    EXPECT_TRUE(reached.contains(version)) << op.name << " was never written as version " << version;
}

INSTANTIATE_TEST_SUITE_P(Rows, Versions, testing::ValuesIn(all_ops()),
                         [](const auto& info) { return test_name(*info.param); });

}  // namespace
}  // namespace isomer::test
