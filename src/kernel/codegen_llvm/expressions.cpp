#include "kernel/codegen_llvm/expressions.h"

#include <numeric>

#include "kernel/codegen_llvm/arithmetic.h"
#include "kernel/codegen_llvm/convert.h"
#include "kernel/narrow_floats.h"
#include "kernel/words.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

using runtime::Outcome;
using te::BinaryOp;

int64_t constant_of(llvm::Value* value) { return llvm::cast<llvm::ConstantInt>(value)->getSExtValue(); }
bool is_constant(llvm::Value* value) { return llvm::isa<llvm::ConstantInt>(value); }

}  // namespace

llvm::BasicBlock* Expressions::new_block(const char* name) {
  return llvm::BasicBlock::Create(build_.getContext(), name, build_.GetInsertBlock()->getParent());
}

void Expressions::forget() {
  for (auto& values : known_) values.clear();
}

llvm::Value* Expressions::evaluate(const Expr& expr) {
  for (const auto& values : known_)
    if (const auto found = values.find(&*expr); found != values.end()) return found->second;
  llvm::Value* const value = compute(expr);
  known_.back()[&*expr] = value;
  return value;
}

llvm::Value* Expressions::evaluate_rounded(const Expr& expr) {
  llvm::Value* const value = evaluate(expr);
  const bool is_done = !is_unrounded(expr, [&](int buffer) { return memory_.is_kept_wide(buffer); });
  return is_done ? value : rounded(site_, expr.dtype(), value);
}

llvm::Value* Expressions::compute(const Expr& expr) {
  return te::visit(
      expr, [&](const te::Literal& e) { return literal(build_, e.value, expr.dtype()); },
      [&](const te::Var& e) { return variable(e); },
      [&](const te::Symbol& e) -> llvm::Value* { fail_unsupported("the size '{}' is not known", e.name); },
      [&](const te::Unary& e) { return apply(site_, e.op, e.operand.dtype(), evaluate(e.operand)); },
      [&](const te::Binary& e) { return binary(expr, e); }, [&](const te::Select& e) { return select(e); },
      [&](const te::Cast& e) { return converted(site_, e.operand.dtype(), expr.dtype(), evaluate(e.operand)); },
      [&](const te::Load&) { return load(expr); });
}

llvm::Value* Expressions::variable(const te::Var& variable) const {
  const auto component = [&](const std::vector<llvm::Value*>* side) {
    CHECK(side && variable.index < static_cast<int>(side->size())) << "operand " << variable.index;
    return (*side)[variable.index];
  };
  switch (variable.kind) {
    case te::VarKind::kLoop: {
      const auto found = environment_.loops.find(variable.index);
      CHECK(found != environment_.loops.end()) << "k" << variable.index << " outside its loop";
      return found->second;
    }
    case te::VarKind::kLeft: return component(environment_.left);
    case te::VarKind::kRight: return component(environment_.right);
    case te::VarKind::kSpatial:
    case te::VarKind::kReduce:
    case te::VarKind::kTime: break;
  }
  CHECK(false) << "an iterator that is not bound";
  return nullptr;
}

llvm::Value* Expressions::binary(const Expr& expr, const te::Binary& e) {
  if (e.op == BinaryOp::kOr && expr.dtype() == DataType::kUInt32)
    if (llvm::Value* const whole = word(expr)) return whole;
  if (is_comparison(e.op) && e.left.dtype() == DataType::kInt64 && environment_.lanes > 1 &&
      !plans_.sizes().reads_data(expr))
    if (llvm::Value* const result = compare_indices(expr, e)) return result;
  const bool is_rounded = compares_rounded(e);
  llvm::Value* a = is_rounded ? evaluate_rounded(e.left) : evaluate(e.left);
  llvm::Value* b = is_rounded ? evaluate_rounded(e.right) : evaluate(e.right);
  match_lanes(build_, a, b);
  const bool is_literal = te::as_constant(e.right).value_or(0) != 0;
  if (!divides(e.op) || is_float(e.left.dtype()) || is_literal) return apply(site_, e.op, e.left.dtype(), a, b);
  llvm::Value* const is_zero = build_.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
  require(build_.CreateNot(is_zero), Outcome::kDivisionByZero);
  // Lanes that are not active may have gone on with a 0.
  return apply(site_, e.op, e.left.dtype(), a,
               build_.CreateSelect(is_zero, llvm::ConstantInt::get(b->getType(), 1), b));
}

