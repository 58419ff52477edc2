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

/// Bytes.
constexpr double kLine = 64;

class BlockReader {
 public:
  BlockReader(const Kernel& kernel, const Block& block, const std::vector<const Loop*>& loops)
      : kernel_(kernel), block_(block), nest_(loops), accesses_(accesses_of(kernel, block, nest_)) {}

  FeatureRow row(const kernel::Machine& machine) const {
    FeatureRow row = {};
    const double points = nest_.points();
    const size_t tile = nest_.tile();
    const double lanes = nest_.product(LoopKind::kVectorized), unrolled = nest_.product(LoopKind::kUnrolled);
    row[kPoints] = logarithm(points);
    std::ranges::copy(operations_of(block_), row.begin() + kSums);
    row[kIsReduction] = block_.is_reduction();
    row[kCondition] = condition_depth();
    row[kLanes] = logarithm(lanes);
    row[kUnrolled] = logarithm(unrolled);
    row[kInnermost] = logarithm(tile > 0 ? nest_.extents[tile - 1] : 1);
    row[kParallel] = logarithm(nest_.product(LoopKind::kParallel));
    row[kLoops] = static_cast<float>(nest_.loops.size());
    row[kMicroKernels] = has_annotation(kernel::kMicroKernel);
    row[kAskedAhead] = has_annotation(kernel::kAhead) + has_annotation(kernel::kPrefetch);
    const Buffer& written = kernel_.buffers[static_cast<size_t>(block_.writes.empty() ? 0 : block_.writes[0].buffer)];
    row[kScope] = static_cast<float>(written.scope);
    row[kBits] = static_cast<float>(bit_width(written.dtype));
    row[kResults] = logarithm(accesses_.empty() ? 0 : accesses_[0].touched(nest_, tile) / kLine);
    row[kVectors] = logarithm(unrolled * std::max(1.0, lanes / 16));
    row[kRoundBytes] = logarithm(touched(tile > 0 ? tile - 1 : 0));
    const auto first = static_cast<double>(machine.caches.first), second = static_cast<double>(machine.caches.second);
    const double past_first = traffic(first), past_second = traffic(second);
    row[kPastFirst] = logarithm(past_first);
    row[kPastSecond] = logarithm(past_second);
    row[kTouched] = logarithm(touched(0));
    row[kPointsPerFirst] = logarithm(points / std::max(past_first, 1.0) * kLine);
    row[kPointsPerSecond] = logarithm(points / std::max(past_second, 1.0) * kLine);
    put_accesses(tile, first, second, row);
    return row;
  }

 private:
  float condition_depth() const {
    if (!block_.predicate) return 0;
    float depth = 1;
    const std::set<int> read = kernel::variables(block_.predicate);
    for (const Loop* loop : nest_.loops)
      if (read.contains(loop->variable))
        depth = std::max(depth, loop->kind == LoopKind::kVectorized ? 3.F
                                : loop->kind == LoopKind::kUnrolled ? 2.F
                                                                    : 1.F);
    return depth;
  }

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

  void put_accesses(size_t tile, double first_cache, double second_cache, FeatureRow& row) const {
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
      float* const columns = row.data() + column_of(k, kAccessScope);
      columns[kAccessScope] = 1 + static_cast<float>(buffer.scope);
      columns[kAccessIsConstant] = buffer.is_constant;
      columns[kAccessTouched] = logarithm(access.touched(nest_, 0));
      columns[kAccessTile] = logarithm(in_tile);
      columns[kAccessStride] = static_cast<float>(std::min(lane_stride, 2.0));
      columns[kAccessReuse] =
          logarithm(nest_.iterations(tile, nest_.loops.size()) * access.element_bytes / std::max(in_tile, 1.0));
      columns[kAccessPastFirst] = logarithm(access.touched(nest_, in_first) * nest_.iterations(0, in_first));
      columns[kAccessPastSecond] = logarithm(access.touched(nest_, in_second) * nest_.iterations(0, in_second));
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
