#include <algorithm>
#include <functional>
#include <limits>
#include <set>

#include "graph/infer.h"
#include "substitutions/rewrite/match.h"

namespace isomer::substitutions {

using verify::Pattern;
using verify::SlotValues;

namespace {

/// Types of the sources' and the targets' terms at a match, as the rows infer them.
class Typing {
 public:
  Typing(const Substitution& substitution, const Program& program, const SlotValues& values)
      : substitution_(substitution), program_(program), values_(values) {}

  /// The term's type, and the operations of its applications; -1 where it has none.
  int type_of(const Pattern& pattern, std::vector<int>* operations) {
    Theory& theory = program_.theory();
    if (pattern.kind == Pattern::Kind::kVariable)
      return program_.value(values_.tensors[static_cast<size_t>(pattern.variable)]).type;
    if (pattern.kind == Pattern::Kind::kNumber)
      return theory.signatures().type_id(ValueType::tensor(DataType::kUndefined, {}));
    std::vector<int> types;
    for (const Pattern& argument : pattern.arguments) {
      types.push_back(type_of(argument, operations));
      if (types.back() < 0) return -1;
    }
    for (size_t k = 0; k < types.size(); ++k)
      if (pattern.arguments[k].kind == Pattern::Kind::kNumber)
        types[k] = theory.signatures().type_id(
            ValueType::tensor(theory.dtype_beside(types, condition_count(*pattern.op)), {}));
    const auto& applied =
        theory.signatures().apply(operation_of(pattern, values_, substitution_.integers, theory.signatures()), types);
    if (!applied.ok() || pattern.output >= static_cast<int>(applied->types.size()) ||
        !theory.constant_form(applied->operation, types))
      return -1;
    if (operations) (*operations)[static_cast<size_t>(pattern.id - substitution_.first_id)] = applied->operation;
    return applied->types[static_cast<size_t>(pattern.output)];
  }

