#include "substitutions/library/consequence.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "substitutions/rewrite/rule_saturation.h"
#include "substitutions/rewrite/substitution.h"

namespace isomer::substitutions {
namespace {

using verify::Saturated;
using verify::Term;

constexpr size_t kMostReordered = 4;  ///< outputs of a rule, to be those of an equation in another order

std::vector<const Rule*> joined(std::span<const Rule* const> rules, std::span<const Rule* const> laws) {
  std::vector<const Rule*> result(rules.begin(), rules.end());
  result.insert(result.end(), laws.begin(), laws.end());
  return result;
}

bool only_commutes(const Rule& rule, const Theory& theory) {
  int next_id = 0;
  const auto made = substitution_of(rule, true, theory, next_id);
  const auto* reason = std::get_if<Unusable>(&made);
  return reason && *reason == Unusable::kOnlyCommutes;
}

/// All of them follow.
bool follow(const std::vector<std::pair<Term, Term>>& equations, const std::vector<Output>& sought) {
  return std::all_of(sought.begin(), sought.end(),
                     [&](const Output& output) { return verify::follows(equations, output.left, output.right); });
}

}  // namespace

/// One set of equations.
class Consequences::Question {
 public:
  static Result<Question> asked(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                                PreparedRules& rules) {
    Question result(types, rules);
    for (const Output& output : outputs) {
      TRY(verify::TypedTerm left, verify::spelled_out(output.left, types, rules.theory().signatures()));
      TRY(verify::TypedTerm right, verify::spelled_out(output.right, types, rules.theory().signatures()));
      if (left.type != right.type)
        return invalid("", "sides of one type expected, {} and {} found", left.type.text(), right.type.text());
      result.outputs_.push_back({std::move(left.term), std::move(right.term)});
    }
    return result;
  }

  /// The first rule that says it, operands in whatever order.
  std::optional<int> rule_that_says_it(const std::vector<bool>& is_used, const std::vector<bool>& only_commutes) const {
    constexpr verify::SaturationLimits kOrders{3, 200};
    verify::EGraph graph(types_, rules_.theory().signatures());
    const NodePairs pairs = added_to(graph);
    if (const auto rule = rule_between(pairs, graph, is_used)) return rule;
    RuleSaturation orders(graph, rules_);
    orders.run({}, only_commutes, kOrders);
    const auto is_told_apart = [&](const auto& pair) { return !graph.equal(pair.first, pair.second); };
    return std::all_of(pairs.begin(), pairs.end(), is_told_apart) ? rule_between(pairs, graph, is_used) : std::nullopt;
  }

  /// Rules from whose instances it follows.
  Result<Answer> saturated(const std::vector<bool>& is_used, const verify::SaturationLimits& limits) const {
    verify::EGraph graph(types_, rules_.theory().signatures());
    const NodePairs pairs = added_to(graph);
    RuleSaturation saturation(graph, rules_);
    Answer result{saturation.run(pairs, is_used, limits), {}};
    if (result.stop != Saturated::kProved) return result;
    std::set<int> needed;
    for (const auto& [left, right] : pairs)
      for (const int instance : graph.explain(left, right)) needed.insert(instance);
    TRY_VOID(drop_idle(saturation, needed));
    for (const int instance : needed)
      result.rules.insert(saturation.instances()[static_cast<size_t>(instance)].rule->index);
    return result;
  }

 private:
  Question(const verify::VariableTypes& types, PreparedRules& rules) : types_(types), rules_(rules) {}

  NodePairs added_to(verify::EGraph& graph) const {
    NodePairs result;
    for (const Output& output : outputs_) {
      const int left = graph.add(output.left).value();
      result.emplace_back(left, graph.add(output.right).value());
    }
    return result;
  }

  std::optional<int> rule_between(const NodePairs& pairs, const verify::EGraph& graph,
                                  const std::vector<bool>& is_used) const {
    RuleMatching matching(graph, rules_);
    for (int k = 0; k < rules_.size(); ++k) {
      const RulePatterns& rule = rules_[k];
      if (!is_used[static_cast<size_t>(k)] || rule.outputs.size() != pairs.size()) continue;
      std::vector<size_t> order(pairs.size());
      std::iota(order.begin(), order.end(), size_t{0});
      do {
        for (const bool is_forward : {true, false})
          if (!matching.meet(rule, goals(rule, pairs, order, is_forward)).empty()) return k;
      } while (order.size() <= kMostReordered && std::next_permutation(order.begin(), order.end()));
    }
    return std::nullopt;
  }

