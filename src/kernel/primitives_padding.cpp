#include <algorithm>

#include "graph/te/print.h"
#include "kernel/open_sizes.h"
#include "kernel/padding.h"
#include "kernel/primitives.h"
#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// The axis that a comparison of over_index bounds.
int bounded_axis(const Expr& comparison) {
  int found = -1;
  te::for_each_node(comparison, [&](const Expr& e) {
    if (const auto* variable = te::as<te::Var>(e)) found = variable->index;
  });
  return found;
}

/// Parts of a conjunction: those that bound these dims of what is read at `index`, and the others.
void part(const Expr& condition, const std::vector<Expr>& index, const Integers& dims, Expr& within, Expr& others) {
  if (const auto* e = te::as<te::Binary>(condition); e && e->op == te::BinaryOp::kAnd) {
    part(e->left, index, dims, within, others);
    part(e->right, index, dims, within, others);
    return;
  }
  const auto bound = over_index(condition, index);
  Expr& side = bound && std::find(dims.begin(), dims.end(), bounded_axis(*bound)) != dims.end() ? within : others;
  side = both(side, condition);
}

/// A reduction of which steps may be left out.
Result<void> check_skippable(const Block& block) {
  if (!block.is_reduction() || block.bodies.size() != 1)
    return invalid(block.name, "a reduction of one value expected");
  if (block.initialize)
    return invalid(block.name, "an initialization elsewhere expected, the block's first step does it");
  return {};
}

}  // namespace

Result<void> split_padding(Kernel& kernel, const std::string& name, const std::string& buffer_name,
                           const Integers& dims) {
  TRY(const Place place, find_block(kernel, name));
  TRY(const int buffer, find_buffer(kernel, buffer_name));
  bool found = false;
  for (Expr& body : place.block().bodies)
    body = te::transform(body, [&](const Expr& e) -> Expr {
      const auto* select = te::as<te::Select>(e);
      const auto* load = select ? te::as<te::Load>(select->then) : nullptr;
      if (!load || load->buffer.index != buffer) return {};
      Expr within, others;
      part(select->condition, load->index, dims, within, others);
      if (!within || !others) return {};
      found = true;
      return te::select(others, te::select(within, select->then, select->otherwise), select->otherwise);
    });
  if (!found) return invalid(name, "a padding of '{}' in these dims and in others expected", buffer_name);
  return {};
}

Result<void> skip_padding(Kernel& kernel, const std::string& name) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  TRY_VOID(check_skippable(block));
  const OpenSizes sizes(kernel);
  const auto is_padding = [&](const Expr& e, const Expr& otherwise) {
    const auto* select = te::as<te::Select>(e);
    return select && select->otherwise == otherwise && !sizes.reads_data(select->condition);
  };
  const auto skip = [&](const Expr& e) {
    const auto& select = *te::as<te::Select>(e);
    block.predicate = both(block.predicate, bind_iterators(block, select.condition));
    return select.then;
  };
  Expr& body = block.bodies[0];
  const auto* product = te::as<te::Binary>(body);
  const Expr zero = te::literal(0, body.dtype());
  if (is_padding(body, block.combine.identity[0])) {
    body = skip(body);
  } else if (product && product->op == te::BinaryOp::kMul && block.combine.identity[0] == zero &&
             (is_padding(product->left, zero) || is_padding(product->right, zero))) {
    const auto may_skip = [&](const Expr& factor, const Expr& other) {
      return is_padding(factor, zero) && is_finite(kernel, other);
    };
    const bool skips_left = may_skip(product->left, product->right),
               skips_right = may_skip(product->right, product->left);
    if (!skips_left && !skips_right)
      return invalid(name,
                     "a finite factor (a constant) beside the padding expected, for its product with zero is zero");
    body = (skips_left ? skip(product->left) : product->left) * (skips_right ? skip(product->right) : product->right);
  } else {
    return invalid(name, "a padding's select that gives '{}' expected", te::print(block.combine.identity[0]));
  }
  return {};
}

Result<void> skip_border(Kernel& kernel, const std::string& name, const std::string& buffer_name) {
  TRY(const Place place, find_block(kernel, name));
  Block& block = place.block();
  TRY_VOID(check_skippable(block));
  TRY(const int buffer, find_buffer(kernel, buffer_name));

  const auto is_read = [&](const Expr& e) {
    return te::as<te::Load>(e) && te::as<te::Load>(e)->buffer.index == buffer;
  };
  const auto* product = te::as<te::Binary>(block.bodies[0]);
  const bool is_product = product && product->op == te::BinaryOp::kMul;
  const Expr read = is_product ? (is_read(product->left) ? product->left : product->right) : block.bodies[0];
  if (!is_read(read)) return invalid(name, "a product with an element of '{}', or that alone, expected", buffer_name);
  if (is_product && !is_finite(kernel, read == product->left ? product->right : product->left))
    return invalid(name, "a finite factor (a constant) beside '{}' expected, for its product with zero is zero",
                   buffer_name);
  const Expr wanted = is_product ? te::literal(0, read.dtype()) : block.combine.identity[0];
  if (is_product && !(block.combine.identity[0] == wanted)) return invalid(name, "a sum of products expected");

  const auto copy = padded_copy(kernel, buffer);
  if (!copy || !(copy->padding == wanted))
    return invalid(name, "'{}' as a copy with a padding of '{}' expected", buffer_name, te::print(wanted));

  std::vector<const Loop*> inner;  // of the tile, which is skipped as a whole
  const std::vector<Loop*> loops = place.loops();
  for (auto loop = loops.rbegin(); loop != loops.rend() && is_written_out((*loop)->kind); ++loop)
    inner.push_back(*loop);
  Expr reaches;
  for (size_t k = 0; k < copy->interior.size(); ++k) {
    const auto span = span_of(bind_iterators(block, te::as<te::Load>(read)->index[k]), inner);
    if (!span) continue;
    const te::Interval& inside = copy->interior[k];
    if (inside.low) reaches = both(reaches, te::index(*inside.low) <= span->minimum + (span->extent - te::index(1)));
    if (inside.high) reaches = both(reaches, span->minimum <= te::index(*inside.high));
  }
  if (!reaches) return invalid(name, "indices that are affine in the tile expected");
  block.predicate = both(block.predicate, reaches);
  return {};
}

}  // namespace isomer::kernel::primitives
