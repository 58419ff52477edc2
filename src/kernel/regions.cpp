#include "kernel/regions.h"

#include <algorithm>

#include "graph/te/simplifier.h"
#include "kernel/tree.h"

namespace isomer::kernel {

namespace {

/// Of an index that is no affine one: what the inner loops add to the rest of it lies between bounds.
std::optional<Span> span_between_bounds(const Expr& index, const std::vector<const Loop*>& inner,
                                        const te::Ranges& ranges) {
  te::Simplifier simplifier(ranges);
  te::Polynomial moving, rest;
  const te::Polynomial all = simplifier.polynomial(index);
  for (const te::Term& term : all.terms) {
    const bool moves = std::any_of(term.factors.begin(), term.factors.end(), [&](const Expr& factor) {
      const std::set<int> read = variables(factor);
      return std::any_of(inner.begin(), inner.end(), [&](const Loop* loop) { return read.contains(loop->variable); });
    });
    te::Polynomial& part = moves ? moving : rest;
    part.terms.push_back(term);
  }
  rest.constant = all.constant;
  const te::Interval range = te::bounds(te::to_expr(moving), ranges);
  if (!all.is_exact() || !range.low || !range.high) return std::nullopt;
  return Span{te::simplify_index(te::to_expr(rest) + *range.low), te::index(*range.high - *range.low + 1)};
}

}  // namespace

std::optional<Span> span_of(const Expr& index, const std::vector<const Loop*>& inner) {
  LoopRanges ranges;
  for (const Loop* loop : inner) ranges.enter(*loop);
  const Expr whole = te::simplify_index(index, ranges.ranges());
  Expr minimum = whole;
  int64_t reach = 0;
  for (const Loop* loop : inner) {
    const std::set<int> read = variables(minimum);
    if (!read.contains(loop->variable)) continue;
    const auto extent = te::as_constant(loop->extent);
    if (!extent) return std::nullopt;
    const auto step = te::as_constant(
        te::simplify_index(substitute(minimum, {{loop->variable, loop_variable(loop->variable) + 1}}) - minimum));
    if (!step) return loads(whole).empty() ? span_between_bounds(whole, inner, ranges.ranges()) : std::nullopt;
    const int64_t last = std::max<int64_t>(*extent - 1, 0);
    minimum = te::simplify_index(substitute(minimum, {{loop->variable, te::index(*step < 0 ? last : 0)}}));
    reach += std::abs(*step) * last;
  }
  return Span{minimum, te::index(reach + 1)};
}

std::optional<Span> united(const Span& a, const Span& b) {
  const auto distance = te::as_constant(te::simplify_index(b.minimum - a.minimum));
  const auto size_a = te::as_constant(a.extent), size_b = te::as_constant(b.extent);
  if (!distance || !size_a || !size_b) return std::nullopt;
  const int64_t low = std::min<int64_t>(0, *distance), high = std::max(*size_a, *distance + *size_b);
  return Span{*distance < 0 ? b.minimum : a.minimum, te::index(high - low)};
}

namespace {

class RegionFinder {
 public:
  RegionFinder(const Kernel& kernel, int buffer) : buffer_(buffer), shape_(kernel.buffers[buffer].shape) {}

  void add(const std::vector<Expr>& index, const std::vector<const Loop*>& inner) {
    Region region;
    for (size_t k = 0; k < index.size(); ++k) {
      const Span whole = {te::index(0), shape_[k].expr()};
      const bool reads_data = !loads(index[k]).empty();
      std::optional<Span> span = reads_data ? std::nullopt : span_of(index[k], inner);
      if (span && touched_) span = united(region_[k], *span);
      region.push_back(span.value_or(whole));
      const auto extent = te::as_constant(region[k].extent), size = te::as_constant(whole.extent);
      if (extent && size && *extent >= *size) region[k] = whole;
    }
    region_ = std::move(region);
    touched_ = true;
  }

