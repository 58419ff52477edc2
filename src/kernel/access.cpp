#include "kernel/access.h"

#include <algorithm>
#include <numeric>

#include "graph/te/simplifier.h"

namespace isomer::kernel {

bool is_point(const std::vector<Expr>& index, const Shape& shape) {
  for (size_t k = 0; k < index.size(); ++k)
    if (!shape[k].is(1) && !(index[k] == te::axis(static_cast<int>(k)))) return false;
  return true;
}

Expr offset_of(const Buffer& buffer, const std::vector<Expr>& index) {
  Expr offset = te::index(0);
  for (size_t k = 0; k < index.size(); ++k) offset = offset * buffer.shape[k].expr() + index[k];
  return offset;
}

namespace {

/// What repeats later than this does not repeat within the vectors that one writes out.
constexpr int64_t kLongPeriod = 256;

/// Strides of an offset over a block's iterators.
class OffsetStrides {
 public:
  explicit OffsetStrides(const Block& block) : block_(block) {
    ranges_ = [this](const Expr& leaf) -> te::Interval {
      const auto* variable = te::as<te::Var>(leaf);
      if (!variable || variable->kind == te::VarKind::kLoop) return {};
      const auto& list = variable->kind == te::VarKind::kSpatial ? block_.axes : block_.reduce;
      const auto extent = te::as_constant(list[variable->index].extent);
      return {0, extent ? std::optional(*extent - 1) : std::nullopt};
    };
  }
  OffsetStrides(const OffsetStrides&) = delete;

  /// An offset in normal form.
  struct Normal {
    te::Polynomial sum;
    Expr text;
  };
  Normal normal(const Expr& offset) const {
    te::Polynomial sum = te::Simplifier(ranges_).polynomial(offset);
    Expr text = te::to_expr(sum);
    return {std::move(sum), std::move(text)};
  }
  std::optional<int64_t> along(const Normal& offset, const Expr& iterator) const {
    if (const auto factor = linear_factor(offset.sum, iterator)) return factor;
    const Expr next = te::transform(offset.text, [&](const Expr& e) { return e == iterator ? iterator + 1 : Expr(); });
    return te::as_constant(te::simplify_index(next - offset.text, ranges_));
  }
  /// Between neighbours in a block of `width`.
  std::optional<int64_t> within(const Expr& offset, const Expr& iterator, int64_t width) const {
    return difference(offset, iterator, outer_ * width + inner_, outer_ * width + (inner_ + 1), width - 1);
  }
  /// From the first point of a block of `width` to number `k`.
  std::optional<int64_t> from_first(const Expr& offset, const Expr& iterator, int64_t width, int64_t k) const {
    return difference(offset, iterator, outer_ * width, outer_ * width + k, width);
  }
  /// Between points `period` apart.
  std::optional<int64_t> at_period(const Expr& offset, const Expr& iterator, int64_t period) const {
    return difference(offset, iterator, outer_ * period + inner_, (outer_ + 1) * period + inner_, period);
  }
  std::vector<std::optional<int64_t>> along_axes(const Normal& offset) const {
    std::vector<std::optional<int64_t>> result;
    for (size_t k = 0; k < block_.axes.size(); ++k) result.push_back(along(offset, te::axis(static_cast<int>(k))));
    return result;
  }

 private:
  /// The factor of the iterator in a sum where it stands in no other term; 0 where it does not stand in it.
  static std::optional<int64_t> linear_factor(const te::Polynomial& sum, const Expr& iterator) {
    int64_t result = 0;
    for (const te::Term& term : sum.terms) {
      if (term.factors.size() == 1 && term.factors[0] == iterator) {
        result = term.coefficient;
        continue;
      }
      for (const Expr& factor : term.factors)
        if (te::any_node(factor, [&](const Expr& e) { return e == iterator; })) return std::nullopt;
    }
    return result;
  }

  /// offset(to) - offset(from), with `inner_` in [0, inner) and any `outer_`.
  std::optional<int64_t> difference(const Expr& offset, const Expr& iterator, const Expr& from, const Expr& to,
                                    int64_t inner) const {
    const auto at = [&](const Expr& point) {
      return te::transform(offset, [&](const Expr& e) { return e == iterator ? point : Expr(); });
    };
    const te::Ranges ranges = [&](const Expr& leaf) -> te::Interval {
      if (leaf == inner_) return {0, inner - 1};
      return leaf == outer_ ? te::Interval{0, std::nullopt} : ranges_(leaf);
    };
    return te::as_constant(te::simplify_index(at(to) - at(from), ranges));
  }

