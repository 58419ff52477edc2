#include "tune/nest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace isomer::tune {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Expr;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;

constexpr double kLine = 64;

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

class AccessReader {
 public:
  AccessReader(const Kernel& kernel, const Block& block, const Nest& nest)
      : kernel_(kernel), block_(block), nest_(nest) {}

  template <class Index>
  AccessPattern read(int buffer, const Index& index, bool is_write) const {
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
    return access;
  }

 private:
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

  const Kernel& kernel_;
  const Block& block_;
  const Nest& nest_;
};

}  // namespace

float logarithm(double count) { return static_cast<float>(std::log2(1 + std::max(count, 0.0))); }

Nest::Nest(const std::vector<const Loop*>& around) : loops(around) {
  for (const Loop* loop : loops) extents.push_back(static_cast<double>(te::as_constant(loop->extent).value_or(1)));
}

double Nest::iterations(size_t from, size_t to) const {
  double product = 1;
  for (size_t k = from; k < to; ++k) product *= extents[k];
  return product;
}

double Nest::product(LoopKind kind) const {
  double product = 1;
  for (size_t k = 0; k < loops.size(); ++k)
    if (loops[k]->kind == kind) product *= extents[k];
  return product;
}

size_t Nest::tile() const {
  size_t first = loops.size();
  while (first > 0 && is_written_out(loops[first - 1]->kind)) --first;
  return first;
}

double AccessPattern::elements(const Nest& nest, size_t first) const {
  double count = 1, span = 1;
  for (size_t k = first; k < strides.size(); ++k) {
    if (strides[k] == 0 || nest.extents[k] <= 1) continue;
    count *= nest.extents[k];
    span += std::fabs(strides[k]) * (nest.extents[k] - 1);
  }
  return std::min({count, span, std::max(buffer_bytes / element_bytes, 1.0)});
}

double AccessPattern::touched(const Nest& nest, size_t first) const {
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

std::vector<AccessPattern> accesses_of(const Kernel& kernel, const Block& block, const Nest& nest) {
  const AccessReader reader(kernel, block, nest);
  std::vector<AccessPattern> accesses;
  std::set<Hash128> seen;
  for (const kernel::Write& write : block.writes) accesses.push_back(reader.read(write.buffer, write.index, true));
  for (const Expr& body : block.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      if (const auto* load = te::as<te::Load>(e); load && seen.insert(e->hash).second)
        accesses.push_back(reader.read(load->buffer.index, load->index, false));
    });
  return accesses;
}

std::array<double, 5> operations_of(const Block& block) {
  using te::BinaryOp;
  double sums = block.is_reduction() ? 1 : 0, divisions = 0, functions = 0, comparisons = 0, integers = 0;
  for (const Expr& body : block.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      const auto* binary = te::as<te::Binary>(e);
      if (e.dtype() == DataType::kInt64)
        integers += binary != nullptr;
      else if (te::as<te::Unary>(e))
        ++functions;
      else if (te::as<te::Select>(e) || (binary && (binary->op == BinaryOp::kMin || binary->op == BinaryOp::kMax ||
                                                    e.dtype() == DataType::kBool)))
        ++comparisons;
      else if (binary)
        ++(binary->op == BinaryOp::kDiv || binary->op == BinaryOp::kPow ? divisions : sums);
    });
  return {sums, divisions, functions, comparisons, integers};
}

void put_in_order(std::vector<AccessPattern>& accesses, const Nest& nest) {
  std::sort(accesses.begin(), accesses.end(), [&](const AccessPattern& a, const AccessPattern& b) {
    const auto key = [&](const AccessPattern& each) {
      return std::tuple(!each.is_write, -each.touched(nest, 0), each.buffer, each.strides);
    };
    return key(a) < key(b);
  });
}

}  // namespace isomer::tune
