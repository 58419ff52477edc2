// How a reduction is tiled in registers: along which axis lanes run, along which one rows share what the lanes hold,
// how many of both (kernel_tuner.md 6.1). Tests: tests/kernel/schedule_test.cpp, rows_test.cpp
#pragma once

#include <string>
#include <vector>

#include "kernel/space/builder.h"

namespace isomer::kernel {

/// Rows of a tile, at most, and vectors of its columns; tiles of rows in a block.
inline constexpr int64_t kMostRows = 14;
inline constexpr int64_t kMostVectors = 8;
inline constexpr int64_t kMostTiles = 64;
/// What a block of rows may take in the second level of cache beside constant operands that stay there.
inline int64_t row_block_bytes(const Machine& machine) { return machine.caches.second / 4; }
/// Copies of operands pay where each element takes part in so many results.
inline constexpr int64_t kWorthCopy = 16;
/// Those for the sake of bounds alone (padding, vectors that are not full) pay where it takes part in more than
/// depthwise windows of 5x5 have steps.
inline constexpr int64_t kWorthPadding = 32;
/// Bytes from a line of the first cache to one of the same set; and of a page, of which few are known at a time.
inline constexpr int64_t kSharedSet = 4096;
/// Reductions unrolled inside a tile: windows of pooling and depthwise filters, larger ones where all vectors slide.
inline constexpr int64_t kSmallWindow = 25, kSmallWindowOfOne = 49;

struct Tile {
  int vector_axis = -1;  ///< lanes run along it; -1: there is no tile
  int row_axis = -1;     ///< -1: none; each row of the tile reuses the vectors of the others
  int64_t lanes = 1;
  int64_t vectors = 1;               ///< of `lanes` along vector_axis
  int64_t rows = 1;                  ///< along row_axis
  int64_t row_period = 1;            ///< from one row to the next
  std::vector<LoadAccess> accesses;  ///< strides along vector_axis are those within a tile
  std::vector<int> window;           ///< reduce iterators in the order of their loops
  bool is_small = false;             ///< the window is written out inside of the rows
  bool pads = false;                 ///< operands have elements for the lanes beyond the axis

  int64_t width() const { return lanes * vectors; }
};

/// A reduction that is to be tiled.
struct Tiled {
  std::string name;
  Integers extents;          ///< that its loops run over, by axis
  Strides out;               ///< how far apart its results lie in the end
  bool is_repeated = false;  ///< from step to step other operands than constants change
  bool is_in_rows = false;   ///< its results are read again by rows: lanes that write them apart are no good
};

/// The dim of an operand that the axis alone moves, element by element, and where it begins there: [k, i0 + 512].
struct PackedDim {
  size_t dim = 0;
  int64_t offset = 0;
};
std::optional<PackedDim> packed_dim(const LoadAccess& access, int axis);
/// Whether a copy of the operand in blocks of `width` along the axis can be had for little, if it has such a dim: what
/// is no constant must begin there with a block.
bool can_pack(const View& view, const Tiled& reduction, const LoadAccess& access, int axis, int64_t width);
/// The tile that was decided for; its preference is that of the best score.
Tile choose_tile(Builder& builder, const Tiled& reduction);

/// The smallest number of equal pieces of at most `most` tiles each; 1 where there is none of use.
int64_t pieces_of_at_most(int64_t tiles, int64_t most);

}  // namespace isomer::kernel
