// The tensor expressions of the main operators against independent definitions, on random nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/reference.h"
#include "support/long_run.h"
#include "util/hash.h"

namespace isomer::test {
namespace {

std::vector<const OpDef*> rows_with_reference() {
  std::vector<const OpDef*> rows;
  for (const OpDef* op : all_ops())
    if (reference_for(*op)) rows.push_back(op);
  return rows;
}

class Meaning : public testing::TestWithParam<const OpDef*> {};

/// Integers that do not fit wrap; references compute with doubles.
double wrapped(double value, DataType dtype) {
  if (is_float(dtype) || is_minifloat(dtype) || !std::isfinite(value)) return value;
  std::byte bytes[8] = {};
  encode_integer(dtype, static_cast<int64_t>(value), bytes);
  const int64_t integer = decode_integer(dtype, bytes);
  return dtype == DataType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(integer))
                                    : static_cast<double>(integer);
}

void expect_equal(const te::Array& found, const Plain& expected, bool narrow) {
  ASSERT_EQ(found.dims(), expected.dims);
  narrow = narrow || (is_float(found.dtype()) && bit_width(found.dtype()) == 16);
  for (int64_t i = 0; i < found.count(); ++i) {
    // Nothing of an integer type stands for it, or no double does.
    if (!is_float(found.dtype()) && !is_minifloat(found.dtype()) && !(std::fabs(expected.values[i]) < 0x1p53)) continue;
    const double a = wrapped(expected.values[i], found.dtype()), b = found.as_double(i);
    const double bound = (narrow ? 0.03 : 1e-6) * (1 + std::abs(a));
    ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= bound)
        << "element " << i << ": " << a << " expected, " << b << " found";
  }
}

TEST_P(Meaning, IsTheReference) {
  const OpDef& op = *GetParam();
  const Reference& reference = *reference_for(op);
  const int count = is_long_run() ? 20000 : 500;
  Random random(Hasher().add(full_name(op)).add(1).finish().low);
  int valid = 0;
  for (int turn = 0; turn < count; ++turn) {
    const Instance instance = make_instance(op, random, turn);
    SCOPED_TRACE(instance.text());
    Graph graph = graph_of(instance);
    if (!infer(graph).ok() || graph.node(graph.nodes().front()).is_opaque()) continue;
    ++valid;
    std::vector<te::Array> inputs;
    bool narrow = false;
    for (const Instance::Input& input : instance.inputs) {
      if (!input.present) continue;
      narrow = narrow || (is_float(input.tensor.dtype()) && bit_width(input.tensor.dtype()) == 16);
      if (!input.constant) inputs.push_back(te::Array::from(input.tensor));
    }
    const auto outputs = interpret(graph, inputs, {});
    ASSERT_TRUE(outputs.ok()) << outputs.error().message();
    const std::vector<Plain> expected = reference({instance});
    size_t next = 0;
    for (size_t i = 0; i < instance.outputs.size(); ++i) {
      if (!instance.outputs[i]) continue;
      const te::Array& found = (*outputs)[next++];
      SCOPED_TRACE(fmt::format("output {}", i));
      ASSERT_NO_FATAL_FAILURE(expect_equal(found, expected[i], narrow));
    }
  }
  EXPECT_GE(valid, count / 2);
}

/// As ONNX Runtime takes them: a bound that is left out is the last finite number.
TEST(Clip, HasBoundsThatAreFinite) {
  const auto clipped = [](const std::string& bounds) {
    auto graph = *parse_graph("opset 21\ngraph g(x: float32[3]) -> (y) {\n" + bounds + "}\n");
    EXPECT_TRUE(infer(graph).ok());
    const te::Array x = te::Array::reals(DataType::kFloat32, {3}, std::vector<double>{INFINITY, -INFINITY, 1});
    const te::Array y = interpret(graph, std::vector{x}, {})->at(0);
    return std::vector{y.real(0), y.real(1), y.real(2)};
  };
  constexpr double kMost = std::numeric_limits<float>::max();
  const std::string least = "  a: float32[] = {-5}\n", most = "  b: float32[] = {5}\n",
                    inf = "  c: float32[] = {inf}\n";
  EXPECT_EQ(clipped("  y = Clip(x)\n"), (std::vector{kMost, -kMost, 1.0}));
  EXPECT_EQ(clipped(least + "  y = Clip(x, a)\n"), (std::vector{kMost, -5.0, 1.0}));
  EXPECT_EQ(clipped(most + "  y = Clip(x, _, b)\n"), (std::vector{5.0, -kMost, 1.0}));
  EXPECT_EQ(clipped(least + inf + "  y = Clip(x, a, c)\n"), (std::vector<double>{INFINITY, -5.0, 1.0}));
}

INSTANTIATE_TEST_SUITE_P(Rows, Meaning, testing::ValuesIn(rows_with_reference()),
                         [](const auto& info) { return test_name(*info.param); });

}  // namespace
}  // namespace isomer::test
