#include <algorithm>
#include <cstdlib>

#include "kernel/copies.h"
#include "kernel/padding.h"
#include "kernel/primitives.h"
#include "kernel/words.h"

namespace isomer::kernel::primitives {
namespace {

/// An integer that the expression is, whatever it is computed from; nothing for any other.
std::optional<int64_t> known_integer(const Expr& expr) {
  const auto* cast = te::as<te::Cast>(expr);
  return te::as_constant(cast ? cast->operand : expr);
}

Expr int32(int64_t value) { return te::literal(static_cast<int64_t>(static_cast<int32_t>(value)), DataType::kInt32); }

/// As int32 wraps.
int64_t wrapped(int64_t a, int64_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) * static_cast<uint32_t>(b));
}

/// A factor of a product: int32(load) - offset, or where `condition` is false 0.
struct Factor {
  Expr load;       ///< of a byte
  Expr offset;     ///< int32
  Expr condition;  ///< over axis(k) for the load's index k; empty: it always holds

  bool is_signed() const { return load.dtype() == DataType::kInt8; }
  const std::vector<Expr>& index() const { return te::as<te::Load>(load)->index; }
  int buffer() const { return te::as<te::Load>(load)->buffer.index; }
};

std::optional<Factor> factor_of(const Expr& expr) {
  Factor factor;
  Expr value = expr, condition;
  if (const auto* select = te::as<te::Select>(expr)) {
    if (known_integer(select->otherwise) != 0) return std::nullopt;
    condition = select->condition;
    value = select->then;
  }
  const auto* difference = te::as<te::Binary>(value);
  if (difference && difference->op == te::BinaryOp::kSub) {
    factor.offset = difference->right;
    value = difference->left;
  } else if (difference && difference->op == te::BinaryOp::kAdd && known_integer(difference->right)) {
    factor.offset = int32(-*known_integer(difference->right));
    value = difference->left;
  }
  const auto* cast = te::as<te::Cast>(value);
  if (!cast || value.dtype() != DataType::kInt32 || !te::as<te::Load>(cast->operand) || !is_byte(cast->operand.dtype()))
    return std::nullopt;
  factor.load = cast->operand;
  if (condition) {
    const auto over = over_index(condition, factor.index());
    if (!over) return std::nullopt;
    factor.condition = *over;
  }
  if (const auto known = factor.offset ? known_integer(factor.offset) : std::optional<int64_t>(0))
    factor.offset = int32(*known);
  return factor;
}

/// Whether a byte less the offset is a number of 16 bits.
bool leaves_halves(const Factor& factor) {
  constexpr int64_t kMost = (1 << 15) - (1 << 8);
  if (const auto known = known_integer(factor.offset)) return std::abs(*known) <= kMost;
  const auto* cast = te::as<te::Cast>(factor.offset);
  return cast && is_byte(cast->operand.dtype());
}

/// Whether the offset is a number that the factor's own byte may be; a padding is such a byte, less the offset.
bool is_offset_a_byte(const Factor& factor) {
  if (const auto known = known_integer(factor.offset))
    return factor.is_signed() ? -128 <= *known && *known < 128 : 0 <= *known && *known < 256;
  const auto* cast = te::as<te::Cast>(factor.offset);
  return cast && cast->operand.dtype() == factor.load.dtype();
}

bool reads_reduction(const Expr& expr) {
  return te::any_node(expr, [](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    return variable && variable->kind == te::VarKind::kReduce;
  });
}

/// One dim of the load is the iterator of the reduction, which has no part in any other.
std::optional<size_t> dim_along(const Factor& factor, int iterator) {
  const Expr step = te::reduce_axis(iterator);
  std::optional<size_t> dim;
  for (size_t k = 0; k < factor.index().size(); ++k) {
    const Expr& index = factor.index()[k];
    if (index == step && !dim)
      dim = k;
    else if (te::any_node(index, [&](const Expr& e) { return e == step; }))
      return std::nullopt;
  }
  return dim;
}