  // An iterator cut in two; beyond any variable of the kernel.
  const Expr outer_ = loop_variable(1 << 20), inner_ = loop_variable((1 << 20) + 1);
  const Block& block_;
  te::Ranges ranges_;
};

/// Periods that are tried, and the longest that indices themselves may say.
constexpr int64_t kFewPhases = 4, kMostPhases = 16;

/// 0 takes part as what is no period.
int64_t common_period(int64_t a, int64_t b) {
  const int64_t result = std::lcm(a, b);
  return result > kLongPeriod ? 0 : result;
}

/// Of an index: its terms repeat each after a time of its own.
int64_t period_of(te::Simplifier& simplifier, const Expr& index, const Expr& iterator) {
  const te::Polynomial sum = simplifier.polynomial(index);
  int64_t result = 1;
  for (const te::Term& term : sum.terms)
    for (const Expr& factor : term.factors) {
      if (!te::any_node(factor, [&](const Expr& e) { return e == iterator; })) continue;
      if (term.factors.size() > 1) return 0;
      if (factor == iterator) continue;
      const auto* part = te::as<te::Binary>(factor);
      const bool divides = part && (part->op == te::BinaryOp::kFloorDiv || part->op == te::BinaryOp::kFloorMod);
      const int64_t divisor = divides ? te::as_constant(part->right).value_or(0) : 0;
      if (divisor <= 0 || divisor > kLongPeriod) return 0;
      const te::Polynomial divided = simplifier.polynomial(part->left);
      const te::Term* const step = divided.find({iterator});
      const int64_t inner = period_of(simplifier, part->left, iterator);
      const int64_t shared = inner == 1 && step ? std::gcd(divisor, step->coefficient) : 1;
      result = common_period(result, inner * (divisor / shared));
    }
  return result;
}

}  // namespace

std::vector<LoadAccess> load_accesses(const Kernel& kernel, const Block& block) {
  return load_accesses(kernel, block, -1, 1);
}

std::vector<LoadAccess> load_accesses(const Kernel& kernel, const Block& block, int axis, int64_t width) {
  const OffsetStrides strides(block);
  std::vector<LoadAccess> accesses;
  for (const Expr& body : block.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      const auto* load = te::as<te::Load>(e);
      if (!load ||
          std::any_of(accesses.begin(), accesses.end(), [&](const LoadAccess& known) { return known.load == e; }))
        return;
      const auto offset = strides.normal(offset_of(kernel.buffers[load->buffer.index], load->index));
      LoadAccess access{e, load->buffer.index, strides.along_axes(offset), {}};
      if (axis >= 0 && width > 1 && !access.axes[axis])
        access.axes[axis] = strides.within(offset.text, te::axis(axis), width);
      for (size_t k = 0; k < block.reduce.size(); ++k)
        access.reduce.push_back(strides.along(offset, te::reduce_axis(static_cast<int>(k))));
      accesses.push_back(std::move(access));
    });
  return accesses;
}

std::optional<std::vector<int64_t>> lane_offsets(const Kernel& kernel, const Block& block, const LoadAccess& access,
                                                 int axis, int64_t lanes) {
  const OffsetStrides strides(block);
  const Expr offset = offset_of(kernel.buffers[access.buffer], te::as<te::Load>(access.load)->index);
  std::vector<int64_t> offsets;
  for (int64_t k = 0; k < lanes; ++k) {
    const auto from_first = strides.from_first(offset, te::axis(axis), lanes, k);
    if (!from_first) return std::nullopt;
    offsets.push_back(*from_first);
  }
  return offsets;
}

std::optional<int64_t> stride_at_period(const Kernel& kernel, const Block& block, const LoadAccess& access, int axis,
                                        int64_t period) {
  if (period == 1) return access.axes[axis];
  const OffsetStrides strides(block);
  return strides.at_period(offset_of(kernel.buffers[access.buffer], te::as<te::Load>(access.load)->index),
                           te::axis(axis), period);
}

std::pair<int64_t, std::optional<int64_t>> regular_stride(const Kernel& kernel, const Block& block,
                                                          const LoadAccess& access, int axis) {
  const auto at = [&](int64_t period) { return stride_at_period(kernel, block, access, axis, period); };
  for (int64_t period = 1; period <= kFewPhases; ++period)
    if (const auto stride = at(period)) return {period, stride};
  te::Simplifier simplifier({});
  int64_t repeat = 1;
  for (const Expr& index : te::as<te::Load>(access.load)->index)
    repeat = common_period(repeat, period_of(simplifier, index, te::axis(axis)));
  const auto stride = repeat > kFewPhases && repeat <= kMostPhases ? at(repeat) : std::nullopt;
  return {stride ? repeat : 1, stride};
}

std::vector<std::optional<int64_t>> write_strides(const Kernel& kernel, const Block& block) {
  const OffsetStrides strides(block);
  return strides.along_axes(strides.normal(offset_of(kernel.buffers[block.writes[0].buffer], block.writes[0].index)));
}

int64_t period(const Block& block, const Expr& iterator) {
  te::Simplifier simplifier({});
  int64_t result = 1;
  for (const Expr& body : block.bodies)
    te::for_each_node(body, [&](const Expr& e) {
      if (const auto* load = te::as<te::Load>(e))
        for (const Expr& index : load->index) result = common_period(result, period_of(simplifier, index, iterator));
    });
  return result;
}

std::optional<int64_t> points(const Block& block) {
  int64_t count = 1;
  for (const auto* list : {&block.axes, &block.reduce})
    for (const Iterator& iterator : *list) {
      const auto extent = te::as_constant(iterator.extent);
      if (!extent || __builtin_mul_overflow(count, *extent, &count)) return std::nullopt;
    }
  return count;
}

int count_operations(const Expr& expr) {
  int count = 0;
  te::for_each_node(expr, [&](const Expr& e) {
    if (e.dtype() == DataType::kInt64) return;
    if (const auto* unary = te::as<te::Unary>(e)) {
      const bool simple = unary->op == te::UnaryOp::kNeg || unary->op == te::UnaryOp::kAbs ||
                          unary->op == te::UnaryOp::kNot || unary->op == te::UnaryOp::kIsNan;
      count += simple ? 1 : 10;
    }
    if (const auto* binary = te::as<te::Binary>(e))
      count += binary->op == te::BinaryOp::kDiv ? 4 : binary->op == te::BinaryOp::kPow ? 20 : 1;
  });
  return count;
}

}  // namespace isomer::kernel
