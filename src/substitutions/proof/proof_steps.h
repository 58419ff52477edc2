// Doing the steps of a proof: what makes values, and what checks that some are equal. Whoever writes a proof does its
// steps by the same code. Test: tests/substitutions/proof_test.cpp
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "graph/te/approximate.h"
#include "substitutions/proof/laws.h"
#include "substitutions/proof/proof.h"
#include "verify/proof/ledger.h"

namespace isomer::substitutions {

class ProofSteps {
 public:
  /// The laws must outlive it. Steps of a class of rounding that the mode does not allow are errors.
  ProofSteps(Laws& laws, FloatMode granted);

  /// Numbers the values of a model, in the order of Graph::values, then those of bodies. What the input states of its
  /// values is its promise, but in bodies; what the output states of those that nodes make is forgotten.
  Result<verify::Ledger::Numbers> read_input(const Graph& model);
  Result<verify::Ledger::Numbers> read_output(const Graph& model, const OutputStep& step);
  /// Adds nodes on values that are there, one for each input; nothing that is stated of types is believed.
  Result<verify::Ledger::Numbers> place(Graph& graph, const std::vector<int>& values);
  /// The first of each name counts.
  void add_rules(std::span<const Rule> rules);

  struct Taken {
    std::vector<int> made;  ///< ledger's values, those that got numbers
    FloatClass float_class = FloatClass::kExact;
  };
  /// Does a step, OutputStep not among them. Errors say what does not hold; kMismatch: it is no step of these models.
  /// The numbers of values are then as they were.
  Result<Taken> take(const ProofStep& step);

  const verify::Ledger& ledger() const { return ledger_; }
  verify::Ledger& ledger() { return ledger_; }
  Laws& laws() { return laws_; }
  /// Values that have numbers: those below.
  int count() const { return static_cast<int>(numbered_.size()); }
  /// The ledger's value of a number.
  Result<int> value(int number) const;

 private:
  struct Evaluated {
    std::vector<int> made;
    std::map<std::string, int, std::less<>> tensors;
  };
  Result<verify::Ledger::Numbers> read(Graph model, const std::vector<int>& inputs);
  Result<Taken> done(const MakeStep& step);
  Result<Taken> done(const RuleStep& step);
  Result<Taken> done(const FoldStep& step);
  Result<Taken> done(const InferStep& step);
  Result<Taken> done(const ExpandStep& step);
  Result<Taken> done(const SameStep& step);
  Result<Taken> done(const OutputStep& step);
  /// Of constants; how exactly, and of how many operators.
  struct Computed {
    FloatClass float_class = FloatClass::kExact;
    int operators = 0;
    std::map<int, te::Approximate> known;
  };
  Result<te::Approximate> compute(int value, Computed& computed);
  Result<int> evaluate(const verify::Term& term, DataType dtype, Evaluated& made);
  Result<verify::Ledger::Part> part_of(int value) const;
  Result<void> allow(FloatClass float_class) const;
  bool is_strict() const { return granted_ == FloatMode::kStrict; }

  Laws& laws_;
  FloatMode granted_;
  verify::Ledger ledger_;
  ModelInfo info_;  ///< of the model that was read first: rows write composites out for its opset
  int given_ = 0;   ///< nodes of models and of steps
  std::vector<int> numbered_;
  std::map<std::string, Rule, std::less<>> rules_;
};

/// Those of a graph's values that have numbers, then those of its bodies: in the order in which steps count them.
std::vector<int> listed(const Graph& graph, const verify::Ledger::Numbers& numbers, const std::vector<ValueId>& values);

}  // namespace isomer::substitutions
