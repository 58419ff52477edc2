// One normal form of a program: a named, oriented set of proved rules (rules/normalize.rules) carries factors and
// shifts by constants into other constants, and padding into windows. It is greedy: from each operator on, rules are
// tried one after the other as long as the measure does not grow, the shortest ways first, and the first run of steps
// that ends with a smaller measure is taken. So it ends. What constants are made of costs nothing; they are computed
// once, in the end, and a run that would cost their precision is not taken. Test:
// tests/substitutions/normalize_test.cpp
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "graph/passes/pass.h"
#include "substitutions/derivation/carry_factor.h"
#include "substitutions/derivation/constant_precision.h"
#include "substitutions/rewrite/constant_values.h"
#include "substitutions/rewrite/match.h"
#include "substitutions/rewrite/step.h"
#include "util/hash.h"

namespace isomer::substitutions {

/// What each run makes smaller, of what has to be computed for each input: first how many operators sum over elements,
/// then how many there are, each counted as what it may be written out as, then how many of their operands are results
/// of others.
struct Measure {
  int sums = 0, operators = 0, operands = 0;
  auto operator<=>(const Measure&) const = default;
  Measure& operator+=(const Measure& other) {
    sums += other.sums;
    operators += other.operators;
    operands += other.operands;
    return *this;
  }
  Measure& operator-=(const Measure& other) { return *this += {-other.sums, -other.operators, -other.operands}; }
};

struct NormalizeLimits {
  /// May a change of this class be made?
  std::function<bool(FloatClass)> allows = [](FloatClass) { return true; };
  /// May all constants together become larger by so many bytes? Called for what is about to be done.
  std::function<bool(int64_t)> may_grow = [](int64_t) { return true; };
  std::function<void(int64_t)> give_back = [](int64_t) {};  ///< of what was then not done
  std::set<NodeId> kept = {};                               ///< nodes of the program's graph that no rule may touch
  bool carries = true;                                      ///< factors over movement, too (carry_factor.h)
  int threads = 1;                                          ///< for computing constants
};

using NormalizeStep = std::variant<Step, CarriedFactor>;

struct Normalized {
  Program program;                   ///< after the steps
  std::vector<NormalizeStep> steps;  ///< over the program as it was
  std::vector<size_t> runs;          ///< where each run of steps ends, among them
  std::map<int, Tensor> constants;   ///< values of the program that steps made of constants, computed
  Graph graph;                       ///< of the program; the same where there are no steps
};

class Normalizer {
 public:
  /// With normalize.rules; others in tests. The theory must outlive it.
  explicit Normalizer(Theory& theory);
  Normalizer(std::vector<Rule> rules, Theory& theory);

  Measure measure(const Program& program);
  /// Errors: those of graph_of.
  Result<Normalized> run(const Program& program, const NormalizeLimits& limits = {});
  const std::vector<Rule>& rules() const { return rules_; }
  FloatClass float_class(std::string_view rule) const;
  Theory& theory() const { return substitutions_.theory(); }

 private:
  class Search;
  struct Cost {
    int operators = 0;  ///< 0: not known yet
    bool sums = false;
    std::vector<std::optional<SummedAxes>> summed;  ///< by argument
    std::optional<size_t> addend;                   ///< the argument that is added to the sums
  };
  const Cost& cost(const Program& program, int application);
  /// The constant may be rounded to its type, for all who read it.
  Result<bool> keeps_precision(const Program& program, int value, ConstantValues& values);
  /// What the application adds to the program's.
  Measure measure(const Program& program, int application);

  std::vector<Rule> rules_;
  Substitutions substitutions_;
  /// Surroundings from which no run was found, by what may be done there first, and by how far a run looks.
  std::map<Hash128, std::map<int, std::set<Hash128>>> barren_;
  std::map<const OpDef*, int> weights_;     ///< of operators that count for more than one
  std::map<std::vector<int>, Cost> costs_;  ///< by operation and types of arguments
};

/// A body in a graph: the node, and which of its bodies, from the outside inwards; of the graph itself none.
using BodyPlace = std::vector<std::pair<NodeId, int>>;
/// Sees what is about to become of a graph or a body; errors leave it as it is.
using SeeNormalized = std::function<Result<void>(const BodyPlace& place, const Program& before, const Normalized& made,
                                                 const Normalizer&)>;

/// As a pass: of the graph and the bodies in it. Names its steps in the context.
Result<int> normalize(Graph& graph, PassContext& context, Normalizer& normalizer, const SeeNormalized& see = nullptr,
                      const BodyPlace& place = {});
/// The same for PassOptions::normalize, with the rules and the theory, which must outlive it.
std::function<Result<int>(Graph&, PassContext&)> normalization(Theory& theory, SeeNormalized see = nullptr);

}  // namespace isomer::substitutions
