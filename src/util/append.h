// One list behind another.
#pragma once

#include <vector>

namespace isomer {

template <class T>
void append(std::vector<T>& list, const std::vector<T>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace isomer
