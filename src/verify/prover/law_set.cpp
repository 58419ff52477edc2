#include "verify/prover/law_set.h"

#include <algorithm>

#include "graph/te/expr.h"
#include "graph/te/symbols.h"
#include "util/check.h"
#include "verify/proof/law_family.h"
#include "verify/prover/bound_names.h"

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
               (binary->op == te::BinaryOp::kEqual || binary->op == te::BinaryOp::kLess ||
                binary->op == te::BinaryOp::kLessEqual)) {
      result_->comparisons.push_back(
          {binary->op, integer_of(Dim(binary->left), *result_), integer_of(Dim(binary->right), *result_)});
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
      if (argument.kind == Pattern::Kind::kVariable && uses_[argument.variable] > 1)
        pattern.depth = std::max(pattern.depth, 1);
    }
  }

  /// Where the source does not bind what the target names, a part of the target must be there too: the largest that
  /// does, so that few terms are made that nobody asked for.
  void add_directions(const Pattern& source, const Pattern& target) {
    PreparedLaw::Direction sought;
    if (source.kind == Pattern::Kind::kApplication) {
      sought.push_back(&source);
      if (bind_all(sought, *result_)) {
        result_->directions.push_back(std::move(sought));
        return;
      }
    }
    std::vector<const Pattern*> parts = applications_of(target, false);
    std::erase_if(parts, [&](const Pattern* part) {
      PreparedLaw::Direction with = sought;
      with.push_back(part);
      return !bind_all(with, *result_);
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
  for (size_t k = 0; k < axioms_.size(); ++k)
    prepared_.push_back(Preparation(axioms_[k], static_cast<int>(k), next_id).take());
}

Bindings LawSet::bindings(const PreparedLaw& law, const SlotValues& values, std::span<const Term> tensors) const {
  Bindings result;
  for (size_t k = 0; k < law.tensors.size(); ++k) result.tensors.emplace(law.tensors[k], tensors[k]);
  for (size_t k = 0; k < law.integers.size(); ++k) result.integers.emplace(law.integers[k], *values.integers[k]);
  for (size_t k = 0; k < law.rests.size(); ++k)
    result.rests.emplace(law.rests[k], signatures_.operation(values.rests[k]).parameters);
  return result;
}

}  // namespace isomer::verify
