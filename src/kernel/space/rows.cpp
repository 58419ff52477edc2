#include "kernel/space/rows.h"

#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"

namespace isomer::kernel {
namespace {

/// A sum of more terms is one of sums of blocks: of equal terms the errors of one long sum all have one sign, and grow
/// with the square of their number.
constexpr int64_t kLongSum = 512;

/// Vectors of a row beside which its end, which fills several less well than one, does not count.
constexpr int64_t kLongRow = 16;
/// Of pairs that are combined, from which on lanes have partial results nevertheless.
constexpr int64_t kManyPairs = 128;
/// The fewest lanes that partial results of a short row are held in.
constexpr int64_t kFewestLanes = 4;

void keep_in_registers(Builder& builder, const std::string& name) {
  std::vector<std::string> written;
  for (const Write& write : builder.view.block(name).writes) written.push_back(builder.view.buffer(write.buffer).name);
  for (const std::string& buffer : written) (void)tried(builder.schedule.set_scope(buffer, "registers"));
}

/// Lanes of a block become its last loop, as vectors; what it starts from is made before `first`.
bool vectorize_last(Builder& builder, const std::string& name, LoopId first, LoopId lanes) {
  Schedule& schedule = builder.schedule;
  LoopIds order = builder.view.loops(name);
  order.erase(order.begin(), std::find(order.begin(), order.end(), first));
  std::erase(order, lanes);
  order.push_back(lanes);
  if (!schedule.reorder(order).ok()) return false;
  if (const auto initial = schedule.decompose_reduction(name, order.front()); initial.ok())
    (void)tried(schedule.vectorize(builder.view.loops(*initial).back()));
  (void)tried(schedule.vectorize(lanes));
  return true;
}

/// How many of so many steps are summed at a time: about as many as there are such blocks; a divisor, if there is one.
int64_t steps_of_block(int64_t steps) {
  int64_t root = 1;
  while (root * root < steps) ++root;
  for (int64_t block = root; block <= 4 * root; ++block)
    if (steps % block == 0) return block;
  return root;
}

/// Partial sums over `steps` in `lanes` become those of sums of blocks of steps. The loop over the blocks; the schedule
/// is spoilt where it gives none.
std::optional<LoopId> sum_blocks(Builder& builder, const std::string& partial, LoopId steps, LoopId lanes) {
  Schedule& schedule = builder.schedule;
  const auto cut = schedule.split(steps, Integers{-1, steps_of_block(builder.view.extent(steps))});
  const auto sums = cut.ok() ? schedule.rfactor(partial, (*cut)[0]) : Result<std::string>(cut.error());
  if (!sums.ok()) return std::nullopt;
  keep_in_registers(builder, *sums);
  const LoopIds adding = builder.view.loops(partial);
  const LoopId blocks = adding.back(), added = adding[adding.size() - 2];
  // Sums begin with zero before they are joined: the last block may lack steps.
  const bool done = vectorize_last(builder, *sums, (*cut)[1], lanes) && schedule.reorder({blocks, added}).ok() &&
                    vectorize_last(builder, partial, blocks, added) && schedule.join((*cut)[0], blocks).ok();
  return done ? std::optional(blocks) : std::nullopt;
}

/// Cuts a reduction's loop into steps of `width` lanes, which hold partial results that the block combines; the last
/// step is by itself where it has fewer. The loop over the steps, or over blocks of them; the schedule is spoilt where
/// it gives none.
std::optional<LoopId> partial_results(Builder& builder, const std::string& name, LoopId loop, int64_t width) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const bool is_whole = view.extent(loop) % width == 0;
  const auto parts = schedule.split(loop, Integers{-1, width});
  const auto partial = parts.ok() ? schedule.rfactor(name, (*parts)[1]) : Result<std::string>(parts.error());
  if (!partial.ok()) return std::nullopt;
  keep_in_registers(builder, *partial);
  const LoopId lanes = (*parts)[1];
  LoopId steps = (*parts)[0];
  const Block block = view.block(*partial);
  const bool is_long =
      block.combine.name == "sum" && is_float(block.bodies[0].dtype()) && view.extent(steps) >= kLongSum;
  const Schedule before = schedule;
  const auto blocks = is_long && builder.decide(name, "sums_of_blocks", true)
                          ? sum_blocks(builder, *partial, steps, lanes)
                          : std::nullopt;
  if (blocks) {
    steps = *blocks;
  } else {
    schedule = before;
    if (!vectorize_last(builder, *partial, steps, lanes)) return std::nullopt;
  }
  if (!is_whole) (void)tried(schedule.peel(steps, "last"));
  return steps;
}

/// Whether what lanes hold takes long to combine (pairs of a value and its place), and there are results enough to have
/// lanes of their own.
bool combines_slowly(const View& view, const Block& reduction) {
  const int innermost = view.contiguous_axis(reduction);
  return reduction.combine.arity() > 1 && innermost >= 0 &&
         te::as_constant(reduction.axes[static_cast<size_t>(innermost)].extent).value_or(0) >= view.lanes(reduction);
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

/// Partial results side by side of a reduction whose loads don't lie so (what indices say, steps from row to row): its
/// loops as one, lanes over their last iterations. Besides the time, a sum of few partial sums rounds less than one
/// long one: of equal terms the errors all have one sign. Whether there are some.
bool interleave_reduction(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  const LoopIds loops = view.loops(name);
  const size_t axes = reduction.axes.size();
  if (!reduction.combine.commutative || loops.size() != axes + reduction.reduce.size()) return false;
  LoopIds inner(loops.begin() + static_cast<std::ptrdiff_t>(axes), loops.end());
  const int64_t width = view.lanes(reduction);
  int64_t count = 1;
  for (const LoopId loop : inner) count *= view.extent(loop);
  if (count < 2 * width || !builder.decide(name, "interleaved", true)) return false;
  const auto fused = inner.size() == 1 ? Result<LoopId>(inner.front()) : builder.schedule.fuse(inner);
  if (!fused.ok() || !partial_results(builder, name, *fused, width)) return false;
  combine_lanes(builder, name, 1);
  return true;
}

/// Lanes over results that lie side by side, each of which reads its own elements or the same ones, or elements some
/// distance apart; or, where a sum is too short for lanes of its own, whatever they read (bilinear resizing).
bool vectorize_results(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  Schedule& schedule = builder.schedule;
  const Block reduction = view.block(name);
  const Strides out = write_strides(view.kernel(), reduction);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reduction);
  const LoopIds loops = view.loops(name);
  if (loops.size() != out.size() + reduction.reduce.size()) return false;
  const LoopIds summed(loops.begin() + static_cast<std::ptrdiff_t>(out.size()), loops.end());
  int64_t terms = 1;
  for (const LoopId loop : summed) terms *= view.extent(loop);
  const bool is_short = terms < view.lanes(reduction);
  for (size_t axis = 0; axis < out.size(); ++axis) {
    const bool is_regular = std::all_of(accesses.begin(), accesses.end(),
                                        [&](const LoadAccess& a) { return a.axes[axis] == 0 || a.axes[axis] == 1; });
    const bool is_strided =
        view.extent(loops[axis]) >= view.lanes(reduction) &&
        std::all_of(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.axes[axis].has_value(); });
    if (out[axis] != 1 || !(is_regular || is_short || is_strided) || view.extent(loops[axis]) < 2) continue;
    if (!builder.decide(name, "lanes_of_results", true)) return false;
    const int64_t width = view.lanes(reduction);
    const auto parts = schedule.split(loops[axis], Integers{-1, width});
    if (!parts.ok()) return false;
    LoopIds order = loops;
    order[axis] = (*parts)[0];
    order.push_back((*parts)[1]);
    if (!schedule.reorder(order).ok()) return false;
    if (const auto initial = schedule.decompose_reduction(name, order[out.size()]); initial.ok())
      (void)tried(schedule.vectorize(view.loops(*initial).back()));
    if (!tried(schedule.vectorize((*parts)[1]))) return false;
    if (is_regular) return true;
    int64_t unrolled = 1;
    for (auto loop = summed.rbegin(); loop != summed.rend(); ++loop)
      if ((unrolled *= view.extent(*loop)) <= view.lanes(reduction)) (void)tried(schedule.unroll(*loop));
    if (view.extent((*parts)[0]) > 1) (void)tried(schedule.peel((*parts)[0], "last"));
    return true;
  }
  return false;
}

}  // namespace

