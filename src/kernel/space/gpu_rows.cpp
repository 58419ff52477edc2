#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/space/gpu_modules.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Steps of a reduction from which on a block of threads shares them, and results from which on there are threads
/// enough without.
constexpr int64_t kLongReductionOfBlock = 64, kManyThreads = 1 << 16;
/// Steps to one result that a warp takes, or each of several blocks of threads, where one would take longer.
constexpr int64_t kStepsOfPart = 4096, kStepsOfBlock = 16'384, kMostBlocks = 1024;
/// Threads whose partial results are added up in two turns.
constexpr int64_t kManyPartial = 64;
constexpr int64_t kManyRows = 4096;
/// Elements of a row that a thread keeps.
constexpr int64_t kFewElements = 32;

/// What blocks do for the same rows: reductions along them, and maps over rows or over their elements.
struct Member {
  std::string name;
  size_t row_axes = 0;  ///< the first of its axes
};

/// The first axes of a block that make so many rows, and whether it has others.
std::optional<size_t> row_axes(const View& view, const Block& block, int64_t rows) {
  if (block.writes.size() != 1 || !points(block)) return std::nullopt;
  int64_t product = 1;
  size_t count = 0;
  const Integers extents = extents_of(block);
  while (count < extents.size() && (product < rows || (product == rows && extents[count] == 1)))
    product *= extents[count++];
  if (product != rows || view.loops(block.name).size() != block.axes.size() + block.reduce.size()) return std::nullopt;
  if (block.is_reduction() && count != extents.size()) return std::nullopt;
  return count;
}

/// Blocks in their order, from maps that the reduction reads on, each of which reads what one before it makes.
std::vector<Member> members(const View& view, const std::string& name, int64_t rows) {
  const std::vector<std::string> names = view.blocks();
  const auto reduction = std::find(names.begin(), names.end(), name);
  const auto reads_of = [&](const std::string& reader, const std::vector<Member>& makers) {
    const std::set<int> read = loads(view.block(reader));
    return std::any_of(makers.begin(), makers.end(),
                       [&](const Member& maker) { return read.contains(view.block(maker.name).writes[0].buffer); });
  };
  std::vector<Member> all = {{name, *row_axes(view, view.block(name), rows)}};
  for (auto each = reduction; each != names.begin();) {
    --each;
    const auto axes = view.is_alone(*each) ? row_axes(view, view.block(*each), rows) : std::nullopt;
    if (!axes || view.block(*each).is_reduction() ||
        !loads(view.block(all[0].name)).contains(view.block(*each).writes[0].buffer))
      break;
    all.insert(all.begin(), {*each, *axes});
  }
  for (auto each = reduction + 1; each != names.end(); ++each) {
    const auto axes = view.is_alone(*each) ? row_axes(view, view.block(*each), rows) : std::nullopt;
    if (!axes || !reads_of(*each, all)) break;
    all.push_back({*each, *axes});
  }
  return all;
}

Result<LoopId> one_loop(Schedule& schedule, const LoopIds& loops) {
  return loops.size() == 1 ? Result<LoopId>(loops[0]) : schedule.fuse(loops);
}

/// How the threads of a block take a row: so many side by side at once, where that comes out even. Warps are rows of
/// threads of their own, where there are several.
struct Shares {
  int64_t threads = 1, vector = 4;
  int64_t rows = 1;  ///< of a block, a warp each
  bool has_lanes() const { return threads % kLanes == 0; }
  bool has_warps() const { return has_lanes() && threads > kLanes; }
  int64_t vector_of(int64_t length) const { return length % (vector * threads) == 0 ? vector : 1; }
  /// Elements of a thread.
  int64_t each_of(int64_t length) const { return (length + threads - 1) / threads; }
};

