// An e-graph of ground, typed terms that knows why: congruence closure whose every union keeps its reason (Nieuwenhuis,
// Oliveras 2007, "Fast congruence closure and extensions"). Each node is a term, the one that it was first made as.
// Test: tests/verify/egraph_test.cpp
#pragma once

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "verify/proof/spell_out.h"

namespace isomer::verify {

class EGraph {
 public:
  /// Why two nodes are equal: a reason of the caller's, which holds where each pair of nodes is equal too.
  struct Reason {
    int number = 0;
    std::vector<std::pair<int, int>> premises;
  };
  struct Node {
    const OpDef* op = nullptr;  ///< nullptr: a variable or a number
    int operation = 0;          ///< spelled out; of a leaf: which
    int output = 0;
    std::vector<int> arguments;  ///< nodes: of the term that this node is
    int type = 0;
    bool is_double = false;  ///< another node of its class is congruent to it
  };

  EGraph(const VariableTypes& variables, Signatures& signatures) : variables_(variables), signatures_(signatures) {}

  /// The node that is this term, spelled out. Errors as of spelled_out.
  Result<int> add(const Term& term);
  int add_number(const te::Number& number);
  /// The number's node; -1 where there is none.
  int find_number(const te::Number& number) const;
  /// A node of operation(arguments) or congruent to it; -1 where there is none.
  int find(int operation, int output, std::span<const int> arguments) const;
  /// The same, made where there is none. Its term may be another, of equal arguments.
  int add(int operation, int output, std::vector<int> arguments, int type);
  /// Both must have one type.
  void merge(int a, int b, Reason reason);

  int leader(int node) const;
  bool equal(int a, int b) const { return leader(a) == leader(b); }
  int size() const { return static_cast<int>(nodes_.size()); }
  const Node& node(int id) const { return nodes_[static_cast<size_t>(id)]; }
  Term term(int id) const;
  /// Nodes of a class, by its leader.
  const std::vector<int>& members(int leader) const { return members_[static_cast<size_t>(leader)]; }
  /// Nodes of an operator, in the order in which they were made.
  std::span<const int> nodes_of(const OpDef* op) const;
  /// Nodes that have one of the class as an argument, by its leader.
  const std::vector<int>& parents(int leader) const { return parents_[static_cast<size_t>(leader)]; }

  /// Numbers of the reasons from which a = b follows, sorted; they are equal.
  std::vector<int> explain(int a, int b) const;
  /// Leaders of the classes that grew since this was asked for.
  std::vector<int> take_grown();

 private:
  struct Key {
    int operation, output;
    std::vector<int> arguments;  ///< leaders
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };
  struct Edge {
    int to = -1;
    int reason = kCongruence;  ///< index into reasons_
  };
  static constexpr int kCongruence = -1;

  int add_exactly(int operation, int output, std::vector<int> arguments, int type);
  Key key_of(int operation, int output, std::span<const int> arguments) const;
  int make(Node node);
  void unite(int a, int b, int reason);
  void link(int a, int b, int reason);

  const VariableTypes& variables_;
  Signatures& signatures_;
  std::vector<Node> nodes_;
  std::vector<int> leaders_;
  std::vector<std::vector<int>> members_, parents_;
  std::vector<Edge> edges_;  ///< of the forest of proofs, towards its roots
  std::vector<Reason> reasons_;
  std::unordered_map<Key, int, KeyHash> known_;
  std::unordered_map<const OpDef*, std::vector<int>> by_op_;
  std::vector<Term> leaves_;
  std::unordered_map<Term, int, TermHash> leaf_nodes_;
  std::vector<int> grown_;
};

}  // namespace isomer::verify
