// Terms made ready for matching, those of laws (law_set.h) and of rules (substitutions/rewrite/substitution.h): names
// are slots, integers are linear forms where they can be. Test: tests/verify/pattern_test.cpp
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "verify/proof/spell_out.h"

namespace isomer::verify {

/// What names stand for, by slot.
struct SlotValues {
  std::vector<int> tensors;  ///< nodes of an e-graph or values of a program; -1: not bound
  std::vector<std::optional<Dim>> integers;
  std::vector<int> rests;  ///< operations that hold the rest of the parameters only; -1: not bound
};

/// A slot that is a dim of a variable, or its rank.
struct DimSlot {
  int slot = 0, variable = 0;
  std::optional<int> axis;  ///< negative: from the back; nothing: the rank
};

/// Names by slot.
struct Slots {
  std::vector<std::string> tensors, integers, rests;
  std::vector<DimSlot> dims;
  std::vector<bool> is_dim;  ///< of integers

  /// Which integers are dims, once all names have slots.
  void find_dims();
  SlotValues unbound() const;
};

/// The slot of a name; of a new one the next.
int slot_of(std::vector<std::string>& names, const std::string& name);

/// An integer of a term: constant + Σ factor * slot, or other arithmetic over slots.
struct Integer {
  int64_t constant = 0;
  std::vector<std::pair<int, int64_t>> terms;  ///< slot, factor
  te::Expr other;
  std::vector<int> slots;

  bool is_name() const { return !other && constant == 0 && terms.size() == 1 && terms[0].second == 1; }
  /// Nothing while a slot is not bound.
  std::optional<Dim> value(const SlotValues& values, const std::vector<std::string>& names) const;
};
Integer integer_of(const Dim& written, Slots& slots);

/// Integers, and what they are told to be. They are not owned.
using IntegerEquations = std::vector<std::pair<const Integer*, const Dim*>>;
/// Binds each slot that is the only one unknown of a linear equation. False where no integer is its solution.
bool solve(const IntegerEquations& equations, SlotValues& values);
/// False too while a slot is not bound.
bool hold(const IntegerEquations& equations, const SlotValues& values, const std::vector<std::string>& names);

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
  int id = 0;         ///< of an application: in the order in which they stand, from the outside in
  int operators = 0;  ///< in it
  int depth = 0;      ///< levels below its root whose classes decide whether it is there; a law's preparation says so
};
Pattern pattern_of(const Term& term, Slots& slots, int& next_id);

/// The operation that a pattern's application is with its names bound, not spelled out.
int operation_of(const Pattern& pattern, const SlotValues& values, const std::vector<std::string>& integers,
                 Signatures& signatures);

/// What a parameter list is told to be by a pattern: integers to solve for, the rest.
struct Extraction {
  bool fits = false;
  std::vector<std::pair<const Integer*, Dim>> integers;
  int rest = -1;
};

/// How patterns' applications read operations that are spelled out, remembered. The patterns' ids must differ.
class Extractions {
 public:
  enum class Reading {
    kAsDrawn,   ///< what is named must be there, the rest such as draws of laws set (proof/refute/law_instances.h)
    kAsSpelled  ///< what is named may be missing: what is spelled out says less than the pattern may
  };
  explicit Extractions(Reading reading) : reading_(reading) {}

  /// Valid until the object dies.
  const Extraction& of(const Pattern& pattern, int operation, Signatures& signatures);

 private:
  Extraction read(const Pattern& pattern, int operation, Signatures& signatures) const;

  Reading reading_;
  std::unordered_map<uint64_t, Extraction> known_;
};

}  // namespace isomer::verify
