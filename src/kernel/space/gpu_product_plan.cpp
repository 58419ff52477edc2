#include "kernel/space/gpu_product_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernel/launch.h"

namespace isomer::kernel {
namespace {

/// Estimates of a GPU of today, in its cycles.
constexpr int64_t kMultiprocessors = 132;
constexpr double kMultiplyAdds = 128;     ///< that a multiprocessor starts in one
constexpr double kThreadsToFill = 512;    ///< of a multiprocessor, that keep it busy
constexpr double kCyclesOfFetch = 900;    ///< from a barrier to the next, at least
constexpr double kCyclesOfLaunch = 4000;  ///< for another launch
constexpr double kBytesOfCycle = 1600;    ///< that all of them read or write in one

double real(int64_t value) { return static_cast<double>(value); }
int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Of partial sums, which another launch reads and adds.
double cycles_of_parts(const ProductPlan& plan, const ProductSize& size) {
  return plan.parts == 1 ? 0 : cycles_of_launch(8 * size.others * size.rows * size.columns * plan.parts);
}

double cycles_of(const ProductPlan& plan, const ProductSize& size) {
  const int64_t tile_rows = plan.rows * plan.threads_y, tile_columns = plan.columns * plan.threads_x,
                threads = plan.threads(), part = size.places * ceil_of(size.length, plan.parts);
  const int64_t blocks = size.others * ceil_of(size.rows, tile_rows) * ceil_of(size.columns, tile_columns) * plan.parts;
  const double resident =
      std::floor(std::min(1536 / real(threads), 65536 / real(threads * (plan.rows * plan.columns + 40))));
  const double of_multiprocessor = real(ceil_of(blocks, kMultiprocessors));
  const double beside = std::clamp(of_multiprocessor, 1.0, std::max(1.0, resident));
  // Operands come from shared memory: a vector of four serves so many multiply-adds.
  const double reuse = real(plan.rows * plan.columns) / real(plan.rows + plan.columns);
  const double efficiency = std::min(0.75, reuse / 5);
  const double busy = std::min(1.0, beside * real(threads) / kThreadsToFill);
  const double work = real(part) *
                      (real(tile_rows * tile_columns) / efficiency + real(tile_rows) * size.operations_of_row +
                       real(tile_columns) * size.operations_of_column) /
                      (kMultiplyAdds * busy);
  const double fetches = real(ceil_of(part, plan.steps)) * kCyclesOfFetch / beside;
  return of_multiprocessor * std::max(work, fetches) + cycles_of_parts(plan, size);
}

/// Turn by turn: tensor cores, shared memory and what comes from the second-level cache are busy at the same time, if
/// enough stages or other blocks hide how long that takes. Constants are fitted to 946 kernels of 11 layers of halves
/// on an H100 (bench/gpu_sweep.cpp). An instruction takes as long for floats, of which it has half as many steps.
double cycles_by_tensor_cores(const ProductPlan& plan, const ProductSize& size) {
  constexpr double kMultiplyAddsOfTensorCores = 667, kBytesOfShared = 128, kBytesOfCache = 36.7;
  constexpr double kFragments = 0.8, kStores = 3.4, kResults = 3.6;  // times what they would take at best
  constexpr double kWait = 1140, kBarrier = 160, kStart = 5000, kOverlap = 0.34, kOfCutResult = 2;
  constexpr double kRegistersBeside = 60, kSharedOfAll = 227 << 10, kSharedBeside = 1 << 10, kThreadsOfAll = 2048,
                   kRegistersOfAll = 65536;
  constexpr double kWarpsToFill = 9.3, kSchedulers = 4;
  constexpr int64_t kWarp = 32;
  const int64_t columns = plan.columns * plan.images, tile_rows = plan.rows * plan.threads_y,
                tile_columns = columns * plan.threads_x, threads = plan.threads(), warps = threads / kWarp;
  const int64_t blocks = ceil_of(size.others, plan.images) * ceil_of(size.rows, tile_rows) *
                         ceil_of(size.columns, plan.columns * plan.threads_x) * plan.parts;
  const int64_t turns = size.places * ceil_of(ceil_of(size.length, plan.parts), plan.steps);
  const double resident =
      std::floor(std::min({kThreadsOfAll / real(threads),
                           kRegistersOfAll / (real(threads) * (real(plan.rows * columns) + kRegistersBeside)),
                           kSharedOfAll / (real(plan.shared_bytes()) + kSharedBeside)}));
  if (resident < 1) return INFINITY;
  const double of_multiprocessor = real(blocks) / kMultiprocessors;
  const double beside = std::clamp(std::ceil(of_multiprocessor), 1.0, resident);
  const int64_t bytes_of_element = plan.mma->bytes();
  const double bytes = real(bytes_of_element * (tile_rows + tile_columns) * plan.steps);
  const double products =
      real(tile_rows * tile_columns * plan.steps) * real(bytes_of_element) / 2 / kMultiplyAddsOfTensorCores;
  const double fragments = kFragments * real(warps * (2 * plan.rows + columns) * plan.steps) / real(plan.mma->steps);
  const double stores = kStores * bytes / kBytesOfShared;
  const double fetched = (real(tile_rows) * size.operations_of_row + real(tile_columns) * size.operations_of_column) *
                         real(plan.steps) / kMultiplyAdds;
  const double running = beside * real(warps);  // warps
  const double busy =
      std::min(1.0, running / kSchedulers) * std::min(1.0, std::sqrt(std::max(running, kSchedulers) / kWarpsToFill));
  const double work = std::max({products / busy, fragments + stores, bytes / kBytesOfCache}) + fetched;
  // What goes through registers is waited for in the turn that asks for it.
  const bool by_registers = size.operations_of_column > kOperationsOfVector || plan.stages == 1;
  const double wait = kWait / real(by_registers ? 1 : plan.stages - 1);
  const double turn = std::max(beside * work, std::max(wait, kOverlap * work) + (1 - kOverlap) * work + kBarrier);
  // Blocks end at times of their own, unless all of them run at once.
  const double waves = of_multiprocessor / beside;
  const double rounds = waves <= 1 ? 1 : (waves + std::ceil(waves)) / 2;
  const double of_result = size.columns % plan.columns != 0
                               ? kOfCutResult
                               : real(plan.parts > 1 ? 4 : bytes_of_element) * kResults / kBytesOfCache;
  const double results = rounds * beside * real(tile_rows * tile_columns) * of_result;
  return kStart + rounds * real(turns) * turn + results + cycles_of_parts(plan, size);
}

}  // namespace

double cycles_of_launch(int64_t bytes) { return kCyclesOfLaunch + real(bytes) / kBytesOfCycle; }

std::vector<int64_t> divisors(int64_t length, int64_t most) {
  std::vector<int64_t> all;
  for (int64_t each = 1; each <= std::min(length, most); ++each)
    if (length % each == 0) all.push_back(each);
  return all;
}

namespace {

ProductPlan cheapest_by_tensor_cores(const ProductPlan& axes, const ProductSize& size) {
  constexpr int64_t kMostSums = 128;  // of a thread
  ProductPlan best = axes;
  best.cycles = INFINITY;
  ProductPlan plan = axes;
  plan.threads_x = kMmaWide;
  for (plan.threads_y = kMmaHigh; plan.threads_y <= 8 * kMmaHigh; plan.threads_y *= 2)
    for (plan.rows = 2; plan.rows <= 8; plan.rows *= 2)
      for (plan.columns = 4; plan.columns <= 32; plan.columns *= 2)
        for (plan.images = 1; plan.images <= size.most_images && size.others % plan.images == 0; plan.images *= 2)
          for (const int64_t parts : divisors(size.length / plan.mma->steps, 32)) {
            if (plan.rows * plan.columns * plan.images > kMostSums) continue;
            plan.parts = parts;
            plan.steps = plan.most_steps(size.length / parts);
            plan.stages = most_stages(plan);
            if (plan.shared_bytes() > kMostSharedBytes) continue;
            plan.cycles = cycles_by_tensor_cores(plan, size);
            if (plan.cycles < best.cycles) best = plan;
          }
  return best;
}

}  // namespace

int64_t ProductPlan::shared_bytes() const {
  return mma->bytes() * stages * (threads_y * rows + threads_x * columns * images) * steps;
}

int64_t most_stages(ProductPlan plan) {
  constexpr int64_t kMostStages = 4;
  plan.stages = 1;
  return std::clamp<int64_t>(kMostSharedBytes / plan.shared_bytes(), 1, kMostStages);
}

ProductPlan cheapest(const ProductPlan& axes, const ProductSize& size) {
  if (axes.mma) return cheapest_by_tensor_cores(axes, size);
  const int64_t rows = size.rows, columns = size.columns, length = size.length;
  struct Tile {
    int64_t rows, columns, threads_y, threads_x;
  };
  constexpr std::array<Tile, 7> kTiles = {
      {{8, 8, 16, 16}, {8, 4, 16, 16}, {8, 4, 8, 16}, {8, 4, 4, 16}, {4, 4, 8, 16}, {4, 4, 8, 8}, {8, 8, 8, 8}}};
  ProductPlan best = axes;
  double least = INFINITY;
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