  void add_loads(const Block& block, const Expr& expr, const std::vector<const Loop*>& inner) {
    te::for_each_node(bind_iterators(block, expr), [&](const Expr& e) {
      if (const auto* load = te::as<te::Load>(e); load && load->buffer.index == buffer_) add(load->index, inner);
    });
  }

  Region result() && { return touched_ ? std::move(region_) : Region(); }

 private:
  int buffer_;
  const Shape& shape_;
  Region region_;
  bool touched_ = false;
};

}  // namespace

Region region_of(const Kernel& kernel, const Statements& statements, int buffer, Access access,
                 const std::vector<const Loop*>& around) {
  RegionFinder finder(kernel, buffer);
  for_each_block(statements, [&](const Block& block, std::vector<const Loop*> inner) {
    inner.insert(inner.begin(), around.begin(), around.end());
    if (access != Access::kWrite) {
      for (const Expr& body : block.bodies) finder.add_loads(block, body, inner);
      for (const Write& write : block.writes)
        for (const Expr& e : write.index) finder.add_loads(block, e, inner);
    }
    if (access != Access::kRead)
      for (const Write& write : block.writes) {
        if (write.buffer != buffer) continue;
        std::vector<Expr> index = write.index;
        for (Expr& e : index) e = bind_iterators(block, e);
        finder.add(index, inner);
      }
  });
  return std::move(finder).result();
}

bool writes_whole_region(const Kernel& kernel, const Statements& statements, int buffer) {
  bool whole = true;
  Region all;
  for_each_block(statements, [&](const Block& block, const std::vector<const Loop*>& inner) {
    for (const Write& write : block.writes) {
      if (write.buffer != buffer) continue;
      std::set<int> read;
      RegionFinder finder(kernel, buffer);
      std::vector<Expr> index = write.index;
      for (Expr& e : index) {
        e = bind_iterators(block, e);
        read.merge(variables(e));
      }
      finder.add(index, inner);
      const Region own = std::move(finder).result();
      double iterations = 1, elements = 1;
      for (const Loop* loop : inner)
        if (read.contains(loop->variable)) iterations *= static_cast<double>(te::as_constant(loop->extent).value_or(0));
      for (const Span& span : own)
        elements *= static_cast<double>(te::as_constant(span.extent).value_or(int64_t{1} << 62));
      whole &= iterations >= elements;
      if (all.empty()) all = own;
      for (size_t k = 0; k < own.size(); ++k) {
        const auto together = united(all[k], own[k]);
        const auto extent = together ? te::as_constant(together->extent) : std::nullopt;
        const auto a = te::as_constant(all[k].extent), b = te::as_constant(own[k].extent);
        const bool is_same = all[k].minimum == own[k].minimum && all[k].extent == own[k].extent;
        whole &= is_same || (extent && a && b && *extent <= *a + *b);
        if (together) all[k] = *together;
      }
    }
  });
  return whole;
}

Expr in_range(const Expr& value, const Expr& extent, const te::Ranges& ranges) {
  const te::Interval span = te::bounds(value, ranges);
  const auto size = te::as_constant(extent);
  Expr condition;
  if (!span.low || *span.low < 0) condition = te::index(0) <= value;
  if (!span.high || !size || *span.high >= *size) condition = both(condition, value < extent);
  return condition;
}

Expr without_bound(const Expr& condition, const Iterator& iterator) {
  if (!condition) return {};
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd)
    return both(without_bound(e->left, iterator), without_bound(e->right, iterator));
  const auto* bound = te::as<te::Binary>(condition);
  const bool is_bound =
      bound && bound->op == te::BinaryOp::kLess && bound->left.dtype() == DataType::kInt64 &&
      te::simplify_index(bound->left - bound->right - (iterator.binding - iterator.extent)) == te::index(0);
  return is_bound ? Expr() : condition;
}

Expr both(const Expr& a, const Expr& b) {
  if (!a) return b;
  return b ? a && b : a;
}

}  // namespace isomer::kernel
