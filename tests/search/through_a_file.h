// Operators of our own domain, written out as files hold them and read again, run as code.
#pragma once

#include <gtest/gtest.h>

#include "graph/node_form.h"
#include "search/code/prepare.h"
#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "util/random.h"
#include "verify/check/equivalence.h"

namespace isomer::test {

/// As a file holds it, on its way to code.
inline Graph through_a_file(Graph graph) {
  CHECK(lower_to_opset(graph, 17).ok());
  for (const NodeId id : graph.nodes()) CHECK(graph.node(id).domain.empty());
  CHECK(search::prepare_for_code(graph, {.level = 2, .threads = 1}).ok());
  return graph;
}

/// Whether the code of the graph that was read gives what the other one does, on random inputs, within `loss` times
/// what rounding may take.
inline void expect_same_function(const Graph& expected, const Graph& read, Random& random, double loss) {
  const auto result = compiled(read);
  ASSERT_TRUE(result.ok()) << result.error().message();
  const auto session = opened(result->artifact);
  std::vector<std::vector<te::Array>> inputs(1);
  for (const ValueId input : expected.inputs()) {
    std::vector<double> values(static_cast<size_t>(element_count(*expected.value(input).type.shape).value()));
    for (double& value : values) value = round_to(DataType::kFloat32, random.normal());
    inputs[0].push_back(te::Array::reals(DataType::kFloat32, *constants(*expected.value(input).type.shape), values));
  }
  const auto same = compare_with(
      expected, [&](std::span<const te::Array> given) { return search::run_artifact(*session, given); }, inputs, 1);
  ASSERT_TRUE(same.ok()) << same.error().message();
  EXPECT_LE(same->max_error_over_bound, loss) << same->difference->text();
}

}  // namespace isomer::test
