// Sequences of tensors as exporters of scripts write them (lists that are appended to, stacked and split): where the
// file says which elements there are, what reads the sequence reads them instead, by operators on tensors. A sequence
// that a loop makes longer, that a branch chooses, or that is an input or output of the graph stays as it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/node_form.h"
#include "util/result.h"

namespace isomer {

class Sequences {
 public:
  /// Of one graph, which outlives it.
  explicit Sequences(Graph& graph) : graph_(graph) {}

  /// Nodes come in an order in which they can run, each before it is added to the graph. True: others that make its
  /// outputs were added in its place.
  bool replaces(const Node& node);
  /// When all nodes and outputs are there: those go that made sequences which nobody reads any more.
  void remove_unread();

 private:
  using Elements = std::vector<ValueId>;
  const Elements* elements(ValueId id) const;
  std::optional<size_t> position(const NodeForm& form, int input, size_t end) const;

  /// Of what the node makes; nothing where the file doesn't say.
  Result<std::optional<Elements>> made_by(NodeForm& form);
  Result<std::optional<Elements>> pieces(NodeForm& form);
  /// What the node makes of elements; false where they are not known.
  Result<bool> read_by(NodeForm& form);
  Result<bool> concatenated(NodeForm& form, const Elements& elements);

  Graph& graph_;
  std::map<ValueId, Elements> known_;
  std::vector<ValueId> order_;  ///< of those that are known, as nodes came
  size_t elements_ = 0;         ///< of all of them
};

}  // namespace isomer
