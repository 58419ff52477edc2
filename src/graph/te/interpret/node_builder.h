// Makes nodes: keeps sums of iterators as sums, decides what ranges decide, and defers the wrapping of narrow integers
// until somebody needs their value.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/te/interpret/lowered.h"

namespace isomer::te::interpreter {

class NodeBuilder {
 public:
  explicit NodeBuilder(Lowered& lowered) : lowered_(&lowered) {}

  int real(double value, DataType dtype);
  int integer(int64_t value, DataType dtype);
  /// The value of an int64 sum that lies in `range`, as far as known.
  int linear(Linear linear, Range range = {});
  int accumulator(int component, DataType dtype, bool unwrapped);
  int unary(UnaryOp op, int a);
  int binary(BinaryOp op, int a, int b);
  int select(int condition, int then, int otherwise);
  int cast(DataType dtype, int a);
  int load(int buffer, DataType dtype, Linear offset, std::vector<Check> checks, bool conditional);
  /// The node itself, or its value brought into its type's range.
  int wrapped(int node);

  Linear as_linear(int node) const;
  Range range_of(const Linear& linear) const;
  std::optional<int64_t> constant(int node) const;
  /// Iterators that would turn a division into a sum if they were split: (iterator, length of the inner part).
  const std::vector<std::pair<int, int64_t>>& split_requests() const { return split_requests_; }

 private:
  const Node& node(int id) const { return lowered_->nodes[id]; }
  int add(Node node);
  uint64_t depends_on(const Linear& linear) const;
  /// floor(numerator / divisor) for a bounded numerator and divisor > 0.
  Linear floor_div(const Linear& numerator, int64_t divisor);
  Linear irreducible_floor_div(const Linear& numerator, int64_t divisor);
  int predicate(Linear form, bool equality);
  int retyped(DataType dtype, int a);
  int index_binary(BinaryOp op, int a, int b);
  int integer_binary(BinaryOp op, int a, int b);
  std::optional<bool> decided(BinaryOp op, const Node& a, const Node& b) const;

  Lowered* lowered_;
  std::vector<std::pair<int, int64_t>> split_requests_;
};

}  // namespace isomer::te::interpreter