/// The same over other iterators, which those of a block become; nothing where one has no new name.
std::optional<Expr> renamed(const Expr& expr, const std::vector<std::pair<Expr, Expr>>& iterators) {
  bool is_closed = true;
  const Expr result = te::transform(expr, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    if (!variable || variable->kind == te::VarKind::kLoop) return {};
    const auto found = std::find_if(iterators.begin(), iterators.end(), [&](const auto& i) { return i.first == e; });
    is_closed &= found != iterators.end();
    return found == iterators.end() ? Expr() : found->second;
  });
  return is_closed ? std::optional(result) : std::nullopt;
}

/// How the parts of a factor's words are made of its bytes.
struct Parts {
  int count = 0;
  bool flips = false;    ///< the sign bit of bytes: they are of the other kind then, and so much more or less
  bool offsets = false;  ///< they are less the offset

  /// What a part is more than the factor.
  Expr offset(const Factor& factor) const {
    if (offsets) return int32(0);
    if (!flips) return factor.offset;
    const int64_t shift = factor.is_signed() ? 128 : -128;
    const auto known = known_integer(factor.offset);
    return known ? int32(*known + shift) : factor.offset + int32(shift);  // int32 wraps
  }
};

/// Copies a factor, words of its parts along the iterator; the word that the block reads instead.
Result<Expr> words_of(Kernel& kernel, const std::string& name, const Factor& factor, int iterator, const Parts& parts) {
  TRY(const Place place, find_block(kernel, name));
  const Block& block = place.block();
  const Buffer source = kernel.buffers[static_cast<size_t>(factor.buffer())];
  TRY_VOID(check_complete(kernel, place, factor.buffer()));
  for (const int buffer : loads(factor.offset)) TRY_VOID(check_complete(kernel, place, buffer));
  TRY(CopiedRegion region, copied_region(kernel, block, factor.buffer(), factor.index(), factor.condition));
  const size_t dim = *dim_along(factor, iterator);
  if (!(region.from[dim] == te::axis(static_cast<int>(dim))))
    return invalid(name, "a condition that does not bound iterator {} expected", iterator);
  const int64_t steps = *te::as_constant(block.reduce[static_cast<size_t>(iterator)].extent);
  region.extents[dim] = te::index((steps + parts.count - 1) / parts.count);

  // The offset, over the dims of the copy.
  std::vector<std::pair<Expr, Expr>> iterators;
  for (size_t k = 0; k < region.to.size(); ++k)
    if (te::as<te::Var>(factor.index()[k])) iterators.emplace_back(factor.index()[k], region.from[k]);
  const std::optional<Expr> offset = renamed(factor.offset, iterators);
  if (!offset && (parts.offsets || factor.condition))
    return invalid(name, "an offset that the dims of '{}' decide expected", source.name);

  const auto word = [&](const auto& part) {
    std::vector<Expr> values;
    for (int k = 0; k < parts.count; ++k) {
      const Expr step = te::axis(static_cast<int>(dim)) * parts.count + k;
      const Expr value = part(step);
      const bool is_inside = steps % parts.count == 0;
      // Beyond the last step parts are 0, once they are flipped.
      const int64_t sign = value.dtype() == DataType::kInt8 ? -128 : 128;
      const Expr none = te::literal(parts.flips ? sign : 0, value.dtype());
      values.push_back(is_inside ? value : te::select(step < te::index(steps), value, none));
    }
    const Expr made = word_of(values);
    const Expr signs = te::literal(int64_t{0x80808080}, DataType::kUInt32);
    return parts.flips ? te::binary(te::BinaryOp::kXor, made, signs) : made;
  };
  const auto element = [&](const Expr& step) {
    std::vector<Expr> from = region.from;
    from[dim] = step;
    const Expr load = load_buffer(kernel, factor.buffer(), from);
    return parts.offsets && known_integer(*offset) != 0 ? te::cast(DataType::kInt32, load) - *offset : load;
  };
  Expr value = word(element);
  if (factor.condition) {
    const Expr condition = at(factor.condition, region.from);
    const Expr padding = parts.offsets ? int32(0) : *offset;
    value = te::select(te::simplify_index(condition), value, word([&](const Expr&) { return padding; }));
  }
  const Made words = make_before(kernel, place, source.name + ".words", DataType::kUInt32, region.extents, value);
  return load_buffer(kernel, words.buffer, region.to);
}

