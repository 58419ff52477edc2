// Text between separators.
#pragma once

#include <string_view>
#include <vector>

namespace isomer {

/// One more than there are separators; empty ones among them.
inline std::vector<std::string_view> split(std::string_view text, std::string_view between) {
  std::vector<std::string_view> result;
  for (size_t at; (at = text.find(between)) != std::string_view::npos; text.remove_prefix(at + between.size()))
    result.push_back(text.substr(0, at));
  result.push_back(text);
  return result;
}

}  // namespace isomer
