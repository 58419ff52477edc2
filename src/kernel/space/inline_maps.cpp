#include <algorithm>

#include "kernel/space/modules.h"
#include "kernel/space/tile.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// A map of at most so many operations (intrinsics count more) is computed again by each of its readers rather than
/// stored.
constexpr int kCheap = 2;
/// So many times the memory is far more.
constexpr int64_t kFarMore = 2;

bool can_inline(const View& view, const Block& map) {
  return !map.is_reduction() && map.writes.size() == 1 && map.bodies.size() == 1 &&
         !readers(view.kernel(), map.writes[0].buffer).empty() && !is_output(view.kernel(), map.writes[0].buffer);
}

/// Whether a reduction would compute it again for each of many uses of an element.
bool is_computed_often(const View& view, const Block& map) {
  if (count_operations(map.bodies[0]) == 0) return false;
  const int result = map.writes[0].buffer;
  for (const std::string& name : readers(view.kernel(), result)) {
    const Block& user = view.block(name);
    for (const LoadAccess& access : load_accesses(view.kernel(), user))
      if (user.is_reduction() && access.buffer == result && view.reuse(user, access) >= kWorthCopy) return true;
  }
  return false;
}

int64_t bytes_of(const Buffer& buffer) {
  return element_count(buffer.shape).constant().value_or(0) * bit_width(buffer.dtype) / 8;
}

/// Whether what constants alone make takes far more memory than they do: weights of a few bits as floats.
bool grows(const View& view, const Block& map) {
  int64_t read = 0;
  for (const int source : loads(map)) read += bytes_of(view.buffer(source));
  return view.is_known(map.name) && bytes_of(view.buffer(map.writes[0].buffer)) > kFarMore * read;
}

bool is_worth_inlining(const View& view, const Block& map) {
  const int result = map.writes[0].buffer;
  const std::vector<std::string> users = readers(view.kernel(), result);
  const auto made = points(map);
  bool worth = count_operations(map.bodies[0]) <= kCheap && !is_computed_often(view, map);
  if (!worth && users.size() == 1 && made) {
    const Block& user = view.block(users[0]);
    const auto read = points(user);
    worth = read && *read * view.loads_of(user, result) <= *made;
  }
  // A select in the innermost loop of a reduction, or for each element of a sum, costs more than the copy that it
  // saves, unless the copy is what takes long to read.
  return worth && (grows(view, map) || !holds_select(map.bodies[0]) ||
                   std::all_of(users.begin(), users.end(), [&](const std::string& user) {
                     return !view.block(user).is_reduction() && view.loads_of(view.block(user), result) == 1;
                   }));
}

void inline_map(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  if (view.moves_reduction(view.block(name)) && builder.decide(name, "inline_into_reduction", true) &&
      tried(builder.schedule.reverse_compute_inline(name)))
    return;
  if (view.moves_steps(view.block(name)) && builder.decide(name, "inline_into_steps", true) &&
      tried(builder.schedule.reverse_compute_inline(name)))
    return;
  if (can_inline(view, view.block(name)) && builder.decide(name, "inline", is_worth_inlining(view, view.block(name))))
    (void)tried(builder.schedule.compute_inline(name));
}

}  // namespace

Module inline_maps() {
  return {"inline_maps",
          [](const View& view, const std::string& name) {
            const Block& map = view.block(name);
            return view.moves_reduction(map) || view.moves_steps(map) || can_inline(view, map);
          },
          inline_map};
}

Module collapse() {
  return {"collapse", [](const View& view, const std::string& name) { return view.blocks().front() == name; },
          [](Builder& builder, const std::string&) { (void)tried(builder.schedule.collapse()); }};
}

}  // namespace isomer::kernel
