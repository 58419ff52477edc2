#include "substitutions/rewrite/rule_matching.h"

#include <algorithm>

#include "verify/proof/law_family.h"

namespace isomer::substitutions {

using verify::SlotValues;

namespace {

constexpr size_t kMostFound = 2000;  ///< instances of one direction at once

}  // namespace

std::vector<SlotValues> RuleMatching::meet(const RulePatterns& rule, Goals goals) {
  return instances(rule, std::move(goals), {});
}

std::vector<SlotValues> RuleMatching::find(const RulePatterns& rule, const RulePatterns::Sought& sought) {
  return instances(rule, {}, sought);
}

std::vector<SlotValues> RuleMatching::instances(const RulePatterns& rule, Goals goals,
                                                std::span<const verify::Pattern* const> sought) {
  std::vector<SlotValues> found;
  matcher_.match(rule, std::move(goals), sought, [&](const verify::EMatch& match) {
    SlotValues values = match.values;
    if (complete(rule, match.equations, values) && known_.insert(verify::key_of(rule.index, values, graph_)).second &&
        rules_.holds(rule, values, graph_))
      found.push_back(std::move(values));
    return found.size() < kMostFound;
  });
  return found;
}

/// Dims from types, then what equations leave one unknown of, then what the rule's example has.
bool RuleMatching::complete(const RulePatterns& rule, const verify::IntegerEquations& equations, SlotValues& values) {
  if (std::find(values.tensors.begin(), values.tensors.end(), -1) != values.tensors.end()) return false;
  for (const verify::DimSlot& dim : rule.dims) {
    auto value = verify::dim_at(
        *rules_.theory().signatures().type(graph_.node(values.tensors[static_cast<size_t>(dim.variable)]).type).shape,
        dim.axis);
    auto& slot = values.integers[static_cast<size_t>(dim.slot)];
    if (!value || (slot && *slot != *value)) return false;
    slot = std::move(value);
  }
  for (;;) {
    if (!verify::solve(equations, values)) return false;
    const auto open = std::find(values.integers.begin(), values.integers.end(), std::nullopt);
    if (open == values.integers.end()) break;
    const auto& example = rule.example_integers[static_cast<size_t>(open - values.integers.begin())];
    if (!example) return false;
    *open = example;
  }
  for (size_t k = 0; k < values.rests.size(); ++k) {
    if (values.rests[k] >= 0) continue;
    if (!rule.example_rests[k]) return false;
    values.rests[k] = *rule.example_rests[k];
  }
  return verify::hold(equations, values, rule.integers);
}

}  // namespace isomer::substitutions