/// The sums of the parts of words that a block reads over its whole reduction, by a block of their own; over its axes.
Expr sums_of(Kernel& kernel, const Place& place, const Expr& word, bool is_signed) {
  const Block block = place.block();
  const Expr ones = te::literal(int64_t{0x01010101}, DataType::kUInt32);
  Expr body = is_signed ? dot_of_words({ones, word, 4}) : dot_of_words({word, ones, 4});
  std::vector<std::pair<Expr, Expr>> iterators;
  std::vector<Expr> extents, index;
  const auto has = [&](const Expr& iterator) {
    return te::any_node(word, [&](const Expr& e) { return e == iterator; });
  };
  Shape shape;
  for (size_t k = 0; k < block.axes.size(); ++k) {
    const Expr axis = te::axis(static_cast<int>(k));
    if (!has(axis)) continue;
    iterators.emplace_back(axis, te::axis(static_cast<int>(shape.size())));
    index.push_back(axis);
    shape.push_back(Dim(block.axes[k].extent));
    extents.push_back(block.axes[k].extent);
  }
  int reduced = 0;
  for (size_t k = 0; k < block.reduce.size(); ++k) {
    const Expr step = te::reduce_axis(static_cast<int>(k));
    if (!has(step)) {
      body = body * int32(*te::as_constant(block.reduce[k].extent));
      continue;
    }
    iterators.emplace_back(step, te::reduce_axis(reduced++));
    extents.push_back(block.reduce[k].extent);
  }
  const int words = te::as<te::Load>(word)->buffer.index;
  const int buffer =
      add_buffer(kernel, kernel.buffers[static_cast<size_t>(words)].name + ".sums", DataType::kInt32, shape);
  Block sums;
  sums.name = fresh_block_name(kernel, kernel.buffers[static_cast<size_t>(buffer)].name);
  sums.combine = te::sum(DataType::kInt32);
  sums.initialize = true;
  sums.writes = {{buffer, te::axes(static_cast<int>(shape.size()))}};
  sums.bodies = {*renamed(body, iterators)};
  const auto at_point = [&](const std::vector<Expr>& variables) {
    for (size_t k = 0; k < extents.size(); ++k)
      (k < shape.size() ? sums.axes : sums.reduce).push_back({extents[k], variables[k]});
    return sums;
  };
  insert_beside(kernel, place, under_loops(kernel, extents, at_point), false);
  return load_buffer(kernel, buffer, index);
}

/// Which factor's words are a dot's first, and how both are made. Bytes: the first ones unsigned, the other ones
/// signed; of two of a kind those of constants stay, or become, such that offsets are multiplied with sums of
/// constants.
struct Plan {
  Factor a, b;
  Parts of_a, of_b;
};

Plan plan_of(const Kernel& kernel, Factor left, Factor right, int count) {
  if (count == 2) return {left, right, {2, false, true}, {2, false, true}};
  const auto is_constant = [&](const Factor& f) { return kernel.buffers[static_cast<size_t>(f.buffer())].is_constant; };
  bool swaps = left.is_signed() && !right.is_signed();
  if (left.is_signed() == right.is_signed()) swaps = is_constant(left) && !is_constant(right);
  if (swaps) std::swap(left, right);
  const Parts a = {4, left.is_signed(), false}, b = {4, !right.is_signed(), false};
  return {std::move(left), std::move(right), a, b};
}

/// A sum of products of bytes, less an offset each.
struct ByteProducts {
  Factor left, right;
  int loop = -1;      ///< variable of the one over the iterator that words lie along
  int64_t steps = 0;  ///< of the whole reduction
};

