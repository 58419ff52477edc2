// Sums of atoms with integer factors, modulo 2^64: iterators, and values that are no such sums themselves.
#pragma once

#include <cstdint>
#include <vector>

namespace isomer::te::interpreter {

/// An iterator (its number) or a node (kFirstNode + its number).
using Atom = int;
inline constexpr Atom kFirstNode = 64;
inline constexpr int kMaxIterators = 48;
constexpr bool is_iterator(Atom atom) { return atom < kFirstNode; }
constexpr Atom atom_of_node(int node) { return kFirstNode + node; }
constexpr int node_of(Atom atom) { return atom - kFirstNode; }

struct Term {
  Atom atom;
  int64_t factor;  ///< never 0
  bool operator==(const Term&) const = default;
};

struct Linear {
  int64_t constant = 0;
  std::vector<Term> terms;  ///< by atom

  static Linear of(Atom atom) { return {0, {{atom, 1}}}; }
  bool is_constant() const { return terms.empty(); }
  int64_t factor_of(Atom atom) const;
  bool operator==(const Linear&) const = default;
};

/// a + factor * b
Linear add_scaled(const Linear& a, const Linear& b, int64_t factor);
Linear scaled(const Linear& a, int64_t factor);
Linear shifted(Linear a, int64_t constant);

}  // namespace isomer::te::interpreter
