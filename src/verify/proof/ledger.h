// Values of models, and which of them are known to be equal: congruence closure (Nelson, Oppen 1980, "Fast decision
// procedures based on congruence closure"). A proof of an optimized model is checked with it: the model as it was and
// as it is now stand in one ledger, steps say what is equal and why, and the outputs must be. Order and sharing of
// nodes, names within, and what nobody reads mean nothing here. Test:
// tests/substitutions/proof_test.cpp
//
// Bodies of control flow are values, too: what a branch gives is an argument of its If. A loop's body is over formal
// values; those of one depth, place and type are one, as bound names are (de Bruijn's levels). A graph on
// values that hang on some is read below these: its own formals are others.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "graph/te/approximate.h"
#include "verify/proof/spell_out.h"

namespace isomer::verify {

class Ledger {
 public:
  /// Whether an operation on operands of these types (numbers of the signatures) gives the same in either order.
  using Commutes = std::function<bool(const OpDef* op, int left_type, int right_type)>;
  /// `exact`: constants that are equal have the same bits; of integers they have always.
  Ledger(Signatures& signatures, Commutes commutes, bool exact)
      : signatures_(signatures), commutes_(std::move(commutes)), exact_(exact) {}

  /// The numbers of a graph's values by ValueId::index; -1 where nothing makes them. Bodies by node and attribute.
  struct Numbers {
    std::vector<int> values;
    std::map<std::pair<NodeId, std::string>, std::vector<Numbers>> bodies;
    int at(ValueId id) const { return id.valid() ? values[static_cast<size_t>(id.index)] : -1; }
    std::vector<int> at(const std::vector<ValueId>& ids) const {
      std::vector<int> result;
      for (const ValueId id : ids) result.push_back(at(id));
      return result;
    }
  };

  /// Adds an inferred graph. Inputs are the values given, the others, and those with -1, are known by their names;
  /// constants by their bytes. Nodes without a row (random operators, those of other domains) are each their own, by
  /// their names (graph/mark_given.h). A new one of a later graph stands for one that was there and does the same with
  /// the same at such a place, each once in a graph: the one of that name, else the first. Errors: a cycle; values that
  /// became equal have types that contradict each other.
  Result<Numbers> add(const Graph& graph, std::span<const int> inputs = {});
  /// The tensor itself.
  int constant(const Tensor& tensor);
  /// The value is that tensor, or another number that is rounded to it: then laws know no elements of it.
  Result<void> round(int value, const te::RoundedTensor& rounded);
  bool is_rounded_to(int value, const Tensor& tensor) const;
  /// The tensor itself, or else the last value that was rounded to it; nothing where there is none.
  std::optional<int> find_constant(const Tensor& tensor) const;
  /// What a node gives for these arguments (its inputs, -1 for an omitted one, then what its bodies give), by output;
  /// nothing where that is not there.
  std::optional<std::vector<int>> find(const isomer::Node& node, std::span<const int> arguments) const;
  /// The application's outputs. An operation of the signatures, spelled out for these arguments.
  Result<std::vector<int>> apply(int operation, std::span<const int> arguments);

  /// An error where their types contradict each other, or their constants.
  Result<void> merge(int a, int b);

  /// The node that gives a value, alone in a graph: its inputs are what is known of its arguments, constants where
  /// these are known to be some, and all its outputs are the graph's.
  struct Part {
    Graph graph;
    NodeId node;
    int output = 0;                    ///< which the value is
    std::vector<int> inputs;           ///< values that the graph's inputs stand for
    std::map<ValueId, int> constants;  ///< values that its constants stand for
    /// The value that an input of the node stands for; -1: none.
    int of(ValueId input) const;
  };
  /// Errors: no node gives it (inputs, constants), or one without row, or of -0.0.
  Result<Part> part_of(int value) const;
  /// All outputs of the value's node, by output.
  std::vector<int> siblings(int value) const;
  /// Operator and output of what gives the value; nullptr where no row does.
  std::pair<const OpDef*, int> producer(int value) const;
  /// Values that the value's node reads, -1 for an omitted one; bodies' outputs behind its inputs.
  const std::vector<int>& arguments(int value) const { return nodes_[static_cast<size_t>(value)].arguments; }
  bool equal(int a, int b) const { return leader(a) == leader(b); }
  /// All that are equal to the value, itself among them.
  const std::vector<int>& members(int value) const { return members_[static_cast<size_t>(leader(value))]; }

