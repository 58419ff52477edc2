// What `recognize` functions of rows look at: producers of values by operator, single use, constants.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace isomer::ops {

class Pattern {
 public:
  explicit Pattern(const Graph& graph) : graph_(graph) {}

  /// The node, if it is an `op_type` of the standard domain with a row.
  const Node* node(NodeId id, std::string_view op_type) const;
  /// The node that makes the value as its output 0, if it is such an `op_type`.
  const Node* producer(ValueId value, std::string_view op_type) const;
  bool used_once(ValueId value) const;
  const Tensor* constant(ValueId value) const;
  /// The element of a float constant of one element.
  std::optional<double> scalar(ValueId value) const;
  std::optional<std::vector<int64_t>> ints(ValueId value) const;
  /// Numerator and denominator of what the value is the quotient of, or the product with one over the denominator; in
  /// each way in which it may be read so.
  std::vector<std::pair<ValueId, ValueId>> quotients(ValueId value) const;
  /// A node without outputs, as `recognize` proposes it.
  Node make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {}) const;

 private:
  const Graph& graph_;
};

}  // namespace isomer::ops
