#include "verify/prover/bound_names.h"

#include <algorithm>
#include <functional>

namespace isomer::verify {

bool bind_all(std::span<const Pattern* const> found, const Slots& slots, std::vector<bool> integers,
              std::vector<bool> rests) {
  std::vector<bool> tensors(slots.tensors.size());
  integers.resize(slots.integers.size());
  rests.resize(slots.rests.size());
  std::vector<const Integer*> equations;
  const std::function<void(const Pattern&)> read = [&](const Pattern& pattern) {
    if (pattern.kind == Pattern::Kind::kVariable) tensors[static_cast<size_t>(pattern.variable)] = true;
    if (pattern.rest >= 0) rests[static_cast<size_t>(pattern.rest)] = true;
    for (const Pattern::Named& named : pattern.named)
      for (const Integer& each : named.integers) equations.push_back(&each);
    for (const Pattern& argument : pattern.arguments) read(argument);
  };
  for (const Pattern* pattern : found) read(*pattern);
  for (const DimSlot& dim : slots.dims)
    if (tensors[static_cast<size_t>(dim.variable)]) integers[static_cast<size_t>(dim.slot)] = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Integer* equation : equations) {
      int unknown = -1, count = 0;
      for (const int slot : equation->slots)
        if (!integers[static_cast<size_t>(slot)]) {
          unknown = slot;
          ++count;
        }
      if (count != 1 || equation->other) continue;
      integers[static_cast<size_t>(unknown)] = changed = true;
    }
  }
  const auto all = [](const std::vector<bool>& bound) {
    return std::find(bound.begin(), bound.end(), false) == bound.end();
  };
  return all(tensors) && all(integers) && all(rests);
}

std::vector<const Pattern*> applications_of(const Pattern& pattern, bool with_itself) {
  std::vector<const Pattern*> result;
  const std::function<void(const Pattern&)> visit = [&](const Pattern& part) {
    if (part.kind == Pattern::Kind::kApplication && (with_itself || &part != &pattern)) result.push_back(&part);
    for (const Pattern& argument : part.arguments) visit(argument);
  };
  visit(pattern);
  return result;
}

}  // namespace isomer::verify