  int size() const { return static_cast<int>(nodes_.size()); }
  /// What is known of the value, and of all that are equal to it.
  const ValueType& type(int value) const { return signatures_.type(type_id(value)); }
  /// Nothing where it is not known that the value is this very tensor.
  const Tensor* tensor(int value) const;
  /// The same, or what the value is rounded to.
  const te::RoundedTensor* rounded(int value) const;
  /// Nothing where no elements are known.
  std::optional<Content> content(int value) const;
  /// In how many loops the deepest formal stands that one of the values hangs on.
  int depth(std::span<const int> values) const;
  int leader(int value) const { return leaders_[static_cast<size_t>(value)]; }

 private:
  class Reader;
  /// An output of an operation on arguments, of which -1 is an omitted one.
  struct Node {
    int symbol = 0, output = 0;
    std::vector<int> arguments;
    bool turns = false;  ///< the order of its two arguments means nothing
    bool operator==(const Node& other) const {
      return symbol == other.symbol && output == other.output && arguments == other.arguments;
    }
  };
  struct NodeHash {
    size_t operator()(const Node& node) const;
  };

  /// What a symbol stands for: a node without its names, or an operation of the signatures; neither: an input.
  struct Symbol {
    std::optional<isomer::Node> node;
    int operation = -1;
  };

  Node canonical(const Node& node) const;
  /// The value that the node gives, or one that is equal to it.
  Result<int> value_of(Node node, const ValueType& type, const std::optional<Content>& content = std::nullopt);
  int make(Node node, int type);
  std::optional<int> find(const Tensor& tensor, bool exact) const;
  int make_constant(const te::RoundedTensor& rounded);
  Result<void> improve(int leader, const ValueType& type);
  /// Its number, sizes that became known put in.
  int type_id(int value) const;
  ValueType known(ValueType type) const;
  Dim known(const Dim& dim) const;
  /// Two sizes of one value are equal; false where they can't be for all sizes of inputs.
  bool equate(const Dim& a, const Dim& b);
  void know_content(int leader, const Content& content);
  int add_symbol(Symbol symbol);
  /// The number of what a node does with its arguments: operator, attributes but for bodies.
  int symbol_of(const isomer::Node& node);
  std::optional<int> find_symbol(const isomer::Node& node) const;
  int symbol_named(const std::string& name);
  int symbol_of_operation(int operation);

  Signatures& signatures_;
  Commutes commutes_;
  bool exact_;
  std::vector<Node> nodes_;
  std::vector<int> leaders_, types_;  ///< types by leader
  std::vector<int> depths_;
  std::vector<std::vector<int>> parents_;  ///< by leader: values of which one of the class is an argument
  std::vector<std::vector<int>> members_;
  std::unordered_map<Node, int, NodeHash> known_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string, std::vector<int>> of_operators_;  ///< symbols of nodes
  std::map<std::string, int> named_;
  std::unordered_map<int, int> operations_;
  std::unordered_map<Hash128, std::vector<int>> constants_;
  std::map<int, te::RoundedTensor> own_;              ///< by the value that was made for it
  std::map<int, int> tensors_;                        ///< such a value of a class, an exact one if there is any
  std::map<int, double> apart_;                       ///< how far a class's constants are apart at most, by leader
  std::map<std::string, Dim> sizes_;                  ///< what symbols are known to stand for
  mutable std::unordered_map<int, int> known_types_;  ///< of types, with what is known of sizes
  std::map<int, Content> contents_;                   ///< by leader
  /// Of a value that a node with bodies gives: the node, and what the captures stand for.
  std::map<int, std::pair<isomer::Node, std::vector<int>>> with_bodies_;
  struct Instance {
    std::string name;
    Node node;
    std::vector<Node> around;  ///< whose bodies it stands in: what is not the same each time is another in each
    int symbol = 0;
  };
  std::vector<Instance> instances_;    ///< where they stand; one may in several places
  std::map<std::string, int> marked_;  ///< symbols of instances by nodes' names
  std::set<std::string> given_;        ///< names in sizes of inputs, which stand for any
  std::map<int, int> last_graphs_;     ///< by symbol: in which a node stood for it last
  int graphs_ = 0;
  int scopes_ = 0;  ///< of names of sizes that data decide
};

}  // namespace isomer::verify
