// How a reduction is tiled in registers: along which axis lanes run, along which one rows share what the lanes hold,
// how many of both (kernel_tuner.md 6.1). Tests: tests/kernel/schedule_test.cpp, rows_test.cpp
#pragma once

#include <set>
#include <vector>

#include "kernel/access.h"
#include "kernel/default_schedule.h"

namespace isomer::kernel {

/// Rows of a tile, at most; tiles of rows in a block.
inline constexpr int64_t kMostRows = 14;
inline constexpr int64_t kMostTiles = 64;
/// Copies of operands pay where each element takes part in so many results.
inline constexpr int64_t kWorthCopy = 16;
/// Reductions unrolled inside a tile: windows of pooling and depthwise filters.
inline constexpr int64_t kSmallWindow = 25;

using Strides = std::vector<std::optional<int64_t>>;

struct Tile {
  int vector_axis = -1;  ///< lanes run along it; -1: there is no tile
  int row_axis = -1;     ///< -1: none; each row of the tile reuses the vectors of the others
  int64_t lanes = 1;
  int64_t vectors = 1;               ///< of `lanes` along vector_axis
  int64_t rows = 1;                  ///< along row_axis
  int64_t row_period = 1;            ///< from one row to the next
  std::vector<LoadAccess> accesses;  ///< strides along vector_axis are those within a tile
  std::vector<int> window;           ///< reduce iterators in the order of their loops
  bool may_skip = false;             ///< what padding's zeros are multiplied with is constant
  bool pads = false;                 ///< operands have elements for the lanes beyond the axis

  int64_t width() const { return lanes * vectors; }
};

/// Tiles of a kernel's reductions. `constants` are buffers whose elements are known at compile time.
class Tiler {
 public:
  Tiler(const Kernel& kernel, const Machine& machine, const std::set<int>& constants, bool packs_constants_only)
      : kernel_(kernel), machine_(machine), constants_(constants), packs_constants_only_(packs_constants_only) {}

  /// The best tile for a reduction whose loops run over `extents` of its axes, and whose results lie `out` apart in the
  /// end.
  Tile choose(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out) const;
  /// Whether a copy of the operand in blocks of vectors along the axis can be had for little.
  bool can_pack(const Block& reduction, const LoadAccess& access, int axis) const;
  /// In how many steps of the reduction an element of the operand takes part, on average.
  int64_t reuse(const Block& reduction, const LoadAccess& access) const;
  int lanes(const Block& block) const;

 private:
  bool can_vectorize(const Block& reduction, const std::vector<LoadAccess>& accesses, int axis,
                     bool is_contiguous) const;
  void choose_row_axis(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out,
                       Tile& tile) const;
  double choose_rows(const Block& reduction, const std::vector<int64_t>& extents, const Strides& out, Tile& tile) const;
  std::vector<int> window_order(const Block& reduction, const Tile& tile) const;

  const Kernel& kernel_;
  const Machine& machine_;
  const std::set<int>& constants_;
  bool packs_constants_only_;  ///< others change from step to step
};

/// The smallest number of equal pieces of at most `most` tiles each; 1 where there is none of use.
int64_t pieces_of_at_most(int64_t tiles, int64_t most);

}  // namespace isomer::kernel
