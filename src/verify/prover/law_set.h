// Laws prepared for matching (pattern.h): each direction says which terms are looked for that both sides are known
// then.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "verify/proof/axioms.h"
#include "verify/proof/substitute.h"
#include "verify/prover/pattern.h"

namespace isomer::verify {

struct PreparedLaw : Slots {
  struct Comparison {
    te::BinaryOp op = te::BinaryOp::kEqual;
    Integer left, right;
  };
  /// Patterns that, all found, bind every name of the law.
  using Direction = std::vector<const Pattern*>;

  int index = 0;
  std::string_view family;
  std::vector<bool> says_rank;  ///< of tensors: the condition says its rank, so the family does not bind it
  std::vector<Comparison> comparisons;
  te::Expr condition;  ///< what of it is not a comparison of integers
  Pattern left, right;
  std::vector<Direction> directions;
};

/// Laws for many proofs, with what their rows said so far. One for each thread.
class LawSet {
 public:
  explicit LawSet(std::vector<StatedAxiom> axioms);
  LawSet(LawSet&&) noexcept = default;
  LawSet& operator=(LawSet&&) noexcept = default;

  const std::vector<StatedAxiom>& axioms() const { return axioms_; }
  const std::vector<std::unique_ptr<PreparedLaw>>& prepared() const { return prepared_; }
  Signatures& signatures() { return signatures_; }

  /// How patterns' applications read operations that are spelled out.
  Extractions& extractions() { return extractions_; }
  Bindings bindings(const PreparedLaw& law, const SlotValues& values, std::span<const Term> tensors) const;

 private:
  std::vector<StatedAxiom> axioms_;
  std::vector<std::unique_ptr<PreparedLaw>> prepared_;
  Signatures signatures_;
  Extractions extractions_{Extractions::Reading::kAsDrawn};
};

}  // namespace isomer::verify
