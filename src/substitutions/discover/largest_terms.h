// The largest terms: evaluated, hashed and dropped. A term stands for all its namings that permute its own variables:
// its hash is the least of theirs, so that terms that are equal up to renaming have equal hashes, whatever order they
// use variables in.
#pragma once

#include <map>
#include <vector>

#include "substitutions/discover/classes.h"

namespace isomer::substitutions {

/// The driver's number, and which of the driver's terms it is.
using TermId = uint64_t;
constexpr TermId term_id(uint32_t driver, uint32_t term) { return TermId{driver} << 32 | term; }

struct Record {
  uint64_t hash = 0;
  TermId term = 0;
  auto operator<=>(const Record&) const = default;
};

/// A term that is equal, as far as hashes tell, to a smaller one, or to itself with variables exchanged.
struct Hit {
  static constexpr uint64_t kSymmetric = ~uint64_t{0};
  TermId term = 0;
  uint64_t known = 0;  ///< the smaller term's hash
  auto operator<=>(const Hit&) const = default;
};

struct Found {
  std::vector<Record> records;
  std::vector<Hit> hits;
  int64_t terms = 0;
};

/// One thread's work on the terms of one size, one more than the classes' levels.
class LastLevel {
 public:
  LastLevel(Classes& classes, int size) : classes_(classes), size_(size) {}

  void run(uint32_t driver, Found& found);

  struct Term {
    Item item;
    int output = 0;
  };
  /// Terms of one driver, by their ascending numbers.
  std::vector<Term> decode(uint32_t driver, const std::vector<uint32_t>& terms);
  uint64_t least_hash(const Term& term);
  /// Of the whole tensor, in a universe of its own; where several namings have the least hash, the least of theirs, and
  /// the naming.
  std::pair<Hash128, Renaming> fingerprint(const Term& term);
  std::vector<Renaming> symmetries(const Term& term);
  Scratch& scratch(int which) { return scratch_[which]; }

 private:
  template <class Visit>
  void for_each_term(uint32_t driver, const Visit& visit);
  /// Of the leaves that its value depends on to their first names, in any order; `own` is the hash in the term's own
  /// naming.
  const std::vector<Renaming>& namings(const Term& term, uint64_t own);
  void start(uint32_t driver);
  const uint32_t* operand(uint32_t skeleton, const Renaming& renaming);
  uint64_t hash(const Term& term, const Renaming& renaming);

  Classes& classes_;
  int size_;
  Scratch scratch_[2];
  uint32_t driver_ = kNone;
  std::map<std::pair<uint32_t, uint32_t>, Elements> tensors_;  ///< of the driver and its siblings, by naming
  std::map<std::pair<std::vector<Variable>, std::vector<Variable>>, std::vector<Renaming>>
      namings_;  ///< by all leaves and those
};

}  // namespace isomer::substitutions
