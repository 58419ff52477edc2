// Micro-tiles: results of a reduction that stay in vector registers through it (kernel_tuner.md 6.1). Which of them fit
// the registers follows from the instruction set; tests/kernel/loops_test.cpp compiles the whole table and looks for
// spills.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "util/result.h"

namespace isomer::kernel {

/// What an instruction set has for vectors.
struct VectorUnit {
  std::string_view name;
  int bits;
  int registers;
  /// Multiply-adds: no register holds the product.
  bool fused;
  /// Loads and stores of some lanes only, at the cost of whole ones.
  bool masks;
};

inline constexpr VectorUnit kBaseline = {"sse2", 128, 16, false, false};
inline constexpr VectorUnit kAvx = {"avx", 256, 16, false, false};
inline constexpr VectorUnit kAvx2 = {"avx2", 256, 16, true, false};
inline constexpr VectorUnit kAvx512 = {"avx512", 512, 32, true, true};
inline constexpr std::array<VectorUnit, 4> kVectorUnits = {kBaseline, kAvx, kAvx2, kAvx512};

/// Vectors of a row, at most, where there are several rows.
inline constexpr int64_t kVectorsOfRows = 4;

/// Vector registers that rows of `vectors` accumulators take, `operands` vectors beside them, and a broadcast scalar.
int64_t registers_of(const VectorUnit& unit, int64_t rows, int64_t vectors, int64_t operands);

/// Whether they are there, and rows not too long.
bool fits(const VectorUnit& unit, int64_t rows, int64_t vectors, int64_t operands);

/// rows x vectors of accumulators.
struct MicroTile {
  int64_t rows;
  int64_t vectors;
};

/// All that fit, one vector of operands held for each column: the table of the instruction set.
std::vector<MicroTile> micro_tiles(const VectorUnit& unit);

/// A tile as `tensorize` names it, "avx2.6x2x8": the extents of its loops, lanes last.
struct TileName {
  VectorUnit unit;
  std::vector<int64_t> extents;
};
Result<TileName> parse_tile_name(const std::string& text);
std::string tile_name(const VectorUnit& unit, const std::vector<int64_t>& extents);

}  // namespace isomer::kernel
