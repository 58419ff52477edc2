#include "kernel/space/decider.h"

#include <algorithm>

namespace isomer::kernel {

bool Choice::has(int64_t value) const {
  return std::find(candidates.begin(), candidates.end(), value) != candidates.end();
}

int64_t Given::decide(const Choice& choice) {
  const auto value = values_.find(choice.name);
  if (value == values_.end()) return otherwise_.decide(choice);
  const bool is_candidate = choice.has(value->second);
  ++(is_candidate ? taken_ : missed_);
  return is_candidate ? value->second : otherwise_.decide(choice);
}

}  // namespace isomer::kernel
