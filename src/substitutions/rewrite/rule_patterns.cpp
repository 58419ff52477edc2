#include "substitutions/rewrite/rule_patterns.h"

#include <algorithm>

#include "verify/prover/bound_names.h"

namespace isomer::substitutions {
namespace {

using verify::Pattern;
using Sought = RulePatterns::Sought;

Sought roots_of(const RulePatterns& rule, bool is_left) {
  Sought result;
  for (const RulePatterns::Sides& output : rule.outputs)
    if (const Pattern& root = is_left ? output.left : output.right; root.kind == Pattern::Kind::kApplication)
      result.push_back(&root);
  return result;
}

/// Whether the example has what they do not bind.
bool bind_all_but_examples(const Sought& sought, const RulePatterns& rule) {
  std::vector<bool> integers, rests;
  for (const auto& integer : rule.example_integers) integers.push_back(integer.has_value());
  for (const auto& rest : rule.example_rests) rests.push_back(rest.has_value());
  return verify::bind_all(sought, rule, std::move(integers), std::move(rests));
}

/// Where one side does not bind what the other names, a part of that must be there too: the largest that does, so that
/// few terms are made that nobody asked for. An output alone stands for all of its rule.
void add_directions(RulePatterns& rule, bool from_left) {
  const Sought sources = roots_of(rule, from_left);
  const size_t before = rule.directions.size();
  for (const Pattern* source : sources)
    if (const Sought alone = {source}; verify::bind_all(alone, rule)) rule.directions.push_back(alone);
  if (rule.directions.size() > before) return;
  if (!sources.empty() && verify::bind_all(sources, rule)) return rule.directions.push_back(sources);
  if (!sources.empty() && bind_all_but_examples(sources, rule)) rule.directions.push_back(sources);
  int largest = 0;
  std::vector<Sought> found;
  for (const RulePatterns::Sides& output : rule.outputs)
    for (const Pattern* part : verify::applications_of(from_left ? output.right : output.left, sources.size() > 1)) {
      Sought with = sources;
      with.push_back(part);
      if (part->operators < largest || !verify::bind_all(with, rule)) continue;
      if (part->operators > largest) found.clear();
      largest = part->operators;
      found.push_back(std::move(with));
    }
  rule.directions.insert(rule.directions.end(), found.begin(), found.end());
}

std::unique_ptr<RulePatterns> patterns_of(const Rule& rule, int index, int& next_id, verify::Signatures& signatures) {
  auto result = std::make_unique<RulePatterns>();
  result->rule = &rule;
  result->index = index;
  for (const Output& output : rule.outputs) {
    Pattern left = verify::pattern_of(output.left, *result, next_id);
    result->outputs.push_back({std::move(left), verify::pattern_of(output.right, *result, next_id)});
  }
  result->find_dims();
  for (const std::string& name : result->integers) {
    const auto found = rule.example.names.integers.find(name);
    result->example_integers.push_back(found == rule.example.names.integers.end() ? std::nullopt
                                                                                  : std::optional(found->second));
  }
  const auto operators = verify::rest_names(sides(rule.outputs));
  for (const std::string& name : result->rests) {
    const auto found = rule.example.names.rests.find(name);
    result->example_rests.push_back(found == rule.example.names.rests.end()
                                        ? std::nullopt
                                        : std::optional(signatures.operation_id(*operators.at(name), found->second)));
  }
  add_directions(*result, true);
  add_directions(*result, false);
  return result;
}

}  // namespace

PreparedRules::PreparedRules(std::span<const Rule* const> rules, Theory& theory) : theory_(theory) {
  int next_id = 0;
  for (const Rule* rule : rules) list_.push_back(patterns_of(*rule, size(), next_id, theory.signatures()));
}

bool PreparedRules::holds(const RulePatterns& rule, const verify::SlotValues& values, const verify::EGraph& graph) {
  std::vector<int64_t> key = {rule.index};
  for (const int tensor : values.tensors) key.push_back(graph.node(tensor).type);
  for (const auto& integer : values.integers) {
    if (!integer->is_constant()) return false;
    key.push_back(integer->value());
  }
  key.insert(key.end(), values.rests.begin(), values.rests.end());
  const auto [known, is_new] = held_.try_emplace(std::move(key), false);
  if (is_new) known->second = replay(rule, values, graph);
  return known->second;
}

bool PreparedRules::replay(const RulePatterns& rule, const verify::SlotValues& values, const verify::EGraph& graph) {
  RuleInstance instance;
  std::vector<int> types;
  for (const int tensor : values.tensors) types.push_back(graph.node(tensor).type);
  for (size_t k = 0; k < types.size(); ++k) {
    ValueType type = theory_.signatures().type(types[k]);
    // A number is of the type of what stands beside it.
    if (type.dtype == DataType::kUndefined) type.dtype = theory_.dtype_beside(types);
    instance.types.emplace(rule.tensors[k], std::move(type));
  }
  for (size_t k = 0; k < values.integers.size(); ++k)
    if (!rule.is_dim[k]) instance.names.integers.emplace(rule.integers[k], *values.integers[k]);
  for (size_t k = 0; k < values.rests.size(); ++k)
    instance.names.rests.emplace(rule.rests[k], theory_.signatures().operation(values.rests[k]).parameters);
  return holds_at(*rule.rule, instance, theory_.axioms(), theory_.signatures()).ok();
}

}  // namespace isomer::substitutions
