// The graph of a model: nodes, values and who makes what. Ids are typed and stay valid while other parts change; nodes
// and values are shared between copies until one of them writes, so a copy costs a pointer each and weights are never
// copied.
//
// Invariant: a value has at most one producer; a value without producer is a graph input, a capture or a constant.
// Subgraphs (bodies of If, Loop, Scan) name what they read of the outer graph explicitly: Node::captures[i] is the
// outer value that Graph::captures()[i] of each of its subgraphs stands for.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <variant>
#include <vector>

#include "graph/te/dim.h"
#include "graph/tensor.h"
#include "util/result.h"

namespace isomer {

class Graph;
struct OpDef;
struct OpTable;

template <class Tag>
struct Id {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  auto operator<=>(const Id&) const = default;
};
using NodeId = Id<struct NodeTag>;
using ValueId = Id<struct ValueTag>;

/// What is known of a value before it is computed.
struct ValueType {
  enum class Kind : uint8_t {
    kUnknown,  ///< nothing: behind a node that we cannot infer
    kTensor,
    kOther,  ///< sequence, optional, map, sparse tensor: passed through
  };
  Kind kind = Kind::kUnknown;
  DataType dtype = DataType::kUndefined;
  std::optional<Shape> shape;  ///< absent: rank unknown
  std::string opaque;          ///< kOther: the serialized TypeProto

  static ValueType tensor(DataType dtype, Shape shape) { return {Kind::kTensor, dtype, std::move(shape), {}}; }
  bool is_tensor() const { return kind == Kind::kTensor; }
  bool has_shape() const { return is_tensor() && shape.has_value(); }
  bool operator==(const ValueType&) const = default;
  /// "float32[1,3,224,224]", "int64[?]" (rank unknown), "unknown", "other"
  std::string text() const;
};

/// Elements of a small integer or bool tensor, row-major, as far as shapes decide them.
using Content = std::vector<std::optional<Dim>>;
/// Contents are followed up to this many elements: shapes, axes, pads, not data.
inline constexpr int64_t kMaxContent = 1024;
/// Of an integer or bool tensor that is small enough.
std::optional<Content> content_of(const Tensor& tensor);

/// An attribute that we carry but do not read (sparse tensors, type protos): its serialized AttributeProto.
struct RawAttribute {
  std::string bytes;
  bool operator==(const RawAttribute&) const = default;
};
using GraphPtr = std::shared_ptr<const Graph>;
using Attribute = std::variant<int64_t, float, std::string, Tensor, GraphPtr, std::vector<int64_t>, std::vector<float>,
                               std::vector<std::string>, std::vector<Tensor>, std::vector<GraphPtr>, RawAttribute>;
using Attributes = std::map<std::string, Attribute, std::less<>>;

struct Node {
  const OpDef* op = nullptr;  ///< its row; nullptr: passed through untouched
  std::string domain;         ///< "" is ai.onnx
  std::string op_type;
  std::string name;              ///< as in the file; may be empty
  std::vector<ValueId> inputs;   ///< invalid id: an omitted optional input
  std::vector<ValueId> outputs;  ///< invalid id: an omitted output
  std::vector<ValueId> captures;
  Attributes attributes;
  std::string opaque_reason;  ///< why `op` is nullptr
  std::string extra;  ///< serialized NodeProto fields that we don't read (doc_string, metadata_props, unknown fields)
  bool is_opaque() const { return op == nullptr; }
};

struct Value {
  std::string name;
  ValueType type;
  std::optional<Content> content;     ///< known only for small integer or bool tensors
  std::optional<Tensor> constant;     ///< an initializer; for a graph input its default
  std::optional<ValueType> declared;  ///< a graph input's or output's type as the file says it; export writes it back
  NodeId producer;
  int output_index = 0;
  std::string extra;  ///< serialized fields of its ValueInfoProto or TensorProto that we don't read
};

/// What a file says besides the graph; carried from import to export.
struct ModelInfo {
  int64_t ir_version = 0;
  std::map<std::string, int64_t> opsets;  ///< domain ("" is ai.onnx) to version
  std::string producer_name, producer_version, domain, doc_string;
  int64_t model_version = 0;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::string extra;  ///< serialized ModelProto fields that we don't read
  /// A node is of an operator that the standard has from a later opset on: ONNX Runtime takes some before
  /// (OpDef::early).
  bool has_early = false;
  std::string external_data;                 ///< file name of the input's external data; empty: weights inline
  std::shared_ptr<const OpTable> operators;  ///< rows of its nodes that do not come with the program; may be nullptr
  int64_t opset() const;                     ///< of ai.onnx; 0 when not imported
};

/// The elements of a value of which inference knows all: nothing where it does not.
std::optional<Tensor> known_tensor(const Value& value);

class Graph {
 public:
  std::string name;
  std::string extra;  ///< serialized GraphProto fields that we don't read (quantization annotations, …)

