// Sorts by heaps, as statements: what TopK, Unique and NonMaxSuppression share.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "graph/ops/writer.h"

namespace isomer::ops {

/// a < b in the total order of a type's values: NaN above all numbers and equal to itself, false below true.
te::Expr is_less(const te::Expr& a, const te::Expr& b);

/// What is sorted: the position of an element and, where it is sorted by a value, that value.
struct SortedElement {
  te::Expr position, key;
};

/// Larger (or smaller) keys first, and of equal ones the lower position.
te::Expr comes_before(const SortedElement& a, const SortedElement& b, bool largest);

/// Sorts elements in place.
class Sorter {
 public:
  /// Statements to run first, and then whether element a comes before b.
  using Compare = std::function<std::pair<te::Block, te::Expr>(const SortedElement& a, const SortedElement& b)>;

  /// Up to `size` elements, sorted by positions alone where there is no type of keys.
  Sorter(Writer& writer, const Dim& size, std::optional<DataType> key, Compare compare);
  /// By keys; see comes_before.
  static Compare by_key(bool largest);

  SortedElement at(const te::Expr& i) const;
  te::Block put(const te::Expr& i, const SortedElement& element) const;
  /// Gives room for so many elements, where data decide the size.
  te::Block resize(const te::Expr& size) const;

  /// Makes the first `size` elements a heap with the last of the order on top.
  te::Block build(const te::Expr& size);
  /// Puts an element in the place of the top.
  te::Block replace_top(const SortedElement& element, const te::Expr& size);
  /// Brings a heap into order, first elements first.
  te::Block sort(const te::Expr& size);

 private:
  SortedElement moved() const;
  te::Block set_moved(const SortedElement& element) const;
  /// Moves the element at `start` down until no child comes after it.
  te::Block sift(const te::Expr& start, const te::Expr& size);

  Writer& writer_;
  Buffer positions_;
  std::optional<Buffer> keys_;
  Buffer hole_, child_, moved_;
  std::optional<Buffer> moved_key_;
  Compare compare_;
};

}  // namespace isomer::ops