Result<ByteProducts> products_along(const Place& place, int64_t iterator) {
  const Block& block = place.block();
  if (!plain_nest(*place.root()) || !block.is_reduction() || !block.initialize || block.writes.size() != 1 ||
      block.combine.name != te::sum(DataType::kInt32).name)
    return invalid(block.name, "a sum of int32, with its initialization, alone in loops of its own expected");
  const auto* product = te::as<te::Binary>(block.bodies[0]);
  const bool is_product = product && product->op == te::BinaryOp::kMul;
  const auto left = is_product ? factor_of(product->left) : std::nullopt;
  const auto right = is_product ? factor_of(product->right) : std::nullopt;
  if (!left || !right || reads_reduction(left->offset) || reads_reduction(right->offset))
    return invalid(block.name, "products of bytes, less an offset each, expected");
  if (iterator < 0 || iterator >= static_cast<int64_t>(block.reduce.size()))
    return invalid(block.name, "an iterator of the reduction expected, {} found", iterator);
  const auto along = static_cast<int>(iterator);
  const auto* variable = te::as<te::Var>(block.reduce[static_cast<size_t>(along)].binding);
  if (!variable || variable->kind != te::VarKind::kLoop)
    return invalid(block.name, "a loop over the whole of iterator {} expected", iterator);
  if (!dim_along(*left, along) || !dim_along(*right, along))
    return invalid(block.name, "an iterator that a dim of each factor runs along, and no other, expected, {} found",
                   iterator);
  double total = 1;
  for (const Iterator& step : block.reduce) {
    const auto extent = te::as_constant(step.extent);
    if (!extent) return invalid(block.name, "a reduction of constant length expected");
    total *= static_cast<double>(*extent);
  }
  if (total > 1e9) return invalid(block.name, "a reduction of at most 1e9 steps expected");
  return ByteProducts{*left, *right, variable->index, static_cast<int64_t>(total)};
}

Result<void> check_parts(const std::string& name, const Plan& plan, int64_t count) {
  for (const Factor* factor : {&plan.a, &plan.b}) {
    if (count == 2 && !leaves_halves(*factor)) return invalid(name, "differences of 16 bits expected");
    if (factor->condition && count == 4 && !is_offset_a_byte(*factor))
      return invalid(name, "a padding that is a byte expected");
  }
  return {};
}

/// Makes sums of words a and b sums of their factors, by a map of its own where offsets y and z are left:
/// sum (p - y)(q - z) = sum p q - y sum q - z sum p + steps y z
Result<void> subtract_offsets(Kernel& kernel, const std::string& name, const Plan& plan, const Expr& a, const Expr& b,
                              int64_t steps) {
  const Expr y = plan.of_a.offset(plan.a), z = plan.of_b.offset(plan.b);
  const bool has_y = known_integer(y) != 0, has_z = known_integer(z) != 0;
  if (!has_y && !has_z) return {};
  Expr sum_of_a, sum_of_b;
  if (has_y) sum_of_b = sums_of(kernel, *find_block(kernel, name), b, true);
  if (has_z) sum_of_a = sums_of(kernel, *find_block(kernel, name), a, false);
  TRY_VOID(cache_write(kernel, name));
  TRY(const Place map, find_block(kernel, name));
  Expr& result = map.block().bodies[0];
  if (has_y) result = result - y * sum_of_b;
  if (has_z) result = result - z * sum_of_a;
  if (has_y && has_z) {
    const auto known_y = known_integer(y), known_z = known_integer(z);
    result = result + (known_y && known_z ? int32(wrapped(steps, wrapped(*known_y, *known_z))) : y * z * int32(steps));
  }
  return {};
}

}  // namespace

Result<void> multiply_words(Kernel& kernel, const std::string& name, int64_t iterator, int64_t count) {
  TRY(const Place place, find_block(kernel, name));
  if (count != 2 && count != 4) return invalid(name, "words of 2 or 4 integers expected, of {} found", count);
  TRY(const ByteProducts products, products_along(place, iterator));
  const Plan plan = plan_of(kernel, products.left, products.right, static_cast<int>(count));
  TRY_VOID(check_parts(name, plan, count));

  const auto along = static_cast<int>(iterator);
  TRY(const Expr a, words_of(kernel, name, plan.a, along, plan.of_a));
  TRY(const Expr b, words_of(kernel, name, plan.b, along, plan.of_b));
  TRY(const Place sum, find_block(kernel, name));
  Iterator& step = sum.block().reduce[static_cast<size_t>(along)];
  sum.block().bodies = {dot_of_words({a, b, static_cast<int>(count)})};
  step.extent = te::index((*te::as_constant(step.extent) + count - 1) / count);
  TRY(const Place loop, find_loop(kernel, products.loop));
  loop.loop().extent = step.extent;
  return subtract_offsets(kernel, name, plan, a, b, products.steps);
}

}  // namespace isomer::kernel::primitives
