#include "kernel/mma.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// What is read from memory as a float32, converted perhaps; empty: it is not.
Expr read_by(const Expr& factor) {
  if (factor.dtype() != DataType::kFloat32) return {};
  const auto* cast = te::as<te::Cast>(factor);
  const Expr& read = cast ? cast->operand : factor;
  return te::as<te::Load>(read) ? read : Expr();
}

bool reads(const Expr& expr, const Loop* loop) { return loop && expr && depends_on(expr, loop->variable); }

/// What a marked loop computes, found part by part.
class MmaRecognition {
 public:
  MmaRecognition(const Kernel& kernel, const Loop& steps) : kernel_(kernel), steps_(steps) { call_.steps = &steps; }

  /// `around`: the loops around the marked one.
  Result<MmaCall> call(const std::vector<const Loop*>& around) && {
    TRY_VOID(find_block());
    TRY_VOID(find_operands());
    if (te::as_constant(steps_.extent) != call_.shape->steps) return none(fmt::format("{} steps", call_.shape->steps));
    TRY_VOID(find_threads(around));
    if (reads(call_.rows_element, call_.thread_x)) std::swap(call_.rows_element, call_.columns_element);
    TRY_VOID(find_tile());
    // What an operand's element is decided by: its own side, the step, and what is the same for the whole warp.
    if (reads(call_.rows_element, call_.thread_x) || reads(call_.columns_element, call_.thread_y) ||
        !reads(call_.rows_element, &steps_) || !reads(call_.columns_element, &steps_))
      return none("one operand that threads along y have and one along x");
    TRY_VOID(find_bounds());
    return std::move(call_);
  }

 private:
  Error none(std::string_view expected) const {
    return invalid(fmt::format("k{}", steps_.variable), "{} expected of a loop for {}", expected,
                   call_.shape ? call_.shape->name : "tensor cores");
  }

  Result<void> find_block() {
    const Statements* body = &steps_.body;
    while (body->size() == 1 && std::holds_alternative<Loop>(body->front().node)) {
      inner_.push_back(&std::get<Loop>(body->front().node));
      body = &inner_.back()->body;
    }
    call_.block = body->size() == 1 ? std::get_if<Block>(&body->front().node) : nullptr;
    if (!call_.block) return none("nothing but loops around one block");
    const Block& block = *call_.block;
    if (!block.is_reduction() || block.initialize || block.writes.size() != 1 ||
        block.combine.name != te::sum(DataType::kFloat32).name ||
        kernel_.buffers[static_cast<size_t>(block.writes[0].buffer)].scope != Scope::kRegister)
      return none("a sum in registers, of float32, whose initialization stands elsewhere,");
    return {};
  }

  /// As they are written; which one has rows is not known yet.
  Result<void> find_operands() {
    const Expr product = bind_iterators(*call_.block, call_.block->bodies[0]);
    call_.shape = mma_of(product);
    if (!call_.shape) return none("a product of two halves of one type, or of two floats,");
    const auto* times = te::as<te::Binary>(product);
    call_.rows_element = read_by(times->left);
    call_.columns_element = read_by(times->right);
    call_.operands = call_.rows_element.dtype();
    return {};
  }

  Result<void> find_threads(const std::vector<const Loop*>& around) {
    for (const Loop* loop : around) {
      if (loop->kind == LoopKind::kThreadX) call_.thread_x = loop;
      if (loop->kind == LoopKind::kThreadY) call_.thread_y = loop;
      if (loop->kind == LoopKind::kThreadZ) return none("threads along x and y alone");
    }
    if (!call_.thread_x || te::as_constant(call_.thread_x->extent) != kMmaWide || !call_.thread_y ||
        te::as_constant(call_.thread_y->extent).value_or(1) % kMmaHigh != 0)
      return none("warps of 4 by 8 threads");
    return {};
  }

  /// A thread's rows and columns.
  Result<void> find_tile() {
    const Expr &row = call_.rows_element, &column = call_.columns_element;
    for (const Loop* loop : inner_) {
      if (loop->kind != LoopKind::kUnrolled && te::as_constant(loop->extent) != 1) return none("loops written out");
      if (te::as_constant(loop->extent) == 1) {
        call_.single.push_back(loop);
      } else if (reads(row, loop) && !reads(column, loop) && !call_.rows) {
        call_.rows = loop;
      } else if (reads(column, loop) && !reads(row, loop) && !call_.columns) {
        call_.columns = loop;
      } else {
        return none("a loop over rows and one over columns");
      }
    }
    const auto is_even = [](const Loop* loop) { return loop && *te::as_constant(loop->extent) % 2 == 0; };
    if (!is_even(call_.rows) || !is_even(call_.columns)) return none("an even number of rows and columns of a thread");
    return {};
  }

  Result<void> find_bounds() {
    for (const Expr& part : conjuncts(call_.block->predicate)) {
      if (te::has_load(part) || reads(part, &steps_)) return none("steps that are all taken");
      const bool is_row = reads(part, call_.rows) || reads(part, call_.thread_y);
      const bool is_column = reads(part, call_.columns) || reads(part, call_.thread_x);
      if (is_row == is_column) return none("bounds of rows and of columns");
      Expr& inside = is_row ? call_.rows_inside : call_.columns_inside;
      inside = inside ? inside && part : part;
    }
    return {};
  }

  const Kernel& kernel_;
  const Loop& steps_;
  std::vector<const Loop*> inner_;  ///< around the block
  MmaCall call_;
};

}  // namespace

const MmaShape* mma_shape(std::string_view name) {
  for (const MmaShape* shape : {&kMmaOfHalves, &kMmaOfFloats})
    if (shape->name == name) return shape;
  return nullptr;
}

const MmaShape* mma_of(const Expr& product) {
  const auto* times = te::as<te::Binary>(product);
  if (!times || times->op != te::BinaryOp::kMul) return nullptr;
  const Expr left = read_by(times->left), right = read_by(times->right);
  if (!left || !right || left.dtype() != right.dtype()) return nullptr;
  switch (left.dtype()) {
    case DataType::kFloat16:
    case DataType::kBFloat16: return &kMmaOfHalves;
    case DataType::kFloat32: return &kMmaOfFloats;
    default: return nullptr;
  }
}

Result<MmaCall> mma_call(const Kernel& kernel, const Loop& steps, const std::vector<const Loop*>& around) {
  return MmaRecognition(kernel, steps).call(around);
}

}  // namespace isomer::kernel