/// A comparison of sums of loop variables is one with 0, by small integers: base + lane * stride, the base clamped.
llvm::Value* Expressions::compare_indices(const Expr& expr, const te::Binary& e) {
  constexpr int64_t kLimit = int64_t{1} << 30;
  const te::Polynomial& polynomial = plans_.difference(expr);
  if (!polynomial.is_exact()) return nullptr;
  const Position difference = position(polynomial, true);
  if (!difference.is_regular() || std::abs(difference.stride) > kLimit / environment_.lanes) return nullptr;
  llvm::Value* base = build_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, difference.base, build_.getInt64(kLimit));
  base = build_.CreateTrunc(build_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, base, build_.getInt64(-kLimit)),
                            build_.getInt32Ty());
  if (difference.stride != 0) {
    std::vector<llvm::Constant*> steps;
    for (int k = 0; k < environment_.lanes; ++k)
      steps.push_back(build_.getInt32(static_cast<uint32_t>(k * difference.stride)));
    base = build_.CreateAdd(spread(build_, base, environment_.lanes), llvm::ConstantVector::get(steps));
  }
  llvm::Constant* const zero = llvm::Constant::getNullValue(base->getType());
  if (e.op == BinaryOp::kEqual) return build_.CreateICmpEQ(base, zero);
  return e.op == BinaryOp::kLess ? build_.CreateICmpSGT(base, zero) : build_.CreateICmpSGE(base, zero);
}

// Control flow

void Expressions::require(llvm::Value* condition, Outcome outcome) {
  if (environment_.mask && lanes_of(condition) == 1) condition = spread(build_, condition, environment_.lanes);
  if (environment_.mask) condition = build_.CreateOr(condition, build_.CreateNot(environment_.mask));
  if (is_always(condition)) return;
  if (lanes_of(condition) > 1) condition = build_.CreateAndReduce(condition);
  llvm::BasicBlock* const next = new_block("checked");
  build_.CreateCondBr(condition, next, failure_(outcome));
  build_.SetInsertPoint(next);
}

void Expressions::branch(llvm::Value* condition, const std::function<void()>& then,
                         const std::function<void()>& otherwise) {
  CHECK(lanes_of(condition) == 1) << "lanes can't part ways";
  if (is_always(condition)) return then();
  if (is_never(condition)) return otherwise();
  llvm::BasicBlock *const yes = new_block("then"), *const no = new_block("else"), *const end = new_block("end");
  build_.CreateCondBr(condition, yes, no);
  for (const auto& [block, body] : {std::pair(yes, &then), std::pair(no, &otherwise)}) {
    build_.SetInsertPoint(block);
    known_.emplace_back();
    (*body)();
    known_.pop_back();
    build_.CreateBr(end);
  }
  build_.SetInsertPoint(end);
}

llvm::Value* Expressions::chosen(llvm::Value* condition, const Make& then, const Make& otherwise) {
  if (is_always(condition)) return then();
  if (is_never(condition)) return otherwise();
  llvm::Value* values[2];
  llvm::BasicBlock* blocks[2];
  const auto side = [&](int k, const Make& make) {
    values[k] = make();
    blocks[k] = build_.GetInsertBlock();
  };
  branch(condition, [&] { side(0, then); }, [&] { side(1, otherwise); });
  // Lanes are the same on both sides where they meet.
  const int lanes = std::max(lanes_of(values[0]), lanes_of(values[1]));
  for (int k = 0; k < 2; ++k) {
    const Builder::InsertPointGuard guard(build_);
    build_.SetInsertPoint(blocks[k]->getTerminator());
    values[k] = spread(build_, values[k], lanes);
  }
  llvm::PHINode* const result = build_.CreatePHI(values[0]->getType(), 2);
  for (int k = 0; k < 2; ++k) result->addIncoming(values[k], blocks[k]);
  return result;
}

