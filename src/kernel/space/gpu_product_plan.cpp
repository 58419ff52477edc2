#include "kernel/space/gpu_product_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/mma.h"

namespace isomer::kernel {
namespace {

/// Estimates of a GPU of today, in its cycles.
constexpr int64_t kMultiprocessors = 132;
constexpr double kMultiplyAddsOfTensorCores = 1024, kPartOfTensorCores = 0.5;
constexpr double kMultiplyAdds = 128;     ///< that a multiprocessor starts in one
constexpr double kThreadsToFill = 512;    ///< of a multiprocessor, that keep it busy
constexpr double kCyclesOfFetch = 900;    ///< from a barrier to the next, at least
constexpr double kCyclesOfLaunch = 4000;  ///< for another launch
constexpr double kBytesOfCycle = 1600;    ///< that all of them read or write in one

/// Of the multiply-adds that a multiprocessor does without them: fragments come from shared memory.
double efficiency_of_tensor_cores(const ProductPlan& plan) {
  const auto rows = static_cast<double>(plan.rows), columns = static_cast<double>(plan.columns);
  const double products = 2 * rows * columns, fragments = 4 * (2 * rows + columns);  // cycles a warp
  return kPartOfTensorCores * kMultiplyAddsOfTensorCores / kMultiplyAdds * std::min(1.0, products / fragments);
}

double cycles_of(const ProductPlan& plan, const ProductSize& size) {
  const auto [others, rows, columns, length, places, operations_of_row, operations_of_column] = size;
  const auto ceil_of = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t tile_rows = plan.rows * plan.threads_y, tile_columns = plan.columns * plan.threads_x,
                threads = plan.threads_x * plan.threads_y, part = places * ceil_of(length, plan.parts);
  const int64_t blocks = others * ceil_of(rows, tile_rows) * ceil_of(columns, tile_columns) * plan.parts;
  const auto resident = static_cast<int64_t>(std::min(
      1536.0 / static_cast<double>(threads), 65536.0 / static_cast<double>(threads * (plan.rows * plan.columns + 40))));
  const auto of_multiprocessor = static_cast<double>(ceil_of(blocks, kMultiprocessors));
  const double beside = std::clamp(of_multiprocessor, 1.0, std::max(1.0, static_cast<double>(resident)));
  // Operands come from shared memory: a vector of four serves so many multiply-adds.
  const double reuse = static_cast<double>(plan.rows * plan.columns) / static_cast<double>(plan.rows + plan.columns);
  const double efficiency = plan.by_tensor_cores ? efficiency_of_tensor_cores(plan) : std::min(0.75, reuse / 5);
  const double busy = std::min(1.0, beside * static_cast<double>(threads) / kThreadsToFill);
  const double work =
      static_cast<double>(part) *
      (static_cast<double>(tile_rows * tile_columns) / efficiency + static_cast<double>(tile_rows) * operations_of_row +
       static_cast<double>(tile_columns) * operations_of_column) /
      (kMultiplyAdds * busy);
  const double fetches = static_cast<double>(ceil_of(part, plan.steps)) * kCyclesOfFetch / beside;
  const double partial =
      plan.parts == 1
          ? 0
          : kCyclesOfLaunch + 8.0 * static_cast<double>(others * rows * columns * plan.parts) / kBytesOfCycle;
  return of_multiprocessor * std::max(work, fetches) + partial;
}

}  // namespace

std::vector<int64_t> divisors(int64_t length, int64_t most) {
  std::vector<int64_t> all;
  for (int64_t each = 1; each <= std::min(length, most); ++each)
    if (length % each == 0) all.push_back(each);
  return all;
}

ProductPlan cheapest(const ProductPlan& axes, const ProductSize& size) {
  const int64_t rows = size.rows, columns = size.columns, length = size.length;
  struct Tile {
    int64_t rows, columns, threads_y, threads_x;
  };
  constexpr std::array<Tile, 7> kTiles = {
      {{8, 8, 16, 16}, {8, 4, 16, 16}, {8, 4, 8, 16}, {8, 4, 4, 16}, {4, 4, 8, 16}, {4, 4, 8, 8}, {8, 8, 8, 8}}};
  constexpr std::array<Tile, 12> kTilesOfTensorCores = {{{4, 32, 32, 4},
                                                         {4, 16, 64, 4},
                                                         {2, 32, 32, 4},
                                                         {4, 32, 16, 4},
                                                         {2, 16, 64, 4},
                                                         {8, 16, 32, 4},
                                                         {8, 16, 16, 4},
                                                         {4, 16, 32, 4},
                                                         {2, 16, 32, 4},
                                                         {2, 8, 32, 4},
                                                         {2, 8, 16, 4},
                                                         {4, 8, 16, 4}}};
  ProductPlan best = axes;
  double least = INFINITY;
  if (axes.by_tensor_cores) {
    for (const Tile& tile : kTilesOfTensorCores)
      for (const int64_t parts : divisors(length / kMmaSteps, 32)) {
        ProductPlan plan = axes;
        plan.rows = tile.rows;
        plan.columns = tile.columns;
        plan.threads_y = tile.threads_y;
        plan.threads_x = tile.threads_x;
        plan.parts = parts;
        plan.steps = length / parts % (2 * kMmaSteps) == 0 ? 2 * kMmaSteps : kMmaSteps;
        const double cycles = cycles_of(plan, size);
        if (cycles >= least) continue;
        least = cycles;
        best = plan;
      }
    return best;
  }
  for (const Tile& tile : kTiles) {
    ProductPlan plan = axes;
    plan.rows = tile.rows;
    plan.columns = tile.columns;
    // Of a thread's columns all are there or none.
    while (columns % plan.columns != 0) plan.columns /= 2;
    for (int64_t odd = 5; plan.columns < 4 && odd < 8; odd += 2)
      if (columns % odd == 0) plan.columns = odd;
    while (plan.rows > rows) plan.rows /= 2;
    plan.threads_x = std::min(tile.threads_x, (columns + plan.columns - 1) / plan.columns);
    plan.threads_y = std::min(tile.threads_y, (rows + plan.rows - 1) / plan.rows);
    for (const int64_t parts : divisors(length, 32)) {
      plan.parts = parts;
      const std::vector<int64_t> steps = divisors(length / parts, kMostWrittenOut / (plan.rows * plan.columns));
      plan.steps = 1;
      // Four steps of a row come as one vector.
      for (const int64_t each : steps)
        if (each <= 16 && (each % 4 == 0 || plan.steps % 4 != 0)) plan.steps = each;
      const double cycles = cycles_of(plan, size);
      if (cycles >= least) continue;
      least = cycles;
      best = plan;
    }
  }
  return best;
}

}  // namespace isomer::kernel
