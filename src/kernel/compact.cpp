#include "kernel/compact.h"

#include <algorithm>

#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The innermost list of statements that holds all uses of the buffer, outside of vectorized loops: each lane has elements
/// of its own.
const Statements& common_list(const Statements& statements, int buffer) {
  const Statement* user = nullptr;
  for (const Statement& statement : statements) {
    if (!touches(statement, buffer)) continue;
    if (user) return statements;
    user = &statement;
  }
  const auto* loop = user ? std::get_if<Loop>(&user->node) : nullptr;
  return loop && loop->kind != LoopKind::kVectorized ? common_list(loop->body, buffer) : statements;
}

}  // namespace

void compact(Kernel& kernel) {
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const int buffer = static_cast<int>(b);
    if (kernel.buffers[b].scope == Scope::kArgument) continue;
    const Region region = region_of(kernel, common_list(kernel.body, buffer), buffer, Access::kEither);
    Shape& shape = kernel.buffers[b].shape;
    for (size_t k = 0; k < shape.size(); ++k) shape[k] = region.empty() ? Dim(0) : Dim(region[k].extent);
    const auto relative = [&](std::vector<Expr> index) {
      for (size_t k = 0; k < index.size(); ++k) index[k] = te::simplify_index(index[k] - region[k].minimum);
      return index;
    };
    rewrite_expressions(kernel.body, [&](const Expr& expr) {
      return te::transform(expr, [&](const Expr& e) -> Expr {
        const auto* load = te::as<te::Load>(e);
        return load && load->buffer.index == buffer ? load_buffer(kernel, buffer, relative(load->index)) : Expr();
      });
    });
    edit_blocks(kernel.body, [&](Block& block) {
      for (Write& write : block.writes)
        if (write.buffer == buffer) write.index = relative(write.index);
    });
  }
}

}  // namespace isomer::kernel
