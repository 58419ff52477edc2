// Tensor expressions as code: a value of one lane, or of all lanes where the variable of the vectorized loop around has
// a part in it.
#pragma once

#include <functional>

#include "kernel/access_plan.h"
#include "kernel/codegen_llvm/environment.h"
#include "kernel/codegen_llvm/memory.h"

namespace isomer::kernel::codegen {

class Expressions {
 public:
  /// Where a check fails, code goes on at `failure(outcome)`.
  Expressions(const Site& site, Environment& environment, Memory& memory, AccessPlans& plans,
              std::function<llvm::BasicBlock*(runtime::Outcome)> failure)
      : site_(site),
        build_(site.build),
        environment_(environment),
        memory_(memory),
        plans_(plans),
        failure_(std::move(failure)) {}

  /// Values stay known, until they are forgotten: before loads may read something else, and where control flow meets.
  llvm::Value* evaluate(const Expr& expr);
  /// A number that the expression's type has, where that is computed with as a wider one (narrow_floats.h).
  llvm::Value* evaluate_rounded(const Expr& expr);
  void forget();

  /// Loads that have these values, in whatever is evaluated until others are given.
  void give(std::unordered_map<const te::ExprNode*, llvm::Value*> loads) { given_ = std::move(loads); }

  /// Where the elements lie that an access means; indices that data decide are checked.
  Position position(const AccessPlan& access);
  /// Goes on where the condition holds in all active lanes; otherwise the part ends with the outcome.
  void require(llvm::Value* condition, runtime::Outcome outcome);
  /// then() where the condition, a scalar, holds, else otherwise().
  void branch(llvm::Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise);
  /// A new block, not yet entered.
  llvm::BasicBlock* new_block(const char* name);

 private:
  using Make = std::function<llvm::Value*()>;

  llvm::Value* compute(const Expr& expr);
  llvm::Value* variable(const te::Var& variable) const;
  llvm::Value* binary(const Expr& expr, const te::Binary& e);
  llvm::Value* compare_indices(const Expr& expr, const te::Binary& e);
  llvm::Value* select(const te::Select& e);
  llvm::Value* load(const Expr& expr);
  llvm::Value* word(const Expr& expr);
  llvm::Value* under(llvm::Value* condition, const Expr& expr);
  llvm::Value* chosen(llvm::Value* condition, const Make& then, const Make& otherwise);
  Position position(const te::Polynomial& polynomial, bool may_wrap);
  /// Lanes that lie so far from the base, beside the position's stride.
  Position with_steps(Position position, std::vector<int64_t> steps);
  Position scaled(Position position, llvm::Value* factor);
  Position sum(const Position& a, const Position& b);
  void check(const Position& index, llvm::Value* extent);

  const Site& site_;
  Builder& build_;
  Environment& environment_;
  Memory& memory_;
  AccessPlans& plans_;
  std::function<llvm::BasicBlock*(runtime::Outcome)> failure_;
  std::unordered_map<const te::ExprNode*, llvm::Value*> given_;
  /// By node; the innermost branch or mask last.
  std::vector<std::unordered_map<const te::ExprNode*, llvm::Value*>> known_{1};
};

}  // namespace isomer::kernel::codegen
