// Names of variables. Variables of one family are interchangeable, so a term stands for all its namings. What counts of
// a term is its leaves: its variables grouped by family, in the order of their first use; a naming is canonical when
// each family's are its first ones, in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "substitutions/discover/operator_set.h"

namespace isomer::substitutions {

using Variable = uint8_t;
inline constexpr int kMaxVariables = 64, kMaxLeaves = 8;

struct Leaves {
  uint8_t count = 0;
  std::array<Variable, kMaxLeaves> variable = {};

  const Variable* begin() const { return variable.data(); }
  const Variable* end() const { return variable.data() + count; }
  bool contains(Variable v) const;
  bool operator==(const Leaves& other) const;
};

/// Where each variable goes: a permutation inside the families.
using Renaming = std::array<Variable, kMaxVariables>;

class Names {
 public:
  explicit Names(const OperatorSet& set);

  int variables() const { return static_cast<int>(family_.size()); }
  int family(Variable v) const { return family_[v]; }
  Variable first(int family) const { return first_[family]; }
  std::string text(Variable v) const { return text_[v]; }
  const Renaming& identity() const { return identity_; }

  /// The leaves of f(a, b), where a has these and b those.
  Leaves joined(const Leaves& a, const Leaves& b) const;
  /// Whether the variables of b that a lacks are, in order, the next ones of their families behind a's, which are
  /// canonical.
  bool continues(const Leaves& a, const Leaves& b) const;
  /// How many namings a term of these leaves has, and which one it is, from 0 (canonical) on.
  uint32_t count(const Leaves& leaves) const;
  uint32_t number(const Leaves& leaves) const;
  /// The renaming of the canonical naming to the given one; other variables keep their order.
  Renaming renaming(const Leaves& canonical, uint32_t number) const;
  Renaming renaming(const Leaves& from, const Leaves& to) const;
  /// The first variable of that family that is none of the leaves.
  std::optional<Variable> spare(int family, const Leaves& leaves) const;
  /// The leaves that a value depends on, as far as there are spare names to tell: it is the same under renamings that
  /// exchange one of the others for a spare one.
  template <class IsSame>
  Leaves live(const Leaves& leaves, const IsSame& is_same) const {
    Leaves result;
    for (int k = 0; k < leaves.count; ++k) {
      const auto other = spare(family(leaves.variable[k]), leaves);
      Leaves exchanged = leaves;
      if (other) exchanged.variable[k] = *other;
      if (!other || !is_same(renaming(leaves, exchanged))) result.variable[result.count++] = leaves.variable[k];
    }
    return result;
  }
  /// As many of each family, with the names that come first.
  Leaves canonical(const Leaves& leaves) const;
  Leaves renamed(const Leaves& leaves, const Renaming& renaming) const;
  /// All renamings of canonical leaves to each other; the identity first.
  std::vector<Renaming> permutations(const Leaves& canonical) const;

 private:
  std::vector<uint8_t> family_;
  std::vector<Variable> first_;
  std::vector<uint8_t> size_;
  std::vector<std::string> text_;
  Renaming identity_;
};

Renaming inverse(const Renaming& renaming);
/// First a, then b.
Renaming composed(const Renaming& a, const Renaming& b);

}  // namespace isomer::substitutions
