#include "kernel/space/rows.h"

#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {
namespace {

/// Cuts a reduction's loop into steps of `width` lanes, which hold partial results that the block combines. The loop
/// over the steps; the schedule is spoilt where it gives none.
std::optional<LoopId> partial_results(Builder& builder, const std::string& name, LoopId loop, int64_t width) {
  Schedule& schedule = builder.schedule;
  const auto parts = schedule.split(loop, Integers{-1, width});
  const auto partial = parts.ok() ? schedule.rfactor(name, (*parts)[1]) : Result<std::string>(parts.error());
  if (!partial.ok()) return std::nullopt;
  std::vector<std::string> written;
  for (const Write& write : builder.view.block(*partial).writes)
    written.push_back(builder.view.buffer(write.buffer).name);
  for (const std::string& buffer : written) (void)tried(schedule.set_scope(buffer, "registers"));
  LoopIds order = builder.view.loops(*partial);
  order.erase(order.begin(), std::find(order.begin(), order.end(), (*parts)[0]));
  std::erase(order, (*parts)[1]);
  order.push_back((*parts)[1]);
  if (!schedule.reorder(order).ok()) return std::nullopt;
  if (const auto initial = schedule.decompose_reduction(*partial, order.front()); initial.ok())
    (void)tried(schedule.vectorize(builder.view.loops(*initial).back()));
  (void)tried(schedule.vectorize((*parts)[1]));
  return (*parts)[0];
}

/// The reduction's innermost axis along which every load is contiguous or stays; -1: none.
int contiguous_reduction(const View& view, const Block& reduction) {
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reduction);
  int along = -1;
  for (size_t k = 0; k < reduction.reduce.size(); ++k) {
    const bool contiguous = std::all_of(accesses.begin(), accesses.end(),
                                        [&](const LoadAccess& a) { return a.reduce[k] == 1 || a.reduce[k] == 0; });
    if (contiguous && !accesses.empty()) along = static_cast<int>(k);
  }
  return along;
}

/// Whether every load goes on where it ends in iterations of the reduction's iterator `inner` when the one before
/// advances.
bool goes_on(const View& view, const Block& reduction, size_t inner) {
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reduction);
  const int64_t length = te::as_constant(reduction.reduce[inner].extent).value_or(0);
  return std::all_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) {
    return a.reduce[inner] && a.reduce[inner - 1] == *a.reduce[inner] * length;
  });
}

/// Lanes over results that lie side by side, each of which reads its own elements or the same ones.
bool vectorize_results(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const Block reduction = view.block(name);
  const Strides out = write_strides(view.kernel(), reduction);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reduction);
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const bool is_regular = std::all_of(accesses.begin(), accesses.end(),
                                        [&](const LoadAccess& a) { return a.axes[axis] == 0 || a.axes[axis] == 1; });
    const LoopIds loops = view.loops(name);
    if (out[axis] != 1 || !is_regular || loops.size() != out.size() + reduction.reduce.size() ||
        view.extent(loops[axis]) < 2)
      continue;
    if (!builder.decide(name, "lanes_of_results", true)) return false;
    const auto parts = schedule.split(loops[axis], Integers{-1, view.lanes(reduction)});
    if (!parts.ok()) return false;
    LoopIds order = loops;
    order[axis] = (*parts)[0];
    order.push_back((*parts)[1]);
    if (!schedule.reorder(order).ok()) return false;
    if (const auto initial = schedule.decompose_reduction(name, order[out.size()]); initial.ok())
      (void)tried(schedule.vectorize(view.loops(*initial).back()));
    return tried(schedule.vectorize((*parts)[1]));
  }
  return false;
}

}  // namespace

void vectorize_reduction(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  const int along = contiguous_reduction(view, reduction);
  const LoopIds loops = view.loops(name);
  const int64_t narrow = view.lanes(reduction);
  if (along < 0 || !reduction.combine.commutative) return;
  const size_t place = loops.size() - reduction.reduce.size() + static_cast<size_t>(along);
  LoopId loop = loops[place];
  if (view.extent(loop) < 2 * narrow && along > 0 && goes_on(view, reduction, static_cast<size_t>(along)))
    if (const auto fused = builder.schedule.fuse({loops[place - 1], loop}); fused.ok()) loop = *fused;
  const int64_t count = view.extent(loop);
  if (count < 2 * narrow) return;
  const int64_t preferred = count % (4 * narrow) == 0 ? 4 : count % (2 * narrow) == 0 ? 2 : 1;
  std::vector<int64_t> several = {0};  // none: one after the other
  for (int64_t vectors = 1; vectors <= 8 && vectors * narrow <= count; vectors *= 2) several.push_back(vectors);
  const int64_t vectors = builder.decide(name, "partial_vectors", std::move(several), preferred);
  if (vectors == 0) return;
  const int64_t width = vectors * narrow;
  const Schedule before = builder.schedule;
  const auto steps = partial_results(builder, name, loop, width);
  if (!steps) {
    builder.schedule = before;
    return;
  }
  if (count % width != 0) (void)tried(builder.schedule.peel(*steps, "last"));
  combine_lanes(builder, name, vectors);
}

void combine_lanes(Builder& builder, const std::string& name, int64_t vectors) {
  const View& view = builder.view;
  const int64_t lanes = view.extent(view.loops(name).back()) / vectors;
  // Halves of a vector are vectors, too.
  std::vector<int64_t> widths;
  if (vectors > 1) widths.push_back(lanes);
  if (builder.decide(name, "halves_lanes", true))
    for (int64_t width = lanes / 2; width > 1; width /= 2) widths.push_back(width);
  for (const int64_t width : widths) {
    const Schedule before = builder.schedule;
    const auto steps = partial_results(builder, name, view.loops(name).back(), width);
    if (!steps) {
      builder.schedule = before;
      break;
    }
    (void)tried(builder.schedule.unroll(*steps));
  }
  (void)tried(builder.schedule.unroll(view.loops(name).back()));
}

void schedule_rows(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const size_t rank = view.block(name).axes.size();
  const auto work = points(view.block(name));
  if (!work || *work == 0) return;
  const Schedule before = builder.schedule;
  if (contiguous_reduction(view, view.block(name)) >= 0)
    vectorize_reduction(builder, name);
  else if (!vectorize_results(builder, name))
    builder.schedule = before;
  const LoopIds loops = view.loops(name);
  parallelize(builder, name, {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank)}, *work);
}

Module rows() {
  return {"rows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_rows};
}

}  // namespace isomer::kernel