/// Threads take elements side by side, and those after all of theirs: vectors, written out where they are few. The
/// loops over threads, or over warps and their lanes; inside are those over a thread's vectors and their elements.
std::optional<LoopIds> share(Builder& builder, LoopId elements, const Shares& shares) {
  const int64_t length = builder.view.extent(elements), vector = shares.vector_of(length);
  const Integers factors =
      shares.has_warps() ? Integers{-1, shares.threads / kLanes, kLanes, vector} : Integers{-1, shares.threads, vector};
  const auto parts = builder.schedule.split(elements, factors);
  if (!parts.ok()) return std::nullopt;
  const LoopIds threads(parts->begin() + 1, parts->end() - 1);
  LoopIds order = threads;
  order.insert(order.end(), {parts->front(), parts->back()});
  if (!tried(builder.schedule.reorder(order))) return std::nullopt;
  if (shares.each_of(length) <= kFewElements) (void)tried(builder.schedule.unroll(parts->front()));
  (void)tried(builder.schedule.unroll(parts->back()));
  return threads;
}

bool bind_threads(Schedule& schedule, const LoopIds& threads) {
  return tried(schedule.bind(threads.back(), "thread.x")) &&
         (threads.size() == 1 || tried(schedule.bind(threads.front(), "thread.y")));
}

bool set_scopes(Builder& builder, const std::string& block, const char* scope) {
  return std::ranges::all_of(builder.view.block(block).writes, [&](const Write& write) {
    return tried(builder.schedule.set_scope(builder.view.buffer(write.buffer).name, scope));
  });
}

/// Threads reduce parts of a row each; the lanes of a warp bring theirs together; and then each thread what all warps
/// have.
bool share_among_lanes(Builder& builder, const std::string& name, const LoopIds& threads, LoopId row) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const bool has_warps = threads.size() > 1;
  std::string of_warp = name;
  if (has_warps) {
    const auto partial = schedule.rfactor(name, threads.front());
    if (!partial.ok() || !set_scopes(builder, *partial, "shared")) return false;
    of_warp = *partial;
  }
  const LoopId lane = threads.back();
  const auto of_lane = schedule.rfactor(of_warp, lane);
  if (!of_lane.ok()) return false;
  // Registers are of one nest: where there are no rows, of that which the lanes become.
  const bool is_one_nest = set_scopes(builder, *of_lane, "registers");
  if (!tried(schedule.join(lane, view.loops(of_warp).back())) ||
      !(is_one_nest || set_scopes(builder, *of_lane, "registers")) || !bind_threads(schedule, threads))
    return false;
  for (const LoopId loop : has_warps ? view.inner_loops(name, row) : LoopIds()) (void)tried(schedule.unroll(loop));
  return true;
}

/// Threads reduce parts of a row each, and then each thread what all have.
bool share_reduction(Builder& builder, const std::string& name, LoopId step, LoopId row, const Shares& shares) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const auto loops = share(builder, step, shares);
  if (!loops) return false;
  if (shares.has_lanes()) return share_among_lanes(builder, name, *loops, row);
  const auto partial = schedule.rfactor(name, loops->front());
  if (!partial.ok() || !set_scopes(builder, *partial, "shared") || !bind_threads(schedule, *loops)) return false;
  const int64_t threads = shares.threads;
  if (threads >= kManyPartial) {
    int64_t groups = 1;
    for (int64_t each = 2; each * each <= threads; ++each)
      if (threads % each == 0) groups = threads / each;
    const LoopIds rest = view.inner_loops(name, row);
    if (groups == 1 || rest.size() != 1) return true;
    const auto pieces = schedule.split(rest[0], Integers{groups, threads / groups});
    const auto second = pieces.ok() ? schedule.rfactor(name, (*pieces)[0]) : Result<std::string>(pieces.error());
    if (!second.ok() || !set_scopes(builder, *second, "shared") || !tried(schedule.bind((*pieces)[0], "thread.x")))
      return false;
    (void)tried(schedule.unroll((*pieces)[1]));
  }
  for (const LoopId loop : view.inner_loops(name, row)) (void)tried(schedule.unroll(loop));
  return true;
}

