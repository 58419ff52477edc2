// What matching and rewriting stand on: the laws, what rows said of applications, which operators commute. One for each
// thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/float_class.h"
#include "substitutions/proof/rule.h"
#include "util/hash.h"

namespace isomer::substitutions {

class Normalizer;

class Theory {
 public:
  explicit Theory(std::vector<verify::StatedAxiom> axioms = verify::all_axioms());

  const std::vector<verify::StatedAxiom>& axioms() const { return axioms_; }
  verify::Signatures& signatures() { return signatures_; }

  /// Operands commute by laws of these classes only from now on: which of two zeros is the greater is lost where
  /// Max(a,b) is read as Max(b,a).
  void commute_within(FloatMode mode);
  /// A law says Op(a,b) = Op(b,a), for operands of some types.
  bool may_commute(const OpDef* op) const { return commutative_.contains(op); }
  /// It says so for operands of these types.
  bool commutes(const OpDef* op, int left_type, int right_type);
  /// The same operation with numbers for all its integers, as a node needs them; nothing where there is none.
  std::optional<int> constant_form(int operation, std::span<const int> types);
  /// The same whatever else the theory was asked.
  Hash128 operation_hash(int operation);
  /// The element type that a number has among operands of these types.
  DataType dtype_beside(std::span<const int> types) const;

  /// What normalization (normalize.h) made ready for this theory, once it ran.
  std::shared_ptr<Normalizer> normalizer;

 private:
  std::vector<verify::StatedAxiom> axioms_;
  verify::Signatures signatures_;
  FloatMode mode_ = FloatMode::kFast;
  std::map<const OpDef*, std::vector<int>> commutative_;  ///< by law
  std::map<std::tuple<const OpDef*, int, int>, bool> commutes_;
  std::map<std::vector<int>, std::optional<int>> constant_forms_;
  std::vector<std::optional<Hash128>> hashes_;
};

/// A law as a rule, proved by itself.
Rule rule_of(int law, std::span<const verify::StatedAxiom> axioms);
/// Each of them.
std::vector<Rule> rules_of_laws(std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
