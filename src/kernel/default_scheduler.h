// How default schedules are made: maps, transforms, rows, tiles, each in a source of its own (default_maps.cpp,
// default_transforms.cpp, default_rows.cpp, default_tiles.cpp). Only those and default_schedule.cpp read this.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/access.h"
#include "kernel/default_schedule.h"
#include "kernel/tile.h"
#include "kernel/tree.h"

namespace isomer::kernel {

/// What a block of rows may take in the second level of cache beside constant operands that stay there.
inline constexpr int64_t kRowBlockBytes = 131'072;

/// A primitive that may not apply where the analysis looked at less than the primitive does: the schedule is valid
/// without.
template <class T>
bool tried(const Result<T>& result) {
  return result.ok();
}

class Scheduler {
 public:
  Scheduler(Schedule schedule, const Machine& machine, const std::set<int>& constants)
      : schedule_(std::move(schedule)), machine_(machine) {
    for (const int input : constants) constants_.insert(schedule_.kernel().inputs[input]);
  }

  Schedule run();

 private:
  const Kernel& kernel() const { return schedule_.kernel(); }
  Block block(const std::string& name) const;
  /// Whether the block stands in a root nest of its own, without an order, not yet scheduled.
  bool alone(const std::string& name) const;
  /// Whether the block is part of something ordered (a step of a scan) and alone in the loops inside of that.
  bool is_step(const std::string& name) const;
  /// The block's own loops, inside of what is ordered, or of the loop around them.
  LoopIds inner_loops(const std::string& name, LoopId around = {}) const;
  int64_t extent(LoopId id) const;
  static Integers extents(const Block& block);
  int64_t iterations(const LoopIds& loops) const;
  Tiler tiler() const { return {kernel(), machine_, constants_, packs_constants_only_}; }
  int lanes(const Block& block) const { return tiler().lanes(block); }
  int64_t lanes_bytes(const Block& block) const {
    return std::max(bit_width(kernel().buffers[block.writes[0].buffer].dtype), 32) / 8;
  }
  bool constant(int buffer) const { return constants_.contains(buffer); }

  // Maps

  /// Maps that nothing is gained from storing.
  void inline_maps();
  /// How many elements of the buffer a point of the block reads.
  int64_t loads_of(const Block& reader, int buffer) const;
  /// A map that brings the results of a reduction into another place.
  bool moves_reduction(const Block& map) const;
  /// Whether every load moves through memory as the output does, or not at all.
  bool is_flat(const Block& block) const;
  /// The axis along which the output lies contiguous; -1: none.
  int contiguous_axis(const Block& map) const;
  /// Whether neighbours in the output need neighbours of each input, or one element of it.
  bool runs_along(const Block& map) const;
  /// The blocks that were not there before.
  std::vector<std::string> made_since(const std::vector<std::string>& before) const;
  /// How long the parts (but the last) are in which selects choose the same all along an axis; none where that doesn't
  /// pay.
  std::vector<int64_t> parts_of(const Block& map, int axis) const;
  /// A map that joins others (concatenations) becomes one for each. Whether there are several.
  bool partition(const std::string& name, LoopIds loops, int64_t work);
  /// The axis along which a source lies contiguous, where that is another one than the result's; -1: none.
  int transposed_axis(const Block& map) const;
  /// Such a map in tiles that are transposed in registers; the loop over the source's axis is loops[place]. Whether
  /// that did.
  bool transpose(const std::string& name, LoopIds loops, size_t place, int64_t work);
  /// Blocks of it are moved at a time: each line of cache is read once.
  void block_transposition(LoopIds& loops, size_t place);
  /// Loops of a map in the order in which its output lies in memory, as far as that is known.
  LoopIds in_memory_order(const std::string& name);
  void schedule_map(const std::string& name);
  /// Splits a loop so that vectors of it are left: whole ones where a width divides it or there are many, with a last
  /// one apart.
  void vectorize(LoopId loop, const Block& map);
  /// One parallel loop over these outermost ones, where there is enough to do.
  void parallelize(const LoopIds& outer, int64_t work);

  // Maps of which each element of a tile is another sum of elements of other tiles (Winograd's transforms)

  /// Whether selects choose by the place in a tile what is computed.
  bool is_transform(const std::string& name) const;
  /// Tiles are written out, vectors run across them: the selects are gone, and what a tile is made of stays in
  /// registers.
  void schedule_transform(const std::string& name);
  /// The axes along which tiles lie, with their length there if they repeat; 0: all of the axis.
  std::map<int, int64_t> tile_axes(const Block& map) const;
  /// Tiles are as long as they repeat along an axis, or all of the axis. How many maps that make what a tile is made of
  /// are inside.
  std::optional<size_t> lay_out_transform(const std::string& name, bool by_periods);

  // Reductions over rows

