// Writing a node in another form: an older opset's attributes and inputs as the newest ones, the newest as an older
// opset's, or a composite operator as primitives. A form change may emit further nodes before and after the node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace isomer {

class NodeForm {
 public:
  /// `node` is not in the graph; its inputs are, with inferred types; its outputs are values without producer.
  NodeForm(Graph& graph, Node node);

  Graph& graph() { return graph_; }
  Node& node() { return node_; }
  std::string label() const;

  // Inputs
  int input_count() const { return static_cast<int>(node_.inputs.size()); }
  bool has_input(int i) const { return i < input_count() && node_.inputs[i].valid(); }
  ValueId input(int i) const { return has_input(i) ? node_.inputs[i] : ValueId{}; }
  void set_input(int i, ValueId value);  ///< pads with omitted inputs
  void drop_inputs_from(int first);
  const ValueType& type(int i) const;
  bool has_rank(int i) const { return has_input(i) && type(i).has_shape(); }
  int rank(int i) const;  ///< has_rank(i)
  const Tensor* constant(int i) const;
  std::optional<std::vector<int64_t>> ints(int i) const;  ///< elements, when they are all known

  // Outputs
  bool has_output(int i) const { return i < static_cast<int>(node_.outputs.size()) && node_.outputs[i].valid(); }

  // Attributes of the node
  bool has(std::string_view name) const { return node_.attributes.contains(name); }
  /// An error unless it has all of them.
  Result<void> expect_attributes(std::initializer_list<std::string_view> names) const;
  /// Removes the attribute and returns it; an error when it has another type.
  Result<std::optional<int64_t>> take_int(std::string_view name);
  Result<std::optional<float>> take_float(std::string_view name);
  Result<std::optional<std::string>> take_string(std::string_view name);
  Result<std::optional<std::vector<int64_t>>> take_ints(std::string_view name);
  Result<std::optional<std::vector<float>>> take_floats(std::string_view name);
  void drop(std::string_view name) { node_.attributes.erase(std::string(name)); }
  void set(std::string_view name, Attribute value) {
    node_.attributes.insert_or_assign(std::string(name), std::move(value));
  }

  // Emission. Emitted nodes have newest-form rows and are inferred at once.
  ValueId constant(Tensor tensor, std::string_view hint);
  ValueId ints(std::vector<int64_t> values, std::string_view hint);  ///< an int64 vector
  /// A scalar of the given type.
  ValueId scalar(DataType dtype, double value, std::string_view hint);
  /// A node before this one; gives its only output.
  Result<ValueId> emit(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {});
  /// A node whose values are in the graph, before this one.
  Result<void> emit(Node node) { return add(std::move(node)); }
  /// This node's output i now goes to a new value; the old one is returned and must be given to `emit_after`.
  ValueId detour(int output);
  /// A node after this one whose only output is `output`.
  void emit_after(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes, ValueId output);
  /// This node is not needed: its outputs are made by emitted nodes. `emit_as` makes output i so.
  void replace() { replaced_ = true; }
  Result<void> emit_as(int output, std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {});

  /// Adds the node (unless replaced) and what comes after it, inferring each; gives the ids of all nodes added, in
  /// order.
  Result<std::vector<NodeId>> finish();
  /// The same where the node itself is now in an older form: it keeps the types that its outputs have.
  Result<std::vector<NodeId>> finish_lowered();

  template <class... Args>
  Error invalid(fmt::format_string<Args...> format, Args&&... args) const {
    return isomer::invalid(label(), format, std::forward<Args>(args)...);
  }
  template <class... Args>
  Error unsupported(fmt::format_string<Args...> format, Args&&... args) const {
    return isomer::unsupported(label(), format, std::forward<Args>(args)...);
  }

 private:
  template <class T>
  Result<std::optional<T>> take(std::string_view name, std::string_view kind);
  Node make(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes) const;
  Result<void> add(Node node);
  Result<std::vector<NodeId>> finish_after();
  Graph& graph_;
  Node node_;
  bool replaced_ = false;
  std::vector<Node> after_;
  std::vector<NodeId> added_;
};

/// Adds a node as a file of `opset` (of the node's domain) writes it: finds its row, lifts it to the newest form,
/// infers it. Opaque where there is no row or the row does not support it.
Result<std::vector<NodeId>> add_lifted(Graph& graph, Node node, int64_t opset);

/// Rewrites a node of the graph by `reform`; gives the nodes that stand in its place.
Result<std::vector<NodeId>> reform_node(Graph& graph, NodeId id, const Reform& reform);

/// Rewrites the whole graph so that every node with a row is in the form of `opset`: older forms by the rows' versions,
/// operators that the opset lacks, and our own, in primitives.
Result<void> lower_to_opset(Graph& graph, int64_t opset);

}  // namespace isomer
