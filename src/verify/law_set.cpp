#include "verify/law_set.h"

#include <algorithm>
#include <functional>
#include <set>

#include "graph/te/expr.h"
#include "util/check.h"
#include "verify/law_instances.h"

namespace isomer::verify {
namespace {

class Preparation {
 public:
  Preparation(const StatedAxiom& stated, int index, int& next_id) {
    const Law& law = stated.law;
    result_->index = index;
    result_->family = stated.axiom->shapes;
    result_->left = pattern_of(law.left, *result_, next_id);
    result_->right = pattern_of(law.right, *result_, next_id);
    if (law.condition) conjunct(law.condition);
    result_->find_dims();
    const auto ranks = ranks_said(law);
    for (const std::string& name : result_->tensors) result_->says_rank.push_back(ranks.contains(name));
    find_repeated(result_->left);
    find_repeated(result_->right);
    set_depth(result_->left);
    set_depth(result_->right);
    add_directions(result_->left, result_->right);
    add_directions(result_->right, result_->left);
  }

  std::unique_ptr<PreparedLaw> take() { return std::move(result_); }

 private:
  void conjunct(const te::Expr& condition) {
    const auto* binary = te::as<te::Binary>(condition);
    if (binary && binary->op == te::BinaryOp::kAnd) {
      conjunct(binary->left);
      conjunct(binary->right);
    } else if (binary && binary->left.dtype() == DataType::kInt64 &&
               (binary->op == te::BinaryOp::kEqual || binary->op == te::BinaryOp::kLess || binary->op == te::BinaryOp::kLessEqual)) {
      result_->comparisons.push_back({binary->op, integer_of(Dim(binary->left), *result_), integer_of(Dim(binary->right), *result_)});
    } else {
      for (const std::string& name : names(condition)) slot_of(result_->integers, name);
      result_->condition = result_->condition ? result_->condition && condition : condition;
    }
  }

  void find_repeated(const Pattern& pattern) {
    if (pattern.kind == Pattern::Kind::kVariable) ++uses_[pattern.variable];
    for (const Pattern& argument : pattern.arguments) find_repeated(argument);
  }

  void set_depth(Pattern& pattern) {
    for (Pattern& argument : pattern.arguments) {
      set_depth(argument);
      if (argument.kind == Pattern::Kind::kApplication) pattern.depth = std::max(pattern.depth, argument.depth + 1);
      if (argument.kind == Pattern::Kind::kVariable && uses_[argument.variable] > 1) pattern.depth = std::max(pattern.depth, 1);
    }
  }

  /// Which slots are bound once these patterns are found.
  bool binds_all(const PreparedLaw::Direction& sought) const {
    std::vector<bool> tensors(result_->tensors.size()), integers(result_->integers.size()), rests(result_->rests.size());
    std::vector<const Integer*> equations;
    const std::function<void(const Pattern&)> read = [&](const Pattern& pattern) {
      if (pattern.kind == Pattern::Kind::kVariable) tensors[static_cast<size_t>(pattern.variable)] = true;
      if (pattern.rest >= 0) rests[static_cast<size_t>(pattern.rest)] = true;
      for (const Pattern::Named& named : pattern.named)
        for (const Integer& each : named.integers) equations.push_back(&each);
      for (const Pattern& argument : pattern.arguments) read(argument);
    };
    for (const Pattern* pattern : sought) read(*pattern);
    for (const DimSlot& dim : result_->dims)
      if (tensors[static_cast<size_t>(dim.variable)]) integers[static_cast<size_t>(dim.slot)] = true;
    for (bool changed = true; changed;) {
      changed = false;
      for (const Integer* equation : equations) {
        int unknown = -1, count = 0;
        for (const int slot : equation->slots)
          if (!integers[static_cast<size_t>(slot)]) {
            unknown = slot;
            ++count;
          }
        if (count != 1 || equation->other) continue;
        integers[static_cast<size_t>(unknown)] = changed = true;
      }
    }
    const auto all = [](const std::vector<bool>& bound) { return std::find(bound.begin(), bound.end(), false) == bound.end(); };
    return all(tensors) && all(integers) && all(rests);
  }

  static void parts_of(const Pattern& pattern, std::vector<const Pattern*>& parts) {
    for (const Pattern& argument : pattern.arguments) {
      if (argument.kind == Pattern::Kind::kApplication) parts.push_back(&argument);
      parts_of(argument, parts);
    }
  }

  /// Where the source does not bind what the target names, a part of the target must be there too: the largest that does, so that
  /// few terms are made that nobody asked for.
  void add_directions(const Pattern& source, const Pattern& target) {
    PreparedLaw::Direction sought;
    if (source.kind == Pattern::Kind::kApplication) {
      sought.push_back(&source);
      if (binds_all(sought)) {
        result_->directions.push_back(std::move(sought));
        return;
      }
    }
    std::vector<const Pattern*> parts;
    parts_of(target, parts);
    std::erase_if(parts, [&](const Pattern* part) {
      PreparedLaw::Direction with = sought;
      with.push_back(part);
      return !binds_all(with);
    });
    int largest = 0;
    for (const Pattern* part : parts) largest = std::max(largest, part->operators);
    for (const Pattern* part : parts) {
      if (part->operators < largest) continue;
      result_->directions.push_back(sought);
      result_->directions.back().push_back(part);
    }
  }

  std::unique_ptr<PreparedLaw> result_ = std::make_unique<PreparedLaw>();
  std::map<int, int> uses_;  ///< how often a variable stands in the law
};

}  // namespace

LawSet::LawSet(std::vector<StatedAxiom> axioms) : axioms_(std::move(axioms)) {
  int next_id = 0;
  for (size_t k = 0; k < axioms_.size(); ++k) prepared_.push_back(Preparation(axioms_[k], static_cast<int>(k), next_id).take());
}

Bindings LawSet::bindings(const PreparedLaw& law, const SlotValues& values, std::span<const Term> tensors) const {
  Bindings result;
  for (size_t k = 0; k < law.tensors.size(); ++k) result.tensors.emplace(law.tensors[k], tensors[k]);
  for (size_t k = 0; k < law.integers.size(); ++k) result.integers.emplace(law.integers[k], *values.integers[k]);
  for (size_t k = 0; k < law.rests.size(); ++k) result.rests.emplace(law.rests[k], signatures_.operation(values.rests[k]).parameters);
  return result;
}

}  // namespace isomer::verify
