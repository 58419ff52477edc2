#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernel/narrow_floats.h"
#include "kernel/space/maps.h"
#include "kernel/space/tiles.h"

namespace isomer::kernel {
namespace {

/// Dims of a buffer along which a copy with padding is to be made: the innermost of those that windows move along,
/// and where the copy is not mostly padding. Along others, steps in the padding are skipped.
Integers worth_padding(const View& view, const Block& reduction, const LoadAccess& access) {
  const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
    const auto* variable = te::as<te::Var>(leaf);
    if (!variable || variable->kind == te::VarKind::kLoop) return {};
    const Iterator& iterator =
        (variable->kind == te::VarKind::kReduce ? reduction.reduce : reduction.axes)[variable->index];
    return {0, te::as_constant(iterator.extent).value_or(1) - 1};
  };
  Integers dims;
  const auto& index = te::as<te::Load>(access.load)->index;
  bool is_innermost = true;
  for (size_t k = index.size(); k-- > 0;) {
    if (te::as<te::Var>(index[k])) continue;
    const te::Interval reached = te::bounds(index[k], ranges);
    const int64_t size = view.buffer(access.buffer).shape[k].constant().value_or(0);
    if (is_innermost || !reached.low || !reached.high || 2 * (*reached.high - *reached.low + 1) < 3 * size)
      dims.push_back(static_cast<int64_t>(k));
    is_innermost = false;
  }
  return dims;
}

/// A copy in another order costs more: elements change places one by one. It pays where each takes part in so many
/// steps of vectors.
constexpr int64_t kWorthTransposing = 12;

/// Vectors of which lanes read each what is their own (channels of depthwise convolutions) find it where it lies: a
/// copy is read from farther away, and borders are tiles of their own. It pays where windows are mostly border.
constexpr int64_t kWorthPaddingLanes = 128;

/// Whether results along some axis read the same.
bool is_shared(const Block& reduction, const LoadAccess& access) {
  for (size_t k = 0; k < reduction.axes.size(); ++k)
    if (access.axes[k] == 0 && te::as_constant(reduction.axes[k].extent) != 1) return true;
  return false;
}

bool is_worth_copy(const View& view, const Block& reduction, const LoadAccess& access) {
  const int64_t reuse = view.reuse(reduction, access);
  return reuse >= (is_shared(reduction, access) ? kWorthPadding : kWorthPaddingLanes) &&
         (reduction_inside(access).empty() || reuse >= kWorthTransposing * view.lanes(reduction));
}

/// A copy of what threads read so often as another type is converted once.
constexpr int64_t kWorthWidening = 48;

}  // namespace

std::string reduction_inside(const LoadAccess& access) {
  std::vector<int> inner, rest;
  const auto& index = te::as<te::Load>(access.load)->index;
  for (size_t k = 0; k < index.size(); ++k) {
    const auto* variable = te::as<te::Var>(index[k]);
    (variable && variable->kind == te::VarKind::kReduce ? inner : rest).push_back(static_cast<int>(k));
  }
  rest.insert(rest.end(), inner.begin(), inner.end());
  return std::is_sorted(rest.begin(), rest.end()) ? std::string() : fmt::format("{}", fmt::join(rest, ":"));
}

void store_paddings(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reduction);
  for (const Expr& body : reduction.bodies) {
    std::set<int> padded;
    te::for_each_node(body, [&](const Expr& e) {
      const auto* select = te::as<te::Select>(e);
      const auto* load = select ? te::as<te::Load>(select->then) : nullptr;
      if (!load) return;
      const auto access =
          std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.load == select->then; });
      if (access != accesses.end() && view.reuse(reduction, *access) >= kWorthCopy) padded.insert(load->buffer.index);
    });
    for (const int number : padded) {
      const std::string source = view.buffer(number).name;
      const LoadAccess& access =
          *std::find_if(accesses.begin(), accesses.end(), [&](const LoadAccess& a) { return a.buffer == number; });
      if (!builder.decide(name, "padded_copy_of_" + source, is_worth_copy(view, reduction, access))) continue;
      if (view.has_finite_factor(reduction) && builder.decide(name, "skips_padding_of_" + source, true))
        (void)tried(builder.schedule.split_padding(name, source, worth_padding(view, reduction, access)));
      const auto copier = builder.schedule.cache_read(name, source);
      if (!copier.ok()) continue;
      if (const std::string layout = reduction_inside(access);
          !layout.empty() && builder.decide(name, "reduction_inside_of_" + source, true))
        (void)tried(builder.schedule.transform_layout(*copier, layout));
      schedule_map(builder, *copier);
    }
  }
}

void widen_operands(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block reduction = view.block(name);
  std::set<int> seen;
  for (const LoadAccess& access : load_accesses(view.kernel(), reduction)) {
    const Buffer& source = view.buffer(access.buffer);
    if (!is_narrow_float(source.dtype) || !seen.insert(access.buffer).second) continue;
    if (!builder.decide(name, "wide_copy_of_" + source.name, view.reuse(reduction, access) >= kWorthWidening)) continue;
    if (tried(builder.schedule.widen(source.name, "float32")) || view.is_constant(access.buffer)) continue;
    const Schedule before = builder.schedule;
    const auto copier = builder.schedule.cache_read(name, source.name);
    if (copier.ok() && tried(builder.schedule.widen(*copier, "float32"))) {
      schedule_map(builder, *copier);
    } else {
      builder.schedule = before;
    }
  }
}

}  // namespace isomer::kernel
