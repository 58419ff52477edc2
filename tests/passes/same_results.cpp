#include "passes/same_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "graph/interpret.h"
#include "util/random.h"

namespace isomer::test {
namespace {

/// Random arrays for the inputs; each symbol is the same small number wherever it stands.
std::vector<te::Array> random_inputs(const Graph& graph, uint64_t seed) {
  Random random(seed);
  std::map<std::string, int64_t> symbols;
  std::vector<te::Array> arrays;
  for (const ValueId id : graph.inputs()) {
    const ValueType& type = graph.value(id).type;
    Dims dims;
    for (const Dim& dim : *type.shape)
      dims.push_back(dim.is_constant() ? dim.value()
                                       : symbols.try_emplace(dim.text(), random.between(1, 4)).first->second);
    if (is_float(type.dtype)) {
      std::vector<double> values(element_count(dims));
      for (double& value : values) value = round_to(type.dtype, random.normal());
      arrays.push_back(te::Array::reals(type.dtype, dims, values));
    } else {
      std::vector<int64_t> values(element_count(dims));
      for (int64_t& value : values) value = random.between(0, type.dtype == DataType::kBool ? 1 : 2);
      arrays.push_back(te::Array::integers(type.dtype, dims, values));
    }
  }
  return arrays;
}

}  // namespace

bool can_run(const Graph& graph) {
  for (const NodeId id : graph.nodes())
    if (graph.node(id).is_opaque()) return false;
  for (const ValueId id : graph.inputs())
    if (!graph.value(id).type.has_shape() || !is_computable(graph.value(id).type.dtype)) return false;
  return true;
}

void expect_same_results(const Graph& before, const Graph& after, bool is_exact) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const auto inputs = random_inputs(before, seed);
    const InterpretOptions options{.round_values = is_exact};
    const auto expected = interpret(before, inputs, options), found = interpret(after, inputs, options);
    ASSERT_EQ(expected.ok(), found.ok()) << (expected.ok() ? found : expected).error().message();
    if (!expected.ok()) return;
    ASSERT_EQ(expected->size(), found->size());
    for (size_t i = 0; i < expected->size(); ++i) {
      const te::Array &a = (*expected)[i], &b = (*found)[i];
      ASSERT_EQ(a.dims(), b.dims());
      ASSERT_EQ(a.dtype(), b.dtype());
      // Constants are rounded to the type.
      const double bound = a.dtype() == DataType::kFloat16 || a.dtype() == DataType::kBFloat16 ? 1e-2 : 2e-6;
      for (int64_t k = 0; k < a.count(); ++k) {
        const double x = a.as_double(k), y = b.as_double(k);
        const bool is_same = is_exact ? x == y && std::signbit(x) == std::signbit(y)
                                      : x == y || std::fabs(x - y) <= bound * (1 + std::fabs(x));
        EXPECT_TRUE((std::isnan(x) && std::isnan(y)) || is_same)
            << "output " << i << " element " << k << ": " << x << " and " << y;
      }
    }
  }
}

}  // namespace isomer::test
