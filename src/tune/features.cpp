#include "tune/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "kernel/tree.h"
#include "util/check.h"

namespace isomer::tune {
namespace {

/// Of one in a number that is kept: 0 to 42, in sixths.
constexpr float kSteps = 6;

using kernel::Block;
using kernel::Buffer;
using kernel::Expr;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Scope;

constexpr double kLine = 64;

float logarithm(double count) { return static_cast<float>(std::log2(1 + std::max(count, 0.0))); }

/// Where loops stand and what a block's iterators are there.
struct Point {
  std::map<int, int64_t> loops;
  std::vector<int64_t> axes, reduce;
};

/// Nothing where data decide.
std::optional<int64_t> value(const Expr& expr, const Point& point) {
  using te::BinaryOp;
  if (const auto constant = te::as_constant(expr)) return constant;
  if (const auto* var = te::as<te::Var>(expr)) {
    const auto at = static_cast<size_t>(var->index);
    if (var->kind == te::VarKind::kSpatial && at < point.axes.size()) return point.axes[at];
    if (var->kind == te::VarKind::kReduce && at < point.reduce.size()) return point.reduce[at];
    const auto loop = point.loops.find(var->index);
    return var->kind == te::VarKind::kLoop && loop != point.loops.end() ? std::optional(loop->second) : std::nullopt;
  }
  const auto* binary = te::as<te::Binary>(expr);
  if (!binary) return std::nullopt;
  const auto left = value(binary->left, point), right = value(binary->right, point);
  if (!left || !right) return std::nullopt;
  switch (binary->op) {
    case BinaryOp::kAdd: return *left + *right;
    case BinaryOp::kSub: return *left - *right;
    case BinaryOp::kMul: return *left * *right;
    case BinaryOp::kMin: return std::min(*left, *right);
    case BinaryOp::kMax: return std::max(*left, *right);
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      if (*right <= 0) return std::nullopt;
      const int64_t rest = (*left % *right + *right) % *right;
      return binary->op == BinaryOp::kFloorMod ? rest : (*left - rest) / *right;
    }
    default: return std::nullopt;
  }
}

/// Loops around a block, the outermost first, with their extents.
struct Nest {
  std::vector<const Loop*> loops;
  std::vector<double> extents;

  explicit Nest(const std::vector<const Loop*>& around) : loops(around) {
    for (const Loop* loop : loops) extents.push_back(static_cast<double>(te::as_constant(loop->extent).value_or(1)));
  }
  double iterations(size_t from, size_t to) const {
    double product = 1;
    for (size_t k = from; k < to; ++k) product *= extents[k];
    return product;
  }
  double product(LoopKind kind) const {
    double product = 1;
    for (size_t k = 0; k < loops.size(); ++k)
      if (loops[k]->kind == kind) product *= extents[k];
    return product;
  }
  /// The loops from here on are written out: a tile in registers.
  size_t tile() const {
    size_t first = loops.size();
    while (first > 0 && is_written_out(loops[first - 1]->kind)) --first;
    return first;
  }
};

/// How an access moves as the loops around it do.
struct AccessPattern {
  int buffer = -1;
  double element_bytes = 0, buffer_bytes = 0;
  bool is_write = false;
  std::vector<double> strides;  ///< of elements, by loop

  /// Bytes of the lines that the loops from `first` on touch.
  double touched(const Nest& nest, size_t first) const {
    double count = 1, span = 1, least = 0;
    for (size_t k = first; k < strides.size(); ++k) {
      const double stride = std::fabs(strides[k]);
      if (stride == 0 || nest.extents[k] <= 1) continue;
      count *= nest.extents[k];
      span += stride * (nest.extents[k] - 1);
      least = least == 0 ? stride : std::min(least, stride);
    }
    // Neighbours share lines.
    const double apart = std::min(std::max(least, 1.0) * element_bytes, kLine);
    return std::min({std::max(std::min(count, span) * apart, element_bytes), span * element_bytes, buffer_bytes});
  }
};

class BlockReader {
 public:
  BlockReader(const Kernel& kernel, const Block& block, const std::vector<const Loop*>& loops)
      : kernel_(kernel), block_(block), nest_(loops) {
    for (const kernel::Write& write : block.writes) add(write.buffer, write.index, true);
    for (const Expr& body : block.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        if (const auto* load = te::as<te::Load>(e); load && seen_.insert(e->hash).second)
          add(load->buffer.index, load->index, false);
      });
  }

