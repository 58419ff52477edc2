#include "kernel/micro_kernel.h"
#include "kernel/micro_tile.h"
#include "kernel/mma.h"
#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {

Result<void> tensorize(Kernel& kernel, LoopId id, const std::string& tile) {
  TRY(const Place outermost, find_loop(kernel, id.variable));
  for (size_t k = 0; k < kernel.micro_kernels.size(); ++k) {
    if (kernel.micro_kernels[k]->name != tile) continue;
    outermost.loop().annotations[kMicroKernel] = static_cast<int64_t>(k);
    return check_micro_kernels(kernel);
  }
  if (const MmaShape* shape = mma_shape(tile)) {
    outermost.loop().annotations[kMma] = 1;
    std::vector<const Loop*> around;
    for (const Loop* loop : outermost.loops())
      if (loop != &outermost.loop()) around.push_back(loop);
    TRY(const MmaCall call, mma_call(kernel, outermost.loop(), around));
    if (call.shape != shape) return invalid(tile, "{} expected for such operands", call.shape->name);
    return {};
  }
  TRY(const TileName name, parse_tile_name(tile));
  std::vector<LoopId> loops;
  int64_t results = 1;
  const Statement* statement = &outermost.statement();
  for (const Loop* loop = &outermost.loop(); loop != nullptr; loop = std::get_if<Loop>(&statement->node)) {
    const auto extent = te::as_constant(loop->extent);
    if (loops.size() >= name.extents.size() || extent != name.extents[loops.size()] || loop->body.size() != 1)
      return invalid(tile, "loops of these extents around one block expected, k{} is another one", loop->variable);
    loops.push_back({loop->variable});
    statement = &loop->body[0];
  }
  const auto* block = std::get_if<Block>(&statement->node);
  if (!block || !block->is_reduction() || block->writes.size() != 1 || loops.size() != name.extents.size())
    return invalid(tile, "{} loops around one reduction with one result expected", name.extents.size());
  for (size_t k = 0; k + 1 < loops.size(); ++k)
    if (!reads_any(block->reduce, loops[k].variable)) results *= name.extents[k];
  const int64_t bits = name.extents.back() * bit_width(kernel.buffers[block->writes[0].buffer].dtype);
  if (bits > name.unit.bits) return invalid(tile, "lanes of at most {} bits expected, {} found", name.unit.bits, bits);
  if (const int64_t needed = registers_of(name.unit, results, 1, 1); needed > name.unit.registers)
    return invalid(tile, "a tile for {} registers expected, {} are needed", name.unit.registers, needed);
  for (size_t k = 0; k + 1 < loops.size(); ++k) TRY_VOID(unroll(kernel, loops[k]));
  return vectorize(kernel, loops.back());
}

}  // namespace isomer::kernel::primitives
