// Compiled graphs against the interpreter.
#pragma once

#include <gtest/gtest.h>

#include "search/code/run_artifact.h"
#include "search/compiled.h"
#include "util/random.h"
#include "verify/check/equivalence.h"

namespace isomer::test {

using te::Array;
using Arrays = std::vector<Array>;

inline te::Array floats(Dims dims, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(element_count(dims));
  for (double& value : values) value = static_cast<double>(static_cast<float>(random.uniform(-1, 1)));
  return Array::reals(DataType::kFloat32, std::move(dims), values);
}

/// Runs code of the second graph on each of the inputs, twice, with one and two threads, beside the first.
inline void expect_same(const Graph& graph, const Graph& prepared, const std::vector<Arrays>& inputs) {
  for (const int threads : {1, 2}) {
    const auto made = compiled(prepared, threads);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const auto session = opened(made->artifact, threads);
    const auto run = [&](std::span<const Array> given) { return search::run_artifact(*session, given); };
    std::vector<Arrays> twice = inputs;
    twice.insert(twice.end(), inputs.begin(), inputs.end());
    const auto result = compare_with(graph, run, twice, 1);
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_TRUE(result->passed()) << result->difference->text();
  }
}

inline void expect_same(std::string_view text, const std::vector<Arrays>& inputs) {
  const Graph graph = parsed(text);
  expect_same(graph, graph, inputs);
}

}  // namespace isomer::test