 private:
  const Substitution& substitution_;
  const Program& program_;
  const SlotValues& values_;
};

}  // namespace

Substitutions::Substitutions(std::span<const Rule> rules, Theory& theory, Directions directions) : theory_(theory) {
  int next_id = 0;
  std::set<std::string> known;
  for (const Rule& rule : rules)
    for (const bool is_forward : {true, false}) {
      if (!is_forward && directions == Directions::kForward) continue;
      auto made = substitution_of(rule, is_forward, theory, next_id);
      if (const auto* reason = std::get_if<Unusable>(&made)) {
        ++unusable_[*reason];
        continue;
      }
      auto& substitution = std::get<std::unique_ptr<Substitution>>(made);
      if (!known.insert(substitution->key()).second) {
        ++unusable_[Unusable::kKnown];
        continue;
      }
      list_.push_back(std::move(substitution));
      const Substitution& added = *list_.back();
      depth_ = std::max(depth_, added.depth);
      for (int source = 0; source < static_cast<int>(added.sources.size()); ++source)
        starts_[added.sources[static_cast<size_t>(source)].op].push_back({size() - 1, source});
    }
}

int64_t Substitutions::number_of(const Dim& integer) {
  if (integer.is_constant()) return integer.value();
  // Below every constant.
  return symbolic_.emplace(integer.text(), std::numeric_limits<int64_t>::min() + static_cast<int64_t>(symbolic_.size()))
      .first->second;
}

Substitutions::Guard& Substitutions::guard(int substitution, const Program& program, const SlotValues& values) {
  std::vector<int64_t> key = {substitution};
  key.reserve(1 + values.tensors.size() + values.integers.size() + values.rests.size());
  for (const int tensor : values.tensors) key.push_back(program.value(tensor).type);
  for (const auto& integer : values.integers) key.push_back(number_of(*integer));
  for (const int rest : values.rests) key.push_back(rest);
  if (const auto known = guards_.find(key); known != guards_.end()) return known->second;
  return guards_.emplace(std::move(key), typed(*list_[static_cast<size_t>(substitution)], program, values))
      .first->second;
}

Substitutions::Guard Substitutions::typed(const Substitution& substitution, const Program& program,
                                          const SlotValues& values) {
  Guard result;
  for (const int tensor : values.tensors)
    if (!theory_.signatures().type(program.value(tensor).type).has_shape()) return result;
  Typing typing(substitution, program, values);
  result.operations.resize(static_cast<size_t>(substitution.applications), -1);
  for (size_t k = 0; k < substitution.sources.size(); ++k) {
    const int source = typing.type_of(substitution.sources[k], &result.operations);
    if (source < 0 || source != typing.type_of(substitution.targets[k], nullptr)) return result;
  }
  result.fits = true;
  return result;
}

bool Substitutions::replay(const Substitution& substitution, const Program& program, const SlotValues& values) {
  RuleInstance instance;
  for (size_t k = 0; k < values.tensors.size(); ++k)
    instance.types.emplace(substitution.tensors[k], theory_.signatures().type(program.value(values.tensors[k]).type));
  for (size_t k = 0; k < values.integers.size(); ++k)
    if (!substitution.is_dim[k]) instance.names.integers.emplace(substitution.integers[k], *values.integers[k]);
  for (size_t k = 0; k < values.rests.size(); ++k)
    instance.names.rests.emplace(substitution.rests[k], theory_.signatures().operation(values.rests[k]).parameters);
  const bool holds = holds_at(*substitution.rule, instance, theory_.axioms(), theory_.signatures()).ok();
  ++statistics_.guards;
  statistics_.held += holds ? 1 : 0;
  return holds;
}

bool Substitutions::is_still_there(const Program& program, const Match& match) const {
  const Substitution& there = *list_[static_cast<size_t>(match.substitution)];
  const std::function<bool(const Pattern&, int)> is_there = [&](const Pattern& pattern, int value) -> bool {
    if (value < 0) return false;
    if (pattern.kind == Pattern::Kind::kVariable)
      return match.values.tensors[static_cast<size_t>(pattern.variable)] == value;
    if (pattern.kind == Pattern::Kind::kNumber)
      return program.number(value) && *program.number(value) == pattern.number;
    const int application = match.applications[static_cast<size_t>(pattern.id - there.first_id)];
    if (program.value(value).producer != application || program.value(value).index != pattern.output ||
        !program.contains(application))
      return false;
    const auto arguments = program.arguments(application);
    // Whoever carries a match over to another program (search/strategies/lockstep.h) may come upon another operator.
    if (program.op(application) != pattern.op || arguments.size() != pattern.arguments.size()) return false;
    const auto fit = [&](bool turned) {
      for (size_t k = 0; k < arguments.size(); ++k)
        if (!is_there(pattern.arguments[k], arguments[turned ? 1 - k : k])) return false;
      return true;
    };
    return fit(false) || (there.turns[static_cast<size_t>(pattern.id - there.first_id)] && fit(true));
  };
  for (size_t k = 0; k < there.sources.size(); ++k)
    if (!is_there(there.sources[k], match.roots[k])) return false;
  return true;
}

bool Substitutions::is_match(const Program& program, const Match& match) {
  return is_still_there(program, match) && guard_holds(program, match) && is_proved(program, match);
}

bool Substitutions::guard_holds(const Program& program, const Match& match) {
  Guard& there = guard(match.substitution, program, match.values);
  if (!there.fits) return false;
  if (!there.holds && !puts_off_proofs_)
    there.holds = replay(*list_[static_cast<size_t>(match.substitution)], program, match.values);
  bool holds = there.holds.value_or(true);
  for (size_t k = 0; holds && k < match.applications.size(); ++k)
    holds = program.application(match.applications[k]).operation == there.operations[k];
  return holds;
}

bool Substitutions::is_proved(const Program& program, const Match& match) {
  Guard& there = guard(match.substitution, program, match.values);
  if (there.fits && !there.holds)
    there.holds = replay(*list_[static_cast<size_t>(match.substitution)], program, match.values);
  return there.fits && *there.holds;
}

}  // namespace isomer::substitutions
