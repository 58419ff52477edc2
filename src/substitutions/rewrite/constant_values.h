// What a program computes from constants alone: in double precision, unrounded from the first constant to the last
// operation. Test: tests/substitutions/normalize_test.cpp
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/te/array.h"
#include "substitutions/rewrite/program.h"

namespace isomer::substitutions {

/// Each is computed once, until all are forgotten: where a number stands for another value, or they take too much
/// memory.
class ConstantValues {
 public:
  explicit ConstantValues(int threads) : threads_(threads) {}

  /// The value, which is constant. An error where it can't be computed, or is too much to compute.
  Result<te::Array> of(const Program& program, int value);
  void forget() { known_.clear(); }

 private:
  Result<te::Array> compute(const Program& program, int value);
  const Graph* graph_of(const Program& program, int application, int output);

  int threads_;
  std::map<int, te::Array> known_;                           ///< by value
  std::map<std::vector<int>, std::optional<Graph>> graphs_;  ///< of one node, by operation, output and types
};

/// Constants, made by operations, that are operands of what has to be computed for each input, or outputs: each once,
/// in order.
std::vector<int> computed_constants(const Program& program);
/// Constants that are operands of what has to be computed for each input, or outputs; those that are no operation's
/// results.
std::vector<int> given_constants(const Program& program);

}  // namespace isomer::substitutions
