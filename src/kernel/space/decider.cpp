#include "kernel/space/decider.h"

#include <algorithm>

namespace isomer::kernel {

int64_t Given::decide(const Choice& choice) {
  const auto value = values_.find(choice.name);
  if (value == values_.end()) return otherwise_.decide(choice);
  const bool is_candidate =
      std::find(choice.candidates.begin(), choice.candidates.end(), value->second) != choice.candidates.end();
  ++(is_candidate ? taken_ : missed_);
  return is_candidate ? value->second : otherwise_.decide(choice);
}

}  // namespace isomer::kernel
