// Lists of numbers as keys of hash maps.
#pragma once

#include <vector>

#include "util/hash.h"

namespace isomer {

struct ListHash {
  template <class Number>
  size_t operator()(const std::vector<Number>& numbers) const {
    uint64_t result = numbers.size();
    for (const Number number : numbers) result = mix64(result ^ static_cast<uint64_t>(number));
    return result;
  }
};

}  // namespace isomer
