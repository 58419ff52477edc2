// What belongs together of two models. Tests: tests/cli/cli_test.cpp, tests/driver/model_test.cpp
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace isomer {

/// What of a candidate goes with each input and output of the reference: places among its own.
struct Pairs {
  std::vector<size_t> inputs, outputs;
};

/// Brings the candidate's inputs and outputs into the reference's order: by name where both have the same names, else
/// they stay as they are. Inputs and outputs each for themselves.
Pairs put_in_order(Graph& candidate, const Graph& reference);

/// What of two models that are in order belongs together by its place alone, since the names differ: "inputs",
/// "outputs", "inputs and outputs", or nothing.
std::string paired_by_position(const Graph& candidate, const Graph& reference);

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values);

template <class T>
std::vector<T> in_order(const std::vector<T>& values, const std::vector<size_t>& places) {
  std::vector<T> result;
  for (const size_t place : places) result.push_back(values[place]);
  return result;
}

}  // namespace isomer
