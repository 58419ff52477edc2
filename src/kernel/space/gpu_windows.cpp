#include <algorithm>

#include "kernel/space/gpu_modules.h"
#include "kernel/space/gpu_operands.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Whether each dim of what is read is one iterator of the block.
bool is_plain(const LoadAccess& access) {
  const auto& index = te::as<te::Load>(access.load)->index;
  return std::all_of(index.begin(), index.end(), [](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    return te::as_constant(e) || (variable && variable->kind != te::VarKind::kLoop);
  });
}

/// What a block reads by more than its iterators.
std::optional<LoadAccess> window_of(const View& view, const std::string& name) {
  for (LoadAccess& access : load_accesses(view.kernel(), view.block(name)))
    if (!is_plain(access)) return std::move(access);
  return std::nullopt;
}

/// Where the first reduction is over channels that tensor cores may take step by step, at each place of a window: by
/// which of their instructions.
const MmaShape* by_channels(const View& view, const Block& block) {
  const int64_t channels = block.reduce.size() > 1 ? te::as_constant(block.reduce[0].extent).value_or(1) : 1;
  for (const MmaShape* mma : {&kMmaOfHalves, &kMmaOfFloats}) {
    const auto fits = [&](int b) {
      const DataType type = view.buffer(b).dtype;
      return is_float(type) && bit_width(type) == 8 * mma->bytes();
    };
    if (allows(view.machine(), *mma) && channels % mma->steps == 0 && std::ranges::all_of(loads(block), fits))
      return mma;
  }
  return nullptr;
}

/// Whether taking the windows of a copy in which the channels of a place lie side by side saves more than it costs.
bool is_channels_last_worth_it(const View& view, const Block& block, const LoadAccess& window, const MmaShape& mma) {
  ProductSize size;
  const Integers extents = extents_of(block);
  const auto& index = te::as<te::Load>(window.load)->index;
  for (size_t k = 0; k < extents.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    const bool is_image = std::find(index.begin(), index.end(), axis) != index.end();
    (is_image ? size.others : moves(window.axes[k]) ? size.columns : size.rows) *= extents[k];
  }
  for (size_t k = 0; k < block.reduce.size(); ++k)
    (k == 0 ? size.length : size.places) *= te::as_constant(block.reduce[k].extent).value_or(1);
  size.most_images = std::min(size.others, kMostImages);
  size.operations_of_row = kOperationsOfVector;
  ProductPlan plan;
  plan.mma = &mma;
  size.operations_of_column = kOperationsOfChannel;
  const double apart = cheapest(plan, size).cycles;
  size.operations_of_column = kOperationsOfVector;
  const int64_t bytes = 2 * mma.bytes() * element_count(view.buffer(window.buffer).shape).constant().value_or(0);
  return cheapest(plan, size).cycles + cycles_of_launch(bytes) < apart;
}

void take_windows(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  auto window = window_of(view, name);
  if (!window || !axes_of(view, view.block(name)) || !builder.decide(name, "windows", true)) return;
  const Schedule before = builder.schedule;
  const Block& block = view.block(name);
  // Finding a place is done once for all its channels.
  const MmaShape* const mma = by_channels(view, block);
  const bool are_apart = mma && builder.decide(name, "channels_apart", true);
  if (are_apart && builder.decide(name, "channels_last", is_channels_last_worth_it(view, block, *window, *mma)))
    (void)read_laid_last(builder, name, *window, te::reduce_axis(0));
  window = window_of(view, name);
  if (!window) return;
  const auto copy = builder.schedule.reindex(name, view.buffer(window->buffer).name, view.ordinal(name, *window));
  if (!copy.ok() || !tried(builder.schedule.flatten(*copy, are_apart ? 0 : -1))) builder.schedule = before;
}

}  // namespace

Module gpu_windows() {
  return {"gpu_windows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          take_windows};
}

}  // namespace isomer::kernel
