// Laws prepared for matching: names are slots, integers are linear forms where they can be, and each direction says which terms are
// looked for that both sides are known then.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/axioms.h"
#include "verify/spell_out.h"

namespace isomer::verify {

/// What a law's names stand for, by slot.
struct SlotValues {
  std::vector<int> tensors;                  ///< nodes of an e-graph; -1: not bound
  std::vector<std::optional<Dim>> integers;
  std::vector<int> rests;                    ///< operations that hold the rest of the parameters only; -1: not bound
};

/// An integer of a law: constant + Σ factor * slot, or other arithmetic over slots.
struct Integer {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> terms;  ///< slot, factor
  te::Expr other;
  std::vector<int> slots;
  /// Nothing while a slot is not bound.
  std::optional<Dim> value(const SlotValues& values, const std::vector<std::string>& names) const;
};

struct Pattern {
  enum class Kind { kVariable, kNumber, kApplication };
  /// One parameter, written as integers (one, or a list) or otherwise.
  struct Named {
    std::string name;
    Parameter written;
    std::vector<Integer> integers;
  };
  Kind kind = Kind::kVariable;
  int variable = -1;  ///< slot
  te::Number number;
  const OpDef* op = nullptr;
  int output = 0;
  std::vector<Named> named;
  int rest = -1;  ///< slot; -1: what is not named has its default
  std::vector<Pattern> arguments;
  int id = 0;         ///< among the applications of all laws
  int operators = 0;  ///< in it
  int depth = 0;      ///< levels below its root whose classes decide whether it is there
};

struct PreparedLaw {
  /// A slot that is a dim of a variable, or its rank.
  struct DimSlot {
    int slot = 0, variable = 0;
    std::optional<size_t> axis;
  };
  struct Comparison {
    te::BinaryOp op = te::BinaryOp::kEqual;
    Integer left, right;
  };
  /// Patterns that, all found, bind every name of the law.
  using Direction = std::vector<const Pattern*>;

  int index = 0;
  std::string_view family;
  std::vector<std::string> tensors, integers, rests;
  std::vector<DimSlot> dims;
  std::vector<bool> is_dim;     ///< of integers
  std::vector<bool> says_rank;  ///< of tensors: the condition says its rank, so the family does not bind it
  std::vector<Comparison> comparisons;
  te::Expr condition;  ///< what of it is not a comparison of integers
  Pattern left, right;
  std::vector<Direction> directions;

  SlotValues unbound() const;
};

/// What a parameter list is told to be by a pattern: integers to solve for, the rest.
struct Extraction {
  bool fits = false;
  std::vector<std::pair<const Integer*, Dim>> integers;
  int rest = -1;
};

/// Laws for many proofs, with what their rows said so far. One for each thread.
class LawSet {
 public:
  explicit LawSet(std::vector<StatedAxiom> axioms);
  LawSet(const LawSet&) = delete;
  LawSet& operator=(const LawSet&) = delete;

  const std::vector<StatedAxiom>& axioms() const { return axioms_; }
  const std::vector<std::unique_ptr<PreparedLaw>>& prepared() const { return prepared_; }
  Signatures& signatures() { return signatures_; }

  /// How a pattern's application reads an operation that is spelled out.
  const Extraction& extract(const Pattern& pattern, int operation);
  /// The operation that it is with its names bound, not spelled out.
  int operation(const PreparedLaw& law, const Pattern& pattern, const SlotValues& values);
  Bindings bindings(const PreparedLaw& law, const SlotValues& values, std::span<const Term> tensors) const;

 private:
  std::vector<StatedAxiom> axioms_;
  std::vector<std::unique_ptr<PreparedLaw>> prepared_;
  Signatures signatures_;
  std::unordered_map<uint64_t, Extraction> extractions_;
};

}  // namespace isomer::verify
