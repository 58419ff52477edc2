// Derivations for tests: random walks of rules over graphs, written down step by step.
#pragma once

#include "graph/hash.h"
#include "graph/passes/pipeline.h"
#include "properties/same_function.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewriting.h"

namespace isomer::substitutions::test {

/// The laws and the rules that come with the program.
inline std::vector<Rule> known_rules(const Theory& theory) {
  std::vector<Rule> result = rules_of_laws(theory.axioms());
  std::set<std::string> names;
  for (RulesFile& file : shipped_rules(theory.axioms()))
    for (Rule& rule : file.rules)
      if (names.insert(rule.name).second) result.push_back(std::move(rule));
  return result;
}

/// What was done to a model, and what came of it.
struct Walk {
  Graph model;
  Derivation derivation;
  Program program;  ///< after the steps
  Graph result;
};

class Walker {
 public:
  Walker() : rules_(known_rules(theory_)), substitutions_(rules_, theory_) {}

  /// So many random rewrites at most; passes that are left out have no part in it.
  Walk walk(Graph model, uint64_t seed, int steps, std::vector<std::string> without = {}) {
    Random random(seed);
    return walk_by(
        std::move(model), steps,
        [&](const std::vector<Match>& found) { return static_cast<int>(random.below(found.size())); },
        std::move(without));
  }

  /// By these rules, one after the other, each at its first match.
  Walk walk(Graph model, const std::vector<std::pair<std::string, bool>>& rules) {
    size_t next = 0;
    Walk result = walk_by(std::move(model), static_cast<int>(rules.size()), [&](const std::vector<Match>& found) {
      const auto [text, is_forward] = rules[next++];
      const auto is_it = [&](const Match& match) {
        return substitutions_[match.substitution].rule->text() == text &&
               substitutions_[match.substitution].is_forward == is_forward;
      };
      const auto match = std::find_if(found.begin(), found.end(), is_it);
      CHECK(match != found.end()) << "a match of " << text;
      return static_cast<int>(match - found.begin());
    });
    CHECK(result.derivation.steps.size() == rules.size()) << "a step by each rule";
    return result;
  }

  const Theory& theory() const { return theory_; }
  const std::vector<Rule>& rules() const { return rules_; }

 private:
  template <class Choose>
  Walk walk_by(Graph model, int steps, const Choose& choose, std::vector<std::string> without = {}) {
    Derivation derivation;
    derivation.without = std::move(without);
    derivation.fp = FloatMode::kFast;  // which allows every rule
    auto start = start_of(model, derivation, theory_);
    CHECK(start.ok()) << start.error().message();
    Program now = start->program;
    std::vector<Match> found = substitutions_.matches(now);
    for (int step = 0; step < steps && !found.empty() && now.application_count() < 400; ++step) {
      const Match match = found[static_cast<size_t>(choose(found))];
      auto done = apply(now, match, substitutions_);
      auto* rewritten = std::get_if<Rewritten>(&done);
      if (!rewritten) continue;
      now = std::move(rewritten->program);
      derivation.steps.push_back(step_of(match, substitutions_));
      found = substitutions_.matches(now);
    }
    derivation.rules = rules_of(derivation.steps, rules_, theory_.axioms());
    Graph result = start->graph;
    if (!derivation.steps.empty()) {
      result = written(now);
      CHECK(optimize(result, passes_after(derivation, start->graph, result, theory_)).ok());
    }
    return {std::move(model), std::move(derivation), std::move(now), std::move(result)};
  }

  Theory theory_;
  std::vector<Rule> rules_;
  Substitutions substitutions_;
};

}  // namespace isomer::substitutions::test
