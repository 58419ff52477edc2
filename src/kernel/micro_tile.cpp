#include "kernel/micro_tile.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace isomer::kernel {

int64_t registers_of(const VectorUnit& unit, int64_t rows, int64_t vectors, int64_t operands) {
  const int64_t product = unit.fused ? 0 : 1;
  return rows * vectors + operands + 1 + product;
}

bool fits(const VectorUnit& unit, int64_t rows, int64_t vectors, int64_t operands) {
  return registers_of(unit, rows, vectors, operands) <= unit.registers && (rows == 1 || vectors <= kVectorsOfRows);
}

std::vector<MicroTile> micro_tiles(const VectorUnit& unit) {
  std::vector<MicroTile> result;
  for (int64_t rows = 1; rows < unit.registers; ++rows)
    for (int64_t vectors = 1; fits(unit, rows, vectors, rows == 1 ? 1 : vectors); ++vectors)
      result.push_back({rows, vectors});
  return result;
}

Result<TileName> parse_tile_name(const std::string& text) {
  const size_t dot = text.find('.');
  const auto unit = std::find_if(kVectorUnits.begin(), kVectorUnits.end(),
                                 [&](const VectorUnit& u) { return u.name == text.substr(0, dot); });
  if (unit == kVectorUnits.end() || dot == std::string::npos)
    return invalid(
        text, "a micro-tile like avx2.6x2x8, of sse2, avx, avx2 or avx512, or a micro-kernel that was given expected");
  TileName name = {*unit, {}};
  for (const char *at = text.data() + dot, *end = text.data() + text.size(); at != end;) {
    int64_t extent = 0;
    const auto [behind, error] = std::from_chars(at + 1, end, extent);
    if (error != std::errc() || extent < 1 || extent > 4096 || (behind != end && *behind != 'x'))
      return invalid(text, "extents like 6x2x8 expected");
    name.extents.push_back(extent);
    at = behind;
  }
  return name;
}

std::string tile_name(const VectorUnit& unit, const std::vector<int64_t>& extents) {
  return fmt::format("{}.{}", unit.name, fmt::join(extents, "x"));
}

}  // namespace isomer::kernel
