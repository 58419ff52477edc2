#include "substitutions/rewrite/rule_matching.h"

#include <algorithm>

#include "verify/proof/law_family.h"

namespace isomer::substitutions {

using verify::Pattern;
using verify::SlotValues;

namespace {

constexpr size_t kMostFound = 2000;  ///< instances of one direction at once

template <class T>
void append(std::string& key, T number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

void RuleMatching::start(const RulePatterns& rule) {
  rule_ = &rule;
  sought_ = nullptr;
  sought_count_ = 0;
  goals_.clear();
  equations_.clear();
  values_ = rule.unbound();
  found_.clear();
}

std::vector<SlotValues> RuleMatching::meet(const RulePatterns& rule, Goals goals) {
  start(rule);
  goals_ = std::move(goals);
  meet(0);
  return std::move(found_);
}

std::vector<SlotValues> RuleMatching::find(const RulePatterns& rule, const RulePatterns::Sought& sought) {
  start(rule);
  sought_ = &sought;
  seek_next();
  return std::move(found_);
}

void RuleMatching::meet(size_t at) {
  if (found_.size() >= kMostFound) return;
  if (at == goals_.size()) return seek_next();
  const auto [pattern, node] = goals_[at];
  switch (pattern->kind) {
    case Pattern::Kind::kVariable: {
      int& bound = values_.tensors[static_cast<size_t>(pattern->variable)];
      if (bound >= 0) {
        if (graph_.equal(bound, node)) meet(at + 1);
        return;
      }
      bound = node;
      meet(at + 1);
      values_.tensors[static_cast<size_t>(pattern->variable)] = -1;
      return;
    }
    case Pattern::Kind::kNumber:
      if (const int number = graph_.find_number(pattern->number); number >= 0 && graph_.equal(number, node))
        meet(at + 1);
      return;
    case Pattern::Kind::kApplication:
      for (const int member : graph_.members(graph_.leader(node))) meet_node(*pattern, member, at + 1);
  }
}

void RuleMatching::meet_node(const Pattern& pattern, int node, size_t next) {
  const verify::EGraph::Node& there = graph_.node(node);
  if (there.op != pattern.op || there.output != pattern.output || there.is_double ||
      there.arguments.size() != pattern.arguments.size())
    return;
  const verify::Extraction& read = rules_.extract(pattern, there.operation);
  if (!read.fits) return;
  const size_t equations = equations_.size(), goals = goals_.size();
  std::vector<int> bound;
  int* rest = pattern.rest >= 0 ? &values_.rests[static_cast<size_t>(pattern.rest)] : nullptr;
  if (rest && *rest >= 0 && *rest != read.rest) return;
  const bool binds_rest = rest && *rest < 0;
  if (binds_rest) *rest = read.rest;
  bool agrees = true;
  for (const auto& [integer, value] : read.integers) {
    if (!integer->is_name()) {
      equations_.emplace_back(integer, &value);
      continue;
    }
    auto& slot = values_.integers[static_cast<size_t>(integer->terms[0].first)];
    if (slot) {
      agrees = agrees && *slot == value;
    } else {
      slot = value;
      bound.push_back(integer->terms[0].first);
    }
  }
  if (agrees) {
    for (size_t k = 0; k < there.arguments.size(); ++k) goals_.emplace_back(&pattern.arguments[k], there.arguments[k]);
    meet(next);
    goals_.resize(goals);
  }
  for (const int slot : bound) values_.integers[static_cast<size_t>(slot)].reset();
  if (binds_rest) *rest = -1;
  equations_.resize(equations);
}

void RuleMatching::seek_next() {
  if (!sought_ || sought_count_ == sought_->size()) return finish();
  const Pattern& pattern = *(*sought_)[sought_count_++];
  for (const int node : graph_.nodes_of(pattern.op)) meet_node(pattern, node, goals_.size());
  --sought_count_;
}

void RuleMatching::finish() {
  const auto integers = values_.integers;
  const auto rests = values_.rests;
  if (complete() && !is_known() && rules_.holds(*rule_, values_, graph_)) found_.push_back(values_);
  values_.integers = integers;
  values_.rests = rests;
}

/// Dims from types, then what equations leave one unknown of, then what the rule's example has.
bool RuleMatching::complete() {
  if (std::find(values_.tensors.begin(), values_.tensors.end(), -1) != values_.tensors.end()) return false;
  for (const verify::DimSlot& dim : rule_->dims) {
    auto value = verify::dim_at(
        *rules_.theory().signatures().type(graph_.node(values_.tensors[static_cast<size_t>(dim.variable)]).type).shape,
        dim.axis);
    auto& slot = values_.integers[static_cast<size_t>(dim.slot)];
    if (!value || (slot && *slot != *value)) return false;
    slot = std::move(value);
  }
  for (;;) {
    if (!verify::solve(equations_, values_)) return false;
    const auto open = std::find(values_.integers.begin(), values_.integers.end(), std::nullopt);
    if (open == values_.integers.end()) break;
    const auto& example = rule_->example_integers[static_cast<size_t>(open - values_.integers.begin())];
    if (!example) return false;
    *open = example;
  }
  for (size_t k = 0; k < values_.rests.size(); ++k) {
    if (values_.rests[k] >= 0) continue;
    if (!rule_->example_rests[k]) return false;
    values_.rests[k] = *rule_->example_rests[k];
  }
  return verify::hold(equations_, values_, rule_->integers);
}

bool RuleMatching::is_known() {
  std::string key;
  append(key, rule_->index);
  for (const int node : values_.tensors) append(key, graph_.leader(node));
  for (const int rest : values_.rests) append(key, rest);
  for (const auto& integer : values_.integers) key += integer->text() + ";";
  return !known_.insert(std::move(key)).second;
}

}  // namespace isomer::substitutions
