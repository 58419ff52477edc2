#include <algorithm>

#include "kernel/space/loops.h"
#include "kernel/space/modules.h"
#include "kernel/space/tiles.h"
#include "kernel/tree.h"
#include "kernel/words.h"

namespace isomer::kernel {
namespace {

/// Rows that others make and a reduction with constant operands runs along.
struct Passed {
  LoadAccess access;
  std::string store;      ///< what writes them: a map, or the reduction below
  std::string reduction;  ///< that makes them; empty: a map of what was there before
};

std::optional<Passed> rows_passed(const View& view, const std::string& name) {
  const Block& reader = view.block(name);
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), reader);
  if (std::none_of(accesses.begin(), accesses.end(),
                   [&](const LoadAccess& access) { return view.is_constant(access.buffer); }))
    return std::nullopt;
  for (const LoadAccess& access : accesses) {
    const auto makers = writers(view.kernel(), access.buffer);
    if (makers.size() != 1 || readers(view.kernel(), access.buffer).size() != 1 ||
        is_output(view.kernel(), access.buffer) || !view.is_alone(makers[0]) || view.is_known(makers[0]))
      continue;
    for (const std::string& other : view.blocks())
      if (other != name && view.is_free_reduction(other) &&
          (other == makers[0] || view.epilogue(view.block(other)) == makers[0]))
        return Passed{access, makers[0], other};
    if (!view.block(makers[0]).is_reduction() && !view.follows_reduction(makers[0]) &&
        view.reuse(reader, access) >= kWorthCopy)
      return Passed{access, makers[0], ""};
  }
  return std::nullopt;
}

/// A map of at most so many operations leaves registers to a tile's results.
constexpr int kFewOperations = 2;
/// So many shares of the work must be left for each thread.
constexpr int64_t kShares = 4;

bool are_enough(const View& view, const LoopIds& loops) {
  const int64_t iterations = view.iterations(loops), threads = view.machine().threads;
  return iterations >= 2 && (threads < 2 || iterations >= kShares * threads || iterations % threads == 0);
}

/// Tiles of both reductions, in one nest as far as their loops go together.
void join_nests(Builder& builder, const std::string& name, const Passed& passed) {
  const View& view = builder.view;
  const std::string rows = view.buffer(passed.access.buffer).name;
  const int64_t made = points(view.block(passed.reduction)).value_or(0), read = points(view.block(name)).value_or(0);
  LoopIds outer_of_makers, outer_of_readers;
  schedule_tiles(builder, passed.reduction, &outer_of_makers);
  schedule_tiles(builder, name, &outer_of_readers);
  if (outer_of_makers.empty() || outer_of_readers.empty()) {
    parallelize(builder, passed.reduction, outer_of_makers, made);
    return parallelize(builder, name, outer_of_readers, read);
  }
  const Schedule apart = builder.schedule;
  const LoopIds makers = view.loops(passed.store), readers = view.loops(name);
  LoopIds joined;
  for (size_t k = 0; k < std::min(makers.size(), readers.size()); ++k) {
    if (!tried(builder.schedule.join(makers[k], readers[k]))) break;
    joined.push_back(makers[k]);
  }
  if (are_enough(view, joined) && builder.decide(name, "join", true)) {
    (void)tried(builder.schedule.set_scope(rows, "cache"));
    return parallelize(builder, name, joined, made + read);
  }
  builder.schedule = apart;
  parallelize(builder, passed.reduction, outer_of_makers, made);
  parallelize(builder, name, outer_of_readers, read);
}

/// The loops around the reduction of a nest of tiles.
LoopIds loops_of_results(const View& view, const std::string& name) {
  LoopIds loops = view.loops(name);
  const Block& block = view.block(name);
  const auto reduces = [&](LoopId loop) { return reads_any(block.reduce, loop.variable); };
  loops.erase(std::find_if(loops.begin(), loops.end(), reduces), loops.end());
  return loops;
}

/// Its loops in the order of memory, lanes along that.
void lay_out_map(Builder& builder, const std::string& map, LoopId around) {
  const View& view = builder.view;
  LoopIds own = view.inner_loops(map, around);
  const int last = view.contiguous_axis(view.block(map));
  if (last >= 0 && static_cast<size_t>(last) + 1 < own.size() && own.size() == view.block(map).axes.size()) {
    std::rotate(own.begin() + last, own.begin() + last + 1, own.end());
    (void)tried(builder.schedule.reorder(own));
  }
  if (!own.empty()) vectorize(builder, own.back(), map);
}

/// A map is computed where tiles read it, or by what brings its results into their order.
void map_inside(Builder& builder, const std::string& name, const Passed& passed) {
  const View& view = builder.view;
  const std::string& map = passed.store;
  const int64_t work = points(view.block(name)).value_or(0), made = points(view.block(map)).value_or(0);
  LoopIds outer;
  schedule_tiles(builder, name, &outer);
  if (outer.empty()) return;
  const std::vector<std::string> users = readers(view.kernel(), passed.access.buffer);
  const Block& user = view.block(users[0]);
  // Words of what lies together are loaded as such.
  const bool only_reads = is_word_of_memory(view.kernel(), view.block(map).bodies[0]);
  if (users.size() > 1 || !user.is_reduction() || only_reads) {
    if ((only_reads || (users.size() == 1 && view.loads_of(user, passed.access.buffer) == 1)) &&
        builder.decide(map, "inline_later", true))
      (void)tried(builder.schedule.compute_inline(map));
    return parallelize(builder, name, outer, work);
  }
  const LoopIds loops = loops_of_results(view, users[0]);
  // Inside of the last one a tile's results are in registers.
  const bool is_inside_of_tiles =
      builder.decide(map, "inside_of_tiles", count_operations(view.block(map).bodies[0]) <= kFewOperations);
  for (size_t k = is_inside_of_tiles || loops.empty() ? loops.size() : loops.size() - 1; k > 0; --k) {
    const LoopId loop = loops[k - 1];
    const LoopIds around(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(k));
    if (!are_enough(view, around)) break;
    const Schedule before = builder.schedule;
    if (!tried(builder.schedule.compute_at(map, loop))) continue;
    if (view.iterations(view.loops(map)) <= made + made / 8) {
      lay_out_map(builder, map, loop);
      // Loops further inside hold more than one statement: threads share none of them.
      return parallelize(builder, name, around.size() < outer.size() ? around : outer, work);
    }
    builder.schedule = before;
  }
  parallelize(builder, name, outer, work);
}

}  // namespace

Module joined_nests() {
  return {"joined_nests",
          [](const View& view, const std::string& name) {
            return view.is_free_reduction(name) && rows_passed(view, name).has_value();
          },
          [](Builder& builder, const std::string& name) {
            if (!builder.decide(name, "joined_nests", true)) return;
            const Passed passed = *rows_passed(builder.view, name);
            const std::string rows = builder.view.buffer(passed.access.buffer).name;
            // They lie as the reduction runs along them.
            if (const std::string layout = reduction_inside(passed.access);
                !layout.empty() && builder.decide(name, "reduction_inside_of_" + rows, true))
              (void)tried(builder.schedule.transform_layout(rows, layout));
            passed.reduction.empty() ? map_inside(builder, name, passed) : join_nests(builder, name, passed);
          }};
}

}  // namespace isomer::kernel
