// std::stable_sort of libstdc++ 12 does not compile under clang 19 where warnings are errors: it uses what it declares
// deprecated.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

namespace isomer {

/// Equal items stay in their order.
template <class T, class Less>
void stable_sort(std::vector<T>& items, const Less& less) {
  std::vector<size_t> order(items.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return less(items[a], items[b]) || (!less(items[b], items[a]) && a < b); });
  std::vector<T> sorted;
  sorted.reserve(items.size());
  for (const size_t at : order) sorted.push_back(std::move(items[at]));
  items = std::move(sorted);
}

}  // namespace isomer
