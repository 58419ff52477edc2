#include "substitutions/rewrite/rule_saturation.h"

#include <algorithm>
#include <tuple>

namespace isomer::substitutions {

using verify::PlannedTerm;
using verify::Saturated;
using verify::SlotValues;

namespace {

bool are_equal(const NodePairs& pairs, const verify::EGraph& graph) {
  return !pairs.empty() && std::all_of(pairs.begin(), pairs.end(),
                                       [&](const auto& pair) { return graph.equal(pair.first, pair.second); });
}

}  // namespace

/// Both sides of each output; nothing where they are not of one type.
std::optional<std::vector<std::pair<PlannedTerm, PlannedTerm>>> RuleSaturation::planned(const RulePatterns& rule,
                                                                                        const SlotValues& values) {
  verify::Signatures& signatures = rules_.theory().signatures();
  std::vector<std::pair<PlannedTerm, PlannedTerm>> result;
  for (const RulePatterns::Sides& output : rule.outputs) {
    auto left = plan(output.left, values, rule.integers, graph_, signatures);
    auto right = left ? plan(output.right, values, rule.integers, graph_, signatures) : std::nullopt;
    if (!right || left->type != right->type || signatures.type(left->type).dtype == DataType::kUndefined)
      return std::nullopt;
    result.emplace_back(*std::move(left), *std::move(right));
  }
  return result;
}

/// What a pattern leaves out has its default, which is seen when it is spelled out: then it may be a term that is not
/// there.
bool RuleSaturation::is_there(const Found& found) {
  return std::all_of(found.sought->begin(), found.sought->end(), [&](const verify::Pattern* pattern) {
    const auto planned = plan(*pattern, found.values, found.rule->integers, graph_, rules_.theory().signatures());
    return planned && planned->node >= 0;
  });
}

std::vector<RuleSaturation::Found> RuleSaturation::find_all(const std::vector<bool>& is_used) {
  std::vector<Found> result;
  for (int k = 0; k < rules_.size(); ++k) {
    if (!is_used[static_cast<size_t>(k)]) continue;
    for (const RulePatterns::Sought& sought : rules_[k].directions)
      for (SlotValues& values : matching_.find(rules_[k], sought)) {
        Found found{&rules_[k], &sought, std::move(values), 0, static_cast<int>(result.size())};
        const auto terms = planned(rules_[k], found.values);
        if (!terms || !is_there(found)) continue;
        for (const auto& [left, right] : *terms) found.new_nodes += left.new_nodes() + right.new_nodes();
        result.push_back(std::move(found));
      }
  }
  std::sort(result.begin(), result.end(), [](const Found& a, const Found& b) {
    return std::tie(a.new_nodes, a.number) < std::tie(b.new_nodes, b.number);
  });
  return result;
}

/// Whether it says something new.
bool RuleSaturation::use(Found& found) {
  const auto terms = planned(*found.rule, found.values);
  if (!terms) return false;
  bool is_new = false;
  const auto number = static_cast<int>(instances_.size());
  for (const auto& [left, right] : *terms) {
    if (left.node >= 0 && right.node >= 0 && graph_.equal(left.node, right.node)) continue;
    verify::EGraph::Reason reason{number, {}};
    const int from = make(left, graph_, reason.premises), to = make(right, graph_, reason.premises);
    if (graph_.equal(from, to)) continue;
    graph_.merge(from, to, std::move(reason));
    is_new = true;
  }
  if (is_new) instances_.push_back({found.rule, std::move(found.values)});
  return is_new;
}

Saturated RuleSaturation::run(const NodePairs& sought, const std::vector<bool>& is_used,
                              const verify::SaturationLimits& limits) {
  bool is_full = false;
  for (int round = 0; !are_equal(sought, graph_); ++round) {
    if (round == limits.rounds) return is_full ? Saturated::kNodes : Saturated::kRounds;
    bool is_new = false;
    for (Found& found : find_all(is_used)) {
      if (graph_.size() + found.new_nodes > limits.nodes) {
        is_full = true;
        continue;
      }
      is_new |= use(found);
      if (are_equal(sought, graph_)) return Saturated::kProved;
    }
    if (!is_new) return is_full ? Saturated::kNodes : Saturated::kClosed;
  }
  return Saturated::kProved;
}

Result<std::vector<std::pair<verify::Term, verify::Term>>> RuleSaturation::equations(
    int instance, const verify::VariableTypes& types) const {
  const Instance& used = instances_[static_cast<size_t>(instance)];
  verify::Signatures& signatures = rules_.theory().signatures();
  verify::Bindings names;
  for (size_t k = 0; k < used.rule->tensors.size(); ++k)
    names.tensors.emplace(used.rule->tensors[k], graph_.term(used.values.tensors[k]));
  for (size_t k = 0; k < used.rule->integers.size(); ++k)
    names.integers.emplace(used.rule->integers[k], *used.values.integers[k]);
  for (size_t k = 0; k < used.rule->rests.size(); ++k)
    names.rests.emplace(used.rule->rests[k], signatures.operation(used.values.rests[k]).parameters);
  std::vector<std::pair<verify::Term, verify::Term>> result;
  for (const Output& output : used.rule->rule->outputs) {
    TRY(verify::TypedTerm left, verify::spelled_out(substitute(output.left, names), types, signatures));
    TRY(verify::TypedTerm right, verify::spelled_out(substitute(output.right, names), types, signatures));
    result.emplace_back(std::move(left.term), std::move(right.term));
  }
  return result;
}

}  // namespace isomer::substitutions
