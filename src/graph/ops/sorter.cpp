#include "graph/ops/sorter.h"

#include "util/append.h"

namespace isomer::ops {

using te::Block;
using te::Expr;

namespace {

/// a >= b, as is_less has it.
Expr is_at_least(const Expr& a, const Expr& b) {
  if (a.dtype() == DataType::kBool) return a || te::logical_not(b);
  return is_float(a.dtype()) ? b <= a || te::unary(te::UnaryOp::kIsNan, a) : b <= a;
}

}  // namespace

Expr is_less(const Expr& a, const Expr& b) { return te::logical_not(is_at_least(a, b)); }

Expr comes_before(const SortedElement& a, const SortedElement& b, bool largest) {
  const auto no_later = [&](const Expr& x, const Expr& y) { return largest ? is_at_least(x, y) : is_at_least(y, x); };
  return te::logical_not(no_later(b.key, a.key)) || (no_later(a.key, b.key) && a.position < b.position);
}

Sorter::Sorter(Writer& writer, const Dim& size, std::optional<DataType> key, Compare compare)
    : writer_(writer),
      positions_(writer.buffer(DataType::kInt64, {size})),
      keys_(key ? std::optional(writer.buffer(*key, {size})) : std::nullopt),
      hole_(writer.counter()),
      child_(writer.counter()),
      moved_(writer.counter()),
      moved_key_(key ? std::optional(writer.scalar(*key)) : std::nullopt),
      compare_(std::move(compare)) {}

Sorter::Compare Sorter::by_key(bool largest) {
  return [largest](const SortedElement& a, const SortedElement& b) {
    return std::pair(Block(), comes_before(a, b, largest));
  };
}

SortedElement Sorter::at(const Expr& i) const { return {positions_.at(i), keys_ ? keys_->at(i) : Expr()}; }

Block Sorter::put(const Expr& i, const SortedElement& element) const {
  Block block = {positions_.put(i, element.position)};
  if (keys_) block.push_back(keys_->put(i, element.key));
  return block;
}

SortedElement Sorter::moved() const { return {moved_.get(), keys_ ? moved_key_->get() : Expr()}; }

Block Sorter::set_moved(const SortedElement& element) const {
  Block block = {moved_.set(element.position)};
  if (keys_) block.push_back(moved_key_->set(element.key));
  return block;
}

Block Sorter::resize(const Expr& size) const {
  Block block = {te::resize(positions_.local, {size})};
  if (keys_) block.push_back(te::resize(keys_->local, {size}));
  return block;
}

Block Sorter::build(const Expr& size) {
  const Expr inner = te::floor_div(size, te::index(2));
  return {writer_.loop(inner, [&](Expr i) { return sift(inner - 1 - i, size); })};
}

Block Sorter::replace_top(const SortedElement& element, const Expr& size) {
  Block block = put(te::index(0), element);
  append(block, sift(te::index(0), size));
  return block;
}

Block Sorter::sort(const Expr& size) {
  return {writer_.loop(te::max(size - 1, 0), [&](Expr i) {
    const Expr last = size - 1 - i;
    Block block = set_moved(at(last));
    append(block, put(last, at(te::index(0))));
    append(block, replace_top(moved(), last));
    return block;
  })};
}

Block Sorter::sift(const Expr& start, const Expr& size) {
  const Expr child = child_.get();
  // Which child it is can't be predicted, so that it is computed, not branched on; a last one is its own sibling.
  const Expr sibling = te::min(child + 1, size - 1);
  auto [round, left_first] = compare_(at(child), at(sibling));
  round.push_back(child_.set(child + te::cast(DataType::kInt64, left_first)));
  auto [compare_moved, moved_first] = compare_(moved(), at(child));
  append(round, compare_moved);
  Block down = put(hole_.get(), at(child));
  append(down, {hole_.set(child), child_.set(child * 2 + 1)});
  round.push_back(te::if_then(moved_first, std::move(down), {child_.set(size)}));
  Block block = set_moved(at(start));
  append(block, {hole_.set(start), child_.set(start * 2 + 1), te::while_loop(child < size, std::move(round))});
  append(block, put(hole_.get(), moved()));
  return block;
}

}  // namespace isomer::ops
