// Which equations follow from others by replacing at the root: what needs no rule of its own. (What follows inside a
// term is never found: terms are made of the first of each class.)
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "substitutions/discover/classes.h"

namespace isomer::substitutions {

/// A term of an equation of some size follows where another equation turns it into a term that comes before it: a
/// smaller one, or one of that size with a driver, partner and instance of lower numbers. Chains of such steps end, and
/// every term in them has its own equation, or again follows. Equations count for all shapes for which they are true:
/// their variables stand for terms of other types too where both sides are then equal.
class RootRewrites {
 public:
  RootRewrites(Classes& classes, int size) : classes_(classes), size_(size) {}

  /// Of this size or smaller.
  void add(const ClassEquation& equation);
  /// Of this size: one step turns the right side, an item, into what comes before it, or into the left side.
  bool follows(const ClassEquation& equation, Scratch& left, Scratch& right) const;

 private:
  /// A value, by a skeleton and the names of its leaves.
  struct Reference {
    uint32_t skeleton = kNone;
    Leaves leaves;
  };
  /// A term's root.
  struct Form {
    int instance = -1;
    int output = 0;
    int count = 0;
    std::array<Reference, 2> operands;
    bool commutes = false;
  };
  /// A form in the naming in which it is enumerated.
  struct Canonical {
    Item item;
    int output = 0;
    Renaming names;  ///< from the form's variables to these
    bool precedes(const Canonical& other) const;
    bool is_same_item(const Canonical& other) const;
  };
  struct Rule {
    Form from, to;
    Reference variable;  ///< instead of `to`, where that has no instance
  };
  struct Bindings {
    std::array<Reference, kMaxVariables> values;
    uint64_t bound = 0;
  };
  using Pairs = std::vector<std::pair<Reference, Reference>>;

  Reference reference(Member member) const { return {classes_.skeleton_index(member), classes_.leaves_of(member)}; }
  Reference renamed(const Reference& reference, const Renaming& renaming) const {
    return {reference.skeleton, classes_.names().renamed(reference.leaves, renaming)};
  }
  Renaming naming(const Reference& reference) const;
  bool is_same(const Reference& a, const Reference& b) const;
  const Application* application(int instance, const std::array<Reference, 2>& operands, int count) const;
  /// The instance and output at the root; 0 of a variable.
  uint32_t head(const Reference& reference) const;
  uint32_t head(const Form& form, size_t operand) const {
    return static_cast<int>(operand) < form.count ? head(form.operands[operand]) : 0;
  }
  Form form(const Reference& reference) const;
  Form form(const Side& side) const;
  std::optional<Canonical> canonical(const Form& form) const;
  std::optional<Canonical> with_driver(const Form& form, const Application& application, size_t driver) const;
  std::optional<Reference> known(const Form& form) const;
  bool is_of_size(const Canonical& item) const;
  template <class Visit>
  bool match(const Form& pattern, const Form& target, const Bindings& bindings, Pairs rest, const Visit& visit) const;
  template <class Visit>
  bool match(Bindings bindings, Pairs rest, const Visit& visit) const;
  std::optional<Reference> build(const Reference& pattern, const Bindings& bindings) const;
  std::optional<Form> instantiate(const Form& form, const Bindings& bindings) const;
  /// Whether the rule, with these bindings, turns the equation's right side into a term that comes before it.
  template <class Equal>
  bool joins(const Rule& rule, const Bindings& bindings, const ClassEquation& equation, const Form& own_form,
             const Canonical& own, const Equal& is_equal) const;

  Classes& classes_;
  int size_;
  std::unordered_map<uint64_t, std::vector<Rule>> rules_;  ///< by what they replace: its root and its operands' roots
};

}  // namespace isomer::substitutions
