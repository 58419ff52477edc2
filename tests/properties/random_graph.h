// Random graphs out of random nodes of all rows (ops/instance.h): values are read by many nodes, shapes are computed
// from shapes, nodes repeat, some dims are symbolic. Each node was run when it was added, so the graph runs on its
// inputs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "util/random.h"

namespace isomer::test {

/// A graph and inputs that it runs on.
struct Sample {
  Graph graph;
  std::vector<Tensor> inputs;  ///< in order
  std::vector<bool> free;      ///< an input of which any values will do; others decide indices, sizes, ranges
};

/// What random graphs have been made of.
struct Reach {
  std::map<std::string_view, int> rows;
  std::set<DataType> dtypes;
  std::set<std::pair<std::string_view, std::string>> attributes;
  int symbolic = 0, nodes = 0;
  void add(const Graph& graph);
};

Sample random_sample(uint64_t seed);

/// Random inputs for a graph that takes any values; symbolic dims are 3.
Sample sample_of(Graph graph, uint64_t seed);

/// The graph and its inputs, their first elements, for people.
std::string text_of(const Sample& sample);

/// The type as a file can declare it: dims that are computed have names.
ValueType declarable(ValueType type);

/// Other inputs of the same dims: free ones anew, the elements of others mixed.
std::vector<Tensor> other_inputs(const Sample& sample, Random& random);

/// Inputs where each symbolic dim has another size; nothing where no dim is symbolic.
std::vector<Tensor> other_sizes(const Sample& sample, Random& random);

/// Random elements such as free inputs have.
Tensor random_tensor(DataType dtype, Dims dims, Random& random);

}  // namespace isomer::test