/// Elements of 16 bytes: of halves where all that is read of the kernel's arguments is halves, of floats otherwise.
int64_t vector_for(const View& view, const std::vector<Member>& all) {
  int bits = 0;
  for (const Member& member : all)
    for (const int buffer : loads(view.block(member.name)))
      if (is_argument(view.kernel(), buffer)) bits = std::max(bits, bit_width(view.buffer(buffer).dtype));
  return bits == 16 ? 8 : 4;
}

/// A divisor of the row's length that leaves each thread a few vectors, two or more where there are rows for all
/// multiprocessors; 1: there is none.
int64_t threads_for(int64_t length, int64_t vector, int64_t rows) {
  const int64_t least = rows >= kManyRows ? 2 * vector : vector;
  int64_t best = 1;
  for (int64_t threads = 2; threads <= std::min<int64_t>(length, 1024); ++threads) {
    if (length % threads != 0) continue;
    const int64_t each = length / threads;
    // Sixteen elements each, but whole warps.
    const auto distance = [&](int64_t count, int64_t left) {
      return std::abs(left - std::clamp<int64_t>(length * vector / 1024, least, 16)) + (count % 32 == 0 ? 0 : 16) +
             (left % vector == 0 ? 0 : 8);
    };
    if (best == 1 || distance(threads, each) < distance(best, length / best)) best = threads;
  }
  return best;
}

/// Warps for rows without such a divisor; some lanes have an element less.
int64_t warps_for(int64_t length) {
  constexpr int64_t kElements = 16;
  return std::clamp<int64_t>((length + kElements * kLanes - 1) / (kElements * kLanes), 1, 1024 / kLanes) * kLanes;
}

/// A block of threads for each row, or a warp of one, does all that the members do. Whether that could be done.
bool join_rows(Builder& builder, const std::vector<Member>& all, const Shares& shares) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  std::optional<LoopId> row;
  for (const Member& member : all) {
    const LoopIds loops = view.loops(member.name);
    const auto middle = loops.begin() + static_cast<std::ptrdiff_t>(member.row_axes);
    const auto own = one_loop(schedule, {loops.begin(), middle});
    if (!own.ok()) return false;
    if (middle != loops.end()) {
      const auto rest = one_loop(schedule, {middle, loops.end()});
      if (!rest.ok()) return false;
      if (view.block(member.name).is_reduction()) {
        if (!share_reduction(builder, member.name, *rest, *own, shares)) return false;
      } else {
        const auto threads = share(builder, *rest, shares);
        if (!threads || !bind_threads(schedule, *threads)) return false;
      }
    }
    if (row && !tried(schedule.join(*row, *own))) return false;
    if (!row) row = own.ok() ? std::optional(*own) : std::nullopt;
  }
  if (shares.rows > 1) {
    const auto parts = schedule.split(*row, Integers{-1, shares.rows});
    if (!parts.ok() || !tried(schedule.bind(parts->front(), "block.x"))) return false;
    row = parts->back();
  }
  if (!tried(schedule.bind(*row, shares.rows > 1 ? "thread.y" : "block.x"))) return false;
  std::vector<std::string> kept;  // by threads, of which each has a few elements
  for (const Member& member : all) {
    const Block& block = view.block(member.name);
    const int made = block.writes[0].buffer;
    if (is_output(builder.kernel(), made)) continue;
    const auto users = readers(builder.kernel(), made);
    const bool is_inside = std::ranges::all_of(users, [&](const std::string& user) {
      return std::ranges::any_of(
          all, [&](const Member& each) { return user == each.name || user.starts_with(each.name + ".partial"); });
    });
    const int64_t elements = view.iterations(view.inner_loops(member.name, *row));
    const bool has_elements = !block.is_reduction() && member.row_axes < block.axes.size() && elements > 1;
    if (!is_inside) continue;
    const std::string& name = view.buffer(made).name;
    if (!tried(schedule.set_scope(name, has_elements ? "shared" : "registers"))) return false;
    if (has_elements && shares.each_of(elements) <= kFewElements) kept.push_back(name);
  }
  for (const std::string& name : kept) {
    const Schedule before = schedule;
    if (!tried(schedule.set_scope(name, "cache")) || !check_launches(schedule.finish()).ok()) schedule = before;
  }
  return bytes_of(schedule, Scope::kShared) <= kSharedBytes && bytes_of(schedule, Scope::kRegister) <= kSumBytes &&
         check_launches(schedule.finish()).ok();
}

