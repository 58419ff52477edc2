#include "kernel/copies.h"

#include <algorithm>

#include "kernel/regions.h"

namespace isomer::kernel::primitives {
namespace {

/// The values of an expression over a block's iterators.
std::optional<Span> span_over(const Block& block, const Expr& index) {
  std::vector<Loop> loops;
  std::vector<const Loop*> inner;
  constexpr int kFirst = 1 << 20;  // beyond any variable of the kernel
  for (const auto* list : {&block.axes, &block.reduce})
    for (const Iterator& iterator : *list) loops.emplace_back(kFirst + static_cast<int>(loops.size()), iterator.extent);
  for (const Loop& loop : loops) inner.push_back(&loop);
  const Expr over_loops = te::transform(index, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    if (!variable || variable->kind == te::VarKind::kLoop) return {};
    return loop_variable(kFirst + variable->index +
                         (variable->kind == te::VarKind::kReduce ? static_cast<int>(block.axes.size()) : 0));
  });
  if (const auto span = span_of(over_loops, inner); span && te::as_constant(span->minimum)) return span;
  const te::Interval interval = te::bounds(over_loops, ranges_of(inner).ranges());
  if (!interval.low || !interval.high || *interval.high < *interval.low) return std::nullopt;
  return Span{te::index(*interval.low), te::index(*interval.high - *interval.low + 1)};
}

bool lies_inside(const Span& span, const Dim& dim) {
  const int64_t first = te::as_constant(span.minimum).value_or(-1), count = te::as_constant(span.extent).value_or(0);
  return first >= 0 && dim.is_constant() && first + count <= dim.value();
}

}  // namespace

int add_buffer(Kernel& kernel, const std::string& hint, DataType dtype, Shape shape) {
  kernel.buffers.push_back({fresh_buffer_name(kernel, hint), dtype, std::move(shape)});
  return static_cast<int>(kernel.buffers.size()) - 1;
}

void insert_beside(Kernel& kernel, const Place& place, Statement statement, bool after) {
  const auto at =
      std::find_if(kernel.body.begin(), kernel.body.end(), [&](const Statement& s) { return &s == place.root(); });
  kernel.body.insert(after ? at + 1 : at, std::move(statement));
}

Statement map_to(Kernel& kernel, const std::string& name, const std::vector<Expr>& extents, int buffer,
                 std::vector<Expr> index, Expr value) {
  return under_loops(kernel, extents, [&](const std::vector<Expr>& variables) {
    Block block;
    block.name = name;
    for (size_t k = 0; k < extents.size(); ++k) block.axes.push_back({extents[k], variables[k]});
    block.writes = {{buffer, std::move(index)}};
    block.bodies = {std::move(value)};
    return block;
  });
}

Made make_before(Kernel& kernel, const Place& place, const std::string& name, DataType dtype,
                 const std::vector<Expr>& extents, Expr value) {
  Shape shape;
  for (const Expr& extent : extents) shape.push_back(Dim(extent));
  const int buffer = add_buffer(kernel, name, dtype, std::move(shape));
  const std::string block = fresh_block_name(kernel, kernel.buffers[static_cast<size_t>(buffer)].name);
  const std::vector<Expr> point = te::axes(static_cast<int>(extents.size()));
  insert_beside(kernel, place, map_to(kernel, block, extents, buffer, point, std::move(value)), false);
  return {buffer, block};
}

Expr at(const Expr& expr, const std::vector<Expr>& axes) {
  return te::transform(expr, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    return variable && variable->kind == te::VarKind::kSpatial ? axes[static_cast<size_t>(variable->index)] : Expr();
  });
}

Result<void> check_complete(Kernel& kernel, const Place& place, int buffer) {
  for (const std::string& writer : writers(kernel, buffer)) {
    TRY(const Place at, find_block(kernel, writer));
    if (at.root() == place.root())
      return invalid(place.block().name, "a buffer that is complete before its nest expected, {} writes '{}' there",
                     writer, kernel.buffers[buffer].name);
  }
  return {};
}

Result<CopiedRegion> copied_region(const Kernel& kernel, const Block& block, int buffer, const std::vector<Expr>& index,
                                   const Expr& condition) {
  const Shape& shape = kernel.buffers[static_cast<size_t>(buffer)].shape;
  CopiedRegion region;
  for (size_t k = 0; k < index.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    const bool is_bounded = condition && te::any_node(condition, [&](const Expr& e) { return e == axis; });
    const auto span = loads(index[k]).empty() ? span_over(block, index[k]) : std::nullopt;
    if (is_bounded && (!span || !te::as_constant(span->minimum)))
      return invalid(block.name, "affine indices under a padding expected");
    // What leaves the buffer without a padding's bound is never read.
    const bool is_part = is_bounded || (span && lies_inside(*span, shape[k]));
    region.extents.push_back(is_part ? span->extent : shape[k].expr());
    const Expr low = is_part ? span->minimum : te::index(0);
    region.from.push_back(te::axis(static_cast<int>(k)) + low);
    region.to.push_back(te::simplify_index(index[k] - low));
  }
  return region;
}

}  // namespace isomer::kernel::primitives
