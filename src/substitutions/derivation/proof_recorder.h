// Writing a proof while a model is changed: of each change it is found out why the values that it replaces are equal,
// in steps that others can check (proof.h). Nothing here is believed by anyone. Test:
// tests/substitutions/proof_test.cpp
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "substitutions/derivation/derivation.h"
#include "substitutions/derivation/normalize.h"
#include "substitutions/proof/proof_steps.h"
#include "substitutions/rewrite/step.h"

namespace isomer::substitutions {

class ProofRecorder {
 public:
  /// Of a model with its dims bound. The theory must outlive it.
  static Result<ProofRecorder> start(const Graph& model, FloatMode fp, Theory& theory);

  /// The model as it was seen last has become this graph; its values keep their ids where they stand for the same.
  /// Errors, kMismatch: a change of which it is not seen that it changes nothing.
  Result<void> changed(std::string_view what, const Graph& graph);
  /// Takes steps in a program of the graph that was seen last.
  Result<void> take(Program& program, std::span<const Step> steps, std::span<const Rule> rules);
  /// What normalization did to it, or to a body in it.
  Result<void> take(Program program, const Normalized& made, std::span<const Rule> rules, const BodyPlace& place);
  /// The graph that was seen last, as it was written to a file and read from there.
  Result<void> finish(const Graph& last, const Graph& written);

  const std::vector<ProofStep>& steps() const { return steps_; }
  /// That steps name, by name.
  std::vector<Rule> rules() const;

 private:
  /// The ledger's values of a graph's, -1 where there is none, and those of bodies.
  struct Seen {
    std::vector<int> values;
    std::map<std::pair<NodeId, std::string>, std::vector<Seen>> bodies;
    /// Nodes by operator and first output: one may stop making it, or be made anew.
    std::map<std::pair<std::string, ValueId>, NodeId> with_bodies;
    int at(ValueId id) const;
    void set(ValueId id, int value);
    /// Nothing where the node was not seen.
    std::vector<Seen>* bodies_of(NodeId id, const Node& node, const std::string& attribute);
  };
  ProofRecorder(Theory& theory, FloatMode fp);
  static Seen seen(const Graph& graph, const verify::Ledger::Numbers& numbers);

  Result<void> walk(const Graph& graph, Seen& now);
  Result<void> meet_constants(const Graph& graph, Seen& now);
  Result<void> meet_node(const Graph& graph, NodeId id, Seen& now);
  Result<std::vector<int>> make(const Graph& graph, NodeId id, Seen& now);
  Result<int> make_constant(const Tensor& tensor);
  OutputStep output_step(const Graph& last, const Graph& written) const;
  std::optional<int> reshaped_constant(const Tensor& tensor);
  bool knows_more(const ValueType& type, const std::optional<Content>& content, int value) const;
  Error unproved(const Graph& graph, ValueId id) const;
  std::optional<ValueId> first_unlike(const Graph& last, const Graph& written,
                                      const verify::Ledger::Numbers& numbers) const;

  /// Ways to show that two values are equal; false where none was found.
  bool prove(int first, int second, int depth = 0);
  std::vector<int> below(int value) const;
  int passed_on(int value, const OpDef* op) const;
  std::vector<std::pair<int, int>> members_of(int first, int second) const;
  bool same(int first, int second);
  bool expand(int value);
  void expand_own(int first);
  bool look_through_branches(int value);
  bool settle(int value);
  bool settle(int value, std::set<int>& seen);
  bool infer(int value);

  bool take(ProofStep step);
  std::optional<int> number_of(int value) const;
  void number(const std::vector<int>& made);
  Result<const Seen*> seen_at(const BodyPlace& place) const;
  Result<void> take(Program& program, const Step& step, const Rule& rule, const Seen& now);
  Result<void> take(Program& program, const CarriedFactor& step);
  std::optional<int> made_from(int value, int argument) const;
  Result<int> value_in(const Program& program, int value, const Seen& now);

  std::unique_ptr<ProofSteps> proof_;
  std::vector<ProofStep> steps_;
  std::map<std::string, Rule> used_;
  std::map<int, int> numbers_;  ///< of the ledger's values
  Seen now_;                    ///< of the graph that was seen last
  std::string what_;
  /// While a factor is carried: the value that is multiplied, and the numbers of what is moved from it.
  struct Carrying {
    int source = -1;
    std::vector<int> moving;
  };
  std::optional<Carrying> carrying_;
  std::map<int, int> of_program_;  ///< the ledger's values of the program's
  std::set<std::pair<int, int>> not_equal_;
  std::set<int> expanded_;
  std::map<Hash128, int> constants_;  ///< by their elements in a list, where these are many
  std::set<int> seen_constants_;
  std::map<Hash128, int> folded_;  ///< constants of the steps since the last change, by what was rounded to them
};

/// The proof that `written`, which `derived` made of the model and which was read from its file, is the same function.
/// What is not proved is an error, kMismatch, that names the change.
Result<ModelProof> proof_of(const Graph& model, const Derivation& derivation, const Graph& written, Theory& theory,
                            const DeriveOptions& options = {});

}  // namespace isomer::substitutions
