// Enumerates terms over a set of operators and finds which are equal: candidates for substitutions (DESIGN.md, section
// 5).
//
// A term of up to N operators, shared ones counted once, is made of smaller terms that are the first of their values,
// up to renaming of interchangeable variables. It is evaluated in exact arithmetic on seeded inputs; one that is equal
// to an earlier term gives an equation. Equations say what is equal at these shapes: a proof must follow.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "substitutions/discover/operator_set.h"

namespace isomer::substitutions {

struct EnumerationProgress {
  int operators = 0;   ///< of the terms of now
  double share = 0;    ///< of that size's work, from 0 to 1
  int64_t terms = 0;   ///< of that size
  double seconds = 0;  ///< for that size
};

/// Operators of a term.
constexpr int kMostEnumerated = 5;

struct EnumerationOptions {
  int max_operators = 3;  ///< at most kMostEnumerated
  int threads = 1;
  uint64_t seed = 0;
  /// Bytes that the records of the largest terms may take; what is beyond goes to files.
  uint64_t memory = uint64_t{1} << 30;
  /// Where an interrupted run is taken up again; empty: nowhere. Its files are removed in the end.
  std::filesystem::path folder;
  /// Also those equations that follow from others by one replacement at the root (root_rewrites.h).
  bool keep_derived = false;
  std::function<void(const EnumerationProgress&)> progress;
};

/// Both sides are over the variables of the set. The left side stands for its class: the first and smallest of its
/// terms.
struct Equation {
  verify::Term left, right;
  int operators = 0;  ///< of the right side, as the set counts them
};

struct LevelStatistics {
  int operators = 0;
  int64_t terms = 0;       ///< evaluated
  int64_t classes = 0;     ///< values that no smaller term has, up to renaming
  int64_t equations = 0;   ///< found
  int64_t derived = 0;     ///< of these those that follow from others
  int64_t false_hits = 0;  ///< equal hashes of different values
  double seconds = 0;
};

struct Enumeration {
  std::vector<Equation>
      equations;  ///< by size, then in the order of the terms: the same for any memory, threads and parts
  std::vector<LevelStatistics> levels;
  uint64_t peak_memory = 0;  ///< bytes of the process, so far
  std::string text() const;  ///< of the statistics
};

/// Errors: of files; kStopped where a stop was requested (util/stop.h).
Result<Enumeration> enumerate(const OperatorSet& set, const EnumerationOptions& options);

/// One of several parts of the work, for different processes; all share the folder. `merge_parts` makes the same of all
/// of them as `enumerate` does alone.
Result<void> enumerate_part(const OperatorSet& set, const EnumerationOptions& options, int part, int parts);
Result<Enumeration> merge_parts(const OperatorSet& set, const EnumerationOptions& options, int parts);

}  // namespace isomer::substitutions