/// The value in lanes where the condition holds.
llvm::Value* Expressions::under(llvm::Value* condition, const Expr& expr) {
  llvm::Value* const outer = environment_.mask;
  environment_.mask = outer ? build_.CreateAnd(outer, condition) : condition;
  known_.emplace_back();
  llvm::Value* const value = evaluate(expr);
  known_.pop_back();
  environment_.mask = outer;
  return value;
}

llvm::Value* Expressions::select(const te::Select& e) {
  llvm::Value* const condition = evaluate(e.condition);
  if (is_always(condition)) return evaluate(e.then);
  if (is_never(condition)) return evaluate(e.otherwise);
  const bool is_guard = plans_.may_fault(e.then) || plans_.may_fault(e.otherwise);
  if (is_guard && lanes_of(condition) == 1)
    return chosen(condition, [&] { return evaluate(e.then); }, [&] { return evaluate(e.otherwise); });
  llvm::Value* then = is_guard ? under(condition, e.then) : evaluate(e.then);
  llvm::Value* otherwise = is_guard ? under(build_.CreateNot(condition), e.otherwise) : evaluate(e.otherwise);
  match_lanes(build_, then, otherwise);
  if (lanes_of(condition) > 1)
    then = spread(build_, then, lanes_of(condition)), otherwise = spread(build_, otherwise, lanes_of(condition));
  return build_.CreateSelect(condition, then, otherwise);
}

// Elements

llvm::Value* Expressions::load(const Expr& expr) {
  if (const auto given = given_.find(&*expr); given != given_.end()) return given->second;
  const AccessPlan& access = plans_.of_load(expr);
  const Position at = position(access);
  llvm::Value* const mask = access.is_proved ? nullptr : environment_.mask;
  if (!mask || !at.is_uniform()) return memory_.load(access.buffer, at, environment_.lanes, mask);
  return chosen(
      build_.CreateOrReduce(mask), [&] { return memory_.load(access.buffer, at, 1, nullptr); },
      [&] { return llvm::Constant::getNullValue(register_type(build_, expr.dtype())); });
}

/// A word whose parts lie one after the other is loaded at once; nullptr: it is none.
llvm::Value* Expressions::word(const Expr& expr) {
  const std::vector<Expr> loads = loads_of_word(expr);
  if (loads.empty()) return nullptr;
  const AccessPlan first = plans_.of_load(loads[0]);
  for (size_t k = 0; k < loads.size(); ++k) {
    const AccessPlan& access = plans_.of_load(loads[k]);
    const te::Polynomial distance = access.offset - first.offset;
    if (access.buffer != first.buffer || !access.is_proved || !access.axes.empty() || !distance.terms.empty() ||
        distance.constant != static_cast<int64_t>(k))
      return nullptr;
  }
  const Position at = position(first);
  const bool is_row = at.is_regular() && at.stride == static_cast<int64_t>(loads.size());
  if (!at.is_uniform() && !is_row) return nullptr;
  return memory_.load_words(first.buffer, at, environment_.lanes);
}

Position Expressions::position(const AccessPlan& access) {
  Position result = position(access.offset, false);
  const bool is_first_only = access.axes.size() == 1 && access.offset.is(0);
  for (const AccessPlan::Axis& axis : access.axes) {
    Position index = position(axis.index, true);
    if (axis.is_checked) check(index, memory_.extent(access.buffer, axis.axis));
    llvm::Value* pitch = build_.getInt64(1);
    for (int k = memory_.rank(access.buffer) - 1; k > axis.axis; --k)
      pitch = build_.CreateMul(pitch, memory_.extent(access.buffer, k));
    index = scaled(index, pitch);
    result = is_first_only ? index : sum(result, index);
  }
  return result;
}

void Expressions::check(const Position& index, llvm::Value* extent) {
  llvm::Value *values = index.is_uniform() ? index.base : numbers_of(build_, index, environment_.lanes),
              *limit = extent;
  match_lanes(build_, values, limit);
  // As unsigned numbers, negative indices are beyond all extents.
  require(build_.CreateICmpULT(values, limit), Outcome::kIndexOutOfRange);
}