void vectorize_reduction(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  const int along = contiguous_reduction(view, reduction);
  const LoopIds loops = view.loops(name);
  int64_t narrow = view.lanes(reduction);
  if (along < 0 || !reduction.combine.commutative) return;
  const size_t place = loops.size() - reduction.reduce.size() + static_cast<size_t>(along);
  LoopId loop = loops[place];
  // Rows that follow each other are one: where they are short, or the sum is long.
  int64_t terms = 1;
  for (size_t k = loops.size() - reduction.reduce.size(); k < loops.size(); ++k) terms *= view.extent(loops[k]);
  for (int k = along; k > 0 && (view.extent(loop) < 2 * narrow || terms >= 4 * narrow * kLongSum); --k) {
    if (!goes_on(view, reduction, static_cast<size_t>(k))) break;
    const auto fused = builder.schedule.fuse({loops[place - static_cast<size_t>(along - k) - 1], loop});
    if (!fused.ok()) break;
    loop = *fused;
  }
  const int64_t count = view.extent(loop);
  // Short rows have a part of a vector.
  while (narrow > kFewestLanes && count < 2 * narrow) narrow /= 2;
  if (count < 2 * narrow) return;
  const bool is_long = count >= kLongRow * narrow && builder.machine().vectors.masks;
  int64_t preferred = is_long || count % (4 * narrow) == 0 ? 4 : count % (2 * narrow) == 0 ? 2 : 1;
  if (combines_slowly(view, reduction) && terms < kManyPairs) preferred = 0;
  std::vector<int64_t> several = {0};  // none: one after the other
  for (int64_t vectors = 1; vectors <= 8 && vectors * narrow <= count; vectors *= 2) several.push_back(vectors);
  const int64_t vectors = builder.decide(name, "partial_vectors", std::move(several), preferred);
  if (vectors == 0) return;
  const int64_t width = vectors * narrow;
  const Schedule before = builder.schedule;
  if (!partial_results(builder, name, loop, width)) {
    builder.schedule = before;
    return;
  }
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
  const size_t steps = before.trace().instructions.size();
  if (contiguous_reduction(view, view.block(name)) >= 0) vectorize_reduction(builder, name);
  const bool has_lanes = builder.schedule.trace().instructions.size() > steps;
  if (!has_lanes && !vectorize_results(builder, name)) {
    builder.schedule = before;
    if (!interleave_reduction(builder, name)) builder.schedule = before;
  }
  const LoopIds loops = view.loops(name);
  parallelize(builder, name, {loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank)}, *work);
}

Module rows() {
  return {"rows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_rows};
}

}  // namespace isomer::kernel