/// Whether what it reads once lies along its steps: threads of one row read side by side, those of neighbouring rows
/// far from each other.
bool runs_along_rows(const View& view, const Block& block) {
  const std::vector<LoadAccess> accesses = load_accesses(view.kernel(), block);
  return std::ranges::any_of(
      accesses, [&](const LoadAccess& access) { return access.reduce.back() == 1 && view.reuse(block, access) <= 1; });
}

/// Parts of a long reduction to one result: as many as divide it, where such a number is near; of many, whole warps.
int64_t parts_for(int64_t length) {
  const auto wanted = static_cast<double>(std::clamp<int64_t>(length / kStepsOfPart, 1, kMostBlocks));
  const auto distance = [&](int64_t parts) {
    return std::abs(std::log2(static_cast<double>(parts) / wanted)) + (parts > kLanes && parts % kLanes != 0 ? 1 : 0);
  };
  int64_t best = std::bit_floor(static_cast<uint64_t>(wanted));
  double least = 2;
  for (int64_t parts = 1; parts <= kMostBlocks; ++parts)
    if (length % parts == 0 && distance(parts) < least) {
      best = parts;
      least = distance(parts);
    }
  return best;
}

void share_row(Builder& builder, const std::string& name);

/// A reduction to one result, of which no loop but `step` is left: by a warp or, where it is long, part by part by
/// blocks of threads, and then what these have. Whether that was done.
bool share_steps(Builder& builder, const std::string& name, const LoopIds& steps, int64_t length) {
  Schedule& schedule = builder.schedule;
  const View& view = builder.view;
  const bool has_row = view.loops(name).size() > steps.size();
  const auto by_warp = [&](LoopId loop) { return share_reduction(builder, name, loop, {}, {kLanes, 1}); };
  const auto divide = [&] {
    const auto step = one_loop(schedule, steps);
    if (!step.ok()) return false;
    const bool is_short = length <= kStepsOfPart && length % kLanes == 0;
    if (!has_row && builder.decide(name, "by_warp", is_short)) return by_warp(*step);
    const int64_t preferred = has_row && length <= kStepsOfBlock ? 1 : parts_for(length);
    // Less than there are steps: what is left may be divided again.
    std::vector<int64_t> candidates = {1};
    for (int64_t each = 2; each <= kMostBlocks && each < length; ++each)
      if (length % each == 0 || each == preferred) candidates.push_back(each);
    const int64_t parts = builder.decide(name, "parts", candidates, preferred);
    if (has_row && parts == 1) return false;
    const auto partial = schedule.split_k(name, *step, parts);
    if (!partial.ok()) return false;
    share_row(builder, *partial);
    if (has_row) {
      share_row(builder, name);
      return true;
    }
    return parts <= kLanes || parts % kLanes != 0 || by_warp(view.loops(name).back());
  };
  const Schedule before = schedule;
  if (divide() && check_launches(schedule.finish()).ok()) return true;
  schedule = before;
  return false;
}

