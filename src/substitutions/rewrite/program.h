// A graph as applications of spelled-out operations, made for rewriting: flat arrays of numbers, so that a copy of a
// thousand applications costs microseconds. Numbers of values and applications stay what they are while others come and
// go. Test: tests/substitutions/program_test.cpp
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "substitutions/rewrite/theory.h"

namespace isomer::substitutions {

/// Values that no application makes: the graph's inputs and constants, and numbers.
struct Leaf {
  ValueId value;                     ///< of the graph; invalid: a number that a rule brought
  std::optional<te::Number> number;  ///< of a constant of rank 0
  int type = 0;
  bool is_constant = false;
};

/// What is dequantized of constants: our own code has it computed beforehand, other runtimes compute with quantized
/// numbers as they are (PassOptions::keep_composites).
enum class Dequantized : uint8_t { kConstant, kComputed };
constexpr Dequantized dequantized(bool keeps_composites) {
  return keeps_composites ? Dequantized::kComputed : Dequantized::kConstant;
}

/// What all programs that come from one graph share. Leaves are added, never changed.
struct Origin {
  Graph graph;
  Theory* theory = nullptr;
  Dequantized dequantized = Dequantized::kConstant;
  std::vector<Leaf> leaves = {};
  std::vector<std::vector<size_t>> argument_inputs =
      {};  ///< by NodeId: which inputs are arguments; of opaque ones none
};

class Program {
 public:
  static constexpr int kOpaque =
      -1;  ///< an operation that terms can't write: matched by nothing, kept as the node that it is
  static constexpr int kRemoved = -2;

  struct Application {
    int operation = kOpaque;  ///< a number of the theory's signatures, spelled out for the types of its arguments
    int first_argument = 0, argument_count = 0;
    int first_value = 0, value_count = 0;
    NodeId node;  ///< of the origin's graph, but for its arguments; invalid: made by a rule
  };
  struct Value {
    int producer = -1;  ///< an application; -1: a leaf
    int index = 0;      ///< among the producer's values, or of the leaf
    int type = 0;
    bool is_constant = false;  ///< computed from constants alone, beforehand
  };

  explicit Program(std::shared_ptr<Origin> origin) : origin_(std::move(origin)) {}

  const Origin& origin() const { return *origin_; }
  Theory& theory() const { return *origin_->theory; }
  int application_count() const { return static_cast<int>(applications_.size()); }  ///< removed ones included
  int value_count() const { return static_cast<int>(values_.size()); }
  const Application& application(int id) const { return applications_[static_cast<size_t>(id)]; }
  const Value& value(int id) const { return values_[static_cast<size_t>(id)]; }
  bool contains(int application) const { return applications_[static_cast<size_t>(application)].operation != kRemoved; }
  /// The operator's row; nullptr of opaque and removed ones.
  const OpDef* op(int application) const;
  /// Values; -1 for an input that an opaque node omits.
  std::span<const int> arguments(int application) const;
  const std::vector<int>& outputs() const { return outputs_; }
  const te::Number* number(int value) const;

  /// The application that reads each value, each reader once.
  struct Uses {
    std::vector<int> first, readers;
    std::span<const int> of(int value) const;
  };
  Uses uses() const;
  /// What there is, each after what it reads; nothing where there is a cycle.
  std::optional<std::vector<int>> order() const;
  /// Of what the outputs compute, however applications are numbered, shared and, where they commute, written.
  Hash128 hash() const;

  int add_leaf(int leaf);
  /// A value of the number, new where there is none.
  int add_number(const te::Number& number, DataType dtype);
  int add_application(int operation, std::span<const int> arguments, std::span<const int> types, NodeId node = {});
  void set_argument(int application, int position, int value);
  void set_outputs(std::vector<int> outputs) { outputs_ = std::move(outputs); }
  /// Removes what no output depends on, and says which that was.
  std::vector<int> sweep();

 private:
  std::shared_ptr<Origin> origin_;
  std::vector<Application> applications_;
  std::vector<Value> values_;
  std::vector<int> arguments_, outputs_;
};

/// The program of an inferred graph. Errors: a cycle.
Result<Program> program_of(const Graph& graph, Theory& theory, Dequantized dequantized = Dequantized::kConstant);
/// The graph of a program of it: names of inputs and outputs, nodes that no rule made, and weights are those of the
/// origin. Values that are known are written as constants, not as what computes them. Inferred. Errors: an operation
/// has no form with numbers for its integers.
Result<Graph> graph_of(const Program& program, const std::map<int, Tensor>& known = {});

}  // namespace isomer::substitutions
