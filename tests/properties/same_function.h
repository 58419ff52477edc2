// Whether two graphs are one function, where rounding has its say.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/te/array.h"
#include "properties/random_graph.h"

namespace isomer::test {

using Inputs = std::vector<te::Array>;

/// What a graph makes of some inputs.
struct Run {
  Inputs inputs;
  std::vector<te::Array> exact;
  std::vector<te::Array> rounded;  ///< each value rounded to its type as it is made; empty where that fails
};

/// A graph with seeded inputs for which it has a value: its own, others, other sizes of its symbolic dims.
struct Case {
  Sample sample;
  uint64_t seed = 0;
  std::vector<Run> runs;
};
Case case_of(Sample sample, uint64_t seed);

/// Empty, or how the outputs differ by more than rounding explains (the yardstick of src/verify). Where it flips a
/// decision (an integer, a size, what is finite) on the way, nothing is said.
std::string difference(const Case& before, const Graph& after);
/// The same for what something else made of a run's inputs.
std::string difference(const Graph& graph, const Run& run, const std::vector<te::Array>& found);

/// A NaN in one element of an input of the run (a seeded one): whether `made` of the graph gives NaN where the
/// interpreter does, and nowhere else. Nothing is said where it decides an integer on the way.
std::string difference_in_nans(const Graph& graph, const Run& run, uint64_t seed,
                               const std::function<Result<std::vector<te::Array>>(const Inputs&)>& made);

/// The same bit for bit, where values are rounded as they are made.
std::string difference_in_bits(const Case& before, const Graph& after);

/// The same for any two lists of the graph's outputs.
std::string difference_in_bits(const Graph& graph, const std::vector<te::Array>& expected,
                               const std::vector<te::Array>& found);

/// How often decisions flipped, of how many comparisons.
struct Comparisons {
  int all = 0, undecided = 0;
};
Comparisons& comparisons();

}  // namespace isomer::test