  const ModelInfo& info() const { return *info_; }
  ModelInfo& edit_info();
  void share_info(const Graph& other) { info_ = other.info_; }

  // Nodes and values. Ids of removed ones are not reused; `nodes()` and `values()` list the living in order of
  // creation.
  ValueId add_value(Value value);
  NodeId add_node(Node node);     ///< sets `producer` of its outputs, which must have none
  void remove_node(NodeId id);    ///< its outputs lose their producer
  void remove_value(ValueId id);  ///< must have no producer and no consumer
  const Node& node(NodeId id) const;
  const Value& value(ValueId id) const;
  Node& edit(NodeId id);                                 ///< unshares; to change outputs use set_output
  Value& edit(ValueId id);                               ///< unshares; to change the producer use set_output
  void set_output(NodeId id, int index, ValueId value);  ///< detaches the old one; value must have no producer
  bool contains(NodeId id) const;
  bool contains(ValueId id) const;
  std::vector<NodeId> nodes() const;
  std::vector<ValueId> values() const;
  int node_count() const { return node_count_; }

  /// A point in the graph's growth, and the way back to it: what was added since is removed. Changes to what was there
  /// before stay.
  struct Mark {
    size_t nodes = 0, values = 0;
  };
  Mark mark() const { return {nodes_.size(), values_.size()}; }
  void roll_back(const Mark& mark);

  // Interface of the graph. No pass may change names, order, types or shapes of inputs and outputs.
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<ValueId>& outputs() const { return outputs_; }
  const std::vector<ValueId>& captures() const { return captures_; }
  void set_inputs(std::vector<ValueId> inputs) { inputs_ = std::move(inputs); }
  void set_outputs(std::vector<ValueId> outputs) { outputs_ = std::move(outputs); }
  void set_captures(std::vector<ValueId> captures) { captures_ = std::move(captures); }

  /// A constant that is not a graph input.
  bool is_constant(ValueId id) const;
  /// Contents of small integer tensors become known with it.
  ValueId add_constant(Tensor tensor, std::string name);
  /// `hint`, or `hint_1`, … such that no value of this graph has the name.
  std::string fresh_name(std::string_view hint);

  /// Redirects every use of `from` (inputs, captures and graph outputs) to `to`. Where `from` is a graph output whose
  /// name must stay, see edit.h.
  void replace_uses(ValueId from, ValueId to);
  /// How often each value is read, by node inputs, captures and graph outputs; indexed by ValueId::index.
  std::vector<int> use_counts() const;
  /// Nodes that read each value (inputs and captures), in node order; indexed by ValueId::index.
  std::vector<std::vector<NodeId>> consumers() const;

 private:
  /// Of fresh_name: every name that values had so far, so that none has to be looked for. A copy starts without.
  struct Names {
    Names() = default;
    Names(const Names&) {}
    Names& operator=(const Names&) { return *this = Names(); }
    Names(Names&&) = default;
    Names& operator=(Names&&) = default;
    std::unordered_set<std::string> known;
    size_t values = 0;                                    ///< the names of so many values are in `known`
    std::vector<ValueId> edited;                          ///< of these perhaps not any more
    std::map<std::string, int, std::less<>> last_suffix;  ///< so that a hint is not searched from 1 again
  };

  std::shared_ptr<ModelInfo> info_ = std::make_shared<ModelInfo>();
  std::vector<std::shared_ptr<Node>> nodes_;
  std::vector<std::shared_ptr<Value>> values_;
  std::vector<ValueId> inputs_, outputs_, captures_;
  Names names_;
  int node_count_ = 0;
};

/// "conv1 (Conv)", or "node 7 (Conv)" for a node without name: how errors and reports call a node.
std::string label(const Graph& graph, NodeId id);
/// "Conv", "com.example.Scale": with its domain where that is not ONNX's.
std::string operator_name(const Node& node);

}  // namespace isomer
