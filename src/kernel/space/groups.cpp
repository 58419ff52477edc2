#include <algorithm>
#include <numeric>

#include "kernel/space/modules.h"
#include "kernel/space/tile.h"

namespace isomer::kernel {
namespace {

/// An axis along which results lie side by side, in groups that read each their own.
struct Groups {
  int64_t axis = 0;
  int64_t size = 0;  ///< neighbours in a group
};

std::optional<Groups> groups_of(const View& view, const std::string& name) {
  const Block& reduction = view.block(name);
  const Strides strides = view.stored_strides(reduction);
  for (size_t axis = 0; axis < reduction.axes.size(); ++axis) {
    const auto extent = te::as_constant(reduction.axes[axis].extent);
    if (strides[axis] != 1 || !extent) continue;
    for (const LoadAccess& access : load_accesses(view.kernel(), reduction)) {
      if (access.axes[axis]) continue;
      std::optional<Groups> found;
      te::for_each_node(access.load, [&](const Expr& e) {
        const auto* quotient = te::as<te::Binary>(e);
        if (!quotient || quotient->op != te::BinaryOp::kFloorDiv ||
            !(quotient->left == te::axis(static_cast<int>(axis))))
          return;
        const auto size = te::as_constant(quotient->right);
        if (size && *size > 1 && *extent % *size == 0) found = Groups{static_cast<int64_t>(axis), *size};
      });
      if (found) return found;
    }
  }
  return std::nullopt;
}

/// Whether tiles of whole vectors lie inside of a group, or hold whole groups: then lanes are shuffled.
bool fill_vectors(const View& view, const Block& reduction, const Groups& groups) {
  // What is read here and there only, as by transposed convolutions, is brought into another form before it is tiled.
  const bool has_choices = std::ranges::any_of(reduction.bodies, [](const Expr& body) {
    return te::any_node(body, [](const Expr& e) { return te::as<te::Select>(e) != nullptr; });
  });
  if (has_choices) return false;
  const int64_t lanes = view.lanes(reduction), extent = *te::as_constant(reduction.axes[groups.axis].extent);
  if (groups.size % lanes == 0) return true;
  for (const int64_t width : {lanes, lanes / 2})
    if (const int64_t whole = std::lcm(width, groups.size);
        width >= 4 && groups.size <= width && whole <= kMostVectors * width && extent % whole == 0)
      return true;
  return false;
}

}  // namespace

Module groups() {
  return {"groups",
          [](const View& view, const std::string& name) {
            return view.is_free_reduction(name) && view.block(name).writes.size() == 1 && groups_of(view, name);
          },
          [](Builder& builder, const std::string& name) {
            const Groups groups = *groups_of(builder.view, name);
            if (builder.decide(name, "split_groups", !fill_vectors(builder.view, builder.view.block(name), groups)))
              (void)tried(builder.schedule.split_dims(name, groups.axis, groups.size));
          }};
}

}  // namespace isomer::kernel
