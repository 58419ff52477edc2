// What proofs stand on: the laws, what rows said of applications, which operators commute. One for each thread.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "graph/float_class.h"
#include "verify/proof/axioms.h"
#include "verify/proof/spell_out.h"

namespace isomer::substitutions {

class Laws {
 public:
  explicit Laws(std::vector<verify::StatedAxiom> axioms = verify::all_axioms());

  const std::vector<verify::StatedAxiom>& axioms() const { return axioms_; }
  verify::Signatures& signatures() { return signatures_; }

  /// Operands commute by laws of these classes only from now on: which of two zeros is the greater is lost where
  /// Max(a,b) is read as Max(b,a).
  void commute_within(FloatMode mode);
  /// A law says Op(a,b) = Op(b,a), for operands of some types.
  bool may_commute(const OpDef* op) const { return commutative_.contains(op); }
  /// It says so for operands of these types.
  bool commutes(const OpDef* op, int left_type, int right_type);

 private:
  std::vector<verify::StatedAxiom> axioms_;
  verify::Signatures signatures_;
  FloatMode mode_ = FloatMode::kFast;
  std::map<const OpDef*, std::vector<int>> commutative_;  ///< by law
  std::map<std::tuple<const OpDef*, int, int>, bool> commutes_;
};

}  // namespace isomer::substitutions
