// Editing graphs under the invariant of passes: outputs keep their names, order, types and shapes.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/node_form.h"

namespace isomer {

/// "Whoever reads `from` shall read `to`", collected and applied at once. Where `from` is a graph output, the producer
/// of `to` takes over making it; where it can't (`to` is an input, a constant, another output), `from` becomes an
/// identity of `to`, or a constant when that costs little. Nodes that nobody reads any more stay, for remove_dead.
class Redirects {
 public:
  explicit Redirects(Graph& graph) : graph_(graph) {}
  /// Both have the same type. Ignored when `from` is redirected already, or stays an Identity of `to` and of no other
  /// use. Returns whether it was taken.
  bool redirect(ValueId from, ValueId to);
  ValueId resolve(ValueId id) const;
  void apply();

 private:
  Graph& graph_;
  std::vector<ValueId> target_;
  std::vector<ValueId> redirected_;
  std::set<ValueId> named_;  ///< values that will have the name of an output
  std::optional<std::vector<int>> uses_;
};

/// The node that makes the value makes one that nobody reads instead, whose name is another: it may stay for its other
/// outputs, and the number of them may say what it does.
void release(Graph& graph, ValueId value);

/// Adds a standard node with one new output, inferred; an error when the row does not accept it or does not support it.
Result<ValueId> emit(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes,
                     std::string_view name);

/// The node becomes another standard operator that makes the same outputs; its name stays. Inferred; an error when the
/// row does not accept it, or an output's type would become another.
Result<void> rewrite(Graph& graph, NodeId id, std::string_view op_type, std::vector<ValueId> inputs,
                     Attributes attributes);

/// A constant with its content known to inference.
ValueId emit_constant(Graph& graph, Tensor tensor, std::string_view hint);
ValueId emit_ints(Graph& graph, std::vector<int64_t> values, std::string_view hint);

/// The node is of this operator of the standard domain and has a row.
bool is_op(const Node& node, std::string_view op_type);
/// Whether its first input's numbers are quantized, and other runtimes compute with them as they are.
bool dequantizes(const OpDef& op);
/// The node that makes the value, if it is such an operator.
const Node* producer(const Graph& graph, ValueId value, std::string_view op_type);
/// The constant's elements, or nullptr.
const Tensor* constant_of(const Graph& graph, ValueId value);
bool is_output(const Graph& graph, ValueId value);
bool is_input(const Graph& graph, ValueId value);
/// Input i of the node, or an invalid id where it is omitted.
ValueId input_of(const Node& node, size_t i);

/// The attribute of the node, or the row's default; the type must fit.
template <class T>
const T* attribute_of(const Node& node, std::string_view name) {
  if (const auto found = node.attributes.find(name); found != node.attributes.end())
    return std::get_if<T>(&found->second);
  if (node.op)
    for (const AttributeDef& def : node.op->attributes)
      if (def.name == name && def.fallback) return std::get_if<T>(&*def.fallback);
  return nullptr;
}

/// Known to be the same: both tensors of equal element type, rank and dims.
bool same_type(const Graph& graph, ValueId a, ValueId b);

/// All elements have the same bytes; false without elements.
bool is_splat(const Tensor& tensor);
/// Of rank 0. It must have one, and no strings.
Tensor first_element(const Tensor& tensor);

/// Calls `edit` on a copy of each body of each node, with the graph's info; where it returns a number of changes other
/// than 0, the copy replaces the body. The sum of the changes.
Result<int> for_each_body(Graph& graph, const std::function<Result<int>(Graph& body, NodeId node)>& edit);

/// Infers the graph anew, and then its bodies with what is known of their captures. A body that can't run on these
/// stays as it is: what is wrong with it is the error of whoever runs it.
Result<void> infer_all(Graph& graph);
/// A constant whose elements nobody is to know, in bodies that capture it either: it stands for any.
void forget_elements(Graph& graph, ValueId constant);
enum class Stated : uint8_t { kAll, kInBodies };
/// Types and contents of what nodes make are unknown again, in bodies too, or there alone: what a file states of them
/// is a promise.
void forget_stated_types(Graph& graph, Stated what = Stated::kAll);

/// Nodes, and those of bodies.
int count_nodes(const Graph& graph);
/// Bytes of all constants and tensor attributes, bodies included, equal ones once.
int64_t count_bytes(const Graph& graph);

}  // namespace isomer
