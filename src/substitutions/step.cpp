#include "substitutions/step.h"

#include <fmt/ranges.h>

namespace isomer::substitutions {

std::string Step::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : tensors) parts.push_back(fmt::format("{}=%{}", name, value));
  for (const auto& [name, integer] : names.integers) parts.push_back(fmt::format("{}={}", name, integer.text()));
  for (const auto& [name, parameters] : names.rests)
    for (const auto& [parameter, value] : parameters) parts.push_back(fmt::format("..{}.{}={}", name, parameter, verify::text(value)));
  return fmt::format("{} {} {} at %{}", rule, is_forward ? "->" : "<-", fmt::join(parts, ","), fmt::join(roots, ",%"));
}

}  // namespace isomer::substitutions