void share_row(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  const Block block = view.block(name);
  const auto work = points(block);
  if (!work || *work == 0) return;
  const size_t rank = block.axes.size();
  const LoopIds loops = view.loops(name);
  if (loops.size() != rank + block.reduce.size()) return;
  const LoopIds rows(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(rank)),
      steps(loops.begin() + static_cast<std::ptrdiff_t>(rank), loops.end());
  const int64_t results = view.iterations(rows), length = *work / results;
  const bool has_members = length > 1 && row_axes(view, block, results);
  const std::vector<Member> all = has_members ? members(view, name, results) : std::vector<Member>();
  const bool is_along = runs_along_rows(view, block), is_row_of_warp = all.size() > 1 && length >= kLanes;
  const bool pays = length >= kLongReductionOfBlock ? results <= kManyThreads || is_along : is_row_of_warp && is_along;
  if (!builder.decide(name, "share_row", pays)) return;
  // What is done with all elements of a row is done where they are.
  const bool has_elements = std::ranges::any_of(all, [&](const Member& member) {
    return !view.block(member.name).is_reduction() && member.row_axes < view.block(member.name).axes.size();
  });
  const auto share_one = [&] { return results == 1 && share_steps(builder, name, steps, length); };
  if (!has_elements && share_one()) return;
  const Schedule before = builder.schedule;
  if (has_members && rank > 0) {
    const int64_t vector = vector_for(view, all);
    int64_t preferred = threads_for(length, vector, results);
    if (all.size() > 1 && preferred < kLanes && length >= kLanes) preferred = warps_for(length);
    if (preferred > 1 && builder.decide(name, "join_rows", all.size() > 1 || preferred % kLanes == 0)) {
      std::vector<int64_t> candidates;
      for (int64_t each = 2; each <= std::min<int64_t>(length, 1024); ++each)
        if (length % each == 0 || each == preferred) candidates.push_back(each);
      Shares shares{builder.decide(name, "row_threads", candidates, preferred), vector};
      if (shares.threads == kLanes)
        shares.rows = builder.decide(name, "block_rows", {1, 2, 4, 8}, results % 4 == 0 ? 4 : 1);
      if (join_rows(builder, all, shares)) return;
      builder.schedule = before;
    }
  }
  if ((has_elements && share_one()) || rank == 0) return;
  Schedule& schedule = builder.schedule;
  const auto lay_out = [&] {
    const auto row = one_loop(schedule, rows), step = one_loop(schedule, steps);
    if (!row.ok() || !step.ok() || !tried(schedule.bind(*row, "block.x"))) return false;
    const int64_t threads = builder.decide(name, "threads", {32, 64, 128, 256, 512}, length >= 1024 ? 256 : 64);
    const auto parts = schedule.split(*step, Integers{-1, threads});
    if (!parts.ok()) return false;
    const auto partial = schedule.rfactor(name, (*parts)[1]);
    if (!partial.ok()) return false;
    for (const Write& write : view.block(*partial).writes)
      if (!tried(schedule.set_scope(view.buffer(write.buffer).name, "shared"))) return false;
    if (!tried(schedule.reorder({(*parts)[1], (*parts)[0]})) || !tried(schedule.bind((*parts)[1], "thread.x")))
      return false;
    // Each thread adds up what all have: in registers, of which one thread stores the result.
    const Schedule in_memory = schedule;
    const auto sums = sum_apart(builder, name);
    if (!sums.ok() || !tried(schedule.reverse_compute_at(name, *row)) ||
        !tried(schedule.set_scope(view.buffer(view.block(*sums).writes[0].buffer).name, "registers")) ||
        bytes_of(schedule, Scope::kRegister) > kSumBytes) {
      schedule = in_memory;
      return true;
    }
    for (const LoopId loop : view.inner_loops(*sums, *row)) (void)tried(schedule.unroll(loop));
    return true;
  };
  if (!lay_out()) builder.schedule = before;
}

}  // namespace

Module gpu_rows() {
  return {"gpu_rows", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          share_row};
}

}  // namespace isomer::kernel
