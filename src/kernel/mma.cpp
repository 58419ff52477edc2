#include "kernel/mma.h"

#include <algorithm>
#include <set>

#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The type of a half that is read from memory and converted to float32; kUndefined: it is none.
DataType half_of(const Expr& factor) {
  const auto* cast = te::as<te::Cast>(factor);
  if (!cast || factor.dtype() != DataType::kFloat32 || !te::as<te::Load>(cast->operand)) return DataType::kUndefined;
  const DataType type = cast->operand.dtype();
  return type == DataType::kFloat16 || type == DataType::kBFloat16 ? type : DataType::kUndefined;
}

bool reads(const Expr& expr, const Loop* loop) { return loop && expr && variables(expr).contains(loop->variable); }

}  // namespace

bool is_product_of_halves(const Expr& product) {
  const auto* times = te::as<te::Binary>(product);
  return times && times->op == te::BinaryOp::kMul && half_of(times->left) != DataType::kUndefined &&
         half_of(times->left) == half_of(times->right);
}

Result<MmaCall> mma_call(const Kernel& kernel, const Loop& steps, const std::vector<const Loop*>& around) {
  const auto none = [&](std::string_view expected) {
    return invalid(fmt::format("k{}", steps.variable), "{} expected of a loop for {}", expected, kMmaName);
  };
  MmaCall call;
  call.steps = &steps;
  if (te::as_constant(steps.extent) != kMmaSteps) return none("16 steps");
  std::vector<const Loop*> inner;
  const Statements* body = &steps.body;
  while (body->size() == 1 && std::holds_alternative<Loop>(body->front().node)) {
    inner.push_back(&std::get<Loop>(body->front().node));
    body = &inner.back()->body;
  }
  call.block = body->size() == 1 ? std::get_if<Block>(&body->front().node) : nullptr;
  if (!call.block) return none("nothing but loops around one block");
  const Block& block = *call.block;
  if (!block.is_reduction() || block.initialize || block.writes.size() != 1 ||
      block.combine.name != te::sum(DataType::kFloat32).name ||
      kernel.buffers[static_cast<size_t>(block.writes[0].buffer)].scope != Scope::kRegister)
    return none("a sum in registers, of float32, whose initialization stands elsewhere,");
  const Expr product = bind_iterators(block, block.bodies[0]);
  if (!is_product_of_halves(product)) return none("a product of two halves of one type");
  const auto* times = te::as<te::Binary>(product);
  Expr one = te::as<te::Cast>(times->left)->operand, other = te::as<te::Cast>(times->right)->operand;
  call.is_bfloat = one.dtype() == DataType::kBFloat16;

  for (const Loop* loop : around) {
    if (loop->kind == LoopKind::kThreadX) call.thread_x = loop;
    if (loop->kind == LoopKind::kThreadY) call.thread_y = loop;
    if (loop->kind == LoopKind::kThreadZ) return none("threads along x and y alone");
  }
  if (!call.thread_x || te::as_constant(call.thread_x->extent) != kMmaWide || !call.thread_y ||
      te::as_constant(call.thread_y->extent).value_or(1) % kMmaHigh != 0)
    return none("warps of 4 by 8 threads");
  if (reads(one, call.thread_x)) std::swap(one, other);
  call.rows_element = one;
  call.columns_element = other;
  for (const Loop* loop : inner) {
    if (loop->kind != LoopKind::kUnrolled && te::as_constant(loop->extent) != 1) return none("loops written out");
    if (te::as_constant(loop->extent) == 1) {
      call.single.push_back(loop);
    } else if (reads(one, loop) && !reads(other, loop) && !call.rows) {
      call.rows = loop;
    } else if (reads(other, loop) && !reads(one, loop) && !call.columns) {
      call.columns = loop;
    } else {
      return none("a loop over rows and one over columns");
    }
  }
  const auto is_even = [](const Loop* loop) { return loop && *te::as_constant(loop->extent) % 2 == 0; };
  if (!is_even(call.rows) || !is_even(call.columns)) return none("an even number of rows and columns of a thread");
  // What an operand's element is decided by: its own side, the step, and what is the same for the whole warp.
  if (reads(one, call.thread_x) || reads(other, call.thread_y) || !reads(one, &steps) || !reads(other, &steps))
    return none("one operand that threads along y have and one along x");

  for (const Expr& part : conjuncts(block.predicate)) {
    if (te::has_load(part) || reads(part, &steps)) return none("steps that are all taken");
    const bool is_row = reads(part, call.rows) || reads(part, call.thread_y);
    const bool is_column = reads(part, call.columns) || reads(part, call.thread_x);
    if (is_row == is_column) return none("bounds of rows and of columns");
    Expr& inside = is_row ? call.rows_inside : call.columns_inside;
    inside = inside ? inside && part : part;
  }
  return call;
}

}  // namespace isomer::kernel