  FeatureRow row(const kernel::Machine& machine) const {
    FeatureRow row = {};
    const double points = nest_.iterations(0, nest_.loops.size());
    const size_t tile = nest_.tile();
    const double lanes = nest_.product(LoopKind::kVectorized), unrolled = nest_.product(LoopKind::kUnrolled);
    row[kPoints] = logarithm(points);
    put_operations(row);
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
  template <class Index>
  void add(int buffer, const Index& index, bool is_write) {
    const Buffer& there = kernel_.buffers[static_cast<size_t>(buffer)];
    AccessPattern access;
    access.buffer = buffer;
    access.is_write = is_write;
    access.element_bytes = std::max(bit_width(there.dtype) / 8.0, 1.0);
    access.buffer_bytes = access.element_bytes * static_cast<double>(element_count(there.shape).constant().value_or(1));
    Point point;
    for (const Loop* loop : nest_.loops) point.loops[loop->variable] = 0;
    const auto here = offset(there, index, point);
    for (const Loop* loop : nest_.loops) {
      point.loops[loop->variable] = 1;
      const auto next = offset(there, index, point);
      access.strides.push_back(here && next ? static_cast<double>(*next - *here) : 0);
      point.loops[loop->variable] = 0;
    }
    accesses_.push_back(std::move(access));
  }

  template <class Index>
  std::optional<int64_t> offset(const Buffer& buffer, const Index& index, Point& point) const {
    point.axes.clear();
    point.reduce.clear();
    for (const kernel::Iterator& each : block_.axes) point.axes.push_back(value(each.binding, point).value_or(0));
    for (const kernel::Iterator& each : block_.reduce) point.reduce.push_back(value(each.binding, point).value_or(0));
    int64_t sum = 0;
    for (size_t k = 0; k < index.size(); ++k) {
      const auto at = value(index[k], point);
      if (!at) return std::nullopt;
      sum = sum * buffer.shape[k].constant().value_or(1) + *at;
    }
    return sum;
  }

  /// Of a point, by kind.
  void put_operations(FeatureRow& row) const {
    using te::BinaryOp;
    row[kSums] = block_.is_reduction();
    for (const Expr& body : block_.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        const auto* binary = te::as<te::Binary>(e);
        if (e.dtype() == DataType::kInt64)
          row[kIntegers] += binary != nullptr;
        else if (te::as<te::Unary>(e))
          ++row[kFunctions];
        else if (te::as<te::Select>(e) || (binary && (binary->op == BinaryOp::kMin || binary->op == BinaryOp::kMax ||
                                                      e.dtype() == DataType::kBool)))
          ++row[kComparisons];
        else if (binary)
          ++row[binary->op == BinaryOp::kDiv || binary->op == BinaryOp::kPow ? kDivisions : kSums];
      });
  }

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
    std::vector<const AccessPattern*> order;
    for (const AccessPattern& access : accesses_) order.push_back(&access);
    // What is written first, then what touches most.
    std::sort(order.begin(), order.end(), [&](const AccessPattern* a, const AccessPattern* b) {
      const auto key = [&](const AccessPattern* each) {
        return std::tuple(!each->is_write, -each->touched(nest_, 0), each->buffer, each->strides);
      };
      return key(a) < key(b);
    });
    for (size_t k = 0; k < std::min(order.size(), kAccessesOfARow); ++k) {
      const AccessPattern& access = *order[k];
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
  std::vector<AccessPattern> accesses_;
  std::set<Hash128> seen_;
};

}  // namespace

Features features_of(const Kernel& kernel, const kernel::Machine& machine) {
  Features result;
  kernel::for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    result.push_back(BlockReader(kernel, block, loops).row(machine));
  });
  return *unpack(pack(result));
}

std::string pack(const Features& features) {
  std::string bytes;
  for (const FeatureRow& row : features)
    for (const float number : row)
      bytes.push_back(static_cast<char>(std::clamp(std::lround(number * kSteps), 0L, 255L)));
  return bytes;
}

std::optional<Features> unpack(std::string_view bytes) {
  if (bytes.size() % kColumns != 0) return std::nullopt;
  Features features(bytes.size() / kColumns);
  for (size_t k = 0; k < bytes.size(); ++k)
    features[k / kColumns][k % kColumns] = static_cast<float>(static_cast<unsigned char>(bytes[k])) / kSteps;
  return features;
}

}  // namespace isomer::tune
