#include "kernel/loop_nest.h"

#include "util/check.h"

namespace isomer::kernel {

Loop::Loop() = default;
Loop::Loop(int number, Expr count, bool in_order) : variable(number), extent(std::move(count)), ordered(in_order) {}

int Kernel::find_buffer(std::string_view name) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].name == name) return static_cast<int>(i);
  return -1;
}

te::Interval LoopRanges::interval(int variable) const {
  const auto found = extents_.find(variable);
  if (found == extents_.end()) return {};
  const te::Interval extent = te::bounds(found->second);
  return {0, extent.high ? std::optional(*extent.high - 1) : std::nullopt};
}

const Expr* LoopRanges::extent(int variable) const {
  const auto found = extents_.find(variable);
  return found == extents_.end() ? nullptr : &found->second;
}

te::Ranges LoopRanges::ranges() const {
  return [this](const Expr& leaf) -> te::Interval {
    if (const auto* variable = te::as<te::Var>(leaf); variable && variable->kind == te::VarKind::kLoop)
      return interval(variable->index);
    return {};
  };
}

Expr bind_iterators(const Block& block, const Expr& expr) {
  return te::transform(expr, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    if (!variable) return {};
    if (variable->kind == te::VarKind::kSpatial) return block.axes[variable->index].binding;
    if (variable->kind == te::VarKind::kReduce) return block.reduce[variable->index].binding;
    return {};
  });
}

std::string_view name(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial: return "";
    case LoopKind::kParallel: return "parallel";
    case LoopKind::kVectorized: return "vectorized";
    case LoopKind::kUnrolled: return "unrolled";
    case LoopKind::kBlockX: return "block.x";
    case LoopKind::kBlockY: return "block.y";
    case LoopKind::kBlockZ: return "block.z";
    case LoopKind::kThreadX: return "thread.x";
    case LoopKind::kThreadY: return "thread.y";
    case LoopKind::kThreadZ: return "thread.z";
  }
  return "";
}

}  // namespace isomer::kernel