  /// A long reduction with so few results that threads have nothing to share becomes one of parts.
  void share_reduction(const std::string& name);
  /// Other reductions: rows in parallel, lanes over the reduction.
  void schedule_rows(const std::string& name);
  /// A reduction along memory: lanes hold partial results, combined at the end.
  void vectorize_reduction(const std::string& name);
  /// Cuts a reduction's loop into steps of `width` lanes, which hold partial results that the block combines. The loop
  /// over the steps; the schedule is spoilt where it gives none.
  std::optional<LoopId> partial_results(const std::string& name, LoopId loop, int64_t width);
  /// Whether the block is a reduction or made of what one gives, not yet scheduled.
  bool follows_reduction(const std::string& name) const;
  /// How many leading axes of a map index all that it reads of reductions: what it reads of them is the work of one
  /// row.
  size_t row_axes(const Block& map) const;
  /// Reductions over rows and the map that reads them share one loop over the rows: what they pass on stays in cache.
  void schedule_row_group(const std::string& name, size_t rows, int64_t work);
  /// Moves a block under the loop unless it would be computed more than once, or what it passes on would not fit a
  /// cache.
  bool moved_to_row(const std::string& name, LoopId row);
  /// The load by which a reduction alone reads whole rows that other blocks make.
  std::optional<LoadAccess> rows_read(const Block& reduction) const;
  /// Attention, and what has its form: blocks of rows pass through all reductions and stay in cache between them.
  void schedule_rows_inside(const std::string& name);
  /// axes of the rows, one loop | blocks of rows | all that makes the rows, what is left of the reduction
  bool lay_out_rows_inside(const std::string& name, const Block& last, const LoadAccess& rows);
  /// How many of the rows a block has: at most `most`, in blocks of one size if that can be.
  static int64_t rows_of_block(int64_t rows, int64_t most);
  void schedule_inside(const std::string& name, LoopId around);

  // Reductions of which lanes compute several results at a time

  void schedule_tiles(const std::string& name);
  /// Reads under a padding's select become reads of a padded copy, where elements are read often.
  void store_paddings(const std::string& name);
  /// Dims of a buffer along which a copy with padding is to be made: the innermost of those that windows move along,
  /// and where the copy is not mostly padding. Along others, steps in the padding are skipped.
  Integers worth_padding(const Block& reduction, int buffer, const std::vector<LoadAccess>& accesses) const;
  /// The order of a buffer's dims in memory is that of its accesses: a copy of it keeps the dims over which the
  /// reduction runs with a constant operand innermost. Empty: as it is.
  static std::string memory_layout(int buffer, const std::vector<LoadAccess>& accesses);
  /// Which of the elements of its buffer that a block reads an access is.
  int64_t ordinal(const std::string& name, const LoadAccess& access) const;
  /// How the results lie in memory in the end: as the epilogue stores them, if there is one.
  Strides stored_strides(const Block& reduction) const;
  /// Operands that the vectors run across are brought into blocks of the tile's width, in the order in which the tile's
  /// loops read them, unless they lie well already: contiguous along the vectors, of whole vectors, and not constant.
  bool pack(const std::string& name, Tile& tile);
  /// The map that alone reads the reduction's result, element by element; empty: there is none.
  std::string epilogue(const Block& reduction) const;
  /// axes that move packed operands, tiles of vectors (where all of them stay in cache: behind the next), other axes,
  /// tiles of rows | reduction | rows unrolled, vectors unrolled, lanes
  bool lay_out_tiles(const std::string& name, const Tile& tile, int64_t work);
  /// Whether what is multiplied in the reduction with an operand is constant, and with that finite.
  bool factors_are_constant(const Block& reduction) const;
  /// Takes loops off the reduction's front until what is left has at most `steps` steps; cuts one in two where none
  /// fits.
  LoopIds block_window(LoopIds& window, int64_t steps);
  /// Into how many pieces tiles of rows are cut so that threads get equal shares of `outer` times them.
  int64_t pieces_of(int64_t tiles, int64_t outer) const;
  /// The initialization took the kinds that the loops had then: serial ones; its last loop runs along the lanes.
  void lay_out_initialization(const std::string& computing);
  /// The loops of a tile: all unrolled but the last, which becomes lanes; whether that did.
  bool write_out(const LoopIds& loops);
  /// The loops of a tile that holds a reduction's results.
  bool tensorize(const LoopIds& loops);
  /// The block that stores the tile: rows unrolled (but where it computes much), vectors along the tile's vector axis.
  void store_tile(const std::string& name, const Tile& tile, bool is_long);
  /// What the block that stores tiles reads beside them (residuals) comes from far away: it is asked for before the
  /// reduction.
  void prefetch(const std::string& store);
  /// Steps run on one thread, and what they compute lies where the next ones find it: vectors, and tiles of registers
  /// that live through the reduction.
  void schedule_step(const std::string& name);
  /// All threads take a step together where it is long.
  void share_step(const std::string& name);
  /// A reduction that runs inside of other loops, by its own: one for each of its axes (none for a point), then its
  /// reduction. axes, tiles of vectors, tiles of rows | reduction | rows, vectors, lanes
  bool lay_out_inside(const std::string& name, const Tile& tile, const LoopIds& loops);

  Schedule schedule_;
  bool packs_constants_only_ = false;  ///< others change from step to step
  const Machine& machine_;
  std::set<int> constants_;  ///< their buffers
};

}  // namespace isomer::kernel