/// Indices that loop variables alone decide are in range where they are used: their arithmetic does not wrap.
Position Expressions::position(const te::Polynomial& polynomial, bool may_wrap) {
  Position result{build_.getInt64(polynomial.constant), 0, nullptr, std::abs(polynomial.constant)};
  int64_t constant = polynomial.constant;
  llvm::Value* base = nullptr;
  llvm::Value* lanes = nullptr;
  const bool no_wrap = !may_wrap;
  const auto add = [&](llvm::Value*& total, llvm::Value* part) {
    if (total) match_lanes(build_, total, part);
    total = total ? build_.CreateAdd(total, part, "", false, no_wrap) : part;
  };
  int64_t multiple = 0;
  for (const te::Term& term : polynomial.terms) {
    const auto* variable = term.factors.size() == 1 ? te::as<te::Var>(term.factors[0]) : nullptr;
    if (variable && environment_.lanes > 1 && variable->kind == te::VarKind::kLoop &&
        variable->index == environment_.vector_variable) {
      result.stride += term.coefficient;
      continue;
    }
    llvm::Value* product = build_.getInt64(term.coefficient);
    for (const Expr& factor : term.factors) {
      llvm::Value* value = evaluate(factor);
      match_lanes(build_, product, value);
      product = build_.CreateMul(value, product, "", false, no_wrap);
    }
    if (is_constant(product)) {
      constant += constant_of(product);
    } else {
      add(lanes_of(product) > 1 ? lanes : base, product);
      multiple = std::gcd(multiple, term.coefficient);
    }
  }
  if (constant != 0 || !base) add(base, build_.getInt64(constant));
  result.base = base;
  result.multiple = std::gcd(multiple, constant);
  if (lanes) {
    if (const auto known = integers_of(lanes)) return with_steps(std::move(result), *known);
    const Position regular{base, result.stride, nullptr, 1};
    result.numbers = build_.CreateAdd(lanes, numbers_of(build_, regular, environment_.lanes), "", false, no_wrap);
    result.stride = 0;
  }
  return result;
}

Position Expressions::with_steps(Position position, std::vector<int64_t> steps) {
  for (size_t k = 0; k < steps.size(); ++k) steps[k] += static_cast<int64_t>(k) * position.stride;
  const int64_t first = steps[0], stride = steps[1] - first;
  position.stride = 0;
  bool is_regular = true;
  for (size_t k = 0; k < steps.size(); ++k) is_regular &= steps[k] == first + static_cast<int64_t>(k) * stride;
  if (!is_regular) {
    position.steps = std::move(steps);
    return position;
  }
  if (first != 0) position.base = build_.CreateAdd(position.base, build_.getInt64(static_cast<uint64_t>(first)));
  position.multiple = std::gcd(position.multiple, first);
  position.stride = stride;
  return position;
}

Position Expressions::scaled(Position position, llvm::Value* factor) {
  if (is_constant(factor) && constant_of(factor) == 1) return position;
  if (!position.numbers && !position.is_uniform() && !is_constant(factor))
    position = {position.base, 0, numbers_of(build_, position, environment_.lanes), position.multiple};
  if (position.numbers) {
    position.numbers = build_.CreateMul(position.numbers, spread(build_, factor, lanes_of(position.numbers)));
    return position;
  }
  position.base = build_.CreateMul(position.base, factor);
  position.stride = position.stride == 0 ? 0 : position.stride * constant_of(factor);
  for (int64_t& step : position.steps) step *= constant_of(factor);
  position.multiple = is_constant(factor) ? position.multiple * constant_of(factor) : position.multiple;
  return position;
}

Position Expressions::sum(const Position& a, const Position& b) {
  Position result{nullptr, 0, nullptr, std::gcd(a.multiple, b.multiple)};
  if (a.numbers || b.numbers) {
    llvm::Value* const first = numbers_of(build_, a, environment_.lanes);
    result.numbers = build_.CreateAdd(first, numbers_of(build_, b, environment_.lanes));
    return result;
  }
  result.base = build_.CreateAdd(a.base, b.base);
  if (a.is_regular() && b.is_regular()) {
    result.stride = a.stride + b.stride;
    return result;
  }
  std::vector<int64_t> steps;
  for (int k = 0; k < environment_.lanes; ++k) steps.push_back(step_of(a, k) + step_of(b, k));
  return with_steps(std::move(result), std::move(steps));
}

}  // namespace isomer::kernel::codegen
