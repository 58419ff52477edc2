// All places of a program where a rule applies. Structure first, the rule's guard last: its proof replayed for the
// types and parameters there, and remembered, since layers repeat. Test: tests/substitutions/match_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "substitutions/rewrite/program.h"
#include "substitutions/rewrite/substitution.h"
#include "util/list_hash.h"

namespace isomer::substitutions {

struct Match {
  int substitution = 0;
  verify::SlotValues values;      ///< tensors are values of the program
  std::vector<int> roots;         ///< values, by output of the rule
  std::vector<int> applications;  ///< of the program, by application of the sources
  bool operator==(const Match& other) const;
};

struct MatchStatistics {
  int64_t structures = 0;  ///< matched but for the guard
  int64_t guards = 0;      ///< replayed: not known from before
  int64_t held = 0;
};

/// Which values of a program are known to be equal. A program that is matched modulo them reads leaders only.
struct EqualValues {
  std::vector<int> leaders;  ///< by value; of a class its leader
  std::vector<std::vector<int>>
      members;  ///< by leader: values that are worth looking at, each computed in a way of its own
};

enum class Directions { kBoth, kForward };

/// Rules in both directions, or as they are written. The rules and the theory must outlive it; programs must be of the
/// same theory.
class Substitutions {
 public:
  Substitutions(std::span<const Rule> rules, Theory& theory, Directions directions = Directions::kBoth);
  Substitutions(const Substitutions&) = delete;
  Substitutions& operator=(const Substitutions&) = delete;

  const Substitution& operator[](int k) const { return *list_[static_cast<size_t>(k)]; }
  int size() const { return static_cast<int>(list_.size()); }
  const std::map<Unusable, int>& unusable() const { return unusable_; }
  Theory& theory() const { return theory_; }
  /// Applications on the longest path of a source.
  int depth() const { return depth_; }
  const MatchStatistics& statistics() const { return statistics_; }

  /// In a fixed order: by substitution, then by root.
  std::vector<Match> matches(const Program& program);
  /// Those whose first source is rooted at the application and which are wanted: what a guard costs is paid for these
  /// only.
  std::vector<Match> matches_at(const Program& program, int application,
                                const std::function<bool(const Match&)>& is_wanted);
  /// Those that touch one of these applications.
  std::vector<Match> matches_near(const Program& program, std::span<const int> applications);
  /// Modulo classes, those whose first source is rooted at the application: tensors and roots are leaders, applications
  /// may be any whose values are in the classes. The work on a substitution is bounded, so some may be missing.
  std::vector<Match> matches(const Program& program, const EqualValues& classes, int application);
  /// A match of this program before it was rewritten, or of one that it came from, is one of it still.
  bool is_still_there(const Program& program, const Match& match) const;
  /// The same of a match of another program, where its values may have other types.
  bool is_match(const Program& program, const Match& match);

  /// From now on matches are given of which the proof is not replayed yet, for whoever looks at many and takes few: at
  /// sizes that are new it takes up to a tenth of a second and more. What is taken must be `is_proved`.
  void put_off_proofs() { puts_off_proofs_ = true; }
  bool is_proved(const Program& program, const Match& match);

 private:
  friend class MatchSearch;
  struct Guard {
    bool fits = false;            ///< both sides have types, the same
    std::optional<bool> holds;    ///< the proof does, where it was replayed
    std::vector<int> operations;  ///< that the applications of the sources must be
  };

  const verify::Extraction& extract(const verify::Pattern& pattern, int operation) {
    return extractions_.of(pattern, operation, theory_.signatures());
  }
  /// For a match but for its guard.
  bool guard_holds(const Program& program, const Match& match);
  Guard& guard(int substitution, const Program& program, const verify::SlotValues& values);
  Guard typed(const Substitution& substitution, const Program& program, const verify::SlotValues& values);
  /// Whether the rule's proof does at the values' types and numbers.
  bool replay(const Substitution& substitution, const Program& program, const verify::SlotValues& values);
  int64_t number_of(const Dim& integer);

  struct Start {
    int substitution = 0, source = 0;
  };
  /// Sources that may be rooted at the application.
  std::span<const Start> starts_at(const Program& program, int application) const;

  Theory& theory_;
  std::vector<std::unique_ptr<Substitution>> list_;
  std::map<Unusable, int> unusable_;
  std::unordered_map<const OpDef*, std::vector<Start>> starts_;  ///< by the operator at a source's root
  verify::Extractions extractions_{verify::Extractions::Reading::kAsSpelled};
  std::unordered_map<std::vector<int64_t>, Guard, ListHash> guards_;
  std::map<std::string, int64_t> symbolic_;
  MatchStatistics statistics_;
  int depth_ = 0;
  bool puts_off_proofs_ = false;
};

}  // namespace isomer::substitutions
