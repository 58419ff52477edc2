#include "tune/features.h"

#include <algorithm>
#include <cmath>

#include "tune/nest.h"
#include "util/check.h"

namespace isomer::tune {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Expr;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Scope;

class BlockReader {
 public:
  BlockReader(const Kernel& kernel, const Block& block, const std::vector<const Loop*>& loops)
      : kernel_(kernel), block_(block), nest_(loops), accesses_(accesses_of(kernel, block, nest_)) {}

  FeatureRow row(const kernel::Machine& machine) const {
    FeatureRow row = {};
    size_t column = 0;
    const auto put = [&](float number) { row[column++] = number; };
    const double points = nest_.points();
    const size_t tile = nest_.tile();
    const double lanes = nest_.product(LoopKind::kVectorized), unrolled = nest_.product(LoopKind::kUnrolled);
    put(logarithm(points));
    for (const double count : operations_of(block_)) put(static_cast<float>(count));
    put(block_.is_reduction());
    put(static_cast<bool>(block_.predicate));
    put(logarithm(lanes));
    put(logarithm(unrolled));
    put(logarithm(tile > 0 ? nest_.extents[tile - 1] : 1));
    put(logarithm(nest_.product(LoopKind::kParallel)));
    put(static_cast<float>(nest_.loops.size()));
    put(has_annotation(kernel::kMicroKernel));
    put(has_annotation(kernel::kAhead) + has_annotation(kernel::kPrefetch));
    const Buffer& written = kernel_.buffers[static_cast<size_t>(block_.writes.empty() ? 0 : block_.writes[0].buffer)];
    put(static_cast<float>(written.scope));
    put(static_cast<float>(bit_width(written.dtype)));
    // Registers that hold results, operations of a tile, bytes that one round of the loop around it touches.
    put(logarithm(accesses_.empty() ? 0 : accesses_[0].touched(nest_, tile) / 64));
    put(logarithm(unrolled * std::max(1.0, lanes / 16)));
    put(logarithm(touched(tile > 0 ? tile - 1 : 0)));
    const auto first = static_cast<double>(machine.caches.first), second = static_cast<double>(machine.caches.second);
    const double past_first = traffic(first), past_second = traffic(second);
    put(logarithm(past_first));
    put(logarithm(past_second));
    put(logarithm(touched(0)));
    put(logarithm(points / std::max(past_first, 1.0) * 64));
    put(logarithm(points / std::max(past_second, 1.0) * 64));
    CHECK(column == kOtherColumns) << column;
    put_accesses(tile, first, second, row, column);
    return row;
  }

 private:
  float has_annotation(const char* key) const {
    return std::any_of(nest_.loops.begin(), nest_.loops.end(),
                       [&](const Loop* loop) { return loop->annotations.contains(key); });
  }

  bool is_in_memory(const AccessPattern& access) const {
    return kernel_.buffers[static_cast<size_t>(access.buffer)].scope != Scope::kRegister;
  }

  /// Bytes that the loops from `first` on touch outside of registers.
  double touched(size_t first) const {
    double sum = 0;
    for (const AccessPattern& access : accesses_)
      if (is_in_memory(access)) sum += access.touched(nest_, first);
    return sum;
  }

  /// The outermost loop all of whose rounds together touch no more than a cache holds.
  size_t held_from(double cache) const {
    size_t first = nest_.loops.size();
    while (first > 0 && touched(first - 1) <= cache) --first;
    return first;
  }

  /// Bytes that come from beyond a cache: what the loops that it holds touch, as often as they begin.
  double traffic(double cache) const {
    const size_t first = held_from(cache);
    return touched(first) * nest_.iterations(0, first);
  }

  void put_accesses(size_t tile, double first_cache, double second_cache, FeatureRow& row, size_t column) const {
    const size_t in_first = held_from(first_cache), in_second = held_from(second_cache);
    std::vector<AccessPattern> order = accesses_;
    put_in_order(order, nest_);
    for (size_t k = 0; k < std::min(order.size(), kAccessesOfARow); ++k) {
      const AccessPattern& access = order[k];
      const Buffer& buffer = kernel_.buffers[static_cast<size_t>(access.buffer)];
      const double in_tile = access.touched(nest_, tile);
      double lane_stride = 0;
      for (size_t loop = 0; loop < nest_.loops.size(); ++loop)
        if (nest_.loops[loop]->kind == LoopKind::kVectorized) lane_stride = std::fabs(access.strides[loop]);
      const float columns[kColumnsOfAnAccess] = {
          1 + static_cast<float>(buffer.scope),
          buffer.is_constant ? 1.0F : 0.0F,
          logarithm(access.touched(nest_, 0)),
          logarithm(in_tile),
          static_cast<float>(std::min(lane_stride, 2.0)),
          logarithm(nest_.iterations(tile, nest_.loops.size()) * access.element_bytes / std::max(in_tile, 1.0)),
          logarithm(access.touched(nest_, in_first) * nest_.iterations(0, in_first)),
          logarithm(access.touched(nest_, in_second) * nest_.iterations(0, in_second)),
      };
      std::copy(std::begin(columns), std::end(columns), row.begin() + static_cast<std::ptrdiff_t>(column));
      column += kColumnsOfAnAccess;
    }
  }

  const Kernel& kernel_;
  const Block& block_;
  const Nest nest_;
  const std::vector<AccessPattern> accesses_;
};

}  // namespace

Features features_of(const Kernel& kernel, const kernel::Machine& machine) {
  Features result;
  kernel::for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    result.push_back(BlockReader(kernel, block, loops).row(machine));
  });
  return result;
}

Row row_of(const Features& features) {
  FeatureRow largest = {}, most = {}, sum = {};
  for (const FeatureRow& block : features) {
    if (block[0] > largest[0]) largest = block;  // of more points
    for (size_t k = 0; k < kColumns; ++k) {
      most[k] = std::max(most[k], block[k]);
      sum[k] += block[k];
    }
  }
  Row row;
  for (const FeatureRow* each : {&largest, &most, &sum}) row.insert(row.end(), each->begin(), each->end());
  row.push_back(static_cast<float>(features.size()));
  return row;
}

}  // namespace isomer::tune