  static RuleMatching::Goals goals(const RulePatterns& rule, const NodePairs& pairs, const std::vector<size_t>& order,
                                   bool is_forward) {
    RuleMatching::Goals result;
    for (size_t k = 0; k < order.size(); ++k) {
      const auto& [left, right] = pairs[order[k]];
      result.emplace_back(&rule.outputs[k].left, is_forward ? left : right);
      result.emplace_back(&rule.outputs[k].right, is_forward ? right : left);
    }
    return result;
  }

  /// Leaves out every instance without which it still follows, the last first.
  Result<void> drop_idle(const RuleSaturation& saturation, std::set<int>& needed) const {
    std::map<int, std::vector<std::pair<Term, Term>>> equations;
    for (const int instance : needed) {
      TRY(auto said, saturation.equations(instance, types_));
      equations.emplace(instance, std::move(said));
    }
    const auto all_but = [&](int left_out) {
      std::vector<std::pair<Term, Term>> result;
      for (const int instance : needed)
        if (instance != left_out) result.insert(result.end(), equations[instance].begin(), equations[instance].end());
      return result;
    };
    CHECK(follow(all_but(-1), outputs_)) << "an explanation that explains expected";
    const std::vector<int> all(needed.rbegin(), needed.rend());
    for (const int instance : all)
      if (follow(all_but(instance), outputs_)) needed.erase(instance);
    return {};
  }

  const verify::VariableTypes& types_;
  PreparedRules& rules_;
  std::vector<Output> outputs_;  ///< spelled out
};

Consequences::Consequences(std::span<const Rule* const> rules, std::span<const Rule* const> laws, Theory& theory)
    : prepared_(joined(rules, laws), theory) {
  for (int k = 0; k < prepared_.size(); ++k) {
    is_any_.push_back(true);
    is_rule_.push_back(k < static_cast<int>(rules.size()));
    is_law_.push_back(!is_rule_.back());
    only_commutes_.push_back(only_commutes(*prepared_[k].rule, theory));
  }
}

Consequence Consequences::consequence(Consequence::How how, const std::set<int>& used) const {
  Consequence result{how, {}, {}, Saturated::kProved};
  for (const int rule : used)
    (is_rule_[static_cast<size_t>(rule)] ? result.rules : result.laws).push_back(prepared_[rule].rule);
  return result;
}

Result<Consequence> Consequences::of(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                                     const verify::SaturationLimits& limits) {
  TRY(const Question question, Question::asked(outputs, types, prepared_));
  for (const auto* which : {&is_rule_, &is_any_})
    if (const auto rule = question.rule_that_says_it(*which, only_commutes_))
      return consequence(Consequence::How::kInstance, {*rule});
  TRY(Answer answer, question.saturated(is_rule_, limits));
  if (answer.stop != Saturated::kProved) {
    TRY(answer, question.saturated(is_any_, limits));
  }
  // Laws alone grow the graph less.
  if (answer.stop != Saturated::kProved) {
    TRY(answer, question.saturated(is_law_, {}));
  }
  if (answer.stop != Saturated::kProved) return Consequence{Consequence::How::kNot, {}, {}, answer.stop};
  // Laws, which come last, are left out first.
  const std::vector<int> all(answer.rules.rbegin(), answer.rules.rend());
  for (const int rule : all) {
    if (!answer.rules.contains(rule)) continue;
    std::vector<bool> fewer(is_any_.size());
    for (const int other : answer.rules) fewer[static_cast<size_t>(other)] = other != rule;
    TRY(Answer without, question.saturated(fewer, {}));
    if (without.stop == Saturated::kProved) answer = std::move(without);
  }
  return consequence(Consequence::How::kFollows, answer.rules);
}

}  // namespace isomer::substitutions
