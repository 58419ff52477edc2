#include "kernel/ahead.h"

#include <algorithm>
#include <map>

#include "kernel/access.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The loops of the tile in a loop's body, and the reduction in it; nothing where something else is there.
const Block* block_of_tile(const Loop& innermost, std::vector<const Loop*>& tile) {
  const Loop* loop = &innermost;
  while (loop->body.size() == 1) {
    if (const auto* block = std::get_if<Block>(&loop->body[0].node)) return block->is_reduction() ? block : nullptr;
    loop = std::get_if<Loop>(&loop->body[0].node);
    if (!loop) return nullptr;
    tile.push_back(loop);
  }
  return nullptr;
}

}  // namespace

std::vector<NextRead> next_reads(const Kernel& kernel, const Loop& loop, const std::vector<const Loop*>& inside,
                                 const te::Ranges& ranges) {
  std::vector<const Loop*> all = inside;
  const Block* block = inside.empty() ? nullptr : block_of_tile(*inside.back(), all);
  std::vector<NextRead> result;
  if (!block || std::any_of(all.begin(), all.end(), [](const Loop* each) { return !te::as_constant(each->extent); }))
    return result;
  std::map<int, Expr> none;
  for (const Loop* each : all) none.emplace(each->variable, te::index(0));
  for (const Expr& body : block->bodies)
    te::for_each_node(bind_iterators(*block, body), [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load || kernel.buffers[load->buffer.index].scope != Scope::kArgument) return;
      const Expr offset = offset_of(kernel.buffers[load->buffer.index], load->index);
      if (te::has_load(offset) || !depends_on(offset, loop.variable)) return;
      const auto at = [&](const std::map<int, Expr>& values) {
        return te::simplify_index(substitute(offset, values), ranges);
      };
      const Expr start = at(none);
      // As many elements as iterations reach, and all of them: no gaps, none read twice.
      int64_t elements = 1, reach = 1;
      for (const Loop* each : all) {
        std::map<int, Expr> one = none;
        one[each->variable] = te::index(1);
        const auto step = te::as_constant(te::simplify_index(at(one) - start, ranges));
        if (!step || *step < 0) return;
        const int64_t extent = *te::as_constant(each->extent);
        if (*step > 0) elements *= extent;
        reach += *step * (extent - 1);
      }
      if (elements != reach) return;
      none[loop.variable] = loop_variable(loop.variable) + 1;
      NextRead read{load->buffer.index, at(none), elements};
      none.erase(loop.variable);
      if (std::find(result.begin(), result.end(), read) == result.end()) result.push_back(std::move(read));
    });
  return result;
}

}  // namespace isomer::kernel
